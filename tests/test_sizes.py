"""Sizes that fit a screen: functions are short, flat and take few arguments, and a public class has one owner."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

MAX_LINES, MAX_DEPTH, MAX_PARAMETERS = 80, 6, 10
FRONT = {"generate", "denoise", "command"}  # the options of users: of the library, and of a command
BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith, ast.Match)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def depth(node: ast.AST, outer: int = 0) -> int:
    """The deepest block inside; an `elif` is as deep as its `if`, an inner function is not counted."""
    deepest = outer
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            continue
        goes_on = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        deepest = max(deepest, depth(child, outer + (isinstance(child, BLOCKS) and not goes_on)))
    return deepest


def too_large(source: str) -> Iterator[str]:
    """One line for each function beyond a limit."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, FUNCTIONS):
            continue
        first = node.body[0]
        docstring = (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node, clean=False) else 0
        lines = (node.end_lineno or 0) - node.lineno + 1 - docstring
        arguments = node.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        taken = len([name for name in names if name not in ("self", "cls")])
        if lines > MAX_LINES and node.name not in FRONT:
            yield f"{node.name} has {lines} lines"
        if depth(node) > MAX_DEPTH:
            yield f"{node.name} is {depth(node)} deep"
        if taken > MAX_PARAMETERS and node.name not in FRONT:
            yield f"{node.name} takes {taken} arguments"


def modules(repository: Path) -> Iterator[tuple[str, str]]:
    """(path, source) of every module of the package."""
    for path in sorted((repository / "constrain").rglob("*.py")):
        yield path.relative_to(repository).as_posix(), path.read_text(encoding="utf-8")


def test_functions_fit_a_screen(repository: Path) -> None:
    faults = [f"{name}: {fault}" for name, source in modules(repository) for fault in too_large(source)]
    assert not faults, "\n".join(faults)


def test_a_public_class_has_one_owner(repository: Path) -> None:
    owners: dict[str, list[str]] = {}
    for name, source in modules(repository):
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, []).append(name)
    assert len(owners) > 500
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}


DEEP = "def f():\n" + "".join("    " * (i + 1) + f"for x{i} in y:\n" for i in range(7)) + "    " * 8 + "pass\n"


@pytest.mark.parametrize(
    "source, faults",
    [
        ("def f(a): pass\n", []),
        (f"def f({', '.join('abcdefghijk')}): pass\n", ["f takes 11 arguments"]),
        (f"class C:\n    def f(self, {', '.join('abcdefghij')}): pass\n", []),
        ("def f():\n" + "    x = 1\n" * 80, ["f has 81 lines"]),
        ('def f():\n    """A\n' + "\n" * 90 + '    b"""\n    x = 1\n', []),
        (DEEP, ["f is 7 deep"]),
        ("def f():\n    if a: pass\n" + "    elif b: pass\n" * 9, []),
        ("def f():\n    def g():\n        if a: pass\n    if b: pass\n", []),
    ],
)
def test_the_measure(source: str, faults: list[str]) -> None:
    assert list(too_large(source)) == faults
