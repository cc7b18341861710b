"""Equal subschemas are one atom: a number for the content of a subschema, the same for the same content.

The idea: schemas in the wild repeat themselves (tools inline their definitions). If repetitions are one atom, unions
and intersections of them vanish, and their grammars share states. Annotations do not count. A subschema that names
itself (`$id`, `$anchor`) is only equal to itself.
Cost: one visit of each subschema, linear in its size.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

ANNOTATIONS = frozenset(
    {"title", "description", "$comment", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"}
)
NAMES = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"})
MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
SCHEMAS = frozenset(
    {"items", "additionalItems", "additionalProperties", "prefixItems", "contains", "propertyNames", "not"}
    | {"allOf", "anyOf", "oneOf", "if", "then", "else"}
)
ROLES = {keyword: role for role in (ANNOTATIONS, NAMES, MAPS, SCHEMAS) for keyword in role}  # others: plain values

Content = tuple[Hashable, ...]


class Contents:
    """Numbers for the contents of subschemas.

    root: equal to nothing else; it is not looked into, as it may hold definitions that nobody uses.
    """

    def __init__(self, root: Any) -> None:
        self._numbers: dict[Content, int] = {}
        self._contents: list[Content] = []
        self._known: dict[int, int] = {}  # by id(raw): the document keeps its dicts alive
        self._known[id(root)] = self._number(("itself", id(root)))

    def number(self, raw: dict[str, Any]) -> int:
        """The number of a subschema's content."""
        known = self._known.get(id(raw))
        if known is not None:
            return known
        parts: list[Hashable] = []
        for key, value in raw.items():
            role = ROLES.get(key)
            if role is None:
                parts += (key, value if type(value) is str else plain(value))
            elif role is ANNOTATIONS:
                continue
            elif role is NAMES:
                parts = ["itself", id(raw)]
                break
            elif role is SCHEMAS and isinstance(value, dict):
                parts += (key, self.number(value))
            elif isinstance(value, dict if role is MAPS else list):
                inner: list[Hashable] = ["several"]
                for name, each in value.items() if isinstance(value, dict) else enumerate(value):
                    inner += (name, self.number(each) if type(each) is dict else plain(each))
                parts += (key, tuple(inner))
            else:
                parts += (key, plain(value))
        known = self._known[id(raw)] = self._number(tuple(parts))
        return known

    def content(self, number: int) -> Content:
        """What a number stands for: each keyword and a stand-in for its value."""
        return self._contents[number]

    def _number(self, content: Content) -> int:
        known = self._numbers.setdefault(content, len(self._contents))
        if known == len(self._contents):
            self._contents.append(content)
        return known


def plain(value: Any) -> Hashable:
    """A hashable stand-in for a JSON value: equal exactly if type and content are."""
    if type(value) is str:  # the usual case; nothing else here is equal to a text
        return value
    if isinstance(value, dict):
        return ("object", *((key, plain(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return ("array", *[item if type(item) is str else plain(item) for item in value])
    return type(value).__name__, value
