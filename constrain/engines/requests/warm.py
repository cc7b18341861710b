"""Read and follow common schemas before the first request, so that no request pays for what many of them need.

The idea: much of a new schema is not new. Types, common keywords, formats, the punctuation of each depth and the first
characters of a string or a number are the same in most schemas, and the engine shares their states. A process that
reads requests reads `WARM` once; an engine also follows the texts. Cost: about a second in a process.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.options import EngineOptions
from constrain.errors import LimitError
from constrain.languages.schema.formats.registry import FORMATS
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.completion.rehearsal import rehearse
from constrain.masks.engine.compiled import CompiledConstraint, compile_bytewise


class Warm(NamedTuple):
    """A constraint that is read, and texts whose masks are made.

    Attributes:
        kind, text: As `constraint_of` reads them.
        members: Texts that fulfil it, or begin one that does.
    """

    kind: str
    text: str
    members: tuple[str, ...]


def _json(schema: Any, *values: Any) -> Warm:
    return Warm("json", json.dumps(schema), tuple(json.dumps(value, indent=i) for value in values for i in (None, 2)))


_ITEM = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "name": {"type": "string", "minLength": 1, "maxLength": 100},
        "kind": {"enum": ["first", "second"]},
        "on": {"type": "boolean", "default": False},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["id", "name"],
    "additionalProperties": False,
}
_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "definitions": {"item": _ITEM, "code": {"type": "string", "pattern": "^[a-z0-9_-]+$"}},
    "properties": {
        "title": {"type": "string"},
        "code": {"$ref": "#/definitions/code"},
        "count": {"type": "integer", "minimum": 0},
        "size": {"type": "number"},
        "flag": {"type": "boolean"},
        "nothing": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "items": {"type": "array", "items": {"$ref": "#/definitions/item"}, "minItems": 1},
        "inner": {"type": "object", "properties": {"item": {"$ref": "#/definitions/item"}, "free": {}}},
        "either": {"anyOf": [{"type": "integer"}, {"$ref": "#/definitions/item"}, {"type": "null"}]},
        "one": {"oneOf": [{"const": "a"}, {"type": "number", "exclusiveMinimum": 0}]},
        "map": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["title"],
    "additionalProperties": True,
}
_ITEM_VALUE = {"id": 17, "name": "Ada", "kind": "first", "on": True, "share": 0.25}
_VALUE = {
    "title": "A title, \u00e9: <b>",  # as added tokens begin
    "code": "a-1",
    "count": 12,
    "size": -1.5e-7,
    "flag": False,
    "nothing": None,
    "tags": ["a", "b"],
    "items": [_ITEM_VALUE, {"id": 2, "name": "B"}],
    "inner": {"item": _ITEM_VALUE, "free": {"a": [1, "b", {"c": None}]}},
    "either": 5,
    "one": 0.5,
    "map": {"x": 1, "y": 2.5},
    "more": [True, {"deep": [[]]}],
}
_NAMED = {  # keys that may run out: masks look ahead for them
    "type": "object",
    "patternProperties": {"^[a-z]{1,9}$": {"type": "string", "maxLength": 255}},
    "additionalProperties": False,
}


def _of_format(name: str) -> Warm:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": name}}, "required": ["a"]}
    return Warm("json", json.dumps(schema), ('{"a": "',))


WARM = (
    _json(_SCHEMA, _VALUE),
    _json({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, [{"a": 1}, {}]),
    _json(_NAMED, {"a": "b", "cd": "e"}),
    Warm("json_object", "", ('{"a": {"b": [1.5, "c", null, true]}}',)),
    *map(_of_format, FORMATS),
    Warm("regex", "[a-z]{1,9}", ("ab",)),
    Warm("choice", '["yes", "no"]', ("yes",)),
    Warm("grammar", 'start: "a" start "b" | WORD\nWORD: /[a-z]+/', ("aacbb",)),
)


def read_warm(options: EngineOptions) -> None:
    """Read `WARM`, under an engine's options. What is beyond their limits is left out. Raises ConstrainError: an option
    has a value that there is not."""
    for warm in WARM:
        _constraint(warm, options)


def warm_up(
    vocabulary: Vocabulary, options: EngineOptions, narrowed: Callable[[CompiledConstraint], Any] | None = None
) -> None:
    """Make the masks of `WARM`'s texts for a vocabulary. narrowed: what an engine makes of a compiled constraint."""
    for warm in WARM:
        constraint = _constraint(warm, options)
        if constraint is not None:
            compiled = compile_bytewise(constraint, vocabulary)
            asked = compiled if narrowed is None else narrowed(compiled)
            for member in warm.members:
                rehearse(asked, member.encode(), tokens=len(member) + 1)


def _constraint(warm: Warm, options: EngineOptions) -> Any:
    try:
        return constraint_of(warm.kind, warm.text, options)
    except LimitError:  # limits below the default
        return None
