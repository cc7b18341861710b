"""Schemas none of whose strings contain some texts, at any depth, as a schema.

The idea: "no string in it, and no name of a property, contains these texts" is a schema of its own, which refers to
itself. The conjunction of both is what is asked for; that it is fulfilled is decided like any other (schema/normalize),
so `const` and `enum` lose the values that contain one, and lengths and patterns stay exact.

Limit: the values are meant, not their spellings: a text occurs in `"a\\u0062"` if `ab` does.
"""

from __future__ import annotations

import re
from typing import Any

_NAME = "(strings without excluded texts)"


def without_texts(schema: Any, texts: tuple[str, ...]) -> dict[str, Any]:
    """The schema, and no string or property name in a value contains one of the texts."""
    pattern = {"not": {"type": "string", "pattern": "|".join(map(_escaped, texts))}}
    itself = {"$ref": f"#/$defs/{_NAME}"}
    clean = {**pattern, "items": itself, "propertyNames": pattern, "additionalProperties": itself}
    stated = {
        key: schema[key] for key in ("$schema", "$defs", "definitions") if isinstance(schema, dict) and key in schema
    }
    definitions = {**stated.pop("$defs", {}), _NAME: clean}
    return {**stated, "allOf": [schema, itself], "$defs": definitions}


def _escaped(text: str) -> str:
    """The text as a pattern of ECMA-262."""
    return re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", text)
