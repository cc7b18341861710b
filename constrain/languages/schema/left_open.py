"""Places that stay open though they declare something: `json_schema(undeclared="avoid")`, as `generate` reads schemas.

The idea: a closed schema should lose nothing but what nobody declared. Three things tell that closing a place would
take more away. What the place asks for is not declared there (read/closing.py); several schemas of one place describe a
value, and each declares something that another one does not, as in `then` beside `properties`; and, decided by
emptiness, no object or array fulfils the closed place while some fulfilled the written one. What cannot be closed at
all, as dynamic references, leaves the whole schema open.

Cost: the schema is read once, and once more for what stays open. Emptiness is asked only of places with a keyword of
`RISKY`; a walk looks for values that several schemas describe, where some combine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, product
from typing import Any, NamedTuple

from constrain.errors import LimitError, SchemaError
from constrain.languages.constraints.report import ReportLine
from constrain.languages.schema.normalize.explore import explore
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.read.closing import APPLYING, ITEMS, KINDS, PROPERTIES, Closing, asked_by
from constrain.languages.schema.read.document import Site
from constrain.languages.schema.read.reader import SchemaReader
from constrain.limits import STEPS_PER_LOOK, Limits, tick

RISKY = frozenset(
    {"minProperties", "patternProperties", "propertyNames", "not", "enum", "const", "minItems", "contains"}
    | {"unevaluatedProperties", "unevaluatedItems", "additionalProperties", "additionalItems"}
)
"""Keywords under which a closed place may be empty though everything that it asks for is declared."""

MAX_STEPS = 40_000  # up to a third of a second; of the 5,626 schemas of MaskBench 12 need more
_ROUNDS, _LIMITS = 8, Limits(seconds=None, megabytes=None, steps=MAX_STEPS)
_COMBINING = frozenset({*APPLYING, "$ref", "patternProperties"})
_SEVERAL = "several schemas describe this value, and none declares all of it"
_EMPTY = "nothing could be written there without what is not declared"


class Closed(NamedTuple):
    """A schema, read.

    Attributes:
        normalizer: Its normal forms.
        stays: Why schemas in it stay open, by their id.
        whole: The line of the report, if it stays open as a whole.
    """

    normalizer: Normalizer
    stays: Mapping[int, str] | None = None
    whole: ReportLine | None = None


Read = Callable[[Mapping[int, str]], SchemaReader]


def closed_where_possible(read: Read, written: Callable[[], Normalizer]) -> Closed:
    """Close a schema wherever that takes nothing away but what is not declared.

    Args:
        read: Reads the schema, closed but for what stays open.
        written: The normal forms of the schema as it was written. Raises ConstrainError.

    Returns:
        The schema, closed; as it was written, if it stays open as a whole.
    """
    try:
        with _LIMITS.of("closing it"):
            made = _closed(read, written)
        if made is not None:
            return made
        message, pointer = _EMPTY, "$"
    except (SchemaError, LimitError) as error:
        tick(STEPS_PER_LOOK)  # raises if a limit on all reading is reached
        message, pointer = error.message, (error.place or "$").split("\n")[0]
    except RecursionError:
        message, pointer = "it is nested too deeply", "$"
    where = "" if pointer == "$" else f", at {pointer}"
    line = ReportLine(PROPERTIES.closing, "$", "annotation", f"the whole schema stays open: {message}{where}")
    return Closed(written(), whole=line)


def _closed(read: Read, written: Callable[[], Normalizer]) -> Closed | None:
    """Return the closed schema; None if it is empty, and no single place tells why."""
    stays: dict[int, str] = {}
    reader = read(stays)
    closing = reader.closing
    assert closing is not None
    combined = [site for site in closing.sites if not _COMBINING.isdisjoint(site.raw) and not closing.is_alias(site)]
    if combined and next(_overlaps(closing, combined), None) is not None:  # PERF: only then all places are walked
        stays |= _overlaps(closing, _places(closing))
    for _ in range(_ROUNDS):
        reader = read(stays) if stays else reader
        normalizer = Normalizer(reader.document)
        is_empty = not normalizer.root_inhabited()
        if reader.document.must_explore and not is_empty:
            explore(normalizer)
        empty = _emptied(reader, normalizer, written, is_empty)
        if not empty:
            return None if is_empty else Closed(normalizer, stays)
        stays |= {id(place.raw): _EMPTY for place in _innermost(empty, reader)}
    return None


# -- places that closing would empty -----------------------------------------------------------------------------------


def _emptied(reader: SchemaReader, closed: Normalizer, written: Callable[[], Normalizer], is_empty: bool) -> list[Site]:
    """The places of which closing leaves no object, or no array, while the written schema has some.

    is_empty: the closed schema is empty. Else only places with a keyword of `RISKY` are asked.
    """
    closing = reader.closing
    assert closing is not None
    found: list[tuple[Site, Any]] = []
    for conj, decisions in reader.places:
        if is_empty or closing.has_any(decisions[0].site, RISKY):
            lost = [kind for kind in decisions[0].closes if not _has_some(closed, conj, kind)]
            found += [(decision.site, kind) for decision in decisions for kind in lost]
    if not found:
        return []
    open_ = written()
    before = {id(site.raw): (serial,) for serial, site in enumerate(open_.document.atoms) if isinstance(site, Site)}
    return [site for site, kind in found if _has_some(open_, before.get(id(site.raw)), kind)]


def _has_some(normalizer: Normalizer, conj: tuple[int, ...] | None, kind: Any) -> bool:
    """True if a conjunction has objects, or arrays; None counts as one that has."""
    if conj is None:
        return True
    normal = normalizer.normal(conj)
    if kind is PROPERTIES:
        return any(map(normalizer.has_objects, normal.objects))
    return any(map(normalizer.has_arrays, normal.arrays))


def _innermost(places: list[Site], reader: SchemaReader) -> list[Site]:
    """The places that hold none of the others: those around them may have something once these are open."""
    ids = {id(place.raw) for place in places}
    alone = [place for place in places if not any(id(raw) in ids for raw in _inside(place, reader))]
    return alone or places


def _inside(place: Site, reader: SchemaReader) -> Iterator[dict[str, Any]]:
    """The objects inside of a subschema, also behind its references; not itself."""
    assert reader.closing is not None
    seen, stack = {id(place.raw)}, list(place.raw.values())
    while stack:
        raw = stack.pop()
        if isinstance(raw, list):
            stack += raw
        elif isinstance(raw, dict) and id(raw) not in seen:
            seen.add(id(raw))
            yield raw
            stack += raw.values()
            if isinstance(raw.get("$ref"), str):
                target = reader.closing.target(place.read_as(raw, None))
                stack += [target.raw] if target is not None else []


# -- values that several schemas of a place describe -------------------------------------------------------------------


class _Entry(NamedTuple):
    """A subschema for some properties or items of a place.

    Attributes:
        owner: The id of the schema that has it.
        key: The name of the property, or the index of the item; None: those of a pattern, or all others.
        pattern: The pattern; None: all others.
        choices: The branch of each choice that its owner stands in.
        site: The subschema.
    """

    owner: int
    key: str | int | None
    pattern: str | None
    choices: dict[tuple[int, str], int]
    site: Site

    def meets(self, other: _Entry) -> bool:
        """True if both may describe one value."""
        if any(self.choices[choice] != branch for choice, branch in other.choices.items() if choice in self.choices):
            return False
        if self.key is not None and other.key is not None:
            return self.key == other.key
        if self.owner == other.owner and (self.is_rest or other.is_rest):
            return False  # `additionalProperties` and `items` are about what their schema does not declare
        named, patterned = (self, other) if self.key is not None else (other, self)
        if patterned.pattern is None or not isinstance(named.key, str):
            return True
        try:
            return re.search(patterned.pattern, named.key) is not None
        except re.error:
            return True

    @property
    def is_rest(self) -> bool:
        """True if it is for all others."""
        return self.key is None and self.pattern is None


class _Said(NamedTuple):
    """The properties or items that a subschema tells of.

    Attributes:
        declares: It declares some.
        names: Those that it declares or asks for.
        more: It says that there may be more.
    """

    declares: bool
    names: frozenset[Any]
    more: bool

    @property
    def tells(self) -> bool:
        """True if it says anything."""
        return self.declares or self.more or bool(self.names)


def _overlaps(closing: Closing, places: Iterable[Site]) -> Iterator[tuple[int, str]]:
    """The ids of subschemas of some places that are not closed, since others describe the same value."""
    said: dict[tuple[int, Any], _Said] = {}

    def of(site: Site, kind: Any) -> _Said:
        key = (id(site.raw), kind)
        if key not in said:
            said[key] = _said(closing, site, kind)
        return said[key]

    for place in places:
        entries = list(_entries(closing, place))
        if len({entry.owner for entry in entries}) < 2 and all(entry.pattern is None for entry in entries):
            continue
        telling = [entry for entry in entries if any(of(entry.site, kind).tells for kind in KINDS)]
        for one, two in _pairs(telling):
            tick()
            if one.site.raw is two.site.raw or not one.meets(two):
                continue
            for kind in KINDS:
                first, second = of(one.site, kind), of(two.site, kind)
                for entry, own, other in ((one, first, second), (two, second, first)):
                    if own.declares and (other.more or not other.names <= own.names):
                        yield id(entry.site.raw), _SEVERAL


def _pairs(entries: list[_Entry]) -> Iterator[tuple[_Entry, _Entry]]:
    """The pairs of entries that may be for one property or item."""
    by_key: dict[Any, list[_Entry]] = {}
    for entry in entries:
        by_key.setdefault(entry.key, []).append(entry)
    wide = by_key.pop(None, [])
    for same in (wide, *by_key.values()):
        yield from combinations(same, 2)
    yield from product(wide, (entry for same in by_key.values() for entry in same))


def _said(closing: Closing, site: Site, kind: Any) -> _Said:
    names: set[Any] = set()
    more = False
    if not isinstance(site.raw, dict):
        return _Said(False, frozenset(), False)
    for part in closing.within(site):
        raw = part.raw
        if kind is ITEMS:
            first = next((raw[name] for name in ("prefixItems", "items") if isinstance(raw.get(name), list)), ())
            names.update(range(len(first)))
        else:
            names.update(raw.get("properties", ()), asked_by(raw))
            more = more or bool(raw.get("patternProperties"))
        more = more or any(raw.get(name) not in (None, False) for name in (kind.rest(raw), kind.unevaluated))
    return _Said(closing.declares(site, kind, set()), frozenset(names), more)


def _places(closing: Closing) -> Iterator[Site]:
    """The places of a schema that may be closed."""
    seen: set[int] = set()
    stack = [closing.site]
    while stack:
        place = stack.pop()
        if isinstance(place.raw, dict) and id(place.raw) not in seen:
            seen.add(id(place.raw))
            yield place
            stack += [entry.site for entry in _entries(closing, place)]


def _entries(closing: Closing, place: Site) -> Iterator[_Entry]:
    """The subschemas for the properties and items of a place, in all schemas of the place."""
    seen = {id(place.raw)}
    stack: list[tuple[Site, dict[tuple[int, str], int]]] = [(place, {})]
    while stack:
        site, choices = stack.pop()
        for key, pattern, part in closing.inner(site):
            yield _Entry(id(site.raw), key, pattern, choices, part)
        for name, part in closing.applied(site):
            if name == "if" or not isinstance(part.raw, dict) or id(part.raw) in seen:
                continue
            seen.add(id(part.raw))
            group = "then" if name in ("then", "else") else name
            chosen = {(id(site.raw), group): id(part.raw)} if group in ("anyOf", "oneOf", "then") else {}
            stack.append((part, choices | chosen))
