"""The keyword that a value breaks, and its place: a table, and `jsonschema` as judge over the schemas of the tests."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

import constrain
import schema_corpus
from constrain.errors import ConstrainError
from constrain.languages.schema.check.violation import find_violation
from tables import table

TABLE = table("schema_violations")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z]", "maxLength": 5},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "maxItems": 3},
        "point": {"$ref": "#/$defs/point"},
        "one": {"oneOf": [{"type": "number", "multipleOf": 3}, {"type": "number", "multipleOf": 5}]},
        "day": {"type": "string", "format": "date"},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
    "$defs": {"point": {"type": "object", "properties": {"x": {"exclusiveMinimum": 1}}, "required": ["x"]}},
    "if": {"properties": {"age": {"const": 1}}},
    "then": {"required": ["tags"]},
}
ROWS = TABLE["violation"]


@pytest.mark.parametrize("change, path, keyword, pointer", ROWS, ids=lambda value: str(value)[:30])
def test_the_keyword_and_the_place(change: dict[str, Any], path: str, keyword: str, pointer: str) -> None:
    violation = find_violation(constrain.json_schema(SCHEMA), json.dumps({"name": "Al", "age": 3} | change))
    assert violation is not None
    assert violation[:3] == (path, keyword, pointer)


def test_a_missing_property_is_named() -> None:
    violation = find_violation(constrain.json_schema(SCHEMA), '{"name": "Al"}')
    assert violation is not None and violation.keyword == "required"
    assert violation.message.endswith("the property 'age' is missing")


@pytest.mark.parametrize(
    "text", ['{"age": 3, "name": "Al"}', '{"name": "Al"', '{"name": "Al", "name": "Al", "age": 3}']
)
def test_nothing_to_blame_but_the_text(text: str) -> None:
    assert find_violation(constrain.json_schema(SCHEMA), text) is None


def keywords_of(error: Any) -> set[str]:
    """The keywords of an error, of the errors inside it, and around it."""
    keywords = {word for word in error.absolute_schema_path if isinstance(word, str)} | {error.validator}
    if keywords & {"then", "else"}:
        keywords.add("if")  # the condition is named for what follows from it
    return keywords.union(*(keywords_of(inner) for inner in error.context or ()))


def invalid_instances() -> Iterator[tuple[Any, Any]]:
    for entry in schema_corpus.ours():
        yield from ((entry.schema, test["data"]) for test in entry.tests if not test["valid"])


def test_jsonschema_agrees_about_invalid_instances() -> None:
    checked = named = 0
    for schema, instance in invalid_instances():
        try:
            violation = find_violation(constrain.json_schema(schema), json.dumps(instance))
        except ConstrainError:
            continue
        judge = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        errors = list(judge(schema, format_checker=judge.FORMAT_CHECKER).iter_errors(instance))
        if violation is None or any(error.validator.startswith("unevaluated") for error in errors) or not errors:
            continue
        checked += 1
        if violation.keyword is not None:
            named += 1
            assert violation.keyword in set().union(*map(keywords_of, errors)), (schema, instance)
    assert checked > 100 and named > 0.9 * checked
