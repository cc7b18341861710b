"""Python types as schemas, and the way back from a text to an instance."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal, TypedDict

import pydantic
import pytest
from naive_schema import recognises

from constrain.errors import SchemaError
from constrain.languages.schema import json_schema


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=1)
    colour: Colour
    children: list[Model] = []


@dataclass
class Point:
    x: int
    y: float = 0.0


class Options(TypedDict):
    mode: Literal["fast", "slow"]
    level: int


def search(query: str, limit: int = 10, *, tags: list[str] | None = None) -> list[str]:
    """Search for something."""
    return [query] * limit


@pytest.mark.parametrize(
    ("given", "text", "value", "refused"),
    [
        (Colour, '"red"', Colour.RED, '"blue"'),
        (Literal["a", 3], "3", 3, '"b"'),
        (int | None, "null", None, '"x"'),
        (Point, '{"x": 1, "y": 2.5}', Point(1, 2.5), '{"y": 1}'),
        (Options, '{"mode": "fast", "level": 1}', {"mode": "fast", "level": 1}, '{"mode": "fast"}'),
        (list[int], "[1, 2]", [1, 2], '["a"]'),
        (
            Model,
            '{"name": "n", "colour": "green", "children": [{"name": "m", "colour": "red"}]}',
            Model(name="n", colour=Colour.GREEN, children=[Model(name="m", colour=Colour.RED)]),
            '{"name": "", "colour": "green"}',
        ),
        (search, '{"query": "q", "tags": ["t"]}', {"query": "q", "limit": 10, "tags": ["t"]}, '{"limit": 3}'),
        (pydantic.TypeAdapter(bool), "true", True, "1"),
    ],
    ids=["enum", "literal", "union", "dataclass", "typeddict", "list", "model", "callable", "adapter"],
)
def test_types(given: object, text: str, value: object, refused: str) -> None:
    constraint = json_schema(given)
    assert recognises(constraint.to_grammar(), text)
    assert not recognises(constraint.to_grammar(), refused)
    assert constraint.parse(text) == value


def test_json_stays_json() -> None:
    assert json_schema({"type": "object"}).parse('{"a": [1, 2.5]}') == {"a": [1, 2.5]}
    assert json_schema('{"type": "object"}').parse("{}") == {}


def variadic(*names: str) -> None:
    """Takes what has no names."""


class Plain:
    """No schema can be made of this."""


@pytest.mark.parametrize("given", [None, [1], 3.5, variadic, Plain])
def test_what_has_no_schema(given: object) -> None:
    with pytest.raises(SchemaError, match="fix:"):
        json_schema(given)


def test_sources_are_values() -> None:
    a, b = json_schema({"type": "integer"}), json_schema('{"type": "integer"}')
    assert a == b and hash(a) == hash(b) and a != json_schema({"type": "integer"}, whitespace="compact")
    assert a != json_schema({"type": "number"})


def test_intersection_of_schemas() -> None:
    both = json_schema({"minimum": 3}) & json_schema({"type": "integer"})
    grammar = both.to_grammar()
    assert recognises(grammar, "3") and not recognises(grammar, "3.5") and not recognises(grammar, "2")
