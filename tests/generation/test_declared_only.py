"""Objects close by default wherever text is generated: each door, and how a caller says otherwise."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest

import constrain
from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.options import EngineOptions
from constrain.engines.vllm.masked import request_of
from constrain.generation.request.arguments import the_constraint
from constrain.languages.schema import json_schema
from work import counted

INNER: dict[str, Any] = {"type": "object", "properties": {"b": {"type": "integer"}}}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": INNER}, "required": ["a"]}
TAG = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": SCHEMA}}
TOOL = {"name": "f", "parameters": SCHEMA}
CALL = '<tool_call>\n{{"name": "f", "arguments": {}}}\n</tool_call>'
TEXTS = {'{"a": {"b": 1}}': True, '{"a": {"b": 1, "c": 2}}': False, '{"a": {"b": 1}, "c": 2}': False}


class Inner(pydantic.BaseModel):
    """An inner object."""

    b: int | None = None


class Outer(pydantic.BaseModel):
    """An object around it."""

    a: Inner


DOORS = {
    "schema": lambda: the_constraint({"schema": SCHEMA}),
    "type": lambda: the_constraint({"type": Outer}),
    "response_format": lambda: the_constraint(
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}
    ),
    "structural_tag": lambda: the_constraint({"response_format": TAG}),
    "engine": lambda: constraint_of("json", json.dumps(SCHEMA), EngineOptions()),
    "engine's tag": lambda: constraint_of("structural_tag", json.dumps(TAG), EngineOptions()),
}
OPEN = {
    "constraint": lambda: the_constraint({"constraint": constrain.json_schema(SCHEMA)}),
    "allow": lambda: the_constraint({"constraint": constrain.json_schema(Outer, undeclared="allow")}),
    "engine": lambda: constraint_of("json", json.dumps(SCHEMA), EngineOptions(undeclared="allow")),
}


def accepted(constraint: Any, text: str) -> bool:
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    return bool(matcher.advance_bytes(text.encode()) and matcher.is_accepting())


@pytest.mark.parametrize("door", sorted(DOORS))
def test_a_door_writes_what_is_declared(door: str) -> None:
    constraint = DOORS[door]()
    assert {text: accepted(constraint, text) for text in TEXTS} == TEXTS


@pytest.mark.parametrize("door", sorted(OPEN))
def test_a_caller_says_otherwise(door: str) -> None:
    constraint = OPEN[door]()
    assert all(accepted(constraint, text) for text in TEXTS)


def test_an_object_that_declares_nothing_stays_free() -> None:
    for given in (
        {"schema": {"type": "object"}},
        {"type": dict[str, int]},
        {"response_format": {"type": "json_object"}},
    ):
        assert accepted(the_constraint(given), '{"x": 1}')


@pytest.mark.parametrize(("undeclared", "inner"), [("avoid", False), ("refuse", False), ("allow", True)])
def test_tools_write_declared_arguments(undeclared: Any, inner: bool) -> None:
    turn = constrain.tools([TOOL], format="qwen3", choice="required", undeclared=undeclared)
    wanted = dict(zip(TEXTS, (True, inner, inner), strict=True))
    assert {text: accepted(turn, CALL.format(text)) for text in TEXTS} == wanted


def test_arguments_that_are_elements() -> None:
    begin, end = "<function=f>\n<parameter=a>\n", "\n</parameter>\n</function>"
    texts = {f"<tool_call>\n{begin}{text}{end}\n</tool_call>": text for text in ('{"b": 1}', '{"b": 1, "c": 2}')}
    for undeclared, allowed in (("avoid", [True, False]), ("allow", [True, True])):
        given: Any = undeclared
        turn = constrain.tools([TOOL], format="qwen3-coder", choice="required", undeclared=given)
        assert [accepted(turn, text) for text in texts] == allowed


def test_an_engine_reads_what_generate_asks_of_it() -> None:
    pytest.importorskip("torch")
    for given in ({"schema": SCHEMA}, {"type": Outer}):
        constraint = the_constraint(given)
        asked = request_of(constraint, EngineOptions())
        assert asked is not None and json.loads(asked.text) == constraint.written
    assert request_of(constrain.json_schema(SCHEMA), EngineOptions()) is None


def test_a_schema_of_the_same_content_is_read_once() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"kept": {"type": "string", "minLength": 1}}}
    first, read = counted(the_constraint, {"schema": schema})
    again, kept = counted(the_constraint, {"schema": json.loads(json.dumps(schema))})
    assert again is first and first == json_schema(schema, undeclared="avoid") and kept * 4 < read
    schema["properties"]["kept"] = {"type": "integer"}
    changed = the_constraint({"schema": schema})
    assert changed.accepts('{"kept": 1}') and not first.accepts('{"kept": 1}') and first.accepts('{"kept": "a"}')
    assert the_constraint({"schema": json.dumps(schema)}) == changed


def test_warnings_of_a_schema_that_is_kept_are_told_again() -> None:
    for _ in range(2):
        with pytest.warns(UserWarning, match="did you mean 'minLength'"):
            the_constraint({"schema": {"type": "string", "minLenght": 1}})
