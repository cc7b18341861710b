"""Small schemas that between them use every keyword which other engines refuse or get wrong, for `generate_schemas.py`.

The idea: a template per keyword (or pair of keywords that interact), filled with random names, values and bounds. All
are bounded — short strings, few items, no open objects beyond a few properties — so that a weak model comes to an end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import referencing
import referencing.jsonschema

Schema = dict[str, Any]
Template = Callable[[random.Random], Schema]

D4 = "http://json-schema.org/draft-04/schema#"
D6 = "http://json-schema.org/draft-06/schema#"
D7 = "http://json-schema.org/draft-07/schema#"
D19 = "https://json-schema.org/draft/2019-09/schema"
D20 = "https://json-schema.org/draft/2020-12/schema"
BASE = "https://example.com/schemas/order"
UNIT: Schema = {"$schema": D20, "$id": "https://example.com/schemas/unit", "enum": ["kg", "m", "s"]}
REMOTE = {"https://example.com/schemas/unit": UNIT}
REGISTRY: referencing.Registry[Any] = referencing.Registry().with_resources(
    (uri, referencing.Resource.from_contents(schema)) for uri, schema in REMOTE.items()
)

NAMES = ["name", "age", "size", "color", "id", "city", "tag", "unit", "price", "done", "kind", "level"]
WORDS = ["red", "green", "blue", "small", "large", "new", "old", "yes", "no", "north", "south"]


def word(choose: random.Random) -> Schema:
    """A short text."""
    low = choose.randint(0, 2)
    return choose.choice(
        (
            {"enum": choose.sample(WORDS, 3)},
            {"type": "string", "minLength": low, "maxLength": low + choose.randint(1, 6)},
            {"type": "string", "pattern": choose.choice(("^[a-z]{1,5}$", "^[A-Z][a-z]{0,4}$", "^\\d{2}-\\d{2}$"))},
        )
    )


def count(choose: random.Random) -> Schema:
    """A small number."""
    low = choose.randint(-5, 20)
    return {"type": "integer", "minimum": low, "maximum": low + choose.randint(0, 90)}


def value(choose: random.Random) -> Schema:
    """A scalar with few spellings."""
    return choose.choice((word, count, lambda _: {"type": "boolean"}, lambda _: {"type": ["null", "boolean"]}))(choose)


def closed(choose: random.Random, size: int, **keywords: Any) -> Schema:
    """An object of some declared properties and no others."""
    names = choose.sample(NAMES, size)
    properties = {name: value(choose) for name in names}
    return {"type": "object", "properties": properties, "additionalProperties": False, **keywords}


def listed(choose: random.Random, **keywords: Any) -> Schema:
    """An array of at most four items."""
    return {"type": "array", "items": value(choose), "maxItems": choose.randint(2, 4), **keywords}


# --------------------------------------------------------------------------------------------------------- combinations


def not_(choose: random.Random) -> Schema:
    a, b, c = choose.sample(WORDS, 3)
    inner = choose.choice(
        (
            {"enum": [a, b, c], "not": {"const": b}},
            {**count(choose), "not": {"multipleOf": choose.choice((2, 3, 5))}},
            {"type": "string", "maxLength": 6, "not": {"pattern": choose.choice(("^a", "e", "[0-9]"))}},
            {"type": "array", "items": value(choose), "maxItems": 3, "not": {"maxItems": 1}},
        )
    )
    return {**closed(choose, 2, required=["v"]), "properties": {"v": inner}}


def not_required(choose: random.Random) -> Schema:
    schema = closed(choose, 3)
    a, b, _ = schema["properties"]
    return {**schema, "not": {"required": [a, b]}, "minProperties": 1}


def one_of(choose: random.Random) -> Schema:
    schema = closed(choose, 3)
    return {**schema, "oneOf": [{"required": [name]} for name in schema["properties"]]}


def one_of_numbers(choose: random.Random) -> Schema:
    return {**count(choose), "maximum": 200, "oneOf": [{"multipleOf": choose.choice((2, 4))}, {"multipleOf": 3}]}


def one_of_objects(choose: random.Random) -> Schema:
    kinds = choose.sample(WORDS, 3)
    return {"oneOf": [
        {**closed(choose, 1, required=["kind", "v"]), "properties": {"kind": {"const": kind}, "v": value(choose)}}
        for kind in kinds
    ]}  # fmt: skip


def any_and_all(choose: random.Random) -> Schema:
    return {"type": "string", "maxLength": 8, "allOf": [{"pattern": "^[a-h]*$"}, {"minLength": choose.randint(1, 3)}],
            "anyOf": [{"pattern": "^b"}, {"pattern": "a$"}, {"maxLength": 2}]}  # fmt: skip


def conditional(choose: random.Random) -> Schema:
    schema = closed(choose, 2, required=["flag"])
    first = next(iter(schema["properties"]))
    schema["properties"] = {"flag": {"type": "boolean"}, **schema["properties"]}
    schema["if"] = {"properties": {"flag": {"const": True}}}
    schema["then"] = {"required": [first]}
    schema["else"] = {"properties": {first: False}}
    return {"$schema": choose.choice((D7, D19, D20)), **schema}


def conditional_value(choose: random.Random) -> Schema:
    low = choose.randint(5, 50)
    small, large = {"multipleOf": choose.randint(2, 5)}, {"multipleOf": 10}
    return {"type": "integer", "minimum": 0, "maximum": 200, "if": {"maximum": low}, "then": small, "else": large}


# -------------------------------------------------------------------------------------------------------------- objects


def dependencies(choose: random.Random) -> Schema:
    schema = closed(choose, 4)
    a, b, c, d = schema["properties"]
    schema["dependencies"] = {a: [b], c: {"required": [d], "maxProperties": 3}}
    return {"$schema": choose.choice((D4, D6, D7)), "minProperties": 1, **schema}


def dependent_required(choose: random.Random) -> Schema:
    schema = closed(choose, 4, minProperties=1)
    a, b, c, d = schema["properties"]
    return {**schema, "dependentRequired": {a: [b, c], d: [a]}}


def dependent_schemas(choose: random.Random) -> Schema:
    schema = closed(choose, 3, minProperties=1)
    a, b, c = schema["properties"]
    return {**schema, "dependentSchemas": {a: {"required": [b]}, b: {"properties": {c: False}}}}


def property_names(choose: random.Random) -> Schema:
    low = choose.randint(1, 2)
    names = choose.choice(({"pattern": "^[a-z]{1,4}$"}, {"enum": choose.sample(NAMES, 4)}, {"maxLength": 3}))
    return {"type": "object", "propertyNames": names, "additionalProperties": value(choose),
            "minProperties": low, "maxProperties": low + choose.randint(0, 2)}  # fmt: skip


def overlapping_patterns(choose: random.Random) -> Schema:
    return {"type": "object", "properties": {"ab": {"type": "integer"}, "b": value(choose)}, "required": ["ab"],
            "patternProperties": {"^a": {"minimum": 0, "maximum": 50}, "b$": {"multipleOf": choose.choice((2, 5))},
                                  "^[ab]{1,3}$": {"not": {"const": 10}}},
            "additionalProperties": False, "propertyNames": {"maxLength": 3}, "maxProperties": 3}  # fmt: skip


def property_counts(choose: random.Random) -> Schema:
    low = choose.randint(1, 3)
    return closed(choose, 5, minProperties=low, maxProperties=low + choose.randint(0, 1))


def unevaluated_properties(choose: random.Random) -> Schema:
    a, b, c, d = choose.sample(NAMES, 4)
    first = {"properties": {a: value(choose)}, "required": [a]}
    other = {"properties": {b: value(choose), c: value(choose)}, "required": [b]}
    keyword = choose.choice(("anyOf", "oneOf"))
    schema = {"type": "object", "properties": {d: value(choose)}, keyword: [first, other]}
    return {"$schema": choose.choice((D19, D20)), **schema, "unevaluatedProperties": False}


def unevaluated_conditional(choose: random.Random) -> Schema:
    a, b, c = choose.sample(NAMES, 3)
    return {"$schema": choose.choice((D19, D20)), "type": "object", "required": [a], "maxProperties": 3,
            "if": {"properties": {a: {"const": True}}, "required": [a]},
            "then": {"properties": {b: value(choose)}, "required": [b]},
            "else": {"properties": {a: {"enum": [False, None]}, c: value(choose)}},
            "unevaluatedProperties": choose.choice((False, {"type": "null"}))}  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- arrays


def unique_items(choose: random.Random) -> Schema:
    items = choose.choice(({"enum": choose.sample(WORDS, 4)}, {"type": "integer", "minimum": 0, "maximum": 9}))
    return listed(choose, items=items, uniqueItems=True, minItems=2)


def unique_open(choose: random.Random) -> Schema:
    return listed(choose, items={"type": "string", "maxLength": 3}, uniqueItems=True, minItems=1)


def contains(choose: random.Random) -> Schema:
    bounds = choose.choice(({}, {"minContains": 2}, {"minContains": 1, "maxContains": 1}, {"minContains": 0}))
    items = {"type": ["integer", "null"], "minimum": 0, "maximum": 30}
    return listed(choose, items=items, contains={"type": "integer", "minimum": 10}, **bounds, maxItems=4)


def contains_const(choose: random.Random) -> Schema:
    few = choose.sample(WORDS, 3)
    schema = listed(choose, items={"enum": few}, contains={"const": few[0]})
    return {"$schema": choose.choice((D6, D7, D19, D20)), **schema}


def additional_items(choose: random.Random) -> Schema:
    rest = choose.choice((False, value(choose)))
    schema = {"type": "array", "items": [value(choose), value(choose)], "additionalItems": rest, "maxItems": 4}
    return {"$schema": choose.choice((D4, D6, D7, D19)), **schema, "minItems": 1}


def prefix_items(choose: random.Random) -> Schema:
    return {"$schema": D20, "type": "array", "prefixItems": [value(choose), value(choose)],
            "items": choose.choice((False, count(choose))), "minItems": 1, "maxItems": 4}  # fmt: skip


def unevaluated_items(choose: random.Random) -> Schema:
    schema = {"$schema": D20, "type": "array", "prefixItems": [value(choose)], "maxItems": 3, "minItems": 1}
    other = choose.choice(
        ({"anyOf": [{"prefixItems": [True, count(choose)]}, {"maxItems": 1}]}, {"contains": {"type": "boolean"}})
    )
    return {**schema, **other, "unevaluatedItems": choose.choice((False, {"type": "null"}))}


# ------------------------------------------------------------------------------------------------- numbers, references


def decimals(choose: random.Random) -> Schema:
    step = choose.choice((0.01, 0.1, 0.25, 0.5, 2.5))
    return {"type": "number", "multipleOf": step, "minimum": 0, "exclusiveMaximum": choose.randint(1, 100)}


def exclusive_booleans(choose: random.Random) -> Schema:
    return {"$schema": D4, "type": "integer", "minimum": 3, "exclusiveMinimum": True, "maximum": 99,
            "exclusiveMaximum": choose.choice((True, False))}  # fmt: skip


def recursion(choose: random.Random) -> Schema:
    return {"$schema": D20, "$defs": {"a/b~c": {"type": "array", "items": {"$ref": "#/$defs/a~1b~0c"}, "maxItems": 2}},
            "$ref": "#/$defs/a~1b~0c", "maxItems": choose.randint(1, 2)}  # fmt: skip


def resources(choose: random.Random) -> Schema:
    line = {"$id": "line", "$anchor": "top", **closed(choose, 2)}
    return {"$schema": D20, "$id": BASE, "$defs": {"line": line}, "type": "array", "minItems": 1, "maxItems": 2,
            "items": {"$ref": choose.choice(("line", "#/$defs/line", "line#top")), "minProperties": 1}}  # fmt: skip


def old_reference(choose: random.Random) -> Schema:
    """Before 2019-09 what stands beside `$ref` says nothing."""
    return {"$schema": choose.choice((D4, D6, D7)), "definitions": {"v": value(choose)}, "type": "array",
            "items": {"$ref": "#/definitions/v", "enum": []}, "minItems": 1, "maxItems": 3}  # fmt: skip


def dynamic(choose: random.Random) -> Schema:
    tree = {"$id": "tree", "$dynamicAnchor": "node", "type": "array", "items": {"$dynamicRef": "#node"}, "maxItems": 2}
    return {"$schema": D20, "$id": BASE, "$dynamicAnchor": "node", "$defs": {"tree": tree}, "$ref": "tree",
            "unevaluatedItems": False, "maxItems": choose.randint(1, 2)}  # fmt: skip


def recursive(choose: random.Random) -> Schema:
    tree = {"$id": "tree", "$recursiveAnchor": True, "type": "object", "additionalProperties": False,
            "properties": {"next": {"$recursiveRef": "#"}, "v": value(choose)}}  # fmt: skip
    return {"$schema": D19, "$id": BASE, "$recursiveAnchor": True, "$defs": {"tree": tree}, "$ref": "tree",
            "required": choose.choice((["v"], []))}  # fmt: skip


def remote(choose: random.Random) -> Schema:
    return {"$schema": D20, **closed(choose, 1), "properties": {"unit": {"$ref": "https://example.com/schemas/unit"},
            "v": count(choose)}, "required": ["unit"]}  # fmt: skip


TEMPLATES: dict[str, Template] = {
    "not": not_,
    "not required": not_required,
    "oneOf required": one_of,
    "oneOf multipleOf": one_of_numbers,
    "oneOf objects": one_of_objects,
    "allOf anyOf": any_and_all,
    "if then else": conditional,
    "if of numbers": conditional_value,
    "dependencies": dependencies,
    "dependentRequired": dependent_required,
    "dependentSchemas": dependent_schemas,
    "propertyNames": property_names,
    "patternProperties": overlapping_patterns,
    "minProperties maxProperties": property_counts,
    "unevaluatedProperties": unevaluated_properties,
    "unevaluatedProperties if": unevaluated_conditional,
    "uniqueItems": unique_items,
    "uniqueItems open": unique_open,
    "contains minContains maxContains": contains,
    "contains const": contains_const,
    "additionalItems": additional_items,
    "prefixItems": prefix_items,
    "unevaluatedItems": unevaluated_items,
    "multipleOf decimals": decimals,
    "exclusiveMinimum of draft 4": exclusive_booleans,
    "$ref JSON pointer": recursion,
    "$id $anchor": resources,
    "$ref siblings": old_reference,
    "$dynamicRef": dynamic,
    "$recursiveRef": recursive,
    "remote $ref": remote,
}


def keyword_schemas(limit: int, seed: int) -> list[tuple[str, Schema]]:
    """So many schemas, each with the name of its template, the templates in turn."""
    names = list(TEMPLATES)
    found = []
    for i in range(limit):
        name = names[i % len(names)]
        schema = TEMPLATES[name](random.Random(f"{seed}:{i}"))
        found.append((f"{name} #{i // len(names)}", schema if "$schema" in schema else {"$schema": D20, **schema}))
    return found
