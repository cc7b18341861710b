"""Content numbers: subschemas of equal content have the same number, so that they become one atom.

The idea: schemas in the wild repeat themselves (tools inline their definitions). If repetitions are one atom, unions
and intersections of them vanish, and their grammars share states. Annotations do not count. A subschema that names
itself (`$id`, `$anchor`) is equal to no other. Cost: one visit of each subschema, linear in its size.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from constrain.languages.schema.sets.json_types import Json, JsonObject

ANNOTATIONS = frozenset(
    {"title", "description", "$comment", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"}
)
IDENTIFIERS = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"})
MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
SCHEMAS = frozenset(
    {"items", "additionalItems", "additionalProperties", "prefixItems", "contains", "propertyNames", "not"}
    | {"allOf", "anyOf", "oneOf", "if", "then", "else"}
)
ROLES = {keyword: role for role in (ANNOTATIONS, IDENTIFIERS, MAPS, SCHEMAS) for keyword in role}  # others hold values

Content = tuple[Hashable, ...]


class Contents:
    """The content numbers of one document.

    The root is equal to no subschema. It is not looked into, since it may hold definitions that nobody uses.

    Attributes:
        contents: The content of each number: keywords and keys of their values, in turn.
    """

    def __init__(self, root: Json) -> None:
        self.contents: list[Content] = [("itself", id(root))]
        self._numbers: dict[Content, int] = {self.contents[0]: 0}
        self._known = {id(root): 0}  # by id(raw): the document keeps its dicts alive

    def number(self, raw: JsonObject) -> int:
        """The content number of a subschema."""
        known = self._known.get(id(raw))
        if known is not None:
            return known
        parts: list[Hashable] = []
        for key, value in raw.items():
            role = ROLES.get(key)
            if role is None:
                parts += (key, value if type(value) is str else content_key(value))
            elif role is ANNOTATIONS:
                continue
            elif role is IDENTIFIERS:
                parts = ["itself", id(raw)]
                break
            elif role is SCHEMAS and isinstance(value, dict):
                parts += (key, self.number(value))
            elif isinstance(value, dict if role is MAPS else list):
                inner: list[Hashable] = ["several"]
                for name, part in value.items() if isinstance(value, dict) else enumerate(value):
                    inner += (name, self.number(part) if type(part) is dict else content_key(part))
                parts += (key, tuple(inner))
            else:
                parts += (key, content_key(value))
        content = tuple(parts)
        known = self._known[id(raw)] = self._numbers.setdefault(content, len(self.contents))
        if known == len(self.contents):
            self.contents.append(content)
        return known


def content_key(value: Any) -> Hashable:
    """A hashable key of a JSON value: keys are equal exactly if Python types and contents are."""
    if type(value) is str:  # the usual case; no other key is a text
        return value
    if isinstance(value, dict):
        return ("object", *((key, content_key(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return ("array", *[item if type(item) is str else content_key(item) for item in value])
    return type(value).__name__, value
