"""The table of what `make test` leaves to `make test-all` names tests that exist, and leaves cases of each behind."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from conftest import TIERS, move_to_slow


def test_every_row_names_a_test(repository: Path) -> None:
    functions: dict[str, set[str]] = {}
    for name in [*TIERS["slow"], *TIERS["every"]]:
        path, _, function = name.partition("::")
        if path not in functions:
            body = ast.parse((repository / path).read_text(encoding="utf-8")).body
            functions[path] = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        assert function in functions[path], name
    assert min(TIERS["every"].values()) > 1


class Item:
    """As much of pytest's item as is needed."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid, self.marks = nodeid, []

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.name)


def test_cases_are_left_behind() -> None:
    """The first of every so many cases stays; of a whole test nothing; tests without a row are left alone."""
    items = [Item(f"a::many[{i}]") for i in range(7)] + [Item("a::long"), Item("a::long[x]"), Item("a::other[0]")]
    move_to_slow(items, {"slow": ["a::long"], "every": {"a::many": 3}})
    left = [item.nodeid for item in items if not item.marks]
    assert left == ["a::many[0]", "a::many[3]", "a::many[6]", "a::other[0]"]
