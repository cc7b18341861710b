"""Registries: the address of a schema that states none, and references beside malformed documents.

`referencing` walks every document of a registry in search of an `$id` or an anchor. One malformed document stops it,
wherever the reference leads; so such a reference is looked up again without the malformed ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constrain.languages.schema.sets.json_types import Json

if TYPE_CHECKING:
    from referencing import Registry
    from referencing import Resource as Document

WALKING = (ValueError, KeyError, AttributeError, TypeError)  # what `referencing` raises for a malformed document


def address_of(schema: Json, registry: Registry[Any] | None) -> str:
    """The URI under which a registry holds a schema; "" if it does not, or under several."""
    if registry is None:
        return ""
    found = [uri for uri in registry if registry[uri].contents == schema]
    return found[0] if len(found) == 1 else ""


def without_malformed(registry: Registry[Any]) -> Registry[Any]:
    """The registry without its malformed documents."""
    for uri in list(registry):
        if _malformed(registry[uri]):
            registry = registry.remove(uri)
    return registry


def _malformed(document: Document[Any]) -> bool:
    """True if `referencing` cannot walk a document."""
    parts = [document]
    while parts:
        part = parts.pop()
        try:
            part.id()
            list(part.anchors())
            parts.extend(part.subresources())
        except WALKING:
            return True
    return False
