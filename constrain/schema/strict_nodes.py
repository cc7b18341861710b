"""From a flat subschema to one of the strict subset: unions, values, texts and numbers. Objects and arrays are in
`strict_containers.py`.

The idea: first the shape is settled (reference, values, union, one type), then each keyword is kept, rewritten, shown
to say nothing (`Conversion.implied`), or left out as a widening that the caller must have allowed.

Cost: linear, but for questions to the algebra (`strict_state.py`).
"""

from __future__ import annotations

from typing import Any

from constrain.schema.formats import FORMATS
from constrain.schema.keywords import KEYWORDS
from constrain.schema.strict import ANNOTATIONS, SPEAKS_OF, TYPES
from constrain.schema.strict_alike import reads_alike
from constrain.schema.strict_containers import array, object_
from constrain.schema.strict_flatten import flatten, inlined, is_reference, unknown
from constrain.schema.strict_keep import FAMILIES, GROUPED, kept, left_out, nullable
from constrain.schema.strict_merge import ANNOTATED, merge, types_of, with_types
from constrain.schema.strict_state import Conversion, Node
from constrain.schema.values import value_key

SCALARS = ["string", "number", "boolean", "null"]


def convert(conv: Conversion, raw: Any, pointer: str) -> Node | None:
    """The strict form of a subschema; None if nothing fulfils it. One inside itself, by merging, is a definition."""
    raw = conv.interned(raw)
    pointer = conv.place(raw, pointer)
    if id(raw) in conv.opened:
        return {"$ref": conv.loop(raw, pointer)}
    conv.opened.add(id(raw))
    try:
        return convert_flat(conv, flatten(conv, raw, pointer), pointer)
    finally:
        conv.opened.discard(id(raw))


def convert_flat(conv: Conversion, node: Node | bool, pointer: str) -> Node | None:
    """The strict form of a flat subschema."""
    if node is False:
        return None
    if node is True or node.keys() <= ANNOTATED:
        return anything(conv, {} if node is True else node, pointer)
    if is_reference(node):
        return reference(conv, node, pointer)
    if "enum" in node:
        return finite(conv, node, pointer)
    if "anyOf" in node:
        return union(conv, node, pointer)
    types = types_of(node) or _meant(conv, node, pointer)
    node = _relevant(conv, {**node, "type": with_types(types)}, types, pointer)
    inner = [each for each in types if each in ("object", "array")]
    if not inner or len(types) == 1:
        return one_shape(conv, node, types, pointer)
    conv.note(pointer, "types became branches of anyOf", "same")
    plain = [each for each in types if each not in inner]
    split = [[each] for each in inner] + ([plain] if plain else [])
    branches = [one_shape(conv, _of(node, each), each, pointer) for each in split]
    return joined(conv, branches, kept(conv, node, pointer), pointer)


def one_shape(conv: Conversion, node: Node, types: list[str], pointer: str) -> Node | None:
    """A subschema of one container type, or of plain types."""
    if types == ["object"]:
        return object_(conv, node, pointer)
    if types == ["array"]:
        return array(conv, node, pointer)
    return scalar(conv, node, types, pointer)


def _of(node: Node, types: list[str]) -> Node:
    """What a subschema says of some of its types, without annotations."""
    said = {key: value for key, value in node.items() if key not in ANNOTATIONS}
    said = {key: value for key, value in said.items() if set(FAMILIES.get(key, types)) & set(types)}
    return {**said, "type": with_types(types)}


def _meant(conv: Conversion, node: Node, pointer: str) -> list[str]:
    """The types that are meant where none is stated: those that its keywords speak of."""
    found = {FAMILIES[key][0] for key in node if key in FAMILIES}
    types = [each for each in TYPES if each in found] or list(SCALARS)
    conv.note(pointer, f"no type was stated: {', '.join(types)} is meant", "narrower")
    return types


def _relevant(conv: Conversion, node: Node, types: list[str], pointer: str) -> Node:
    """Without the keywords that speak of other types."""
    idle = [key for key in node if key in FAMILIES and not set(FAMILIES[key]) & set(types)]
    for key in idle:
        conv.note(pointer, f"{key} left out: it says nothing of type {', '.join(types)}", "same")
    return {key: value for key, value in node.items() if key not in idle}


def anything(conv: Conversion, node: Node, pointer: str) -> Node:
    """Any value: no strict schema says so; the plain ones are as near as one gets."""
    conv.note(pointer, "any value became any text, number, boolean or null", "narrower")
    return {"type": list(SCALARS), **kept(conv, node, pointer)}


def reference(conv: Conversion, node: Node, pointer: str) -> Node | None:
    """A reference to a definition; with annotations it is the one branch of an anyOf."""
    target = conv.resolve(node["$ref"])
    if target is None:
        unknown(conv, node["$ref"], pointer)
        return {"type": "null"}
    if not isinstance(target, dict):
        return convert_flat(conv, bool(target), pointer)
    branch = {"$ref": conv.definition(node["$ref"])}
    notes = kept(conv, {key: node[key] for key in node if key != "$ref"}, pointer)
    return {"anyOf": [branch], **notes} if notes else branch


# ------------------------------------------------------------------------------------------------------------- unions


def joined(conv: Conversion, branches: list[Node | None], notes: Node, pointer: str) -> Node | None:
    """The union of branches; none means that nothing fulfils it."""
    found: list[Node] = []
    for each in branches:
        if each is not None and not any(each == twin and reads_alike(conv, {}, each, twin) for twin in found):
            found += each["anyOf"] if each.keys() == {"anyOf"} else [each]
    if len(found) == 1 and not ("$ref" in found[0] and notes):
        found[0].update(notes)
        return found[0]
    if not found:
        return None
    strict = {"anyOf": found, **notes}
    conv.unions.append((pointer, strict))
    return strict


