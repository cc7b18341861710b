"""What the parts of a conversion share: which keyword speaks of which type, what stays, what is reported as left out.

Cost: a question to the algebra for each keyword that the subset cannot say.
"""

from __future__ import annotations

from constrain.schema.keywords import KEYWORDS
from constrain.schema.strict import ANNOTATIONS, SPEAKS_OF
from constrain.schema.strict_merge import GROUPS, types_of
from constrain.schema.strict_state import Conversion, Node

OBJECTS = ("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties")
ARRAYS = ("prefixItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems")
FAMILIES = {
    **SPEAKS_OF,
    **dict.fromkeys((*OBJECTS, "dependentRequired", "dependentSchemas", "dependencies"), ("object",)),
    **dict.fromkeys(ARRAYS, ("array",)),
}
"""Keywords of one type, of the whole language."""

GROUPED = {key: group for group in GROUPS for key in group if group[0] != "prefixItems"}


def kept(conv: Conversion, node: Node, pointer: str) -> Node:
    """The annotations that stay; the others are noted."""
    for key in node:
        if key not in KEYWORDS and key not in ANNOTATIONS and key not in FAMILIES and key not in GROUPED:
            conv.note(pointer, f"{key} left out: it restricts nothing", "same")
    return {key: node[key] for key in node if key in ANNOTATIONS}


def closed(properties: Node) -> Node:
    """An object with exactly these properties."""
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False
    }  # fmt: skip


def nullable(node: Node) -> Node:
    """A strict subschema, or null."""
    types = types_of(node)
    if "anyOf" in node:
        node["anyOf"] = [*node["anyOf"], {"type": "null"}]
        return node
    if not types or "const" in node or "object" in types or "array" in types:
        return {"anyOf": [node, {"type": "null"}]}
    node["type"] = [*types, "null"]
    if "enum" in node:
        node["enum"] = [*node["enum"], None]
    return node


def left_out(conv: Conversion, node: Node, done: set[str], pointer: str) -> None:
    """Report every keyword that is not in the strict form: said by others, or a widening."""
    for key, value in node.items():
        if key in done or (key not in KEYWORDS and key not in GROUPED):
            continue
        group = GROUPED.get(key, (key,))
        if key != group[0] and group[0] in node:
            continue  # reported with the first of its group
        idle = (
            (key == "if" and "then" not in node and "else" not in node)
            or (key in GROUPED and group[0] not in node)
            or (key == "uniqueItems" and value is False)
            or conv.implied(node, *group)
        )
        if idle:
            conv.note(pointer, f"{key} left out: it adds nothing", "same")
        else:
            conv.widen(pointer, f"{key} is outside the subset")
