"""Keys of constraints for `constrain.sampling.Memory`: equal for equal constraints, in this process and the next.

The idea: a constraint is a plain description, so its parts can be written down and hashed. Order counts in a schema
(keys come in its order). A Python type is left out where its schema says all.
Limit: constraints with parts of unknown kinds — a registry of remote schemas, a constraint class of one's own, a type
with validators — have no key.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from constrain.languages.schema.api import JsonSchema

AFTERWARDS = {"given", "parse_with", "limits"}  # fields of a schema constraint that its schema stands for


def key_of(constraint: Any, vocabulary: Any) -> str:
    """The key of a constraint on a vocabulary; "" if it has none."""
    try:
        described = json.dumps(_described(constraint))
    except TypeError:
        return ""
    return hashlib.sha256(f"{vocabulary.key} {described}".encode()).hexdigest()


def _described(value: Any) -> Any:
    """A value as plain JSON. Raises TypeError for what is not known to be a description."""
    if isinstance(value, Enum):
        return [type(value).__qualname__, value.name]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, JsonSchema) and value.untold:
        raise TypeError("validators have no description")
    if is_dataclass(value) and not isinstance(value, type):
        parts = [
            [each.name, _described(getattr(value, each.name))] for each in fields(value) if each.name not in AFTERWARDS
        ]
        return [type(value).__qualname__, parts]
    if isinstance(value, (list, tuple)):
        return [type(value).__qualname__, *map(_described, value)]
    if isinstance(value, dict):
        return ["dict", *([_described(key), _described(part)] for key, part in value.items())]
    if isinstance(value, (set, frozenset)):
        return ["set", *sorted(json.dumps(_described(part)) for part in value)]
    raise TypeError(f"no description of a {type(value).__name__}")
