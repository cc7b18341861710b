"""DynamicScope references: what `$dynamicRef` and `$recursiveRef` lead to depends on the way that led to them.

The idea: a dynamic reference looks for its anchor in the resources that were entered on the way, the outermost first.
All that matters of a way is therefore, for each anchor, the first resource that has it: `DynamicScope`, a tuple that is
part of a subschema's identity. Resources are finite, so there are finitely many. Most schemas have no dynamic
reference,
and pay nothing: a document is read without ways first, and read again with them when it meets one.

Source: JSON Schema Core 2020-12 sections 7.1 and 8.2.3.2; Core 2019-09 section 8.2.4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from constrain.schema.read.document import Site
    from constrain.schema.read.references import Resource, Target

RECURSIVE = ""  # the anchor that `$recursiveAnchor: true` makes at the root of a resource
DATA = frozenset({"const", "enum", "default", "examples", "example"})  # what stands inside is no schema

DynamicScope = tuple["DynamicAnchor", ...]


class DynamicReference(Exception):
    """A document must be read with its ways."""


class DynamicAnchor:
    """An anchor in the first resource on the way that has it."""

    __slots__ = ("name", "raw", "resource")

    def __init__(self, name: str, raw: Any, resource: Resource) -> None:
        self.name = name
        self.raw = raw
        self.resource = resource

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DynamicAnchor) and self.name == other.name and self.raw is other.raw

    def __hash__(self) -> int:
        return hash((self.name, id(self.raw)))


def enter_resource(dynamic: DynamicScope, resource: Resource) -> DynamicScope:
    """The way after entering a resource: anchors that were there before come first."""
    known = {each.name for each in dynamic}
    new = [DynamicAnchor(name, raw, resource) for name, raw in resource.dynamic_anchors.items() if name not in known]
    return tuple(sorted((*dynamic, *new), key=lambda each: each.name)) if new else dynamic


def dynamic_target(site: Site, ref: Any, keyword: str) -> Target:
    """The target of a dynamic reference. Raises SchemaError as `$ref` does."""
    found = site.resource.resolve(site, ref, keyword)
    raw, resource = found[0], found[1]
    name = _anchor(raw, resource, ref, keyword)
    first = next((each for each in site.dynamic if each.name == name), None)
    if name is None or first is None:
        return found
    return first.raw, first.resource, first.resource.dialect, first.resource.prefix(), False


def _anchor(raw: Any, resource: Resource, ref: str, keyword: str) -> str | None:
    """The name to look for on the way; None if the reference is an ordinary one after all."""
    if keyword == "$recursiveRef":
        return RECURSIVE if resource.dynamic_anchors.get(RECURSIVE) is raw else None
    fragment = ref.partition("#")[2]
    return fragment if fragment and resource.dynamic_anchors.get(fragment) is raw else None


def dynamic_anchors(root: Any, id_keyword: str) -> dict[str, Any]:
    """The dynamic anchors of a resource, with their subschemas; embedded resources have their own."""
    found = {}
    if isinstance(root, dict) and root.get("$recursiveAnchor") is True:
        found[RECURSIVE] = root
    for raw in _subschemas(root, id_keyword):
        name = raw.get("$dynamicAnchor")
        if isinstance(name, str):
            found.setdefault(name, raw)
    return found


def _subschemas(root: Any, id_keyword: str) -> Iterator[dict[str, Any]]:
    stack = [root]
    while stack:
        here = stack.pop()
        if isinstance(here, list):
            stack += here
        elif isinstance(here, dict):
            name = here.get(id_keyword)
            if here is not root and isinstance(name, str) and not name.startswith("#"):
                continue
            yield here
            stack += [value for key, value in here.items() if key not in DATA]
