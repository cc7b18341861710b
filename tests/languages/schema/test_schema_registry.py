"""References into a registry: found, or refused with what is the fact."""

from __future__ import annotations

import json
from typing import Any

import pytest
import referencing
from referencing.jsonschema import DRAFT202012

import constrain
from constrain.errors import ConstrainError, SchemaError
from tables import table

CASES = table("schema_registry")["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
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
