"""Tables of schemas (`tests/data/schema_*.toml`): members, others, faults with the whole message, registries."""

import json
from typing import Any

import pytest
import referencing
from naive_schema import recognises
from referencing.jsonschema import DRAFT202012

import constrain
from constrain import errors
from constrain.errors import ConstrainError, SchemaError
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


MEMBERS = table("schema_cases")["case"]


@pytest.mark.parametrize("case", MEMBERS, ids=lambda case: case["name"])
def test_case(case: dict) -> None:
    constraint = json_schema(case["schema"], **{"spelling": "any", **case.get("options", {})})
    grammar = constraint.to_grammar()
    narrowed = case.get("narrowed", [])
    for text in case["valid"]:
        expected = text not in narrowed
        assert (recognises(grammar, text) and constraint.residual_fault(text) is None) == expected, f"member: {text}"
    for text in case["invalid"]:
        assert not (recognises(grammar, text) and constraint.residual_fault(text) is None), f"no member: {text}"


def test_names_are_unique() -> None:
    names = [case["name"] for case in MEMBERS]
    assert len(set(names)) == len(names)


REGISTRY = table("schema_registry")["case"]


@pytest.mark.parametrize("case", REGISTRY, ids=lambda case: case["name"])
def test_a_reference_into_a_registry(case: dict[str, Any]) -> None:
    registry: Any = referencing.Registry()
    for uri, text in case["documents"].items():
        registry = registry.with_resource(uri, DRAFT202012.create_resource(json.loads(text)))
    if "accepts" in case:
        assert constrain.json_schema(json.loads(case["schema"]), registry=registry).accepts(case["accepts"])
        return
    with pytest.raises(SchemaError) as caught:
        constrain.json_schema(json.loads(case["schema"]), registry=registry)
    assert case["fault"] in str(caught.value) and caught.value.place is not None


@pytest.mark.parametrize("registry", [{"b.json": {}}, [], "b.json"])
def test_a_registry_of_another_type(registry: Any) -> None:
    with pytest.raises(ConstrainError, match=r"registry= is a referencing\.Registry, not"):
        constrain.json_schema({}, registry=registry)
