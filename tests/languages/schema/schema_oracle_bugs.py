"""Known faults of the validators that we compare with, and rewrites of schemas that steer clear of them.

The idea: a fault is explained only if mending it helps. Each `Bug` rewrites a schema into an equivalent one that steers
clear of the fault; where verdicts differ, the validators are asked again about the rewritten schema, and then all must
agree. So a schema that merely *could* meet a fault explains nothing.

Sources: JSON Schema Core 2019-09 sections 9.3.1.3 and 9.3.2.4 (which annotations count), the sources of jsonschema 4.26
(`_legacy_keywords.py`) and referencing 0.37 (`jsonschema.py`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

Schema = dict[str, Any]

ONE = ("items", "additionalItems", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames",
       "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
OWN = ("$schema", "id", "$id", "$anchor", "$recursiveAnchor", "$defs", "definitions")  # what names a schema


class Bug(NamedTuple):
    """A fault. who: the validators that have it, "python", "rust" or both.

    drafts: parts of the `$schema` of drafts in which it shows. mend: rewrites one subschema (not those inside).
    example: a schema and a text that `who` judges wrongly, or breaks down on. right: the verdict.
    """

    name: str
    who: tuple[str, ...]
    drafts: tuple[str, ...]
    mend: Callable[[Schema], Schema]
    example: tuple[Schema, str]
    right: bool


def rewrite(schema: Any, mend: Callable[[Schema], Schema]) -> Any:
    """The schema with every subschema mended, the innermost first."""
    if not isinstance(schema, dict):
        return schema
    found = dict(schema)
    for keyword in found:
        value = found[keyword]
        if keyword in LISTS and isinstance(value, list):
            found[keyword] = [rewrite(each, mend) for each in value]
        elif keyword in NAMED and isinstance(value, dict):
            found[keyword] = {name: rewrite(each, mend) for name, each in value.items()}
        elif keyword in ONE:
            found[keyword] = rewrite(value, mend)
    return mend(found)


def mended(schema: Schema, bugs: tuple[Bug, ...]) -> Schema:
    """The schema, written so that these faults do not show."""
    for bug in bugs:
        if any(part in schema["$schema"] for part in bug.drafts):
            schema = rewrite(schema, bug.mend)
    return schema


def _and(schema: Schema, other: Schema) -> Schema:
    return {**schema, "allOf": [*schema.get("allOf", []), other]}


def _plain_items(schema: Schema) -> Schema:
    """`items` as an object."""
    if isinstance(schema.get("items"), bool):
        return {**schema, "items": {} if schema["items"] else {"not": {}}}
    return schema


def _plain_dependencies(schema: Schema) -> Schema:
    """All members of `dependencies` as schemas."""
    if "dependencies" not in schema:
        return schema
    members = schema["dependencies"].items()
    plain = {name: {"required": each} if isinstance(each, list) else each for name, each in members}
    return {**schema, "dependencies": {name: {} if each is True else each for name, each in plain.items()}}


def _silent_contains(schema: Schema) -> Schema:
    """`contains` where no validator looks for evaluated items: under two `not`."""
    if "contains" not in schema:
        return schema
    hidden = {key: schema[key] for key in ("contains", "minContains", "maxContains") if key in schema}
    rest = {key: value for key, value in schema.items() if key not in hidden}
    return _and(rest, {"not": {"not": hidden}})


EVALUATE_ALL = {"patternProperties": {"": True}}


def _say_additional(schema: Schema) -> Schema:
    """`additionalProperties`, with the evaluation of all keys said once more."""
    return _and(schema, EVALUATE_ALL) if isinstance(schema.get("additionalProperties"), dict) else schema


def _say_unevaluated(schema: Schema) -> Schema:
    """`unevaluatedProperties`, with the evaluation of all keys said once more, from outside."""
    if not isinstance(schema.get("unevaluatedProperties"), dict):
        return schema
    own = {key: value for key, value in schema.items() if key in OWN}
    inner = {key: value for key, value in schema.items() if key not in OWN}
    return {**own, "allOf": [inner, EVALUATE_ALL]}


_2019 = "https://json-schema.org/draft/2019-09/schema"
_7 = "http://json-schema.org/draft-07/schema#"
ORACLE_BUGS = (
    Bug(
        "2019-09: contains counts as evaluating items, as from 2020-12 on",
        ("python", "rust"), ("2019-09",), _silent_contains,
        ({"$schema": _2019, "contains": {"type": "string"}, "unevaluatedItems": False}, '["a"]'), False,
    ),
    Bug(
        "2019-09: not the keys of the value but the keywords inside additionalProperties count as evaluated",
        ("python",), ("2019-09",), _say_additional,
        ({"$schema": _2019, "additionalProperties": {"type": "string"}, "unevaluatedProperties": False}, '{"a":"b"}'),
        True,
    ),
    Bug(
        "2019-09: the same for unevaluatedProperties inside a schema that is combined",
        ("python",), ("2019-09",), _say_unevaluated,
        (
            {
                "$schema": _2019,
                "allOf": [{"unevaluatedProperties": {"type": "string"}}],
                "unevaluatedProperties": False,
            },
            '{"a":"b"}',
        ),
        True,
    ),
    Bug(
        "breaks down at additionalItems where items is a boolean",
        ("python",), ("draft-06", "draft-07", "2019-09"), _plain_items,
        ({"$schema": _7, "items": True, "additionalItems": False}, "[1]"), True,
    ),
    Bug(
        "breaks down at unevaluatedItems where items is a boolean",
        ("python",), ("2019-09",), _plain_items,
        ({"$schema": _2019, "items": True, "unevaluatedItems": False}, "[1]"), True,
    ),
    Bug(
        "breaks down while looking for a reference where dependencies mix schemas and lists",
        ("python",), ("draft-04", "draft-06", "draft-07"), _plain_dependencies,
        (
            {
                "$schema": _7,
                "definitions": {"named": {"$id": "#named", "type": "string"}},
                "dependencies": {"a": {"minProperties": 1}, "b": ["a"]},
                "properties": {"a": {"$ref": "#named"}},
            },
            '{"a":"b"}',
        ),
        True,
    ),
)  # fmt: skip
