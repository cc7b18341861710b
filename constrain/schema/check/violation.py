"""Which keyword a value breaks, and where: for messages about a JSON text that is no member.

The idea: descend into the value as long as one part alone is to blame. At the deepest place, ask about each keyword of
the subschemas there as if it stood alone. Cost: the keywords at that place are read once more. Limit: a keyword whose
references do not lead from the root is not asked about alone; then only the place is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from constrain.errors import ConstrainError
from constrain.schema.check.finished import read_exactly
from constrain.schema.check.member import Membership
from constrain.schema.read.document import Site, draw_step, excerpt
from constrain.schema.sets.algebra import FALSE, Conj

if TYPE_CHECKING:
    from constrain.schema.api import JsonSchema

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


def _violation(schema: JsonSchema, value: Any, path: str, pointer: str) -> SchemaViolation:
    """The violation of a value at `path`, by a schema that stands at `pointer`."""
    steps, part, conj, reason = _deepest(Membership(schema.normalizer), value, schema.document.root)
    path += steps
    for site in _sites(schema, conj):
        for keyword in site.raw if isinstance(site.raw, dict) else ():
            if keyword in NOT_ALONE or (alone := _broken(schema, site, keyword, part)) is None:
                continue
            place = _joined(pointer, site.pointer)
            inner = _deepest(Membership(alone.normalizer), part, alone.document.root)
            if inner[0] or keyword == "$ref":  # the keyword leads to a subschema that is to blame
                return _violation(alone, part, path, place)
            shown = excerpt({keyword: site.raw[keyword]}, 60)[1:-1]
            because = f": {inner[3] or reason}" if inner[3] or reason else ""
            return SchemaViolation(path, keyword, place, f"{excerpt(part, 60)} breaks {shown}{because}")
    message = reason or f"{excerpt(part, 60)} does not fulfil the schema"
    return SchemaViolation(path, None, _joined(pointer, schema.document.site_of(conj).pointer), message)


def _joined(pointer: str, inner: str) -> str:
    """The path of a subschema, from that of the schema which holds it. Definitions are those of the root."""
    return inner if inner.startswith(("$.$defs", "$.definitions")) else pointer + inner[1:]


def _deepest(membership: Membership, value: Any, conj: Conj) -> tuple[str, Any, Conj, str]:
    """(steps, value, conjunction, reason) of the deepest place that is to blame alone."""
    steps = ""
    while True:
        normal = membership.normalizer.normal(conj)
        fault = None
        if isinstance(value, list) and len(normal.arrays) == 1:
            fault = membership.array_fault(value, normal.arrays[0])
        elif isinstance(value, dict) and len(normal.objects) == 1:
            fault = membership.object_fault(value, normal.objects[0])
        if fault is None or fault.part is None:
            return steps, value, conj, "" if fault is None else fault.reason
        step, part, asked = fault.part
        if asked == FALSE:  # nothing may stand there
            kind = "item" if isinstance(value, list) else "property"
            return steps, value, conj, f"the {kind} {excerpt(step, 40)} is not allowed"
        steps, value, conj = steps + draw_step(step), part, asked


def _sites(schema: JsonSchema, conj: Conj) -> Iterator[Site]:
    atoms = (schema.document.atoms[serial] for serial in conj)
    return (atom for atom in atoms if isinstance(atom, Site))


def _broken(schema: JsonSchema, site: Site, keyword: str, value: Any) -> JsonSchema | None:
    """A keyword of a subschema as a schema of its own, with its companions, if the value breaks it; else None."""
    kept = {name: site.raw[name] for name in (keyword, *COMPANIONS.get(keyword, ())) if name in site.raw}
    alone = schema.beside_definitions(kept)
    try:
        fits = Membership(alone.normalizer).is_member(value, alone.document.root)
    except ConstrainError:  # cannot be read alone
        return None
    return None if fits else alone
