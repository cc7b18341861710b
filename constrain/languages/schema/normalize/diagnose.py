"""The reason why nothing fulfils a schema: the deepest place that explains it, and the keywords that conflict there.

The idea: drop one keyword at a time and decide again; the keywords without which something would fulfil the schema are
the conflict. If a required property or item is empty, look inside it instead. Runs only when a schema was found empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.read.document import Site
from constrain.languages.schema.read.keywords import KEYWORDS
from constrain.languages.schema.read.reader import SchemaReader
from constrain.languages.schema.sets.algebra import Conj
from constrain.languages.schema.sets.json_types import Json

Probe = Callable[[Json], bool]  # whether something fulfils a schema that is put in the place of the root

PAIRS = [
    ("minLength", "maxLength", "no string can match"),
    ("minItems", "maxItems", "no array can match"),
    ("minContains", "maxContains", "no array can match"),
    ("minProperties", "maxProperties", "no object can match"),
    ("minimum", "maximum", "no number can match"),
]


def unsatisfiable(normalizer: Normalizer, reader: SchemaReader, probe: Probe) -> ConstrainError:
    """The error for an empty root, at the deepest place that explains it. `reader` has read the document."""
    document = reader.document
    top = document.site_of(document.root)
    site = document.root_site if top.parent or top.steps else top  # with what closes it
    seen = {id(site.raw)}
    while (inner := next(_empty_parts(normalizer, reader, site), None)) is not None and id(inner.raw) not in seen:
        seen.add(id(inner.raw))
        site = inner
    raw = site.raw
    if raw is False:
        return site.error("the schema false has no instances", "allow some value here", kind=UnsatisfiableError)
    for low, high, consequence in PAIRS:
        if _greater(raw.get(low), raw.get(high)):
            message = f"{low} ({raw[low]}) is greater than {high} ({raw[high]}): {consequence}"
            return site.error(message, f"lower {low} or raise {high}", low, high, kind=UnsatisfiableError)
    keywords = [keyword for keyword in raw if keyword in KEYWORDS]
    guilty = [keyword for keyword in keywords if _helps(site, keyword, probe)] or keywords
    if guilty == ["enum"] and raw["enum"] == []:
        return site.error(
            "enum is empty: no value can match", "list at least one value", "enum", kind=UnsatisfiableError
        )
    if len(guilty) > 2 and "type" in guilty:  # without a type there is always a value of another type
        guilty.remove("type")
    named = " and ".join([", ".join(guilty[:-1]), guilty[-1]] if len(guilty) > 1 else guilty)
    message = f"no value can match: {named} {'contradict each other' if len(guilty) > 1 else 'leaves nothing'}"
    return site.error(message, "relax one of them", *guilty, kind=UnsatisfiableError)


def _greater(a: Any, b: Any) -> bool:
    """True if a > b; False for values that have no order."""
    try:
        return bool(a > b)
    except TypeError:
        return False


def _helps(site: Site, keyword: str, probe: Probe) -> bool:
    """True if something would fulfil the subschema without this keyword."""
    if keyword == "type" and isinstance(site.raw[keyword], str) and len(site.raw) > 1:
        return probe({key: value for key, value in site.raw.items() if key != "type"})
    try:
        return probe({key: value for key, value in site.raw.items() if key != keyword})
    except ConstrainError:
        return False


def _empty_parts(normalizer: Normalizer, reader: SchemaReader, site: Site) -> Iterator[Site]:
    """Yield the required properties and items of a subschema that are empty themselves."""
    raw = site.raw if isinstance(site.raw, dict) else {}
    properties = raw.get("properties", {})
    for name in raw.get("required", []):
        if name in properties:
            yield from _if_empty(normalizer, reader, site, properties[name], "properties", name)
    items = raw.get("items")
    if isinstance(items, dict) and isinstance(raw.get("minItems"), int) and raw["minItems"] > 0:
        yield from _if_empty(normalizer, reader, site, items, "items")


def _if_empty(normalizer: Normalizer, reader: SchemaReader, site: Site, raw: Json, *steps: str) -> Iterator[Site]:
    conj: Conj = reader.conj(raw, site, steps)
    if not normalizer.inhabited(conj):
        inner = normalizer.document.site_of(conj) if isinstance(raw, dict) else None
        if inner is not None and inner.raw is not site.raw:
            yield inner
