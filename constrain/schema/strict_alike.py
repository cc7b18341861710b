"""Branches of a union that are written alike once they are coded: such a value is read as the first branch says.

The idea: `{}` of a map and `[]` of a list are both written `[]`. Where a union has a coded branch, the algebra is asked
whether it shares a written value with another branch; if it does, the union lost a value, and the change says so.

Cost: one question for each union with coded branches, more where the answer is yes; limit: MAX_BRANCHES.
"""

from __future__ import annotations

from itertools import combinations

from constrain.schema.dialect import DRAFT_2020
from constrain.schema.strict_flatten import MAX_BRANCHES
from constrain.schema.strict_merge import types_of
from constrain.schema.strict_state import Code, Conversion, Node, possible, registry_of


def has_code(conv: Conversion, strict: Node, node: Node) -> bool:
    """Is some value of a strict subschema read back as another one? strict: the whole; {} stays out of references."""
    seen: set[int] = set()
    stack = [node]
    while stack:
        here = stack.pop()
        if id(here) in conv.codes:
            return True
        if id(here) in seen:
            continue
        seen.add(id(here))
        if "$ref" in here and strict:
            stack.append(strict if here["$ref"] == "#" else strict["$defs"][here["$ref"].rpartition("/")[2]])
        stack += [*here.get("anyOf", ()), *here.get("properties", {}).values()]
        if "items" in here:
            stack.append(here["items"])
    return False


def reads_alike(conv: Conversion, strict: Node, a: Node, b: Node) -> bool:
    """Is a value of both subschemas surely read the same by both? Objects are compared property by property."""
    a, b = _without_null(a), _without_null(b)
    if not has_code(conv, strict, a) and not has_code(conv, strict, b):
        return True
    x, y = conv.codes.get(id(a), Code("absent")), conv.codes.get(id(b), Code("absent"))
    if x.kind != "absent" or y.kind != "absent" or "properties" not in a or "properties" not in b:
        return False
    if a["properties"].keys() != b["properties"].keys():
        return True  # closed, all required: they share nothing
    for name, inner in a["properties"].items():
        other = b["properties"][name]
        if (name in x.names) != (name in y.names) and _may_be_null(other if name in x.names else inner):
            return False
        if not reads_alike(conv, strict, inner, other):
            return False
    return True


def _without_null(node: Node) -> Node:
    rest = [each for each in node.get("anyOf", ()) if each != {"type": "null"}]
    return rest[0] if len(rest) == 1 else node


def _may_be_null(node: Node) -> bool:
    return "null" in types_of(node) or "anyOf" in node or "$ref" in node


def note_alike(conv: Conversion, strict: Node) -> None:
    """Record every union that lost values because two branches are written alike."""
    registry = registry_of(strict, DRAFT_2020) if conv.codes and conv.unions else None
    for pointer, node in conv.unions:
        branches = [each for each in node["anyOf"] if each != {"type": "null"}]
        if not any(has_code(conv, strict, each) for each in branches):
            continue
        pairs = [(a, b) for a, b in combinations(branches, 2) if not reads_alike(conv, strict, a, b)]
        if not pairs:
            continue
        shared = {"anyOf": [{"allOf": list(pair)} for pair in pairs]}
        if len(branches) > MAX_BRANCHES or possible(registry, DRAFT_2020, shared) is not False:
            message = "branches may be written alike: such a value is read as the first of them says"
            conv.note(pointer, message, "narrower")
