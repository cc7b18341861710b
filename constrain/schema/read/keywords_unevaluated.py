"""`unevaluatedProperties` and `unevaluatedItems` (Core 2020-12 section 11).

The idea: which properties count as evaluated depends on which branches a value fulfils, so the keyword is a union of
*cases*: some branches are fulfilled, and what they do not evaluate fulfils the keyword's schema. A branch that is
fulfilled can only add to what is evaluated, so a case need not say which branches fail: the union over all choices of
branches is exact without any complement (`if` aside, whose `else` counts only where it fails). Cases that another one
covers are dropped.

Cost: a product over the branches that evaluate something; branches that evaluate the same are one choice.
Limit: `MAX_CASES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from constrain.automata.syntax import ANY_TEXT, Node, alternate, complement
from constrain.errors import ConstrainError, LimitError
from constrain.schema.read.keywords_values import pattern_value
from constrain.schema.read.reading import SubschemaReading
from constrain.schema.sets.algebra import ANY_OBJECT, EVERYTHING, NOTHING, TRUE, ArrayBox, Conj, ObjectBox, both
from constrain.schema.sets.formula import AllOf, AnyOf, Atoms, Formula, KnownSet

if TYPE_CHECKING:
    from constrain.schema.read.document import Site
    from constrain.schema.read.reader import SchemaReader

MAX_CASES = 500


class Keys(NamedTuple):
    """The keys that are evaluated: some names, those in some languages, or all."""

    names: frozenset[str] = frozenset()
    languages: frozenset[Node] = frozenset()
    every: bool = False

    def joined(self, other: Keys) -> Keys:
        if self.every or other.every:
            return Keys(every=True)
        return Keys(self.names | other.names, self.languages | other.languages)

    def within(self, other: Keys) -> bool:
        """Visibly a subset?"""
        return other.every or (not self.every and self.names <= other.names and self.languages <= other.languages)


class Items(NamedTuple):
    """The items that are evaluated: the first `first`, those that fulfil one of some conjunctions, or all."""

    first: int = 0
    contained: frozenset[Conj] = frozenset()
    every: bool = False

    def joined(self, other: Items) -> Items:
        if self.every or other.every:
            return Items(every=True)
        return Items(max(self.first, other.first), self.contained | other.contained)

    def within(self, other: Items) -> bool:
        """Visibly a subset?"""
        return other.every or (not self.every and self.first <= other.first and self.contained <= other.contained)


Evaluated = Keys | Items
Guard = Conj | str  # a conjunction that is fulfilled, or the name of a property that is present


class Case(NamedTuple):
    """If all guards hold, this much is evaluated at least."""

    guards: frozenset[Guard]
    evaluated: Any

    def covers(self, other: Case) -> bool:
        """Does it ask no more, and evaluate no less?"""
        return self.guards <= other.guards and other.evaluated.within(self.evaluated)


def unevaluatedProperties(reading: SubschemaReading, value: Any) -> None:
    """What the properties fulfil that no other keyword evaluates."""
    conj = reading.child(value, "unevaluatedProperties")
    cases = _Cases(reading.reader, Keys(), _own_keys).of(reading.site, asked=True)

    def box(keys: Keys) -> ObjectBox:
        named = tuple((name, TRUE) for name in sorted(keys.names))
        if not keys.languages:
            return ObjectBox(named, classes=((ANY_TEXT, conj),))
        language = alternate(*sorted(keys.languages, key=repr))
        return ObjectBox(named, classes=((language, TRUE), (complement(language), conj)))

    _add(reading, cases, box)


def unevaluatedItems(reading: SubschemaReading, value: Any) -> None:
    """What the items fulfil that no other keyword evaluates."""
    conj = reading.child(value, "unevaluatedItems")
    negate = reading.document.negation

    def box(items: Items) -> ArrayBox:
        outside = negate(conj)
        for contained in items.contained:
            outside = both(outside, negate(contained))
        rest = negate(outside) if items.contained else conj  # the union, by De Morgan
        return ArrayBox((TRUE,) * items.first, rest)

    _add(reading, _Cases(reading.reader, Items(), _own_items).of(reading.site, asked=True), box)


def _add(reading: SubschemaReading, cases: list[Case], box: Callable[[Any], ArrayBox | ObjectBox]) -> None:
    """Add the union of the cases to what is read."""
    if any(case.evaluated.every and not case.guards for case in cases):
        return
    reading.document.must_explore = True
    parts: list[Formula] = []
    for guards, evaluated in cases:
        conditions = [_condition(guard) for guard in sorted(guards, key=repr)]
        if not evaluated.every:
            made = box(evaluated)
            changed = {"objects": (made,)} if isinstance(made, ObjectBox) else {"arrays": (made,)}
            conditions.append(KnownSet(EVERYTHING._replace(**changed)))
        parts.append(conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions)))
    reading.formulas.append(parts[0] if len(parts) == 1 else AnyOf(tuple(parts)))


def _condition(guard: Guard) -> Formula:
    if isinstance(guard, str):
        return KnownSet(NOTHING._replace(objects=(ANY_OBJECT._replace(required=(guard,)),)))
    return Atoms(guard)


# --------------------------------------------------------------------------------------------------------- cases


class _Cases:
    """The cases of a subschema, through all keywords that apply to the same value.

    nothing: what is evaluated by no keyword. own: what the keywords of one subschema evaluate by themselves.
    """

    def __init__(
        self, reader: SchemaReader, nothing: Evaluated, own: Callable[[SchemaReader, Site, bool], Evaluated]
    ) -> None:
        self.reader = reader
        self.none = Case(frozenset(), nothing)
        self.own = own
        self._open: set[Conj] = set()  # on the present path: a loop without a property evaluates nothing new

    def of(self, site: Site, asked: bool = False) -> list[Case]:
        """The cases of a subschema that is fulfilled. asked: it is the one whose keyword is being read."""
        found = [Case(frozenset(), self.own(self.reader, site, asked))]
        for choice in self._choices(site):
            found = self._product(site, found, _pruned(choice))
        return found

    def _product(self, site: Site, left: list[Case], right: list[Case]) -> list[Case]:
        if len(left) * len(right) > MAX_CASES * 20:
            raise self._too_many(site)
        found = _pruned(Case(a.guards | b.guards, a.evaluated.joined(b.evaluated)) for a, b in product(left, right))
        if len(found) > MAX_CASES:
            raise self._too_many(site)
        return found

    @staticmethod
    def _too_many(site: Site) -> ConstrainError:
        message = f"what is unevaluated depends on more than {MAX_CASES} combinations of branches"
        return site.error(message, "write fewer branches that differ in their properties beside it", kind=LimitError)

    def _inside(self, conj: Conj) -> list[Case]:
        """The cases of a conjunction that is fulfilled."""
        atom = self.reader.document.atoms[conj[0]] if conj else None
        if atom is None or conj in self._open:
            return [self.none]
        self._open.add(conj)
        try:
            return self.of(cast("Site", atom))
        finally:
            self._open.discard(conj)

    def _guarded(self, conj: Conj) -> list[Case]:
        """The cases of a conjunction that may be fulfilled or not, if it is."""
        return [Case(case.guards | {conj}, case.evaluated) for case in self._inside(conj)]

    def _choices(self, site: Site) -> Iterator[list[Case]]:
        """For each applicator its cases, of which one holds."""
        raw = {key: value for key, value in site.raw.items() if key not in site.dialect.lacks}
        none = self.none

        def child(part: Any, *steps: str | int) -> Conj:
            return self.reader.conj(part, site, steps)

        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in raw:
                yield self._inside(self.reader.follow(site, keyword, raw[keyword]))
        for i, part in enumerate(raw.get("allOf", ())):
            yield self._inside(child(part, "allOf", i))
        for i, part in enumerate(raw.get("anyOf", ())):
            yield [none, *self._guarded(child(part, "anyOf", i))]
        branches = [self._guarded(child(part, "oneOf", i)) for i, part in enumerate(raw.get("oneOf", ()))]
        if branches:
            yield [none, *(case for cases in branches for case in cases)]
        for keyword in ("dependentSchemas", "dependencies"):
            for name, part in raw.get(keyword, {}).items():
                if not isinstance(part, list):
                    cases = self._inside(child(part, keyword, name))
                    yield [none, *(Case(case.guards | {name}, case.evaluated) for case in cases)]
        if "if" in raw:
            yield self._conditional(site, raw)

    def _conditional(self, site: Site, raw: dict[str, Any]) -> list[Case]:
        """`if` and `then`, or `else` where `if` fails; `if` counts also without them."""
        condition = self.reader.conj(raw["if"], site, ("if",))
        then = self._inside(self.reader.conj(raw.get("then", True), site, ("then",)))
        otherwise = self._inside(self.reader.conj(raw.get("else", True), site, ("else",)))
        fails = self.reader.document.negation(condition)
        return [
            self.none,
            *self._product(site, self._guarded(condition), then),
            *(Case(case.guards | {fails}, case.evaluated) for case in otherwise),
        ]


def _pruned(cases: Iterable[Case]) -> list[Case]:
    """The cases that no other one covers."""
    kept: list[Case] = []
    for case in sorted(dict.fromkeys(cases), key=lambda each: len(each.guards)):
        if not any(other.covers(case) for other in kept):
            kept = [other for other in kept if not case.covers(other)]
            kept.append(case)
    return kept


def _own_keys(reader: SchemaReader, site: Site, asked: bool) -> Keys:
    """What the keywords of one subschema evaluate of an object."""
    raw = site.raw
    if "additionalProperties" in raw or ("unevaluatedProperties" in raw and not asked):
        return Keys(every=True)
    patterns = raw.get("patternProperties", {})
    reading = SubschemaReading(reader, site)
    languages = frozenset(pattern_value(reading, "patternProperties", text) for text in patterns)
    return Keys(frozenset(raw.get("properties", {})), languages)


def _own_items(reader: SchemaReader, site: Site, asked: bool) -> Items:
    """What the keywords of one subschema evaluate of an array."""
    raw, dialect = site.raw, site.dialect
    tuples = isinstance(raw.get("items"), list) and dialect.array_items
    rest = "additionalItems" if tuples else "items"
    if rest in raw or ("unevaluatedItems" in raw and not asked):
        return Items(every=True)
    prefix = raw["items"] if tuples else () if "prefixItems" in dialect.lacks else raw.get("prefixItems", ())
    if "contains" in raw and "prefixItems" not in dialect.lacks:  # not in draft 2019-09
        return Items(len(prefix), frozenset({reader.conj(raw["contains"], site, ("contains",))}))
    return Items(len(prefix))
