"""Places that stay open though they declare something: `json_schema(undeclared="avoid")`, as `generate` reads schemas.

The idea: a closed schema should lose nothing but what nobody declared. Three things tell that closing a place would
take more away. What the place asks for is not declared there (closed.py); several schemas of one place describe a
value, and each declares something that another one does not, as in `then` beside `properties`; and, decided by
emptiness, no object or array fulfils the closed place while some fulfilled the written one. What cannot be copied at
all, as dynamic references, leaves the whole schema open.

Cost: a walk over the schema. Emptiness is asked only of places with a keyword of `RISKY`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any, NamedTuple, Protocol, TypeVar

from constrain.errors import LimitError, SchemaError, UnsatisfiableError
from constrain.languages.constraints.report import ReportLine
from constrain.languages.schema.closed import ITEMS, KINDS, PROPERTIES, ClosedPlace, Closing, asked_by
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.read.document import Site
from constrain.limits import STEPS_PER_LOOK, Limits, tick

RISKY = frozenset(
    {"minProperties", "patternProperties", "propertyNames", "not", "enum", "const", "minItems", "contains"}
    | {"unevaluatedProperties", "unevaluatedItems", "additionalProperties", "additionalItems"}
)
"""Keywords under which a closed place may be empty though everything that it asks for is declared."""

MAX_STEPS = 40_000  # up to a third of a second; of the 5,626 schemas of MaskBench 12 need more
_ROUNDS = 8
_SEVERAL = "several schemas describe this value, and none declares all of it"
_EMPTY = "nothing could be written there without what is not declared"


class Decidable(Protocol):
    """A schema that is made, to be decided."""

    @property
    def normalizer(self) -> Normalizer:
        """Its normal forms. Raises ConstrainError if it cannot be read, or is empty."""

    def undecided(self) -> Normalizer:
        """Its normal forms, also if it is empty."""


T = TypeVar("T", bound=Decidable)


class Closed(NamedTuple):
    """The record of closing a schema.

    Attributes:
        written: The schema as it was written.
        lines: The lines of the report: each place that was closed, or stays open.
        origins: The pointers of originals, by those of their closed copies.
    """

    written: Any
    lines: tuple[ReportLine, ...]
    origins: dict[str, str]

    def original(self, pointer: str) -> str:
        """The place in the written schema of a place in the closed one."""
        for copy, origin in self.origins.items():
            if pointer == copy or pointer.startswith((f"{copy}.", f"{copy}[")):
                return origin + pointer[len(copy) :]
        return pointer


def closed_where_possible(written: Normalizer, make: Callable[[Any, Closed], T]) -> T:
    """Close a schema wherever that takes nothing away but what is not declared.

    Args:
        written: The normal forms of the schema as written, an object.
        make: A schema, and the record of closing it → what has its normal forms.

    Returns:
        What was made of the closed schema; of the written one, if it stays open as a whole.
    """
    site = written.document.root_site
    try:
        with Limits(seconds=None, megabytes=None, steps=MAX_STEPS).of("closing it"):
            made = _closed(written, make)
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
    return make(site.raw, Closed(site.raw, (line,), {}))


def _closed(written: Normalizer, make: Callable[[Any, Closed], T]) -> T | None:
    """Return what is made of the closed schema; None if it is empty, and no single place tells why."""
    site = written.document.root_site
    stays = dict(_overlaps(Closing(site, {})))
    for _ in range(_ROUNDS):
        closing = Closing(site, stays)
        schema = closing.schema()
        did = Closed(site.raw, tuple(closing.lines()), closing.origins)
        if not closing.places and not closing.objects:
            return make(site.raw, did)
        made = make(schema, did)
        try:
            normalizer, is_empty = made.normalizer, False
        except UnsatisfiableError:
            normalizer, is_empty = made.undecided(), True
        places = [place for place in closing.places if is_empty or _is_risky(place, closing)]
        empty = _emptied(places, normalizer, written)
        if not empty:
            return None if is_empty else made
        stays |= {id(place.site.raw): _EMPTY for place in _innermost(empty, closing)}
    return None


# -- places that closing would empty -----------------------------------------------------------------------------------


def _is_risky(place: ClosedPlace, closing: Closing) -> bool:
    return any(not RISKY.isdisjoint(part.raw) for part in closing.within(place.site))


def _emptied(places: list[ClosedPlace], closed: Normalizer, written: Normalizer) -> list[ClosedPlace]:
    """The places of which closing leaves no object, or no array, while the written schema has some."""
    after, before = _serials(closed), _serials(written)
    root = written.document.root_site
    found: list[ClosedPlace] = []
    for place in places:
        conj = after.get(id(place.copy))
        if conj is None and place.site.raw is root.raw:
            conj = closed.document.root
        if conj is None:  # of the same content as another place
            if any(place.kind is other.kind and place.copy == other.copy for other in found):
                found.append(place)
        elif not _has_some(closed, conj, place) and _has_some(written, before.get(id(place.site.raw)), place):
            found.append(place)
    return found


def _serials(normalizer: Normalizer) -> dict[int, tuple[int, ...]]:
    atoms = normalizer.document.atoms
    return {id(atom.raw): (serial,) for serial, atom in enumerate(atoms) if isinstance(atom, Site)}


def _has_some(normalizer: Normalizer, conj: tuple[int, ...] | None, place: ClosedPlace) -> bool:
    """True if a conjunction has objects, or arrays; None counts as one that has."""
    if conj is None:
        return True
    normal = normalizer.normal(conj)
    if place.kind is PROPERTIES:
        return any(map(normalizer.has_objects, normal.objects))
    return any(map(normalizer.has_arrays, normal.arrays))


def _innermost(places: list[ClosedPlace], closing: Closing) -> list[ClosedPlace]:
    """The places that hold none of the others: those around them may have something once these are open."""
    ids = {id(place.copy) for place in places}
    alone = [place for place in places if not any(id(raw) in ids for raw in _inside(place.copy, closing))]
    return alone or places


def _inside(copy: dict[str, Any], closing: Closing) -> Iterator[dict[str, Any]]:
    """The objects inside of a closed copy, also behind its references; not itself."""
    seen, stack = {id(copy)}, list(copy.values())
    while stack:
        raw = stack.pop()
        if isinstance(raw, list):
            stack += raw
        elif isinstance(raw, dict) and id(raw) not in seen:
            seen.add(id(raw))
            yield raw
            stack += raw.values()
        elif isinstance(raw, str) and raw.startswith("#/$defs/(closed "):
            stack.append(closing.definitions.get(raw[len("#/$defs/") :]))


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


def _overlaps(closing: Closing) -> Iterator[tuple[int, str]]:
    """The ids of subschemas that are not closed, since others describe the same value."""
    said: dict[tuple[int, Any], _Said] = {}

    def of(site: Site, kind: Any) -> _Said:
        key = (id(site.raw), kind)
        if key not in said:
            said[key] = _said(closing, site, kind)
        return said[key]

    for place in _places(closing):
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
