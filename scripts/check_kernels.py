"""Checks the rules of kernels, the core's and wings' (`constrain/*/kernels`), as part of `make lint`. Prints each fault
with its place.

    python scripts/check_kernels.py

* A constant, a layout or an accessor has one owner: no name is defined in two files.
* Offsets are named. Only `kernels/records` computes with KEY, MEMO, KIND_BITS or KIND_MASK, or adds numbers to indices
  of the arena A or the scratch stack S; outside kernels nobody adds anything but a declared field to an index of A.
* Each module with an entry kernel, one that Python calls, names its plain-Python reference, a file that exists.
* Each kernel and accessor has a docstring that is a statement.
* A function has at most 80 lines of code, 6 blocks one inside the other, and 10 parameters, here and in
  `constrain/device`, whose kernels are Triton's.
* A folder has at most fifteen files besides its `__init__.py`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "constrain"
KERNELS = PACKAGE / "kernels", *sorted(PACKAGE.glob("*/kernels"))
RECORDS = PACKAGE / "kernels" / "records"
FUSED = PACKAGE / "device"
PRIVATE = {"KEY", "MEMO", "KIND_BITS", "KIND_MASK"}
RIDDLES = ("See above", "see above", "those that", "?")
MAX_FILES = 15
MAX_LINES, MAX_DEPTH, MAX_PARAMETERS = 80, 6, 10  # of a function


def faults() -> Iterator[str]:
    """Every fault, as `file:line: what is wrong`."""
    owners: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        where = path.relative_to(REPOSITORY).as_posix()
        within = any(map(path.is_relative_to, KERNELS))
        if not path.is_relative_to(RECORDS):
            yield from raw_offsets(tree, where, {"A", "S"} if within else {"A"})
        if within:
            for name, line in defined(tree):
                owners[name].append(f"{where}:{line}")
            yield from undocumented(tree, where)
        if within or path.is_relative_to(FUSED):
            yield from too_hard(tree, where)
    for name, places in sorted(owners.items()):
        if len(places) > 1:
            yield f"{places[1]}: {name} is defined at {places[0]} as well"
    for folder in {path.parent for kernels in KERNELS for path in kernels.rglob("*.py")}:
        if len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) > MAX_FILES:
            yield f"{folder.relative_to(REPOSITORY)}: more than {MAX_FILES} files"


def defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The constants, classes and functions of a module, but for private ones."""
    for node in tree.body:
        names = []
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        for name in names:
            if not name.startswith("_") and name not in ("Function", "Int32"):  # type variables and aliases
                yield name, node.lineno


def raw_offsets(tree: ast.Module, where: str, arrays: set[str]) -> Iterator[str]:
    """Arithmetic on the words of records. arrays: the names of the arrays that are looked at."""
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in PRIVATE and not (isinstance(node, ast.Attribute) and ast.unparse(node.value).isupper()):
            yield f"{where}:{node.lineno}: {ast.unparse(node)} is for kernels/records alone"
        if isinstance(node, ast.Subscript):
            array = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if array in arrays and any(_is_offset(each, array) for each in _without_calls(node.slice)):
                yield f"{where}:{node.lineno}: {ast.unparse(node)} has an offset without a name"


def _without_calls(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an expression, but for the arguments of calls."""
    yield node
    if not isinstance(node, ast.Call):
        for child in ast.iter_child_nodes(node):
            yield from _without_calls(child)


def _is_offset(node: ast.AST, array: str) -> bool:
    """True if a node adds a number or multiplies by one. On the stack, 1 is the next word or the one before."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        return False
    numbers = [side.value for side in (node.left, node.right) if isinstance(side, ast.Constant)]
    return bool(numbers) and not (array == "S" and numbers == [1] and not isinstance(node.op, ast.Mult))


def undocumented(tree: ast.Module, where: str) -> Iterator[str]:
    """Kernels and accessors without a docstring or with a riddle; entry kernels without a reference."""
    entries = []
    for node in tree.body:
        decorators = [ast.unparse(each) for each in getattr(node, "decorator_list", [])]
        if isinstance(node, ast.FunctionDef) and any(each.startswith(("kernel(", "accessor")) for each in decorators):
            text = ast.get_docstring(node) or ""
            if not text:
                yield f"{where}:{node.lineno}: {node.name} has no docstring"
            yield from (f"{where}:{node.lineno}: {node.name}: {each!r} in prose" for each in RIDDLES if each in text)
            if any("entry=True" in each for each in decorators):
                entries.append(node)
    names = re.findall(r"tests/[\w/]+\.py", (ast.get_docstring(tree) or "").partition("Reference:")[2])
    if entries and not names:
        yield f"{where}:{entries[0].lineno}: {entries[0].name} is called from Python; the module names no Reference"
    for name in names:
        if not (REPOSITORY / name).exists():
            yield f"{where}:1: the reference {name} does not exist"


def too_hard(tree: ast.Module, where: str) -> Iterator[str]:
    """Functions that are too long, too deep, or have too many parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            counts = [
                (_lines(node), MAX_LINES, "lines of code"),
                (_depth(node), MAX_DEPTH, "blocks one inside the other"),
                (len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]), MAX_PARAMETERS, "parameters"),
            ]
            for count, most, of in counts:
                if count > most:
                    yield f"{where}:{node.lineno}: {node.name} has {count} {of}, more than {most}"


def _lines(function: ast.FunctionDef) -> int:
    """The lines of a function from `def` on, but for its docstring."""
    first = function.body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    text = (first.end_lineno or 0) - first.lineno + 1 if is_text else 0
    return (function.end_lineno or 0) - function.lineno + 1 - text


def _depth(node: ast.AST) -> int:
    """The depth of nested blocks; an `elif` stands beside its `if`."""
    deepest = 0
    for name, value in ast.iter_fields(node):
        children = [child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)]
        is_elif = (
            isinstance(node, ast.If) and name == "orelse" and len(children) == 1 and isinstance(children[0], ast.If)
        )
        for child in children:
            is_block = isinstance(child, (ast.For, ast.While, ast.If, ast.With, ast.Try)) and not is_elif
            deepest = max(deepest, is_block + _depth(child))
    return deepest


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found))
    sys.exit(1 if found else 0)