def union(conv: Conversion, node: Node, pointer: str) -> Node | None:
    """`anyOf`; what stands beside it goes into every branch."""
    notes = kept(conv, node, pointer)
    base = {key: value for key, value in node.items() if key != "anyOf" and key in (KEYWORDS.keys() | GROUPED.keys())}
    branches = []
    for raw in node["anyOf"]:
        place = conv.place(raw, pointer)
        branch = flatten(conv, raw, place)
        if base:
            if not (is_reference(branch) and _said_by(conv, base, branch)):
                branch, lost = merge(base, inlined(conv, branch, place))
                for keyword in lost:
                    conv.widen(place, f"{keyword} of two schemas at once", "write one schema for both")
        branches.append(convert_flat(conv, branch, place))
    if base:
        conv.note(pointer, f"{', '.join(base)} went into the branches of anyOf", "same")
    return joined(conv, branches, notes, pointer)


def _said_by(conv: Conversion, base: Node, branch: Any) -> bool:
    """Is a type beside anyOf already said by the target of a branch?"""
    target = conv.resolve(branch["$ref"])
    return base.keys() == {"type"} and isinstance(target, dict) and set(types_of(target)) == set(types_of(base))


# ------------------------------------------------------------------------------------------------------------- values


def finite(conv: Conversion, node: Node, pointer: str) -> Node | None:
    """`enum`: the values that fulfil all other keywords too, by type."""
    values = list({value_key(value): value for value in node["enum"]}.values())
    if any(key in KEYWORDS or key in GROUPED for key in node if key not in ("enum", "type")):
        rest = {key: value for key, value in node.items() if key not in ANNOTATED}
        possible = [value for value in values if conv.possible(rest, {"enum": [value]}) is not False]
    else:
        possible = [value for value in values if not types_of(node) or set(_types(value)) & set(types_of(node))]
    others = [key for key in node if key not in ("enum", "type") and (key in KEYWORDS or key in GROUPED)]
    if others or len(possible) < len(values):
        conv.note(pointer, "enum keeps the values that the other keywords allow", "same")
    return joined(conv, _by_type(conv, possible, pointer), kept(conv, node, pointer), pointer)


def _types(value: Any) -> list[str]:
    """The types of a JSON value, the narrowest first."""
    if value is None:
        return ["null"]
    if isinstance(value, bool):
        return ["boolean"]
    if isinstance(value, str):
        return ["string"]
    if isinstance(value, (list, dict)):
        return ["array" if isinstance(value, list) else "object"]
    return ["integer", "number"] if value == int(value) else ["number"]


def _by_type(conv: Conversion, values: list[Any], pointer: str) -> list[Node | None]:
    groups: dict[str, list[Any]] = {}
    branches: list[Node | None] = []
    for value in values:
        kind = _types(value)[0]
        if kind == "object":
            pairs = {key: {"enum": [inner]} for key, inner in value.items()}
            raw = {"type": "object", "properties": pairs, "required": list(pairs), "additionalProperties": False}
            branches.append(object_(conv, raw, pointer))
        elif kind == "array":
            raw = {"prefixItems": [{"enum": [inner]} for inner in value], "items": False, "minItems": len(value)}
            branches.append(array(conv, raw, pointer))
        else:
            groups.setdefault(kind, []).append(value)
    if "number" in groups:
        groups["number"] = [value for value in values if _types(value)[-1] == "number"]
        groups.pop("integer", None)
    null = groups.pop("null", [])
    plain: list[Node | None] = [_values(kind, group) for kind, group in groups.items()]
    if null:
        plain = [nullable(plain[0])] if len(plain) == 1 and plain[0] else [*plain, {"type": "null"}]
    return plain + branches


def _values(kind: str, values: list[Any]) -> Node:
    if kind == "boolean" and len(values) == 2:
        return {"type": kind}
    return {"type": kind, "const": values[0]} if len(values) == 1 else {"type": kind, "enum": values}


# ------------------------------------------------------------------------------------------------- texts and numbers


def scalar(conv: Conversion, node: Node, types: list[str], pointer: str) -> Node | None:
    """Texts, numbers, booleans, null."""
    strict: Node = {"type": with_types(types)}
    bounds = [key for key in ("minLength", "maxLength") if key in node and key not in conv.rules.keywords]
    low, high = node.get("minLength", 0), node.get("maxLength")
    if bounds and high is not None and low > high:
        if types == ["string"]:
            return None
        return scalar(conv, _of(node, plain := [each for each in types if each != "string"]), plain, pointer)
    if bounds and "pattern" not in node:
        if low or high is not None:
            strict["pattern"] = "^[\\s\\S]{" + f"{int(low)},{'' if high is None else int(high)}" + "}$"
        conv.note(pointer, f"{' and '.join(bounds)} became a pattern", "same")
    for key in node:
        if key in conv.rules.keywords and key not in ("type", "format", *ANNOTATIONS) and key in SPEAKS_OF:
            strict[key] = node[key]
    if "format" in node:
        _format(conv, node, strict, pointer)
    done = {*strict, "format", *(bounds if "pattern" not in node else ())}
    left_out(conv, node, done, pointer)
    return {**strict, **kept(conv, node, pointer)}


def _format(conv: Conversion, node: Node, strict: Node, pointer: str) -> None:
    name = node["format"]
    if name in conv.rules.formats:
        strict["format"] = name
    elif name not in FORMATS:
        conv.note(pointer, f"format {name!r} left out: it is not a known format", "same")
    elif conv.implied(node, "format"):
        conv.note(pointer, f"format {name!r} left out: other keywords say it", "same")
    else:
        conv.widen(pointer, f"the format {name!r} is outside the subset", "write it as a pattern")
