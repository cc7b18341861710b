"""`allOf` merged into one subschema, for the strict subset: keyword by keyword, exactly or not at all.

The idea: bounds take the tighter one, types and enums intersect, properties join; what must hold of a property or an
item at once stays an `allOf` there, and is merged when the conversion arrives there. Two unions become the union of all
pairs. Each rule keeps the set of values; where there is none (two patterns), the keyword is lost, which the caller
reports.

Cost: linear in the two subschemas; unions multiply (limit: MAX_PAIRS).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

from constrain.automata.decide import matches
from constrain.schema.keywords import KEYWORDS
from constrain.schema.patterns import pattern_node
from constrain.schema.strict_state import Node
from constrain.schema.values import value_key

MAX_PAIRS = 64
ANNOTATED = frozenset(
    {"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"}
)


class Lost(Exception):
    """Two values of a keyword that no single value replaces."""


def types_of(node: Node) -> list[str]:
    """The types that a subschema names, without those that another one includes; empty if it names none."""
    given = node.get("type", [])
    types = dict.fromkeys(given if isinstance(given, list) else [given])
    if "number" in types:
        types.pop("integer", None)
    return list(types)


def with_types(types: list[str]) -> Any:
    """The value of `type`."""
    return types[0] if len(types) == 1 else types


def _type(a: Any, b: Any) -> Any:
    x, y = types_of({"type": a}), types_of({"type": b})
    common = [each for each in x if each in y or (each == "integer" and "number" in y)]
    common += [each for each in y if each == "integer" and "number" in x and each not in common]
    return with_types(common)


def _enum(a: list[Any], b: list[Any]) -> list[Any]:
    keys = set(map(value_key, b))
    return [value for value in a if value_key(value) in keys]


def _multiple(a: Any, b: Any) -> Any:
    x, y = Fraction(Decimal(str(a))), Fraction(Decimal(str(b)))
    scale = lcm(x.denominator, y.denominator)
    common = Fraction(lcm(int(x * scale), int(y * scale)), scale)
    for value, given in ((x, a), (y, b)):
        if common == value:
            return given
    if common.denominator != 1:
        raise Lost
    return int(common)


def _equal(a: Any, b: Any) -> Any:
    if a != b:
        raise Lost
    return a


def _both(a: Any, b: Any) -> Any:
    return conjunction([a, b])


def _needs(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    return {**a, **{name: list(dict.fromkeys([*a.get(name, []), *needed])) for name, needed in b.items()}}


def any_of(a: list[Any], b: list[Any]) -> list[Any]:
    if len(a) * len(b) > MAX_PAIRS:
        raise Lost
    return [_both(x, y) for x in a for y in b]


RULES: dict[str, Callable[[Any, Any], Any]] = {
    "type": _type,
    "enum": _enum,
    "multipleOf": _multiple,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minItems", "minLength", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxItems", "maxLength", "maxProperties"), min),
    "uniqueItems": lambda a, b: bool(a or b),
    "items": _both,
    "propertyNames": _both,
    "dependentRequired": _needs,
    "not": lambda a, b: a if a == b else {"anyOf": [a, b]},
    "anyOf": any_of,
    **dict.fromkeys(ANNOTATED, lambda a, b: a),
}
GROUPS = (("contains", "minContains", "maxContains"), ("if", "then", "else"), ("prefixItems", "items"))
"""Keywords that mean something only together."""

LATE = ("unevaluatedProperties", "unevaluatedItems")
OBJECT = ("properties", "required", "additionalProperties", "patternProperties")


def of_property(node: Node, name: str) -> list[Any]:
    """The schemas that the value of a property must fulfil, by `properties` and its relatives."""
    found = [node["properties"][name]] if name in node.get("properties", {}) else []
    found += [
        inner for pattern, inner in node.get("patternProperties", {}).items() if matches(pattern_node(pattern), name)
    ]
    return found or [node.get("additionalProperties", True)]


def conjunction(schemas: list[Any]) -> Any:
    """One schema for several that must hold at once; true and repetitions vanish."""
    parts: list[Any] = []
    for each in schemas:
        if each is False:
            return False
        if each is not True and each != {}:
            inner = each["allOf"] if isinstance(each, dict) and each.keys() == {"allOf"} else [each]
            parts += [part for part in inner if part not in parts]
    return True if not parts else parts[0] if len(parts) == 1 else {"allOf": parts}


def merge(a: Node | bool, b: Node | bool) -> tuple[Node | bool, list[str]]:
    """One subschema for two that have neither `$ref` nor `allOf`, and the keywords of the second that were lost."""
    if isinstance(a, bool) or isinstance(b, bool):
        return (b if a is True else a if b is True else False), []
    lost: list[str] = [keyword for keyword in LATE if keyword in a or keyword in b]
    merged = dict(a)
    skip = {*OBJECT, *lost, *_groups(a, b, lost)}
    for keyword, value in b.items():
        if keyword in skip:
            continue
        if keyword not in a:
            merged[keyword] = value
        elif keyword in RULES or keyword in KEYWORDS:
            try:
                merged[keyword] = RULES.get(keyword, _equal)(a[keyword], value)
            except Lost:
                lost.append(keyword)
    if merged.get("type") == [] or merged.get("enum") == [] or merged.get("anyOf") == []:
        return False, lost
    if any(keyword in a for keyword in OBJECT) and any(keyword in b for keyword in OBJECT):
        _objects(merged, a, b, lost)
    else:
        merged.update({keyword: b[keyword] for keyword in OBJECT if keyword in b})
    return merged, lost


def _groups(a: Node, b: Node, lost: list[str]) -> list[str]:
    """The keywords of the second that are left alone, because the first has others of their group."""
    left: list[str] = []
    for first, *others in GROUPS:
        group = (first, *others)
        if (first in a or first in b) and any(key in a for key in group) and any(key in b for key in group):
            left += group
            if {key: a.get(key) for key in group} != {key: b.get(key) for key in group}:
                lost.append(first)
    return left


def _objects(merged: Node, a: Node, b: Node, lost: list[str]) -> None:
    """`properties`, `required`, `additionalProperties` of both: every property by what both say of its name."""
    required = dict.fromkeys([*a.get("required", []), *b.get("required", [])])
    names = dict.fromkeys([*a.get("properties", {}), *b.get("properties", {}), *required])
    for keyword in OBJECT:
        merged.pop(keyword, None)
    if names:
        merged["properties"] = {name: conjunction([*of_property(a, name), *of_property(b, name)]) for name in names}
    if required:
        merged["required"] = list(required)
    rest = conjunction([a.get("additionalProperties", True), b.get("additionalProperties", True)])
    if rest is not True:
        merged["additionalProperties"] = rest
    patterns = {**a.get("patternProperties", {}), **b.get("patternProperties", {})}
    if patterns:  # what they say of declared names is in the properties now; the strict subset has no other names
        merged["patternProperties"] = patterns
        if not names and (rest is not True or a.get("patternProperties") != b.get("patternProperties")):
            lost.append("patternProperties")
