"""Dynamic references: the targets of `$dynamicRef` and `$recursiveRef` depend on the dynamic scope.

The idea: a dynamic reference looks for its anchor in the resources that were entered on the way from the root, the
outermost first. So a way matters only by the first resource that has each anchor: that is a `DynamicScope`, a tuple
that is part of a subschema's identity. There are finitely many of them. Most schemas have no dynamic reference and pay
nothing: a document is read without dynamic scopes first, and read again with them when it meets a dynamic reference.

Source: JSON Schema Core 2020-12 sections 7.1 and 8.2.3.2; Core 2019-09 section 8.2.4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from constrain.languages.schema.sets.json_types import Json, JsonObject

if TYPE_CHECKING:
    from constrain.languages.schema.read.document import Site
    from constrain.languages.schema.read.references import ReferenceTarget, Resource

RECURSIVE = ""  # the anchor that `$recursiveAnchor: true` makes at the root of a resource
DATA = frozenset({"const", "enum", "default", "examples", "example"})  # keywords with values that are not schemas

DynamicScope = tuple["DynamicAnchor", ...]


class DynamicReference(Exception):
    """The document has a dynamic reference: it must be read with dynamic scopes."""


class DynamicAnchor:
    """An anchor, and its subschema in the outermost resource that has it."""

    __slots__ = ("name", "raw", "resource")

    def __init__(self, name: str, raw: JsonObject, resource: Resource) -> None:
        self.name = name
        self.raw = raw
        self.resource = resource

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DynamicAnchor) and self.name == other.name and self.raw is other.raw

    def __hash__(self) -> int:
        return hash((self.name, id(self.raw)))


def enter_resource(dynamic: DynamicScope, resource: Resource) -> DynamicScope:
    """The dynamic scope inside a resource: the anchors of resources further out win."""
    known = {anchor.name for anchor in dynamic}
    new = [DynamicAnchor(name, raw, resource) for name, raw in resource.dynamic_anchors.items() if name not in known]
    return tuple(sorted((*dynamic, *new), key=lambda anchor: anchor.name)) if new else dynamic


def dynamic_target(site: Site, ref: Json, keyword: str) -> ReferenceTarget:
    """The target of a dynamic reference. Raises SchemaError as `$ref` does."""
    target = site.resource.resolve(site, ref, keyword)
    assert isinstance(ref, str)
    name = _anchor_name(target, ref, keyword)
    outermost = next((anchor for anchor in site.dynamic if anchor.name == name), None)
    if name is None or outermost is None:
        return target
    resource = outermost.resource
    return target._replace(
        raw=outermost.raw, resource=resource, dialect=resource.dialect, steps=resource.prefix(), is_local=False
    )


def _anchor_name(target: ReferenceTarget, ref: str, keyword: str) -> str | None:
    """The anchor to look for in the dynamic scope; None if the reference is an ordinary one after all."""
    raw, resource = target.raw, target.resource
    if keyword == "$recursiveRef":
        return RECURSIVE if resource.dynamic_anchors.get(RECURSIVE) is raw else None
    fragment = ref.partition("#")[2]
    return fragment if fragment and resource.dynamic_anchors.get(fragment) is raw else None


def dynamic_anchors(root: Json, id_keyword: str) -> dict[str, JsonObject]:
    """The dynamic anchors of a resource, with their subschemas, without those of embedded resources."""
    anchors: dict[str, JsonObject] = {}
    if isinstance(root, dict) and root.get("$recursiveAnchor") is True:
        anchors[RECURSIVE] = root
    for raw in _objects(root, id_keyword):
        name = raw.get("$dynamicAnchor")
        if isinstance(name, str):
            anchors.setdefault(name, raw)
    return anchors


def _objects(root: Json, id_keyword: str) -> Iterator[JsonObject]:
    """Yield every object of a resource that may be a subschema, without those of embedded resources."""
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        elif isinstance(value, dict):
            name = value.get(id_keyword)
            if value is not root and isinstance(name, str) and not name.startswith("#"):
                continue
            yield value
            stack += [inner for key, inner in value.items() if key not in DATA]
