"""The table of what `make test` and `make test-all` leave names tests that exist, and leaves cases of each behind."""

import ast
from pathlib import Path

import pytest

from conftest import TIERS, mark_tiers


def test_every_row_names_a_test(repository: Path) -> None:
    functions: dict[str, set[str]] = {}
    for name in [*TIERS["first"], *TIERS["slow"], *TIERS["every"], *TIERS["nightly"]]:
        path, _, function = name.partition("::")
        if path not in functions:
            body = ast.parse((repository / path).read_text(encoding="utf-8")).body
            functions[path] = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        assert function in functions[path], name
    assert min([*TIERS["every"].values(), *TIERS["nightly"].values()]) > 1


class Item:
    """As much of pytest's item as is needed."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid, self.marks = nodeid, []

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.name)


def test_cases_are_left_behind() -> None:
    """The first of every so many cases stays; of a whole test nothing; tests without a row are left alone."""
    numbers = {"many": 7, "few": 3, "long": 2, "x": 1}
    items = [Item(f"a::{name}[{i}]") for name, number in numbers.items() for i in range(number)]
    nightly = {"a::many": 2, "a::few": 2, "a::long": 2}
    mark_tiers(items, {"slow": ["a::long"], "every": {"a::many": 3}, "nightly": nightly})
    left = {kind: [item.nodeid for item in items if kind not in item.marks] for kind in ("slow", "nightly")}
    assert left["slow"] == ["a::many[0]", "a::many[3]", "a::many[6]", "a::few[0]", "a::few[2]", "a::x[0]"]
    more = ["a::many[0]", "a::many[2]", "a::many[3]", "a::many[4]", "a::many[6]", "a::few[0]", "a::few[2]"]
    assert left["nightly"] == [*more, "a::long[0]", "a::x[0]"]
