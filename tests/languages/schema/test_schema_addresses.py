"""The address of a schema that has no `$id`, and references beside malformed documents of a registry."""

from __future__ import annotations

from typing import Any

import pytest
import referencing
from naive_schema import recognises
from referencing.jsonschema import DRAFT202012

from constrain.errors import SchemaError
from constrain import json_schema

INTEGER = {"type": "integer", "$defs": {"a": {"$anchor": "here", "type": "null"}}}
FAULTS: list[Any] = [[1], {"$id": 5}, {"$defs": [1]}, {"$defs": {"a": ["x"]}}, {"allOf": ["x"]}]


def registry_of(**documents: Any) -> Any:
    """A registry of documents under one site; a name stands for `https://example.org/name.json`."""
    pairs = ((f"https://example.org/{name}.json", each) for name, each in documents.items())
    return referencing.Registry().with_resources((uri, DRAFT202012.create_resource(each)) for uri, each in pairs)


def takes(schema: Any, text: str, registry: Any) -> bool:
    return recognises(json_schema(schema, registry=registry).to_grammar(), text)


@pytest.mark.parametrize("ref", ["base.json", "./base.json", "/base.json"])
def test_a_schema_without_id_has_the_address_that_the_registry_gives_it(ref: str) -> None:
    schema = {"items": {"$ref": ref}}
    registry = registry_of(base=INTEGER, main=dict(schema))
    assert takes(schema, "[1]", registry) and not takes(schema, '["a"]', registry)
    with pytest.raises(SchemaError, match=r"base\.json"):
        json_schema(schema, registry=registry_of(base=INTEGER))  # nothing says what it is relative to
    with pytest.raises(SchemaError, match=r"base\.json"):
        json_schema(schema, registry=registry_of(base=INTEGER, main=schema, twin=schema))  # two addresses


def test_an_id_goes_before_the_registry() -> None:
    schema = {"$id": "https://example.org/inner/main.json", "$ref": "base.json"}
    with pytest.raises(SchemaError, match=r"base\.json"):
        json_schema(schema, registry=registry_of(base=INTEGER, main=schema))


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_malformed_document_hinders_no_reference_to_another(fault: Any) -> None:
    registry = registry_of(base=INTEGER, bad=fault)
    assert takes({"$ref": "https://example.org/base.json#here"}, "null", registry)  # an anchor: all are walked
    assert not takes({"$ref": "https://example.org/base.json#here"}, "1", registry)
    with pytest.raises(SchemaError):
        json_schema({"$ref": "https://example.org/bad.json#here"}, registry=registry)
