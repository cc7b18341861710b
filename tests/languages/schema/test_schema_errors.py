"""Faulty schemas: the whole message, verbatim (`tests/data/schema_errors.toml`)."""

from __future__ import annotations

from typing import Any

import pytest

from constrain import errors
from constrain.languages.schema import json_schema
from tables import table

CASES = table("schema_errors")["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_message(case: dict) -> None:
    with pytest.raises(getattr(errors, case["kind"])) as caught:
        json_schema(case["schema"])
    assert str(caught.value) == case["message"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"enum": [float("nan")]}, "enum holds what is not a JSON value: nan is not a JSON number"),
        ({"minimum": float("inf")}, "minimum: inf is not a JSON number"),
        ({"properties": {"a": {1: 2}}}, "the keyword 1 is not a text"),
        ({"properties": {1: {}}}, "properties: 1 is not a text"),
        ({"const": {1: 2}}, "const: 1 is not a text of whole characters"),
        (5, "a schema is not a int: 5"),
        (b'{"a": "\xff"}', "the schema is not UTF-8: invalid start byte at byte 7"),
    ],
)
def test_faults_that_json_text_cannot_have(schema: Any, message: str) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        json_schema(schema)
    assert caught.value.message == message


@pytest.mark.parametrize(
    "option", [{"spelling": "odd"}, {"whitespace": "some"}, {"property_order": "none"}, {"formats": "maybe"}]
)
def test_unknown_options(option: dict) -> None:
    with pytest.raises(errors.ConstrainError, match="is not an option"):
        json_schema({}, **option)


def test_a_deep_text_is_a_limit_not_a_crash() -> None:
    with pytest.raises(errors.LimitError):
        json_schema('{"items": ' * 100_000 + "{}" + "}" * 100_000)


@pytest.mark.parametrize(
    ("schema", "text", "fault"),
    [
        ({"uniqueItems": True}, f"[{'1' * 5000},2]", None),
        ({"uniqueItems": True}, f"[{'1' * 5000},{'1' * 5000}]", "uniqueItems"),
        ({"type": "integer", "multipleOf": 7919 * 104729}, "3" * 5000, "multipleOf"),
        ({"type": "integer", "multipleOf": 7919 * 104729}, str(7919 * 104729) + "0" * 5000, None),
        ({}, "1" * 5000, None),
    ],
)
def test_numbers_of_more_digits_than_python_reads(schema: Any, text: str, fault: str | None) -> None:
    found = json_schema(schema, spelling="any").residual_fault(text)
    assert found is None if fault is None else found is not None, found
