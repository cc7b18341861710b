"""`json_schema(undeclared="refuse")`: where something is declared, nothing else is allowed.

The rows say what closing means; random schemas say that a closed schema never allows what the schema refuses.
"""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from schema_instances import Aim
from schema_oracles import Ours, Python, write
from schema_strategies import DRAFTS, Seeded, seeded_schema

import constrain
from constrain.languages.schema import json_schema

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
A: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
B: dict[str, Any] = {"type": "object", "properties": {"b": {"type": "integer"}}}
FREE = {"type": "object"}
NODE = {"properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/definitions/n"}, {"type": "null"}]}}}

# schema, texts that stay, texts that the schema allows and that are refused
CASES: list[tuple[Any, list[str], list[str]]] = [
    (True, ["1", '{"a": 1}'], []),
    (A, ["{}", '{"a": 1}'], ['{"b": 1}', '{"a": 1, "b": 1}']),
    (FREE, ["{}", '{"b": 1}'], []),
    ({**A, "properties": {}}, ["{}", '{"b": 1}'], []),
    ({**FREE, "required": ["a"]}, ['{"a": 1, "b": 1}'], []),
    ({**A, "additionalProperties": True}, ['{"b": 1}'], []),
    ({**A, "additionalProperties": B}, ['{"c": {"b": 1}}'], ['{"c": {"d": 1}}']),
    ({**A, "unevaluatedProperties": {"type": "null"}}, ['{"c": null}'], []),
    ({**FREE, "patternProperties": {"^a": B}}, ['{"ab": {"b": 1}}'], ['{"b": 1}', '{"ab": {"c": 1}}']),
    ({"properties": {"x": A, "y": True}}, ['{"x": {"a": 1}}', '{"y": {"b": 1}}'], ['{"x": {"b": 1}}', "[1]"]),
    ({"type": "array", "items": A}, ['[{"a": 1}]', "[]"], ['[{"a": 1}, {"b": 1}]']),
    ({"type": "array", "prefixItems": [A]}, ['[{"a": 1}]', "[]"], ['[{"a": 1}, 1]', '[{"b": 1}]']),
    ({"type": "array", "prefixItems": [A], "items": B}, ['[{"a": 1}, {"b": 1}]'], ['[{"a": 1}, {"a": 1}]']),
    ({"$schema": DRAFT_7, "items": [A], "additionalItems": B}, ['[{"a": 1}, {"b": 1}]'], ['[{}, {"a": 1}]']),
    ({"$schema": DRAFT_4, "items": [A]}, ['[{"a": 1}]'], ["[{}, 1]", '[{"b": 1}]']),
    ({"items": {"type": "integer"}}, ["[1, 2]"], []),
    # one place, several schemas
    ({"allOf": [A, B]}, ['{"a": 1, "b": 2}', '{"b": 2}'], ['{"c": 1}']),
    ({"$schema": DRAFT_7, "allOf": [A, B]}, ['{"a": 1, "b": 2}'], ['{"c": 1}']),
    ({"allOf": [A, {"required": ["a"]}]}, ['{"a": 1}'], ['{"a": 1, "c": 1}']),
    ({"anyOf": [A, B]}, ['{"a": 1}', '{"b": 1}'], ['{"a": 1, "b": 1}', '{"c": 1}']),
    ({"anyOf": [A, {"type": "null"}, FREE]}, ['{"c": 1}', "null"], []),
    ({"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "$defs": {"a": A}}, ["null", '{"a": 1}'], ['{"c": 1}']),
    ({"allOf": [{"anyOf": [A, B]}]}, ['{"a": 1}'], ['{"a": 1, "b": 1}']),
    ({"allOf": [{"anyOf": [A, B]}, {"properties": {"k": True}}]}, ['{"a": 1, "k": 1}', '{"k": 1}'], ['{"c": 1}']),
    ({"oneOf": [{**A, "required": ["a"]}, {**B, "required": ["b"]}]}, ['{"a": 1}', '{"b": 1}'], ['{"a": 1, "c": 1}']),
    ({"if": {"required": ["a"]}, "then": A, "else": B}, ['{"a": 1}', '{"b": 1}'], ['{"b": 1, "c": 1}']),
    ({**A, "if": {"required": ["a"]}, "then": B}, ['{"a": 1, "b": 1}'], ['{"b": 1}']),
    ({**A, "dependentSchemas": {"a": B}}, ['{"a": 1, "b": 2}'], ['{"b": 2}']),
    ({"$schema": DRAFT_7, **A, "dependencies": {"a": B, "b": ["a"]}}, ['{"a": 1, "b": 2}'], ['{"a": 1, "c": 2}']),
    # what only compares is read as it was written
    ({"not": {"properties": {"x": A}, "required": ["x"]}}, ["{}", '{"y": 1}'], []),
    ({**A, "not": {"required": ["c"]}}, ['{"a": 1}'], ['{"b": 1}']),
    ({"type": "array", "contains": A, "items": FREE}, ['[{"z": 1}]'], []),
    # references
    ({"$defs": {"x": A}, "$ref": "#/$defs/x"}, ['{"a": 1}'], ['{"b": 1}']),
    ({"$defs": {"x": A}, "$ref": "#/$defs/x", **B}, ['{"a": 1, "b": 1}'], ['{"c": 1}']),
    ({"$schema": DRAFT_7, "definitions": {"n": NODE}, "$ref": "#/definitions/n"},
     ['{"v": 1}', '{"v": 1, "next": {"v": 2}}', '{"next": null}'], ['{"w": 1}', '{"v": 1, "next": {"w": 2}}']),
    ({"properties": {"x": A, "y": {"$ref": "#/properties/x"}}}, ['{"y": {"a": 1}}'], ['{"y": {"b": 1}}']),
    ({"properties": {"v": True, "next": {"$ref": "#"}}}, ['{"next": {"v": 1}}'], ['{"next": {"w": 1}}']),
    ({"$defs": {"x": {"$anchor": "here", **A}}, "items": {"$ref": "#here"}}, ['[{"a": 1}]'], ['[{"b": 1}]']),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "stay", "refused"), CASES, ids=[json.dumps(row[0])[:80] for row in CASES])
def test_what_is_not_declared_is_refused(schema: Any, stay: list[str], refused: list[str]) -> None:
    closed, plain = json_schema(schema, undeclared="refuse"), json_schema(schema)
    vocabulary = constrain.Vocabulary.of_bytes()
    for text in (*stay, *refused):
        for constraint, allowed in ((plain, True), (closed, text in stay), (json_schema(closed.schema), text in stay)):
            matcher = constrain.compile(constraint, vocabulary).matcher()
            assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == allowed, (text, constraint)


def test_the_closed_schema_that_is_written_out_says_the_same() -> None:
    """`schema` is a copy with closed definitions; the masks come from the schema itself, read closed."""
    tried = 0
    for number in range(40):
        schema = seeded_schema([*DRAFTS][number % len(DRAFTS)], number)
        try:
            closed = Ours(schema, undeclared="avoid")
            copied = Ours(json_schema(schema, undeclared="avoid").schema)
        except constrain.ConstrainError:  # nothing fulfils it, or the copy holds it twice and is too much
            continue
        for value in Aim(Seeded(number), schema).values(6):
            tried += 1
            assert closed(write(value)) == copied(write(value)), (schema, value)
    assert tried > 60


@pytest.mark.parametrize("draft", DRAFTS)
def test_refuse_allows_nothing_that_avoid_refuses(draft: str) -> None:
    for seed in range(12):
        schema = seeded_schema(draft, seed)
        try:
            refusing = Ours(schema, undeclared="refuse")
        except constrain.ConstrainError:
            continue
        avoiding = Ours(schema, undeclared="avoid")
        for value in Aim(Seeded(seed), schema).values(6):
            assert avoiding(write(value)) or not refusing(write(value)), (schema, value)


@pytest.mark.parametrize("draft", DRAFTS)
def test_nothing_is_allowed_that_the_schema_refuses(draft: str) -> None:
    tried = 0
    for seed in range(30):
        schema = seeded_schema(draft, seed)
        try:
            json_schema(schema)
        except constrain.ConstrainError:
            continue
        closed = Ours(schema, undeclared="avoid")  # takes every schema that json_schema takes
        judge = Python(schema)
        for value in Aim(Seeded(seed), schema).values(6):
            if closed(text := write(value)):
                tried += 1
                assert judge(text) in (True, None), (schema, text)
    assert tried > 12


DYNAMIC = {"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x", **A}}}
INSIDE = {"items": {"$id": "https://example.com/x", **A}, "contains": {"$ref": "#/items"}}
KINDS = {
    "properties": {"k": True, "s": {"properties": {"x": True, "y": True}}},
    "if": {"properties": {"k": {"const": 1}}, "required": ["k"]},
    "then": {"properties": {"s": {"properties": {"x": {"type": "string"}}, "required": ["x"]}}},
}
ELSEWHERE, ASKS, EMPTY = "leads into another document", "which is not declared", "without what is not declared"
SEVERAL, WHOLE = "several schemas describe this value", "the whole schema stays open"

