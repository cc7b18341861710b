"""The table of schemas with members and others (`tests/data/schema_cases.toml`)."""

from __future__ import annotations

import pytest
from naive_schema import recognises

from constrain.languages.schema import json_schema
from tables import table

CASES = table("schema_cases")["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
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
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)
