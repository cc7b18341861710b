"""Branches that overlap in too many ways: their union is generated, and the check of the finished text decides."""

import json
from typing import Any

import jsonschema
import pytest
from test_schema_unions import SCHEMAS, objects

import constrain
import vocabularies
from constrain.languages.schema.normalize import normal_forms
from constrain.languages.schema.sets import algebra, shapes_objects, subtract
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
    "a product": {"allOf": [{"anyOf": [{"required": [a]}, {"required": [b]}]} for a, b in ("pq", "qr", "rs")]},
    "patterns": {
        "properties": {"p": {"type": "integer"}, "s": {}},
        "patternProperties": {"p|q": {"maximum": 1}, "[qr]": {"type": ["integer", "string"]}, "[^p]": {"minimum": 1}},
    },
    "patterns and the rest": {
        "properties": {"s": {"const": 1}},
        "patternProperties": {"[pq]": {}, "[qr]": {"type": "integer"}, "r$|q": {"minimum": 2}},
        "additionalProperties": {"type": "string"},
    },
    "some value": {
        "properties": {"p": {"type": "integer"}},
        "allOf": [{"not": {"additionalProperties": {"const": value}}} for value in (1, 2, "a")],
    },
    "some value of four": {
        "properties": {name: {} for name in "pqrs"},
        "additionalProperties": False,
        "allOf": [{"not": {"patternProperties": {"": {"type": kind}}}} for kind in ("integer", "string", "null")],
    },
}
FEW = {  # each limit as small as it can be: (module, name, number)
    "alternatives": [(normal_forms, "MAX_ALTERNATIVES", 1), (subtract, "MAX_ALTERNATIVES", 1)],
    "pairs": [(normal_forms, "MAX_ASKED", 1), (normal_forms, "MAX_TRIED", 1)],
    "boxes": [(algebra, "MAX_BOXES", 1)],
    "overlaps": [(algebra, "MAX_OVERLAPS", 0)],
    "needs": [(shapes_objects, "MAX_WAYS", 1), (shapes_objects, "MAX_NEEDS", 1)],
}


@pytest.mark.parametrize("few", FEW)
@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", [*SCHEMAS, *BESIDE])
def test_small_limits_make_the_set_greater_and_never_smaller(
    name: str, order: Any, few: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {"type": "object", **{**SCHEMAS, **BESIDE}[name]}
    for limit in FEW[few]:
        monkeypatch.setattr(*limit)
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


@pytest.mark.parametrize("few, least", [("alternatives", 5), ("pairs", 5), ("boxes", 5), ("overlaps", 2), ("needs", 2)])
def test_small_limits_leave_something_to_the_check(few: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in FEW[few]:
        monkeypatch.setattr(*limit)
    schemas = {**SCHEMAS, **BESIDE}
    residual = [name for name in schemas if constrain.json_schema({"type": "object", **schemas[name]}).residual]
    assert len(residual) >= least, residual


ANSWERED: dict[str, tuple[dict[str, Any], list[Any]]] = {  # schema, values
    "a product of 8 to the power of 8": (
        {"type": "object", "allOf": [{"anyOf": [{"required": [f"{i}.{j}"]} for j in range(8)]} for i in range(8)]},
        [{f"{i}.0": 1 for i in range(8) if i != left} for left in range(9)],
    ),
    "patterns that overlap in 127 ways": (
        {"patternProperties": {f"^.*{letter}.*$": {"maximum": 9 - i} for i, letter in enumerate("abcdefg")}},
        [{key: n} for key in ("x", *"abcdefg", "bag", "gfedcba") for n in range(12)],
    ),
    "conditions on some of 26 properties": (
        {
            "type": "object",
            "properties": {chr(97 + i): {} for i in range(26)},
            "additionalProperties": False,
            "allOf": [{"not": {"additionalProperties": {"const": i}}} for i in range(3)],
        },
        [{}, {"a": 0}, {"a": 1}, {"b": 2}, {"z": 3}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 0}],
    ),
    "17 properties that ask for others": (
        {"type": "object", "dependentRequired": {f"p{i}": [f"q{i}"] for i in range(17)}},
        [{}, {"p3": 1, "q3": 1}, {f"{name}{i}": 1 for i in range(17) for name in "pq"}]
        + [{f"p{i}": 1} for i in range(17)],
    ),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_what_was_a_limit_is_answered(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products, patterns and conditions that grow too large are left to the check as far as they do, and no error."""
    monkeypatch.setattr(normal_forms, "MAX_ALTERNATIVES", 100)  # PERF: the rules of 5,000 take seconds
    schema, values = ANSWERED[name]
    constraint = constrain.json_schema(schema, property_order="any")
    assert {entry.pointer for entry in constraint.report if entry.keyword == "(overlap)"} == {"$"}
    start = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    validator = jsonschema.Draft202012Validator(schema)
    by_masks = by_check = 0
    for value in values:
        text = json.dumps(value)
        accepted = start.fork().advance_bytes(text.encode())
        passes = constraint.residual_fault(text) is None
        assert passes == validator.is_valid(value), text
        assert accepted or not passes, text
        by_masks, by_check = by_masks + (not accepted), by_check + (accepted and not passes)
    assert by_masks > 0
    assert by_check > 0


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
    """The difference of the branches has more than 5,000 boxes; it was an error."""
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
