"""The architecture is a table: a wing of the package imports only wings above it (docs/architecture.md).

The table is read from the document, the imports from the syntax trees of all modules, inside functions too, and from
strings that name a module. The checker is tested on small packages made for it.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tables import table
from weigh import APART, PACKAGE, imports, module_name, weigh

TABLE = table("layer_faults")

MAX_LINES = 400  # of code: no docstrings, comments or empty lines
# A string may name a module that comes later where somebody asks for what only that module decides; none else does.
LATER = {
    ("languages", "constrain.masks.derived.members"): "a constraint tells whether a text is a member",
    ("languages", "constrain.masks.derived.refusal"): "a constraint tells why a text is none",
    ("languages", "constrain.masks.engine.regions.apart"): "a part of a text is read by an engine of its own",
    ("languages", "constrain.masks.completion.characters"): "a bound of characters asks how far a text is from its end",
}
MAY_IMPORT_APART = {PACKAGE, "__main__"}
# What `hasattr`, and `getattr` with a default, may ask for: names of other libraries' objects that ours have too, ...
FOREIGN = {
    "bos_token_id", "chat_template", "config", "encode", "eos_token_id", "forward", "layers", "model", "tokenizer",
}  # fmt: skip
# ... and, of our own names, these in these files. Else a capability has a default in a base class or a Protocol.
PROBED = {
    ("generation/verdict.py", "parse"): "compiled constraints of other engines may give values",
    ("generation/verdict.py", "residual_fault"): "compiled constraints of other engines may check texts",
    ("kernels/compiler/expansion.py", "accessor"): "globals of a function that is compiled: any object",
    ("kernels/records/schema.py", "meaning"): "a field is an int that may say what it means",
    ("languages/constraints/base.py", "constraint"): "a compiled constraint, of a later wing or an engine",
    ("models/hf/tree.py", "stem_keys"): "a layer of transformers' cache, or ours",
    ("sampling/measure/diagnostics.py", "stats"): "a generation, of a wing that comes later, or a sample",
    ("speculative/drafting.py", "keep_hidden"): "sessions of anyone's target may tell hidden states",
    ("sampling/core/chains.py", "open"): "a language model of anyone may be a target",
}

Wings = dict[str, list[str]]  # name → its packages, in order


def read_wings(architecture: str) -> Wings:
    """The rows of the table "Wings, in order": names in the first column, packages in the last."""
    section = re.search(r"^## Wings, in order$(.*?)^## ", architecture, re.M | re.S)
    assert section, "docs/architecture.md has no section 'Wings, in order'"
    wings: Wings = {}
    for names, _, packages in re.findall(r"^\| (`.*?) \| (.*?) \|(.*?)\|$", section[1], re.M):
        for name in re.findall(r"`(\w+)`", names):
            wings[name] = re.findall(r"`(\w+)`", packages)
    return wings


def place_of(module: str, root: Path) -> tuple[str, str]:
    """(wing, package): `constrain.languages.schema.api` → languages, schema. A file of a wing itself: ""."""
    _, *parts = module.split(".")
    if not parts:
        return PACKAGE, ""
    is_package = len(parts) > 1 and root.joinpath(PACKAGE, *parts[:2]).is_dir()
    return parts[0], parts[1] if is_package else ""


def names_in_strings(path: Path, root: Path) -> list[tuple[int, str]]:
    """(line, module) of each string of a file that names a module of the package, alone or before a colon."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = re.fullmatch(rf"({PACKAGE}(?:\.\w+)+)(?::\w+)?", node.value)
            inner = root.joinpath(*name[1].split(".")) if name else root
            if name and (inner.is_dir() or inner.with_suffix(".py").exists()):
                found.append((node.lineno, name[1]))
    return found


