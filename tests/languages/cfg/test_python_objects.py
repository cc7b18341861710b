"""Python objects as constraints: compiled patterns, Enums, annotations with TypedDicts in them."""

from __future__ import annotations

import dataclasses
import enum
import re
import typing
from typing import Any

import pytest

import constrain
from constrain.errors import GrammarError, RegexError
from constrain.masks.derived.members import is_member

PATTERNS = [
    (re.compile("ab", re.IGNORECASE), ["AB", "ab", "b"]),
    (re.compile("(?i)ab"), ["AB", "a"]),
    (re.compile("(?i)a.b", re.DOTALL), ["A\nB", "a b"]),
    (re.compile("a.b"), ["a\nb", "axb"]),
    (re.compile(r"a b # c", re.VERBOSE), ["ab", "a b"]),
    (re.compile(r"\w", re.ASCII), ["é", "e"]),
    (re.compile(r"(?x) a (?i:b)", re.DOTALL), ["aB", "ab", "AB"]),
]


@pytest.mark.parametrize("pattern, texts", PATTERNS, ids=lambda value: repr(value)[:40])
def test_a_compiled_pattern_keeps_its_flags(pattern: re.Pattern[str], texts: list[str]) -> None:
    constraint = constrain.regex(pattern)
    assert [is_member(constraint, text) for text in texts] == [bool(pattern.fullmatch(text)) for text in texts]


def test_a_pattern_of_bytes_is_refused() -> None:
    with pytest.raises(RegexError, match="compiled pattern of str"):
        constrain.regex(re.compile(b"a"))  # type: ignore[arg-type]


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


def test_an_enum_gives_its_values_and_takes_them_back() -> None:
    constraint = constrain.choices(Color)
    assert [is_member(constraint, text) for text in ("red", "green", "RED")] == [True, True, False]
    assert constraint.parse("red") is Color.RED  # type: ignore[attr-defined]
    with pytest.raises(GrammarError, match="choice 0 is not a str but int"):
        constrain.choices(enum.Enum("Numbers", {"ONE": 1}))


class Inner(typing.TypedDict):
    z: int


class Outer(typing.TypedDict, total=False):
    y: list[Inner]


@dataclasses.dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    "annotation, text, value",
    [
        (typing.Union[Point, Outer], '{"y": [{"z": 1}]}', {"y": [{"z": 1}]}),  # noqa: UP007
        (Point | Outer, '{"x": 1}', Point(1)),
        (list[Outer], '[{"y": []}]', [{"y": []}]),
        (Outer | None, "null", None),
        (dict[str, Inner], '{"a": {"z": 2}}', {"a": {"z": 2}}),
        (tuple[Inner, Point], '[{"z": 1}, {"x": 2}]', ({"z": 1}, Point(2))),
        (typing.Annotated[Inner, "note"], '{"z": 3}', {"z": 3}),
    ],
    ids=str,
)
def test_a_typed_dict_inside_an_annotation(annotation: Any, text: str, value: Any) -> None:
    constraint = constrain.json_schema(annotation)
    assert is_member(constraint, text)
    assert constraint.parse(text) == value
