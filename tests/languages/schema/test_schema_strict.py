"""The strict subset of OpenAI's Structured Outputs: what is outside it.

Tables in `tests/data/schema_strict.toml`; limits counted to the last.
"""

import json
from typing import Any

import pytest

from constrain.errors import SchemaError
from constrain.languages.schema import json_schema
from constrain.languages.schema.openai_strict import RULES, check, violations
from tables import table

TABLE = table("schema_strict")


def named(rows: str) -> Any:
    return pytest.mark.parametrize("row", TABLE[rows], ids=lambda row: row["name"])


# -------------------------------------------------------------------------------------------------------- the checker


@named("violations")
def test_violations(row: dict) -> None:
    found = violations(json.loads(row["schema"]))
    assert [f"{each.pointer}: {each.message}" for each in found] == row["found"]
    assert all(each.fix for each in found)


@named("error")
def test_one_error_lists_everything(row: dict) -> None:
    with pytest.raises(SchemaError) as caught:
        check(json.loads(row["schema"]))
    assert str(caught.value) == row["message"]


def test_a_long_list_is_cut() -> None:
    wide = {"type": "object", "properties": {f"p{i}": {} for i in range(99)}, "required": [f"p{i}" for i in range(99)]}
    with pytest.raises(SchemaError) as caught:
        check(wide)
    assert str(caught.value).startswith("100 things are outside the strict subset\n")
    assert str(caught.value).count("    at $") == 50
    assert "  … and 50 more\n" in str(caught.value)


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for level in range(levels):
        schema = closed({"a": schema}) if level % 2 or level == levels - 1 else {"type": "array", "items": schema}
    return schema


def texts(count: int, size: int) -> dict[str, Any]:
    return {"type": "string", "enum": [str(i).ljust(size, "x") for i in range(count)]}


def wordy(size: int) -> dict[str, Any]:
    """Ten characters beside the two long texts, in all the places that count."""
    long_ = {"a" * size: {"type": "string", "const": "b" * 60_000}}
    return {**closed({**long_, "e": texts(2, 4)}), "$defs": {"d": {"type": "null"}}}


LIMITS = [
    ("depth", nested(10), nested(11), "11 levels of nesting; the limit is 10"),
    (
        "properties",
        closed({f"{i}": {"type": "null"} for i in range(5000)}),
        closed({f"{i}": {"type": "null"} for i in range(5001)}),
        "5001 properties in all; the limit is 5000",
    ),
    (
        "text in names, definitions, enum and const",
        wordy(59_990),
        wordy(59_991),
        "120001 characters in names and values in all; the limit is 120000",
    ),
    (
        "enum values",
        closed({"a": texts(250, 4), "b": {"type": "integer", "enum": list(range(750))}}),
        closed({"a": texts(250, 4), "b": {"type": "integer", "enum": list(range(751))}}),
        "1001 enum values in all; the limit is 1000",
    ),
    (
        "a large enum",
        closed({"a": texts(250, 61)}),
        closed({"a": texts(251, 60)}),
        "an enum of 251 values has 15060 characters; beyond 250 values the limit is 15000",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("inside", "outside", "message"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_limits(inside: dict, outside: dict, message: str) -> None:
    assert violations(inside) == []
    assert [each.message for each in violations(outside)] == [message]


def test_recursion_is_no_depth() -> None:
    assert violations(closed({"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}})) == []


def test_other_rules() -> None:
    schema = closed({"s": {"type": "string", "minLength": 2}})
    assert [each.message for each in violations(schema)] == ["minLength is outside the subset"]
    loose = RULES._replace(keywords=RULES.keywords | {"minLength"})
    assert violations(schema, loose) == []
    assert [each.message for each in violations(nested(6), RULES._replace(max_depth=5))] == [
        "6 levels of nesting; the limit is 5"
    ]


def test_keywords_beyond_recursion_limit_are_found() -> None:
    deep: dict[str, Any] = {"not": {}, "type": "null"}
    for _ in range(5000):
        deep = {"type": "array", "items": deep}
    found = [each.message for each in violations(closed({"a": deep}))]
    assert found == ["not is outside the subset", "5001 levels of nesting; the limit is 10"]


def test_dialect_of_json_schema() -> None:
    schema = closed({"a": {"type": ["string", "null"]}})
    assert json_schema(schema, dialect="openai-strict").schema == schema
    with pytest.raises(SchemaError, match="1 thing is outside the strict subset"):
        json_schema({**schema, "required": []}, dialect="openai-strict")
    with pytest.raises(SchemaError, match="the root is not an object of its own"):
        json_schema('{"type": "string"}', dialect="openai-strict")