# "avoid": schema, texts that stay, texts that are refused, and (place, reason) of what stays open
AVOIDED: list[tuple[Any, list[str], list[str], list[tuple[str, str]]]] = [
    (True, ["1", '{"a": 1}'], [], []),
    (A, ["{}", '{"a": 1}'], ['{"b": 1}'], []),
    ({**A, "required": ["z"]}, ['{"z": 1, "q": 2}'], [], [("$", ASKS)]),
    ({**A, "dependentRequired": {"a": ["z"]}}, ['{"a": 1, "z": 1}'], [], [("$", ASKS)]),
    ({**A, "if": {"required": ["a"]}, "then": {"required": ["z"]}}, ['{"a": 1, "z": 1}'], [], [("$", ASKS)]),
    ({**A, "anyOf": [{"required": ["a"]}, {"required": ["z"]}]}, ['{"a": 1, "z": 1}'], [], [("$", ASKS)]),
    ({**A, "allOf": [{"required": ["a"]}]}, ['{"a": 1}'], ['{"a": 1, "z": 1}'], []),
    ({**A, "enum": [{"a": 1}, {"a": 1, "b": 2}]}, ['{"a": 1}', '{"a": 1, "b": 2}'], [], [("$", ASKS)]),
    ({"anyOf": [{**A, "required": ["z"]}, B]}, ['{"z": 1}', '{"b": 1}'], [], [("$.anyOf[0]", ASKS)]),
    ({"required": ["a"], "anyOf": [{**A}, B]}, ['{"a": 1}'], [], [("$.anyOf[1]", ASKS)]),
    ({**A, "minProperties": 2}, ['{"a": 1, "b": 2}'], [], [("$", EMPTY)]),
    ({"properties": {"x": {**A, "minProperties": 2}, "y": A}, "required": ["x"]},
     ['{"x": {"a": 1, "b": 2}, "y": {"a": 1}}'],
     ['{"x": {"a": 1, "b": 2}, "y": {"c": 1}}', '{"x": {"a": 1, "b": 1}, "z": 1}'],
     [("$.properties.x", EMPTY)]),
    ({"properties": {"a": True}, "propertyNames": {"pattern": "^b"}, "minProperties": 1}, ['{"b": 1}'], [],
     [("$", EMPTY)]),
    ({"properties": {"a": True}, "propertyNames": {"pattern": "^a"}}, ["{}", '{"a": 1}'], ['{"ab": 1}'], []),
    ({**A, "not": {"maxProperties": 1}}, ['{"a": 1, "b": 2}'], [], [("$", EMPTY)]),
    ({**A, "patternProperties": {"^x-": True}, "required": ["x-a"]}, ['{"x-a": 1}'], ['{"x-a": 1, "b": 1}'], []),
    ({**A, "patternProperties": {"^x-": True}, "required": ["z"]}, ['{"z": 1}'], [], [("$", EMPTY)]),
    ({"prefixItems": [A], "minItems": 3}, ['[{"a": 1}, 1, 2]'], ['[{"b": 1}, 1, 2]'], [("$", EMPTY)]),
    # one value that several schemas describe
    (KINDS, ['{"k": 1, "s": {"x": "", "y": 2}}'], ['{"k": 1, "s": {"x": "", "z": 2}}', '{"q": 1}'],
     [("$.then.properties.s", SEVERAL)]),
    ({"allOf": [{"properties": {"a": A}}, {"properties": {"a": B}}]}, ['{"a": {"a": 1, "b": 2}}'], ['{"q": 1}'],
     [("$.allOf[0].properties.a", SEVERAL), ("$.allOf[1].properties.a", SEVERAL)]),
    ({"anyOf": [{"properties": {"a": A}}, {"properties": {"a": B}}]}, ['{"a": {"a": 1}}', '{"a": {"b": 1}}'],
     ['{"a": {"a": 1, "b": 1}}'], []),
    ({"properties": {"ab": A}, "patternProperties": {"^a": B}}, ['{"ab": {"a": 1, "b": 1}}'], ['{"c": 1}'],
     [("$.properties.ab", SEVERAL), ('$.patternProperties["^a"]', SEVERAL)]),
    ({"properties": {"b": A}, "patternProperties": {"^a": B}}, ['{"ab": {"b": 1}}'], ['{"ab": {"a": 1}}'], []),
    # what is not copied
    (DYNAMIC, ['{"b": 1}'], [], [("$", WHOLE)]),
    (INSIDE, ['[{"b": 1}]'], [], [("$", WHOLE)]),
    ({"$schema": DRAFT_7, "properties": {"i": {"$ref": DRAFT_7}, "a": A}}, ['{"i": {"x": 1}}'],
     ['{"a": {"b": 1}}', '{"c": 1}'], [("$.properties.i", ELSEWHERE)]),
    ({"$schema": DRAFT_7, "allOf": [A, {"$ref": DRAFT_7}]}, ['{"b": 1}'], [], [("$", ELSEWHERE)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "stay", "refused", "left"), AVOIDED, ids=[json.dumps(row[0])[:80] for row in AVOIDED]
)
def test_what_cannot_be_closed_stays_open(
    schema: Any, stay: list[str], refused: list[str], left: list[tuple[str, str]]
) -> None:
    constraint, plain = json_schema(schema, undeclared="avoid"), json_schema(schema)
    assert constraint.written == schema and pickle.loads(pickle.dumps(constraint)).report == constraint.report
    vocabulary = constrain.Vocabulary.of_bytes()
    for text in (*stay, *refused):
        closed = text in stay
        for each, allowed in ((plain, True), (constraint, closed), (json_schema(constraint.schema), closed)):
            matcher = constrain.compile(each, vocabulary).matcher()
            assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == allowed, (text, each)
    told = [line for line in constraint.report if line.keyword.startswith("(undeclared")]
    opened = [(line.pointer, line.note) for line in told if line.status == "annotation"]
    assert len(opened) == len(left)
    for pointer, reason in left:
        assert any(where == pointer and reason in note for where, note in opened), opened


def test_the_report_tells_places_of_the_schema_as_it_was_written() -> None:
    node = {**NODE, "title": "a node"}
    schema = {"$schema": DRAFT_7, "definitions": {"n": node}, "type": "array", "items": {"$ref": "#/definitions/n"}}
    for undeclared in ("avoid", "refuse"):
        report = json_schema(schema, undeclared=undeclared).report
        closed, *rest = [line for line in report if line.keyword == "(undeclared properties)"]
        assert (closed.pointer, closed.status, rest) == ("$.definitions.n", "enforced", [])
        others = [line for line in report if line not in (closed,) and line.keyword != "(object)"]
        assert others == json_schema(schema).report


def test_closing_ends_after_so_many_steps() -> None:
    branches = [{"properties": {f"p{i}": True}, "required": [f"q{i}"]} for i in range(400)]
    schema = {"properties": {"a": True, **{f"q{i}": True for i in range(400)}}, "anyOf": branches}
    [line] = [line for line in json_schema(schema, undeclared="avoid").report if line.keyword.startswith("(undeclared")]
    assert line.status == "annotation" and WHOLE in line.note


WRONG = [
    ({"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x"}}}, "a schema with $dynamicRef is not closed"),
    ({"$schema": DRAFT_7, "items": {"$ref": DRAFT_7}}, "other documents are not closed"),
    (
        {"items": {"$id": "https://example.com/x", **A}, "contains": {"$ref": "#/items"}},
        "a document inside of a document",
    ),
]


@pytest.mark.parametrize(("schema", "message"), WRONG)
def test_what_cannot_be_closed_is_an_error(schema: Any, message: str) -> None:
    with pytest.raises(constrain.SchemaError, match=message.replace("$", r"\$")):
        json_schema(schema, undeclared="refuse")


def test_a_required_property_that_is_not_declared_leaves_nothing() -> None:
    with pytest.raises(constrain.UnsatisfiableError):
        json_schema({**A, "required": ["z"]}, undeclared="refuse")


def test_python_types_are_closed() -> None:
    from pydantic import BaseModel

    class Point(BaseModel):
        x: int
        y: int = 0

    constraint = json_schema(Point, undeclared="refuse")
    assert constraint.parse('{"x": 1}') == Point(x=1)
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    assert not matcher.advance_bytes(b'{"x": 1, "z"')
