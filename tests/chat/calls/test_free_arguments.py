"""Tools that do not list their arguments, in every format: what they take, as `undeclared` and their schema say."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import constrain
from tests.chat.calls.naive_writers import CONTENT_OR_CALLS, IDS, WRITERS, write

X: dict[str, Any] = {"x": {"type": "integer"}}
EMPTY: dict[str, Any] = {}
ONE, TWO = {"x": 1}, {"x": 1, "y": "a b"}
FREE: list[Any] = [EMPTY, ONE, TWO]
SHAPES: list[tuple[dict[str, Any] | None, list[Any], list[Any]]] = [  # the schema; what "avoid", what "allow" takes
    ({"type": "object"}, FREE, FREE),
    ({}, FREE, FREE),
    ({"description": "anything"}, FREE, FREE),
    (None, [EMPTY], FREE),
    ({"type": "object", "properties": {}}, [EMPTY], FREE),
    ({"type": "object", "properties": {}, "required": [], "x-more": 1}, [EMPTY], FREE),
    ({"type": "object", "properties": {}, "minProperties": 1}, [ONE, TWO], [ONE, TWO]),
    ({"type": "object", "additionalProperties": False}, [EMPTY], [EMPTY]),
    ({"type": "object", "additionalProperties": True}, FREE, FREE),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, [EMPTY, ONE], [EMPTY, ONE]),
    ({"additionalProperties": {"type": "integer"}}, [EMPTY, ONE], [EMPTY, ONE]),
    ({"type": "object", "minProperties": 1}, [ONE, TWO], [ONE, TWO]),
    ({"minProperties": 1}, [ONE, TWO], [ONE, TWO]),
    ({"type": "object", "maxProperties": 1}, [EMPTY, ONE], [EMPTY, ONE]),
    ({"type": "object", "required": ["x"]}, [ONE, TWO], [ONE, TWO]),
    ({"required": ["x"]}, [ONE, TWO], [ONE, TWO]),
    ({"type": "object", "propertyNames": {"maxLength": 1}}, FREE, FREE),
    ({"type": "object", "dependentRequired": {"x": ["y"]}}, [EMPTY, TWO], [EMPTY, TWO]),
    ({"type": "object", "not": {"required": ["y"]}}, [EMPTY, ONE], [EMPTY, ONE]),
    ({"type": "object", "if": {"required": ["x"]}, "then": {"required": ["y"]}}, [EMPTY, TWO], [EMPTY, TWO]),
    ({"type": "object", "anyOf": [{"required": ["x"]}]}, [ONE, TWO], [ONE, TWO]),
    ({"type": "object", "properties": X}, [EMPTY, ONE], FREE),
    ({"properties": X, "required": ["x"]}, [ONE], [ONE, TWO]),
    ({"type": "object", "properties": X, "minProperties": 1}, [ONE], [ONE, TWO]),
    ({"type": "object", "properties": X, "minProperties": 2}, [TWO], [TWO]),
    ({"type": "object", "properties": X, "required": ["y"]}, [TWO], [TWO]),
    ({"type": "object", "patternProperties": {"^x$": {"type": "integer"}}}, [EMPTY, ONE], FREE),
]


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "minimax-m3"])  # it has no undeclared names
@pytest.mark.parametrize("undeclared", ["avoid", "allow"])
def test_what_a_tool_takes(name: str, undeclared: Any) -> None:
    for (schema, avoid, allow), arguments in itertools.product(SHAPES, FREE):
        tool = {"name": "m"} if schema is None else {"name": "m", "inputSchema": schema}
        turn = constrain.tools([tool], format=name, undeclared=undeclared)
        call = {"name": "m", "arguments": arguments, "id": IDS.get(name, "").format(name="m", index=0)}
        text = write(name, "" if name in CONTENT_OR_CALLS else "so", None, [call])
        tokens = ids_of(name, text)
        matcher = constrain.compile(turn, vocabulary_of(name)).matcher()
        taken = matcher.advance_tokens(tokens) == len(tokens) and matcher.is_accepting()
        assert taken == (arguments in (avoid if undeclared == "avoid" else allow)), (schema, text)
        if taken:
            assert [one.arguments for one in turn.read(text).tool_calls] == [arguments]


def test_arguments_that_a_format_cannot_write_are_told() -> None:
    turn = constrain.tools([{"name": "m", "inputSchema": {"type": "object"}}], format="minimax-m3")
    assert turn.accepts(write("minimax-m3", "so", None, [{"name": "m", "arguments": {}, "id": ""}]))
    with pytest.raises(constrain.UnsatisfiableError, match="'m' cannot be written in the format 'minimax-m3'"):
        constrain.tools([{"name": "m", "inputSchema": {"type": "object", "minProperties": 1}}], format="minimax-m3")
