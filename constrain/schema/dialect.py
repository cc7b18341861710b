"""Drafts of JSON Schema: what differs between them, as one record each.

Source: the `$schema` keyword, JSON Schema Core 2020-12 section 8.1.1; changes per draft from json-schema.org's release
notes.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Dialect(NamedTuple):
    """One draft.

    name: as `referencing` and the official suite call it. uri: its meta-schema.
    id: the keyword that names a resource. ref_alone: siblings of `$ref` are ignored (drafts 4 to 7).
    array_items: `items` may be a list of schemas. boolean_bounds: exclusiveMinimum/Maximum are booleans (draft 4).
    plain_integers: 1.0 is not an integer (draft 4).
    lacks: keywords that this draft does not know: they are annotations in it.
    """

    name: str
    uri: str
    id: str = "$id"
    ref_alone: bool = False
    array_items: bool = False
    boolean_bounds: bool = False
    plain_integers: bool = False
    lacks: frozenset[str] = frozenset()


_SINCE_2020 = frozenset({"prefixItems", "$dynamicRef", "$dynamicAnchor"})
_SINCE_2019 = frozenset(
    ("$defs", "$anchor", "dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems")
) | {"unevaluatedProperties", "$recursiveRef", "$recursiveAnchor"}
_SINCE_7 = frozenset({"if", "then", "else"})
_SINCE_6 = frozenset({"const", "contains", "propertyNames"})

DRAFT_4 = Dialect(
    "draft4", "http://json-schema.org/draft-04/schema", "id", True, True, True, True,
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
"""No `$schema`: draft 2020-12, and what older drafts wrote that it cannot mistake (lists of `items`, `dependencies`).
"""

DIALECTS = {dialect.uri: dialect for dialect in (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020)}


def dialect_of(schema: Any, default: Dialect = UNSTATED) -> Dialect | None:
    """The draft that a schema states by `$schema`, the default if it states none, None if it states an unknown one."""
    stated = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(stated, str):
        return default
    return DIALECTS.get(stated.rstrip("#").replace("https://json-schema.org/draft-0", "http://json-schema.org/draft-0"))
