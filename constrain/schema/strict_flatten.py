"""A subschema without `allOf`, without `oneOf` and without what drafts write differently: the first half of a step into
the strict subset.

The idea: tidy one subschema (`const` is an `enum` of one value, a list of `items` is `prefixItems`, ...), open the
references that stand beside other keywords, merge. What comes out is true, false, a reference alone, or a subschema
whose only combination is `anyOf`.

Cost: linear, but for merging (`strict_merge.py`) and for the pairs of branches of a `oneOf` (limit: MAX_BRANCHES).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from constrain.schema.strict_merge import ANNOTATED, LATE, Lost, any_of, conjunction, merge
from constrain.schema.strict_state import Conversion, Node

MAX_BRANCHES = 40
HOUSEKEEPING = frozenset({"$schema", "$id", "id", "$anchor", "$defs", "definitions", "$vocabulary"})
IN_PLACE = ("anyOf", "oneOf", "allOf", "if", "$ref", "dependentSchemas", "not", "contains", *LATE)


def is_reference(node: Node | bool) -> bool:
    """Is it a reference, alone but for annotations?"""
    return isinstance(node, dict) and "$ref" in node and all(key == "$ref" or key in ANNOTATED for key in node)


def flatten(conv: Conversion, raw: Any, pointer: str, opened: tuple[str, ...] = ()) -> Node | bool:
    """A subschema without `allOf` and `oneOf`. opened: the references that were followed to get here."""
    if not isinstance(raw, dict):
        return bool(raw)
    node = tidy(conv, raw, pointer)
    if is_reference(node):
        return node
    parts = [{"$ref": node.pop("$ref")}] if "$ref" in node else []
    parts += node.pop("allOf", [])
    if not parts:
        return without_one_of(conv, node, pointer)
    if len(parts) == 1 and node.keys() <= ANNOTATED:
        inner = flatten(conv, parts[0], conv.place(parts[0], pointer), opened)
        return {**inner, **node} if isinstance(inner, dict) else inner
    return _merged(conv, node, parts, pointer, opened)


def _merged(conv: Conversion, node: Node, parts: list[Any], pointer: str, opened: tuple[str, ...]) -> Node | bool:
    late = {key: node.pop(key) for key in LATE if key in node}
    merged: Node | bool = without_one_of(conv, node, pointer)
    for each in parts:
        inner = flatten(conv, each, conv.place(each, pointer), opened)
        inner = inlined(conv, inner, pointer, opened)
        merged, lost = merge(merged, inner)
        for keyword in lost:
            conv.widen(pointer, f"{keyword} of two schemas at once", "write one schema for both")
    conv.note(pointer, "schemas that must hold at once became one", "same")
    if isinstance(merged, dict):
        if "unevaluatedProperties" in late and not any(key in merged for key in (*IN_PLACE, "additionalProperties")):
            merged["additionalProperties"] = late.pop("unevaluatedProperties")
        merged.update(late)
    return merged


def inlined(conv: Conversion, node: Node | bool, pointer: str, opened: tuple[str, ...] = ()) -> Node | bool:
    """The target of a reference in its place, as often as it takes; annotations beside a reference stay."""
    while isinstance(node, dict) and "$ref" in node:
        ref = node["$ref"]
        target = conv.resolve(ref)
        if ref in opened or len(opened) > 30:
            conv.refuse(pointer, "schemas that must hold at once refer to themselves", "write one schema for them")
            return True
        if target is None:
            unknown(conv, ref, pointer)
            return True
        opened = (*opened, ref)
        inner = flatten(conv, target, conv.place(target, pointer), opened)
        node = {**inner, **{key: node[key] for key in node if key != "$ref"}} if isinstance(inner, dict) else inner
    return node


def unknown(conv: Conversion, ref: Any, pointer: str) -> None:
    """Refuse a reference that is not a path into this schema."""
    conv.refuse(pointer, f"$ref {ref!r} is not a path into this schema", "put its target under $defs")


def tidy(conv: Conversion, raw: Node, pointer: str) -> Node:
    """A copy of one subschema as the newest draft would write it."""
    dialect = conv.dialect
    node = {key: value for key, value in raw.items() if key not in HOUSEKEEPING}
    name = raw.get(dialect.id)
    if isinstance(name, str) and not name.startswith("#") and raw is not conv.root:
        conv.refuse(pointer, f"{dialect.id} makes this a resource of its own", "put it under $defs, without a name")
    for key in [key for key in node if key in dialect.lacks]:
        conv.note(pointer, f"{key} left out: this draft does not know it", "same")
        del node[key]
    if dialect.ref_alone and "$ref" in node:
        ignored = [key for key in node if key != "$ref" and key not in ANNOTATED]
        if ignored:
            conv.note(pointer, f"{', '.join(ignored)} left out: this draft ignores what stands beside $ref", "same")
        node = {key: node[key] for key in node if key not in ignored}
    if "const" in node:
        _constant(node)
    _items(conv, node, pointer)
    for bound, other in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(node.get(bound), bool):  # draft 4
            if node.pop(bound) and other in node:
                node[bound] = node.pop(other)
    if "unevaluatedProperties" in node and not any(key in node for key in IN_PLACE if key != "unevaluatedProperties"):
        late = node.pop("unevaluatedProperties")
        node.setdefault("additionalProperties", late)
    return node


def _constant(node: Node) -> None:
    value = node.pop("const")
    if "enum" in node:
        node["allOf"] = [*node.get("allOf", []), {"enum": [value]}]
    else:
        node["enum"] = [value]


def _items(conv: Conversion, node: Node, pointer: str) -> None:
    more = node.pop("additionalItems", None)
    if conv.dialect.array_items and isinstance(node.get("items"), list):
        node["prefixItems"] = node.pop("items")
        if more is not None:
            node["items"] = more
    elif more is not None:
        conv.note(pointer, "additionalItems left out: it says nothing without a list of items", "same")


def without_one_of(conv: Conversion, node: Node, pointer: str) -> Node:
    """`oneOf` as `anyOf`: the same set if no two branches share a value."""
    if "oneOf" not in node:
        return node
    branches = node["oneOf"]
    rest = {key: value for key, value in node.items() if key != "oneOf"}
    shared = _shared(conv, {key: value for key, value in rest.items() if key not in ANNOTATED}, branches)
    if shared is None:
        conv.note(pointer, "oneOf became anyOf: no two branches share a value", "same")
    else:
        conv.widen(pointer, f"oneOf: {shared}", "make the branches exclude each other, by a property with const")
    if "anyOf" in rest:
        try:
            rest["anyOf"] = any_of(rest["anyOf"], branches)
        except Lost:
            conv.widen(pointer, "anyOf beside oneOf, with too many pairs of branches", "write one union")
    else:
        rest["anyOf"] = branches
    return rest


def _shared(conv: Conversion, context: Node, branches: list[Any]) -> str | None:
    """None if no two branches share a value, else what is known."""
    if len(branches) > MAX_BRANCHES:
        return f"more than {MAX_BRANCHES} branches are not compared"
    pairs = list(combinations(range(len(branches)), 2))
    both = [conjunction([branches[i], branches[j]]) for i, j in pairs]
    if not pairs or conv.possible(context, {"anyOf": both}) is False:
        return None
    for (i, j), each in zip(pairs, both, strict=True):
        answer = conv.possible(context, each)
        if answer is not False:
            return f"branches {i} and {j} " + ("share values" if answer else "are not known to exclude each other")
    return None