def type_only(path: Path) -> set[int]:
    """The lines that only type checkers read: those under `if TYPE_CHECKING`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {line for node in tests for each in node.body for line in range(each.lineno, (each.end_lineno or 0) + 1)}


def wrong_imports(root: Path, wings: Wings) -> list[str]:
    """One line for each import that breaks the order, and for each module whose wing or package is not listed."""
    rank = {wing: i for i, wing in enumerate(wings)}
    faults = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        wing, package = place_of(module_name(path, root), root)
        where = path.relative_to(root).as_posix()
        if wing not in rank:
            if wing != PACKAGE:
                faults.append(f"{where}: wing {wing} is not listed")
            continue
        if package and package not in wings[wing]:
            faults.append(f"{where}: package {package} is not listed")
            continue
        for_types = type_only(path)
        for line, module in imports(path, root):
            other, inner = place_of(module, root)
            if other in APART and line in for_types:
                continue
            if other in APART and wing not in APART and wing not in MAY_IMPORT_APART:
                faults.append(f"{where}:{line}: {wing} may not import {other}, which is apart")
            elif other not in rank:
                faults.append(f"{where}:{line}: imports {module}, whose wing is not listed")
            elif rank[other] > rank[wing]:
                faults.append(f"{where}:{line}: {wing} may not import {other}, which is below it")
            elif wing == other and package and inner and inner in wings[wing]:
                if wings[wing].index(inner) > wings[wing].index(package):
                    faults.append(f"{where}:{line}: {wing}/{package} may not import {inner}, which is behind it")
        for line, module in names_in_strings(path, root):
            other, _ = place_of(module, root)
            if other not in APART and rank.get(other, 0) > rank[wing] and (wing, module) not in LATER:
                faults.append(f"{where}:{line}: {wing} may not name {module}, which is below it")
    return faults


@pytest.fixture(scope="module")
def wings(repository: Path) -> Wings:
    return read_wings((repository / "docs" / "architecture.md").read_text(encoding="utf-8"))


def test_no_wing_imports_a_wing_below_it(repository: Path, wings: Wings) -> None:
    assert list(wings)[:7] == ["errors", "extras", "lazily", "packages", "limits", "files", "kernels"]
    faults = wrong_imports(repository, wings)
    assert not faults, "\n".join(faults)


def test_every_listed_place_exists(repository: Path, wings: Wings) -> None:
    present: set[tuple[str, str]] = set()
    for path in (repository / PACKAGE).rglob("*.py"):
        wing, package = place_of(module_name(path, repository), repository)
        present |= {(wing, ""), (wing, package)}
    listed = {(wing, package) for wing, packages in wings.items() for package in ["", *packages]}
    assert present == listed


def test_the_house_is_small(repository: Path) -> None:
    """Eight folders, and those apart: whoever lists the package sees the pipeline."""
    folders = [path for path in (repository / PACKAGE).iterdir() if path.is_dir() and path.name != "__pycache__"]
    files = [path for path in (repository / PACKAGE).iterdir() if path.is_file()]
    assert len(folders) == 8 + len(APART) and len(files) <= 10


def test_the_core_loads_nothing_that_is_apart() -> None:
    """Of a new interpreter: the package, and all that `generate` needs before it is given a model."""
    probe = (
        "import sys, constrain\n"
        "constrain.generate, constrain.sampling, constrain.speculative, constrain.hf\n"
        f"apart = {tuple(f'{PACKAGE}.{wing}' for wing in sorted(APART))}\n"
        "print([name for name in sys.modules if name.startswith(apart)])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_kernels_import_numpy_and_numba_only(repository: Path) -> None:
    allowed = sys.stdlib_module_names | {"numba", "numpy", "llvmlite"}  # llvmlite: the compiler under numba
    ours = {PACKAGE, f"{PACKAGE}.files"}  # imports the standard library only
    kernels = re.compile(rf"{PACKAGE}(\.\w+)?\.kernels\b")  # of the core, or of a wing
    for path in sorted((repository / PACKAGE).rglob("kernels/**/*.py")):
        outside = {module for _, module in imports(path, repository)}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                outside |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                outside.add(node.module or "")
        inside = set(filter(kernels.match, outside))
        assert {module.split(".")[0] for module in outside - inside - ours} <= allowed, path


def test_files_are_small_and_open_with_their_idea(repository: Path) -> None:
    for path in sorted((repository / PACKAGE).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text))
        assert docstring, f"{path} has no docstring"
        if len(text.splitlines()) > MAX_LINES and "do not edit" not in docstring:  # a script's tables may be long
            assert weigh(text).code <= MAX_LINES, f"{path} has more than {MAX_LINES} lines of code"


def given_names(tree: ast.AST) -> Iterator[str]:
    """The names of methods and attributes that the classes of a file have."""
    for kind in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for each in kind.body:
            targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
            yield from [each.name] if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
        for node in ast.walk(kind):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield from [node.attr] if ast.unparse(node.value) == "self" else []


def probed_names(tree: ast.AST) -> Iterator[str]:
    """The names that a file asks objects for, in case they have them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            name = node.args[1]
            if (node.func.id, len(node.args)) in {("hasattr", 2), ("getattr", 3)} and isinstance(name, ast.Constant):
                yield name.value


def test_capabilities_are_not_found_by_asking(repository: Path) -> None:
    """A name that classes of ours give is asked for in the rows of a table only; dunder names are of anything."""
    trees = {
        path.relative_to(repository / PACKAGE): ast.parse(path.read_text(encoding="utf-8"))
        for path in (repository / PACKAGE).rglob("*.py")
    }
    ours = {name for tree in trees.values() for name in given_names(tree) if not name.startswith("__")} - FOREIGN
    core = {path.as_posix(): tree for path, tree in trees.items() if path.parts[0] not in APART}
    assert {(path, name) for path, tree in core.items() for name in probed_names(tree) if name in ours} == set(PROBED)
    assert len(PROBED) <= 10


WINGS: Wings = {"low": [], "middle": ["a", "b"], "monitors": [], "high": []}


@pytest.mark.parametrize("files, faults", TABLE["fault"])
def test_the_checker(tmp_path: Path, files: dict[str, str], faults: list[str]) -> None:
    for name, text in files.items():
        path = tmp_path / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = wrong_imports(tmp_path, WINGS)
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


def test_the_table_is_read_in_order() -> None:
    rows = ["| wing | x | y |", "|---|---|---|", "| `b`, `d` | x | |", "| `a` | y | `p` `q` |"]
    text = "\n".join(["# A", "## Wings, in order", *rows, "## Next", "| `c` | no | |"])
    assert read_wings(text) == {"b": [], "d": [], "a": ["p", "q"]}
