"""Objects and arrays of the strict subset.

The idea: a property that may be absent becomes one that may be null, and null is read back as absence; a map (an
object without declared properties) becomes a list of key and value; a tuple becomes an object with one property for
each place. Each of these is recorded as a code, by which `strict_read.py` finds the way back.

Cost: linear.
"""

from __future__ import annotations

from typing import Any

from constrain.schema.document import draw_step
from constrain.schema.strict_keep import closed, kept, left_out, nullable
from constrain.schema.strict_merge import conjunction, of_property, types_of
from constrain.schema.strict_state import Code, Conversion, Node

MAX_PLACES = 100  # items of a tuple

# ------------------------------------------------------------------------------------------------------------ objects


def is_map(node: Node) -> bool:
    """An object whose keys are not declared (but `properties: {}` alone is an object without any)."""
    if node.get("properties") or node.get("required"):
        return False
    others = node.get("additionalProperties", "properties" not in node)
    return bool(node.get("patternProperties")) or others is not False


def object_(conv: Conversion, node: Node, pointer: str) -> Node | None:
    """An object: closed, every property required."""
    if is_map(node):
        return map_(conv, node, pointer)
    properties: Node = {}
    absent: list[str] = []
    for name in dict.fromkeys([*node.get("properties", {}), *node.get("required", [])]):
        required = name in node.get("required", [])
        raw = conjunction(of_property(node, name))
        place = conv.place(raw, f"{pointer}.properties{draw_step(name)}")
        inner = conv.convert(conv, raw, place) if _may_be_called(conv, node, name, pointer) else None
        if inner is None and required:
            return None
        if inner is None:
            conv.note(place, "a property that cannot be there is left out", "same")
        elif required:
            properties[name] = inner
        elif takes_null(conv, raw):
            conv.note(place, "was optional and may be null: it is always there now, null is null", "narrower")
            properties[name] = inner
        else:
            conv.note(place, "was optional: it is always there now, null stands for its absence", "coded")
            properties[name] = nullable(inner)
            absent.append(name)
    strict = closed(properties)
    if absent:
        conv.encode(strict, Code("absent", tuple(absent)))
    if node.get("additionalProperties", True) is not False or node.get("patternProperties"):
        conv.note(pointer, "no other properties than the declared ones", "narrower")
    left_out(conv, node, {*strict, "propertyNames", "unevaluatedProperties", *_vacuous(node, strict)}, pointer)
    strict.update(kept(conv, node, pointer))
    return strict


def _vacuous(node: Node, strict: Node) -> list[str]:
    """Keywords that a closed object with these properties fulfils by itself."""
    found = ["patternProperties"]
    if node.get("minProperties", 0) <= len(set(node.get("required", []))):
        found.append("minProperties")
    if node.get("maxProperties", len(strict["properties"])) >= len(strict["properties"]):
        found.append("maxProperties")
    return found


def _may_be_called(conv: Conversion, node: Node, name: str, pointer: str) -> bool:
    """Does `propertyNames` allow this name?"""
    names = node.get("propertyNames", True)
    if names is True or names == {}:
        return True
    answer = conv.possible(names, {"enum": [name]})
    if answer is None:
        conv.widen(pointer, "propertyNames could not be decided")
    return answer is not False


def takes_null(conv: Conversion, raw: Any, seen: tuple[str, ...] = ()) -> bool:
    """Is null among the values of a subschema, as far as its types, values, unions and references tell?"""
    if not isinstance(raw, dict):
        return bool(raw)
    if "$ref" in raw:
        ref = raw["$ref"]
        if ref in seen or not takes_null(conv, conv.resolve(ref) or False, (*seen, ref)):
            return False
    if "type" in raw and "null" not in types_of(raw):
        return False
    if ("enum" in raw and None not in raw["enum"]) or ("const" in raw and raw["const"] is not None):
        return False
    for keyword, quantify in (("allOf", all), ("anyOf", any), ("oneOf", any)):
        if keyword in raw and not quantify(takes_null(conv, each, seen) for each in raw[keyword]):
            return False
    return True


