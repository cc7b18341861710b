"""The monitor of Python: attributes and arguments of what the text itself defines."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

import pytest
from lexeme_reading import accepts, first_refusal

from constrain.monitors import accepted_beginning, names_at, python
from tables import filled, table

TABLE = table("monitors_python")

ANY, KNOWN = python(), python(ahead="known")
SHAPE = TABLE["shape"]

# (monitor, beginning that is accepted, rest in which the refusal is); Python raises TypeError or AttributeError
REFUSED = [
    ({"any": ANY, "known": KNOWN}[monitor], *filled(texts, SHAPE=SHAPE))
    for monitor, *texts in TABLE["refused_of_classes"]
]

# What Python runs without a fault; nothing of it is refused.
RUNS = TABLE["runs"]

KNOWN_RUNS = filled(TABLE["known_runs"], SHAPE=SHAPE)


@pytest.mark.parametrize(("monitor", "before", "rest"), REFUSED)
def test_what_a_definition_lacks_is_refused_where_it_stands(monitor: Any, before: str, rest: str) -> None:
    ast.parse(before + rest)
    assert not accepts(monitor, before + rest)
    accepted = accepted_beginning(monitor, before + rest)
    assert accepted.startswith(before.rstrip("\n"))
    assert first_refusal(monitor, (before + rest).encode()) is not None


@pytest.mark.parametrize("text", RUNS)
def test_what_runs_is_accepted(text: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, "text", "exec"), {"__name__": __name__})
    assert accepted_beginning(ANY, text) == text
    assert accepts(ANY, text)


@pytest.mark.parametrize("text", KNOWN_RUNS)
def test_what_is_defined_before_is_accepted_under_known(text: str) -> None:
    ast.parse(text)
    assert accepted_beginning(KNOWN, text) == text
    assert accepts(KNOWN, text)
    assert accepts(ANY, text)


def test_attributes_that_a_text_defines_can_be_asked_for() -> None:
    names = names_at(KNOWN, SHAPE + "    def f(self):\n        return self.")
    assert {"width", "height", "area", "ratio", "sides", "f", "__class__"} <= set(names or ())
    assert names_at(ANY, SHAPE + "    def f(self):\n        return self.") is None
    assert names_at(ANY, SHAPE + "s = Shape(1)\nprint(s.area(1, uni") == ["unit"]
