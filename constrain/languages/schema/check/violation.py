"""The keyword that a value breaks, and its place, for messages about a JSON text that is not a member.

The idea: descend into the value as long as one part alone is the reason (`Membership.culprit`). There, make a schema of
each keyword of the subschemas, and decide whether the part fulfils it. Cost: the keywords at that place are read once
more. Limit: a keyword whose references cannot be resolved from the root is skipped; then only the place is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from constrain.errors import ConstrainError
from constrain.languages.schema.check.finished import read_exactly
from constrain.languages.schema.check.member import Membership
from constrain.languages.schema.read.document import Site, excerpt
from constrain.languages.schema.sets.algebra import Conj
from constrain.languages.schema.sets.formula import Atoms
from constrain.languages.schema.sets.json_types import Json

if TYPE_CHECKING:
    from constrain.languages.schema.api import JsonSchema

COMPANIONS = {
    "additionalProperties": ("properties", "patternProperties"),
    "additionalItems": ("items",),
    "items": ("prefixItems",),
    "if": ("then", "else"),
    "contains": ("minContains", "maxContains"),
    "maximum": ("exclusiveMaximum",),  # booleans in draft 4
    "minimum": ("exclusiveMinimum",),
}
"""Keywords that mean something else without their neighbours (Core 2020-12, sections 10.2.2 and 10.3)."""

NOT_ALONE = frozenset({"then", "else", "minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems"})


class SchemaViolation(NamedTuple):
    """A value that breaks a schema.

    Attributes:
        path: The place in the value, as a JSON path: `$.age`.
        keyword: The keyword that it breaks; None if no keyword alone is to blame.
        pointer: The subschema of the keyword, as a JSON path in the schema.
        message: One sentence.
    """

    path: str
    keyword: str | None
    pointer: str
    message: str


def find_violation(schema: JsonSchema, text: str) -> SchemaViolation | None:
    """Find what a JSON text breaks.

    Args:
        schema: The schema.
        text: A text.

    Returns:
        The first violation; None if the text is not JSON, or if its value fulfils the schema: then its spelling, or the
        order of its keys, is at fault.
    """
    try:
        value = read_exactly(text)
    except Exception:  # not JSON, or a repeated key: other messages say so
        return None
    if Membership(schema.normalizer).is_member(value, schema.document.root):
        return None
    return _violation(schema, value, "$", "$")


def _violation(schema: JsonSchema, value: Json, path: str, pointer: str) -> SchemaViolation:
    """The violation of the value at `path` by the schema at `pointer`."""
    steps, part, conj, reason = Membership(schema.normalizer).culprit(value, schema.document.root)
    path += steps
    for site in _sites(schema, conj):
        for keyword in site.raw if isinstance(site.raw, dict) else ():
            if keyword in NOT_ALONE or (alone := _broken(schema, site, keyword, part)) is None:
                continue
            place = _join_pointers(pointer, site.pointer)
            inner = Membership(alone.normalizer).culprit(part, alone.document.root)
            if inner.steps or keyword == "$ref":  # a subschema of the keyword is broken
                return _violation(alone, part, path, place)
            shown = excerpt({keyword: site.raw[keyword]}, 60)[1:-1]
            because = f": {inner.reason or reason}" if inner.reason or reason else ""
            return SchemaViolation(path, keyword, place, f"{excerpt(part, 60)} breaks {shown}{because}")
    message = reason or f"{excerpt(part, 60)} does not fulfil the schema"
    return SchemaViolation(path, None, _join_pointers(pointer, schema.document.site_of(conj).pointer), message)


def _join_pointers(pointer: str, inner: str) -> str:
    """The path of a subschema in the schema at `pointer`. Definitions are those of the root."""
    return inner if inner.startswith(("$.$defs", "$.definitions")) else pointer + inner[1:]


def _sites(schema: JsonSchema, conj: Conj) -> Iterator[Site]:
    """The subschemas in a conjunction; of one that only refers to another, that one."""
    for serial in conj:
        atom, formula = schema.document.atoms[serial], schema.document.formulas[serial]
        if isinstance(formula, Atoms):
            yield from _sites(schema, formula.conj)
        elif isinstance(atom, Site):
            yield atom


def _broken(schema: JsonSchema, site: Site, keyword: str, value: Json) -> JsonSchema | None:
    """The schema of one keyword with its companions, if the value does not fulfil it; else None."""
    kept = {name: site.raw[name] for name in (keyword, *COMPANIONS.get(keyword, ())) if name in site.raw}
    alone = schema.beside_definitions(kept)
    try:
        fits = Membership(alone.normalizer).is_member(value, alone.document.root)
    except ConstrainError:  # cannot be read alone
        return None
    return None if fits else alone
