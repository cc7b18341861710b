"""The report of a schema: each keyword is enforced while generating, an annotation, or checked on the finished text.

Made only when asked for: compiling a schema does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from constrain.languages.constraints.report import ReportLine
from constrain.languages.schema.formats.registry import FORMATS, NARROWED_FORMATS
from constrain.languages.schema.read.document import Document, ReadOptions, Site
from constrain.languages.schema.read.keywords import KEYWORDS
from constrain.languages.schema.read.keywords_python import names_type
from constrain.languages.schema.read.meant import meant
from constrain.languages.schema.read.reader import SchemaReader
from constrain.languages.schema.sets.plain_numbers import MAX_SIGNIFICANT, MAX_WHOLE

STRUCTURAL = {"then", "else", "$schema", "$id", "id", "$anchor", "$defs", "definitions"}  # read with other keywords
NARROWED = {  # by type, under spelling="any"
    "number": "with a condition, an exponent beyond ±15 follows one digit before the point",
    "integer": "also 1.0 and 12e3; an exponent beyond ±15 follows one digit before the point, and is at most 307",
}
PLAIN = (
    "values are written as serializers write them: escapes only where JSON needs them and for what is not ASCII, "
    f"integers as at most {MAX_WHOLE} digits, other numbers with at most {MAX_SIGNIFICANT} significant digits and in "
    "the range of a double, unless bounds or constants need more; spelling='any' takes all of JSON"
)


def make_report(reader: SchemaReader, computed: Document) -> list[ReportLine]:
    """The entries of every keyword of every subschema that was reached, then some about JSON values as such.

    Args:
        reader: It has read the schema, and noted which subschemas are equal.
        computed: The same schema, whose normal forms were computed: overlaps show only then.
    """
    document = reader.document
    residual = {(id(site), keyword): note for site, keyword, note in document.residuals}
    entries = [entry for site in document.sites for entry in _entries(site, site, residual, document.options)]
    for site, serial in reader.duplicates:
        entries += _entries(site, document.atoms[serial], residual, document.options)
    late = [entry_of for entry_of in computed.residuals if entry_of[1] not in KEYWORDS]
    entries += [ReportLine(what, site.pointer, "residual", note) for site, what, note in late]
    entries.append(ReportLine("(keys)", "$", "enforced", "no key comes twice: a guard watches undeclared keys"))
    if document.options.property_order == "schema":
        entries.append(
            ReportLine(
                "(order)", "$", "enforced", "declared properties come in the order of the schema, then all others"
            )
        )
    if document.options.spelling == "plain":
        entries.append(ReportLine("(spelling)", "$", "enforced", PLAIN))
    return entries


def _entries(
    site: Site, first: object, residual: dict[tuple[int, str], str], options: ReadOptions
) -> Iterator[ReportLine]:
    """Yield the entries of one subschema; `first` is the equal subschema that was read."""
    pointer = site.pointer
    for keyword, value in site.raw.items():
        note = residual.get((id(first), keyword))
        if note is not None:
            yield ReportLine(keyword, pointer, "enforced" if keyword == "uniqueItems" else "residual", note)
        elif keyword == "format" and names_type(site.raw):
            yield ReportLine(keyword, pointer, "enforced", "as x-python says")
        elif keyword == "format" and (value not in FORMATS or options.formats == "annotate"):
            known = "not asserted on request" if value in FORMATS else f"the format {value!r} is not known"
            yield ReportLine(keyword, pointer, "annotation", known)
        elif keyword in KEYWORDS and keyword not in site.dialect.lacks:
            yield ReportLine(keyword, pointer, "enforced", _narrowing(keyword, value, options))
        elif keyword in STRUCTURAL:
            yield ReportLine(keyword, pointer, "enforced", "")
        else:
            yield ReportLine(keyword, pointer, "annotation", _without_meaning(keyword))


def _without_meaning(keyword: str) -> str:
    if keyword == "nullable":
        return "of OpenAPI 3.0: null is refused, unless the schema is read with dialect='openapi-3.0'"
    near = meant(keyword)
    return f"is no keyword: did you mean {near!r}?" if near else ""


def _narrowing(keyword: str, value: object, options: ReadOptions) -> str:
    if keyword == "type" and options.spelling == "any":
        kinds = value if isinstance(value, list) else [value]
        return "; ".join(dict.fromkeys(NARROWED[kind] for kind in kinds if kind in NARROWED))
    if isinstance(value, dict) and keyword == "x-python":
        from constrain.languages.schema.formats.python import NARROWED_TYPES

        return NARROWED_TYPES.get(str(value.get("type")), "")
    return NARROWED_FORMATS.get(str(value), "") if keyword == "format" else ""
