"""Drafts of JSON Schema: one record each of the differences between them.

Source: the `$schema` keyword, JSON Schema Core 2020-12 section 8.1.1; the changes of each draft from json-schema.org's
release notes.
"""

from __future__ import annotations

from typing import NamedTuple

from constrain.languages.schema.sets.json_types import Json


class Dialect(NamedTuple):
    """One draft.

    Attributes:
        name: Its name in `referencing` and in the official suite.
        uri: The URI of its meta-schema.
        id: The keyword that names a resource.
        ref_alone: Siblings of `$ref` are ignored (drafts 4 to 7).
        array_items: `items` may be a list of schemas.
        boolean_bounds: `exclusiveMinimum` and `exclusiveMaximum` are booleans (draft 4).
        plain_integers: 1.0 is not an integer (draft 4).
        nullable: `nullable: true` adds null to `type` (OpenAPI 3.0.3, "Schema Object").
        lacks: Keywords that this draft does not know: they are annotations in it.
    """

    name: str
    uri: str
    id: str = "$id"
    ref_alone: bool = False
    array_items: bool = False
    boolean_bounds: bool = False
    plain_integers: bool = False
    nullable: bool = False
    lacks: frozenset[str] = frozenset()


_SINCE_2020 = frozenset({"prefixItems", "$dynamicRef", "$dynamicAnchor"})
_SINCE_2019 = frozenset(
    ("$defs", "$anchor", "dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems")
) | {"unevaluatedProperties", "$recursiveRef", "$recursiveAnchor"}
_SINCE_7 = frozenset({"if", "then", "else"})
_SINCE_6 = frozenset({"const", "contains", "propertyNames"})

DRAFT_4 = Dialect(
    "draft4", "http://json-schema.org/draft-04/schema", "id", True, True, True, True, False,
    _SINCE_2020 | _SINCE_2019 | _SINCE_7 | _SINCE_6,
)  # fmt: skip
DRAFT_6 = Dialect(
    "draft6", "http://json-schema.org/draft-06/schema", "$id", True, True, lacks=_SINCE_2020 | _SINCE_2019 | _SINCE_7
)
DRAFT_7 = Dialect(
    "draft7", "http://json-schema.org/draft-07/schema", "$id", True, True, lacks=_SINCE_2020 | _SINCE_2019
)
DRAFT_2019 = Dialect(
    "draft2019-09", "https://json-schema.org/draft/2019-09/schema", array_items=True,
    lacks=_SINCE_2020 | {"dependencies"},
)  # fmt: skip
DRAFT_2020 = Dialect(
    "draft2020-12", "https://json-schema.org/draft/2020-12/schema",
    lacks=frozenset({"additionalItems", "dependencies", "$recursiveRef", "$recursiveAnchor"}),
)  # fmt: skip
UNSTATED = DRAFT_2020._replace(array_items=True, lacks=frozenset())
"""Schemas without `$schema`: draft 2020-12 with the keywords of older drafts that cannot be mistaken (lists of `items`,
`dependencies`)."""

OPENAPI_3_0 = DRAFT_4._replace(name="openapi-3.0", id="$id", array_items=False, plain_integers=False, nullable=True)
"""Draft 5 (which is draft 4) as OpenAPI 3.0 changes it, with `nullable`. An `enum` must list null to allow it."""

DIALECTS = {dialect.uri: dialect for dialect in (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020)}
OPENAI_STRICT = "openai-strict"  # a subset of a dialect: openai_strict.py
NAMED = {dialect.name: dialect for dialect in (*DIALECTS.values(), OPENAPI_3_0)}

_CONTAINERS = {"properties", "patternProperties", "additionalProperties", "propertyNames", "items", "contains"}
_LOGIC = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
_VALUES = {"type", "enum", "const", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum"}
_SIZES = {"exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains"}
VOCABULARIES = {  # last part of the URI -> its keywords (Core 2020-12 section 8.1.2 and appendix of each meta-schema)
    "applicator": frozenset(_CONTAINERS | _LOGIC | {"prefixItems", "additionalItems"}),
    "unevaluated": frozenset({"unevaluatedItems", "unevaluatedProperties"}),
    "validation": frozenset(
        _VALUES | _SIZES | {"minProperties", "maxProperties", "required", "dependentRequired"}
    ),
    "core": frozenset(), "meta-data": frozenset(), "content": frozenset(),
    "format": frozenset(), "format-annotation": frozenset(), "format-assertion": frozenset(),
}  # fmt: skip


def dialect_of(schema: Json, default: Dialect = UNSTATED) -> Dialect | None:
    """The draft that `$schema` names; the default if there is no `$schema`; None if the draft is not known."""
    stated = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(stated, str):
        return default
    return DIALECTS.get(stated.rstrip("#").replace("https://json-schema.org/draft-0", "http://json-schema.org/draft-0"))


def dialect_of_vocabularies(meta_schema: Json) -> Dialect | None:
    """The draft of a user's meta-schema, without the keywords of vocabularies that the meta-schema does not list.

    Returns None if it requires a vocabulary that is not known.
    """
    base = dialect_of(meta_schema, DRAFT_2020)
    listed = meta_schema.get("$vocabulary") if isinstance(meta_schema, dict) else None
    if base is None or not isinstance(listed, dict):
        return base
    names = {uri.rpartition("/")[2] for uri in listed if uri.startswith("https://json-schema.org/draft/20")}
    if any(needed and uri.rpartition("/")[2] not in VOCABULARIES for uri, needed in listed.items()):
        return None
    if base.name == DRAFT_2019.name and "applicator" in names:  # draft 2019-09 keeps them there
        names.add("unevaluated")
    missing = [keywords for name, keywords in VOCABULARIES.items() if name not in names]
    return base._replace(lacks=base.lacks.union(*missing))
