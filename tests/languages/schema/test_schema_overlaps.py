"""Branches that overlap in too many ways: their union is generated, and the check of the finished text decides."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from test_schema_unions import SCHEMAS, objects

import constrain
import vocabularies
from constrain.languages.schema.normalize import normal_forms
from constrain.languages.schema.sets import subtract
from constrain.masks.engine import TokenAutomaton
from work import counted

BESIDE: dict[str, Any] = {
    "a complement": {"not": {"oneOf": [{"required": ["p"]}, {"required": ["q"]}, {"properties": {"r": {"const": 1}}}]}},
    "a union in a union": {
        "oneOf": [{"required": ["p"]}, {"oneOf": [{"required": ["q"]}, {"required": ["r"]}, {"minProperties": 3}]}]
    },
    "if a union": {
        "if": {"oneOf": [{"required": ["p"]}, {"properties": {"q": {"const": 1}}}, {"maxProperties": 2}]},
        "then": {"required": ["r"]},
        "else": {"required": ["s"]},
    },
}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", [*SCHEMAS, *BESIDE])
def test_small_limits_make_the_set_greater_and_never_smaller(
    name: str, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {"type": "object", **{**SCHEMAS, **BESIDE}[name]}
    for module in (normal_forms, subtract):
        monkeypatch.setattr(module, "MAX_ALTERNATIVES", 1)
    constraint = constrain.json_schema(schema, whitespace="compact", property_order=order)
    vocabulary = vocabularies.tiny()
    start = constrain.compile(constraint, vocabulary, automaton=TokenAutomaton(vocabulary)).matcher()
    validator = jsonschema.Draft202012Validator(schema)
    is_strict = order == "any"  # a greater set may name fewer properties, which then come in another order
    left = 0
    for value in objects():
        text = json.dumps(value, separators=(",", ":"))
        matcher = start.fork()
        accepted = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        passes = constraint.residual_fault(text) is None
        assert (accepted and passes) == validator.is_valid(value) or not (accepted or is_strict), text
        assert passes == validator.is_valid(value) or not constraint.residual, text
        left += accepted and not passes
    assert bool(left) <= constraint.residual
    assert constraint.residual == any(entry.keyword == "(overlap)" for entry in constraint.report)


def test_small_limits_leave_something_to_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (normal_forms, subtract):
        monkeypatch.setattr(module, "MAX_ALTERNATIVES", 1)
    schemas = {**SCHEMAS, **BESIDE}
    residual = [name for name in schemas if constrain.json_schema({"type": "object", **schemas[name]}).residual]
    assert len(residual) >= 5, residual


def shapes(count: int, names: int) -> dict[str, Any]:
    """Objects of optional properties, each with its own `type`, which is optional too."""
    columns = {f"k{i}": {"type": "integer", "minimum": i} for i in range(names)}
    return {
        "properties": {
            "shape": {
                "type": "object",
                "oneOf": [
                    {
                        "properties": {
                            "type": {"const": f"t{n}"},
                            **dict(list(columns.items())[n:]),
                            f"own{n}": {"maxLength": n},
                        }
                    }
                    for n in range(count)
                ],
            }
        }
    }


def test_what_is_given_up_leaves_what_is_around_it_exact() -> None:
    """The steps of the inner `oneOf` counted for the outer one, which was given up too, after 10 million calls."""
    inner = shapes(10, 14)["properties"]["shape"]
    first = {"properties": {"s": inner, "t": {"type": "integer"}}}
    second = {"properties": {"s": {"type": "object", "required": ["q"]}, "t": {"type": "string"}}}
    schema = {"type": "object", "oneOf": [first, second]}
    constraint, work = counted(lambda: constrain.json_schema(schema, property_order="any", whitespace="compact"))
    assert work < 3_000_000
    overlaps = [entry.pointer for entry in constraint.report if entry.keyword == "(overlap)"]
    assert overlaps == ["$.oneOf[0].properties.s"]
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    for text, is_valid in (('{"t":5}', True), ('{"t":"a"}', True), ("{}", False), ('{"s":{},"t":"a"}', False)):
        assert (matcher.fork().advance_bytes(text.encode()) and constraint.residual_fault(text) is None) == is_valid


def test_many_branches_that_overlap_are_answered() -> None:
    """Their difference has more than 5,000 boxes; it was an error."""
    constraint = constrain.json_schema(shapes(10, 14), property_order="any")
    assert [(entry.pointer, entry.status) for entry in constraint.report if entry.keyword == "(overlap)"] == [
        ("$.properties.shape", "residual")
    ]
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    unique = '{"shape": {"type": "t3", "own3": "abc"}}'
    assert matcher.fork().advance_bytes(unique.encode())
    assert constraint.residual_fault(unique) is None
    twice = '{"shape": {"k13": 20}}'
    assert matcher.fork().advance_bytes(twice.encode())
    assert constraint.residual_fault(twice) == '$.shape: {"k13": 20} fulfils 10 branches of oneOf'
    assert (
        constraint.residual_fault('{"shape": {"type": "t99"}}') == '$.shape: {"type": "t99"} fulfils no branch of oneOf'
    )
    assert not matcher.fork().advance_bytes(b'{"shape": {"k13": 2}')
