"""`json_schema(undeclared="refuse")`: where something is declared, nothing else is allowed.

The rows say what closing means; random schemas say that a closed schema never allows what the schema refuses.
"""

from __future__ import annotations

import json
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
    ({"properties": {"x": A, "y": True}}, ['{"x": {"a": 1}}', '{"y": {"b": 1}}', "[1]"], ['{"x": {"b": 1}}']),
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
        for constraint, allowed in ((plain, True), (closed, text in stay)):
            matcher = constrain.compile(constraint, vocabulary).matcher()
            assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == allowed, (text, constraint)


@pytest.mark.parametrize("draft", DRAFTS)
def test_nothing_is_allowed_that_the_schema_refuses(draft: str) -> None:
    tried = 0
    for seed in range(30):
        schema = seeded_schema(draft, seed)
        try:
            closed = Ours(schema, undeclared="refuse")
        except constrain.ConstrainError:
            continue
        judge = Python(schema)
        for value in Aim(Seeded(seed), schema).values(6):
            if closed(text := write(value)):
                tried += 1
                assert judge(text) in (True, None), (schema, text)
    assert tried > 12


WRONG = [
    ({"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x"}}}, "a schema with $dynamicRef is not closed"),
    ({"$schema": DRAFT_7, "items": {"$ref": DRAFT_7}}, "other documents are not closed"),
    ({"items": {"$id": "https://example.com/x", **A}}, "a document inside of a document"),
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
