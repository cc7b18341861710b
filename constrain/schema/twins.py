"""Equal subschemas are one atom: a number for the content of a subschema, the same for the same content.

The idea: schemas in the wild repeat themselves (tools inline their definitions). If repetitions are one atom, unions
and intersections of them vanish, and their grammars share states. Annotations do not count. A subschema that names
itself (`$id`, `$anchor`) is only equal to itself.
Cost: one visit of each subschema, linear in its size.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

SILENT = frozenset(
    {"title", "description", "$comment", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"}
)
NAMES = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"})
MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
SCHEMAS = frozenset(
    {"items", "additionalItems", "additionalProperties", "prefixItems", "contains", "propertyNames", "not"}
    | {"allOf", "anyOf", "oneOf", "if", "then", "else"}
)


class Contents:
    """Numbers for the contents of subschemas."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[int, int | None] = {}  # by id(raw): the document keeps its dicts alive

    def number(self, raw: Any) -> int | None:
        """The number of a subschema's content; None if it is only equal to itself."""
        known = self._known.get(id(raw), -1)
        if known == -1:
            key = self._key(raw)
            known = None if key is None else self._numbers.setdefault(key, len(self._numbers))
            self._known[id(raw)] = known
        return known

    def _key(self, raw: dict[str, Any]) -> Hashable:
        parts = []
        for key, value in raw.items():
            if key in SILENT:
                continue
            if key in NAMES or not isinstance(key, str):
                return None
            part = value if type(value) is str else self._value(key, value)
            if part is None:
                return None
            parts.append((key, part))
        return tuple(parts)

    def _value(self, key: str, value: Any) -> Hashable:
        if isinstance(value, dict):
            if key in SCHEMAS:
                return self.number(value)
            if key in MAPS:
                return self._several(value.items())
            return plain(value)
        if isinstance(value, list) and key in SCHEMAS:
            return self._several(enumerate(value))
        return plain(value)

    def _several(self, items: Any) -> Hashable:
        parts = []
        for name, value in items:
            part = self.number(value) if isinstance(value, dict) else plain(value)
            if part is None:
                return None
            parts.append((name, part))
        return ("several", *parts)


def plain(value: Any) -> Hashable:
    """A hashable stand-in for a JSON value: equal exactly if type and content are."""
    if type(value) is str:  # the usual case; nothing else here is equal to a text
        return value
    if isinstance(value, dict):
        return ("object", *((key, plain(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return ("array", *map(plain, value))
    return type(value).__name__, value
