"""Sizes: functions fit a screen, a public class has one owner, and no place is heavier than its table says.

`tests/weigh.py` weighs, and writes the table `tests/data/sizes.toml`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import weigh
from weigh import Table, Weight

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


def test_no_place_is_heavier_than_the_table_says() -> None:
    over = weigh.heavier(weigh.read_table(), weigh.places())
    assert not over, f"lower them, or give a reason: python tests/weigh.py --write --because … {over}"


def test_numbers_that_fell_are_lowered() -> None:
    """A limit is at most a fiftieth above what stands there, so that what was gained is not lost again."""
    table, weights = weigh.read_table(), weigh.places()
    assert set(table.least) == set(weights), "python tests/weigh.py --write"
    high = {place: table.limit(place) for place in weights}
    loose = {place: limit for place, limit in high.items() if limit.lines > weights[place].lines * 1.02 + 20}
    assert not loose, "python tests/weigh.py --write"


def test_every_rise_has_its_reason() -> None:
    table = weigh.read_table()
    assert weigh.text_of(table) == weigh.TABLE.read_text(encoding="utf-8")
    for row in table.rises:
        assert len(row.pop("because").split()) >= 4, row
        assert set(row) <= set(table.least) and all(len(by) == 3 for by in row.values())


@pytest.mark.parametrize(
    "source, weight",
    [
        ("", (0, 0, 0)),
        ('"""Doc\n\nmore."""\n', (3, 0, 3)),
        ("# no\nx = 1  # yes\n\n", (3, 1, 0)),
        ('def f():\n    """Doc\n    more."""\n    return (\n        1\n    )\n', (6, 4, 2)),
        ('x = """a\n\nb"""\n', (3, 3, 0)),
    ],
)
def test_the_weight_of_a_file(source: str, weight: Weight) -> None:
    assert weigh.weigh(source) == weight


@pytest.mark.parametrize(
    "before, now, because, after",
    [
        (Table({"a": Weight(9, 5, 1)}, []), (8, 5, 1), "", Table({"a": Weight(8, 5, 1)}, [])),
        (Table({"a": Weight(9, 5, 1)}, []), (10, 5, 1), "", Table({"a": Weight(9, 5, 1)}, [])),
        (
            Table({"a": Weight(9, 5, 1)}, []),
            (10, 5, 1),
            "x",
            Table({"a": Weight(9, 5, 1)}, [{"because": "x", "a": [1, 0, 0]}]),
        ),
        (  # lines moved from code to docstrings: no number may rise without a reason
            Table({"a": Weight(9, 5, 1)}, []),
            (9, 4, 2),
            "x",
            Table({"a": Weight(9, 5, 1)}, [{"because": "x", "a": [0, -1, 1]}]),
        ),
        (
            Table({"a": Weight(9, 5, 1)}, [{"because": "x", "a": [1, 0, 0]}]),
            (7, 5, 1),
            "",
            Table({"a": Weight(7, 5, 1)}, []),
        ),
        (Table({"a": Weight(9, 5, 1), "b": Weight(1, 1, 0)}, []), (9, 5, 1), "", Table({"a": Weight(9, 5, 1)}, [])),
    ],
)
def test_the_table_after_a_change(before: Table, now: tuple[int, int, int], because: str, after: Table) -> None:
    weights = {"a": Weight(*now)}
    assert weigh.written(before, weights, because) == after
    heavy = any(new > limit for new, limit in zip(now, after.limit("a"), strict=True))
    assert bool(weigh.heavier(after, weights)) == heavy


def test_a_reach_is_what_an_import_loads(tmp_path: Path) -> None:
    files = {
        "__init__.py": "import os\n",
        "a.py": "import typing\nfrom constrain import b\nif typing.TYPE_CHECKING:\n    import constrain.c\n",
        "b/__init__.py": "def f():\n    import constrain.c\nclass C:\n    from .d import x\n",
        "b/d.py": "x = 1\n",
        "c.py": "",
    }
    for name, text in files.items():
        path = tmp_path / weigh.PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert set(weigh.reach(["constrain.a"], tmp_path)) == {"constrain", "constrain.a", "constrain.b", "constrain.b.d"}
