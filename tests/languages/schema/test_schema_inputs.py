"""Python types as schemas, and the way back from a text to an instance."""

from __future__ import annotations

import datetime
import enum
import json
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

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


MOMENTS = ["2020-01-02T03:04:05", "2020-01-02T03:04:05.123", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05-09:30"]
TIMES = ["03:04:05", "03:04:05.5", "03:04:05Z", "03:04:05+01:00", "24:00:00"]
KINDS_OF_TIME: list[tuple[Any, list[str]]] = [
    *((kind, MOMENTS) for kind in (datetime.datetime, pydantic.NaiveDatetime, pydantic.AwareDatetime)),
    *((kind, MOMENTS) for kind in (pydantic.PastDatetime, pydantic.FutureDatetime)),
    (datetime.time, TIMES),
    (datetime.date, ["2020-01-02", "2020-02-30", "2020-01-02T03:04:05Z"]),
    (datetime.timedelta, ["P1DT2H", "P1W", "PT1M", "P"]),
]


@pytest.mark.parametrize(("kind", "texts"), KINDS_OF_TIME, ids=[row[0].__name__ for row in KINDS_OF_TIME])
def test_times_have_an_offset_or_none_as_pydantic_takes_them(kind: Any, texts: list[str]) -> None:
    constraint, adapter = json_schema(kind), pydantic.TypeAdapter(kind)
    for text in map(json.dumps, texts):
        try:
            adapter.validate_json(text)
            taken = True
        except pydantic.ValidationError:
            taken = False
        assert (recognises(constraint.to_grammar(), text) and constraint.residual_fault(text) is None) == taken, text
    for text in map(json.dumps, texts[2:3] if kind is pydantic.NaiveDatetime else []):
        assert not recognises(constraint.to_grammar(), text)  # by the mask, not only in the end


def test_a_type_with_times_is_of_the_strict_subset() -> None:
    class Event(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="forbid")
        at: datetime.datetime

    assert json_schema(Event, dialect="openai-strict").parse('{"at": "2020-01-02T03:04:05"}')
