"""The table of the keywords of JSON Schema, with the function that reads each.

takes: a subschema (`Site`)
gives: its formula; errors that name the keyword, its value and the place

There is one function for each keyword, named as in the specification, in `keywords_values.py` (types, numbers,
strings), `keywords_containers.py` (arrays, objects), `keywords_logic.py` (combinations, references),
`keywords_unevaluated.py` and, for `x-span`, which no specification has, `keywords_span.py`. Keywords that are not in
the table are annotations, as the specification says (Core 2020-12, section 4.3.1); `normalize/report.py` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from constrain.languages.schema.read import keywords_containers as containers
from constrain.languages.schema.read import keywords_logic as logic
from constrain.languages.schema.read import keywords_unevaluated as unevaluated
from constrain.languages.schema.read import keywords_values as values
from constrain.languages.schema.read.closing import ALONE, BRANCHES, UNDECLARED_ITEMS, UNDECLARED_PROPERTIES
from constrain.languages.schema.read.keywords_python import xPython
from constrain.languages.schema.read.reading import SubschemaReading
from constrain.languages.schema.sets.formula import Formula
from constrain.lazily import later

if TYPE_CHECKING:
    from constrain.languages.schema.read.document import Site
    from constrain.languages.schema.read.reader import SchemaReader

_span = later("constrain.languages.schema.read.keywords_span")
Keyword = Callable[[SubschemaReading, Any], None]

KEYWORDS: dict[str, Keyword] = {
    "type": values.type_,
    "enum": values.enum,
    "const": values.const,
    "minimum": values.minimum,
    "maximum": values.maximum,
    "exclusiveMinimum": values.exclusiveMinimum,
    "exclusiveMaximum": values.exclusiveMaximum,
    "multipleOf": values.multipleOf,
    "minLength": values.minLength,
    "maxLength": values.maxLength,
    "pattern": values.pattern,
    "format": values.format_,
    "x-span": lambda reading, value: _span.xSpan(reading, value),
    "x-python": xPython,
    "items": containers.items,
    "prefixItems": containers.prefixItems,
    "additionalItems": containers.additionalItems,
    "minItems": containers.minItems,
    "maxItems": containers.maxItems,
    "uniqueItems": containers.uniqueItems,
    "contains": containers.contains,
    "minContains": containers.contains_limit,
    "maxContains": containers.contains_limit,
    "properties": containers.properties,
    "patternProperties": containers.patternProperties,
    "additionalProperties": containers.additionalProperties,
    "required": containers.required,
    "propertyNames": containers.propertyNames,
    "minProperties": containers.minProperties,
    "maxProperties": containers.maxProperties,
    "dependentRequired": containers.dependentRequired,
    "dependentSchemas": containers.dependentSchemas,
    "dependencies": containers.dependencies,
    "allOf": logic.allOf,
    "anyOf": logic.anyOf,
    "oneOf": logic.oneOf,
    "not": logic.not_,
    "if": logic.if_,
    "$ref": logic.ref,
    "$dynamicRef": logic.dynamicRef,
    "$recursiveRef": logic.recursiveRef,
    "unevaluatedItems": unevaluated.unevaluatedItems,
    "unevaluatedProperties": unevaluated.unevaluatedProperties,
    # what `closing.py` adds to schemas, in every draft
    ALONE: logic.alone,
    BRANCHES: partial(logic.anyOf, keyword=BRANCHES),
    UNDECLARED_ITEMS: partial(unevaluated.unevaluatedItems, keyword=UNDECLARED_ITEMS),
    UNDECLARED_PROPERTIES: partial(unevaluated.unevaluatedProperties, keyword=UNDECLARED_PROPERTIES),
}

SAID = frozenset({
    "$schema", "$id", "id", "$anchor", "$comment", "$vocabulary", "$dynamicAnchor", "$recursiveAnchor", "title",
    "description", "examples", "default", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
    "contentSchema", "then", "else", "$defs", "definitions", "nullable", "example", "discriminator", "xml",
    "externalDocs",
})  # fmt: skip
"""Keys that are no keywords of their own, or annotations."""


def parse(reader: SchemaReader, site: Site) -> Formula:
    """The formula of a subschema; notes its unknown keys. Raises SchemaError at its place for malformed keywords."""
    reading = SubschemaReading(reader, site)
    lacks = site.dialect.lacks
    for name, value in site.raw.items():
        keyword = KEYWORDS.get(name) if isinstance(name, str) else _refuse_name(site, name)
        if keyword is None:
            if name not in SAID:
                reader.document.unknown.append((site, name))
        elif name not in lacks:
            keyword(reading, value)
    return reading.formula()


def _refuse_name(site: Site, name: object) -> Keyword:
    raise site.error(f"the keyword {name!r} is not a text", "use texts as keys")