def map_(conv: Conversion, node: Node, pointer: str) -> Node | None:
    """An object without declared properties: a list of key and value."""
    key, value = _entry(conv, node, pointer)
    inner = conv.convert(conv, value, pointer)
    text = isinstance(key, dict) and types_of(key) == ["string"]
    name = conv.convert(conv, key if text else conjunction([{"type": "string"}, key]), pointer)
    if inner is None or name is None:  # only the empty object is left
        return None if node.get("minProperties", 0) > 0 else closed({})
    strict: Node = {"type": "array", "items": closed({"key": name, "value": inner})}
    low = node.get("minProperties", 0)
    if low:
        strict["minItems"] = low
    if low > 1:
        conv.widen(pointer, f"minProperties ({low}) of a map: keys of the list may repeat")
    if "maxProperties" in node:
        strict["maxItems"] = node["maxProperties"]
    conv.encode(strict, Code("pairs"))
    conv.note(pointer, "a map became a list of key and value", "coded")
    done = {"type", "properties", "required", "additionalProperties", "patternProperties", "propertyNames"}
    left_out(conv, node, done | {"minProperties", "maxProperties", "unevaluatedProperties"}, pointer)
    strict.update(kept(conv, node, pointer))
    return strict


def _entry(conv: Conversion, node: Node, pointer: str) -> tuple[Any, Any]:
    """What a map says of its keys, and of its values."""
    patterns = node.get("patternProperties", {})
    names, value = node.get("propertyNames", True), node.get("additionalProperties", True)
    if not patterns:
        return names, value
    if len(patterns) > 1:
        conv.refuse(pointer, "a map with several patternProperties", "use one pattern for all keys")
    pattern, inner = next(iter(patterns.items()))
    if value is not False:
        conv.note(pointer, f"no other keys than those with the pattern {pattern!r}", "narrower")
    return conjunction([names, {"type": "string", "pattern": pattern}]), inner


# ------------------------------------------------------------------------------------------------------------- arrays


def array(conv: Conversion, node: Node, pointer: str) -> Node | None:
    """An array of items with one schema."""
    if "prefixItems" in node:
        return tuple_(conv, node, pointer)
    low, high = node.get("minItems", 0), node.get("maxItems")
    if high is not None and low > high:
        return None
    inner = conv.convert(conv, node.get("items", True), pointer)
    strict: Node = {"type": "array", "items": inner or {"type": "null"}}
    if inner is None:
        if low:
            return None
        strict["maxItems"] = 0
    for key in ("minItems", "maxItems"):
        if key in node and inner is not None:
            strict[key] = node[key]
    left_out(conv, node, {*strict, "minItems", "maxItems", "unevaluatedItems"}, pointer)
    strict.update(kept(conv, node, pointer))
    return strict


def tuple_(conv: Conversion, node: Node, pointer: str) -> Node | None:
    """An array whose items differ by place: of fixed length, an object with a property for each place."""
    places, rest = node["prefixItems"], node.get("items", True)
    low = node.get("minItems", 0)
    high = min(len(places) if rest is False else low + 1, node.get("maxItems", low + 1))
    if low > high:
        return None
    shape = {key: value for key, value in node.items() if key not in ("prefixItems", "items")}
    if low < high or low > MAX_PLACES:
        message = "an array of no fixed length whose items differ by place"
        conv.widen(pointer, message, "fix the length, or use an object")
        union = {"anyOf": [*places, *([] if rest is False else [rest])]} if places else rest
        length = {} if rest is not False else {"maxItems": min(len(places), node.get("maxItems", len(places)))}
        return array(conv, {**shape, **length, "items": union}, pointer)
    places = [*places, *([rest] * low)][:low]
    if all(each == places[0] for each in places):
        conv.note(pointer, "items of one schema, of fixed length", "same")
        items = places[0] if places else False
        return array(conv, {**shape, "items": items, "minItems": low, "maxItems": low}, pointer)
    names = tuple(f"item_{i}" for i in range(low))
    found = [conv.convert(conv, each, f"{pointer}.prefixItems[{i}]") for i, each in enumerate(places)]
    if any(each is None for each in found):
        return None
    strict = closed(dict(zip(names, found, strict=True)))
    conv.encode(strict, Code("places", names))
    conv.note(pointer, f"a tuple became an object with the properties {', '.join(names)}", "coded")
    left_out(conv, node, {"type", "prefixItems", "items", "minItems", "maxItems", "unevaluatedItems"}, pointer)
    strict.update(kept(conv, node, pointer))
    return strict
