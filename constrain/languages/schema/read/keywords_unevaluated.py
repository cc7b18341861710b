"""`unevaluatedProperties` and `unevaluatedItems` (Core 2020-12 section 11).

The idea: which properties are evaluated depends on which branches a value fulfils. So the keyword is a union of
*cases*: some branches are fulfilled, and the properties that they do not evaluate fulfil the keyword's schema. Each
fulfilled branch can only add evaluated properties, so a case need not say which branches fail: the union over all
choices of branches is exact without any complement (except for `if`, whose `else` counts only where it fails). Cases
that another case covers are dropped.

Cost: a product over the branches that evaluate something; branches that evaluate the same are one choice.
Limit: `MAX_CASES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from constrain.errors import ConstrainError, LimitError
from constrain.languages.automata.syntax import ANY_TEXT, Node, alternate, complement
from constrain.languages.schema.read.closing import BRANCHES
from constrain.languages.schema.read.keywords_values import pattern_value
from constrain.languages.schema.read.reading import SubschemaReading
from constrain.languages.schema.sets.algebra import (
    ANY_OBJECT,
    EVERYTHING,
    NOTHING,
    TRUE,
    ArrayBox,
    Conj,
    ObjectBox,
    both,
)
from constrain.languages.schema.sets.formula import AllOf, AnyOf, Atoms, Formula, KnownSet
from constrain.languages.schema.sets.json_types import Json
from constrain.limits import tick

if TYPE_CHECKING:
    from constrain.languages.schema.read.document import Site
    from constrain.languages.schema.read.reader import SchemaReader

MAX_CASES = 500
SHAPES = dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), list) | dict.fromkeys(
    ("properties", "patternProperties", "dependentSchemas", "dependencies"), dict
)


class Keys(NamedTuple):
    """A set of evaluated keys.

    Attributes:
        names: These names,
        languages: and the keys in these languages;
        every: or all keys.
    """

    names: frozenset[str] = frozenset()
    languages: frozenset[Node] = frozenset()
    every: bool = False

    def joined(self, other: Keys) -> Keys:
        """The union of what two schemas evaluate."""
        if self.every or other.every:
            return Keys(every=True)
        return Keys(self.names | other.names, self.languages | other.languages)

    def within(self, other: Keys) -> bool:
        """True if it is visibly a subset."""
        return other.every or (not self.every and self.names <= other.names and self.languages <= other.languages)


class Items(NamedTuple):
    """A set of evaluated items.

    Attributes:
        first: The first items, so many,
        contained: and the items that fulfil one of these conjunctions;
        every: or all items.
    """

    first: int = 0
    contained: frozenset[Conj] = frozenset()
    every: bool = False

    def joined(self, other: Items) -> Items:
        """The union of what two schemas evaluate."""
        if self.every or other.every:
            return Items(every=True)
        return Items(max(self.first, other.first), self.contained | other.contained)

    def within(self, other: Items) -> bool:
        """True if it is visibly a subset."""
        return other.every or (not self.every and self.first <= other.first and self.contained <= other.contained)


Evaluated = Keys | Items
Condition = Conj | str  # a conjunction that the value fulfils, or the name of a property that it has


class EvaluatedCase(NamedTuple):
    """If all conditions hold, at least these keys or items are evaluated."""

    conditions: frozenset[Condition]
    evaluated: Any  # Keys or Items, the same in all cases of a keyword

    def covers(self, other: EvaluatedCase) -> bool:
        """True if it has no further condition than the other, and evaluates no less."""
        return self.conditions <= other.conditions and other.evaluated.within(self.evaluated)


def unevaluatedProperties(reading: SubschemaReading, value: Json, keyword: str = "unevaluatedProperties") -> None:
    """A schema for the properties that no other keyword evaluates."""
    conj = reading.child(value, keyword)
    cases = _Cases(reading.reader, Keys(), _own_keys).of(reading.site, is_asked=True)

    def box(keys: Keys) -> ObjectBox:
        named = tuple((name, TRUE) for name in sorted(keys.names))
        if not keys.languages:
            return ObjectBox(named, classes=((ANY_TEXT, conj),))
        language = alternate(*sorted(keys.languages, key=repr))
        return ObjectBox(named, classes=((language, TRUE), (complement(language), conj)))

    _add(reading, cases, box)


def unevaluatedItems(reading: SubschemaReading, value: Json, keyword: str = "unevaluatedItems") -> None:
    """A schema for the items that no other keyword evaluates."""
    conj = reading.child(value, keyword)
    negate = reading.document.negation

    def box(items: Items) -> ArrayBox:
        outside = negate(conj)
        for contained in items.contained:
            outside = both(outside, negate(contained))
        rest = negate(outside) if items.contained else conj  # the union, by De Morgan
        return ArrayBox((TRUE,) * items.first, rest)

    _add(reading, _Cases(reading.reader, Items(), _own_items).of(reading.site, is_asked=True), box)


def _add(reading: SubschemaReading, cases: list[EvaluatedCase], box: Callable[[Any], ArrayBox | ObjectBox]) -> None:
    """Add the union of the cases to the formulas; `box` returns the box in which the other keys or items fulfil it."""
    if any(case.evaluated.every and not case.conditions for case in cases):
        return
    reading.document.must_explore = True
    union: list[Formula] = []
    for conditions, evaluated in cases:
        parts = [_formula_of(condition) for condition in sorted(conditions, key=repr)]
        if not evaluated.every:
            rest = box(evaluated)
            if isinstance(rest, ObjectBox):
                parts.append(KnownSet(EVERYTHING._replace(objects=(rest,))))
            else:
                parts.append(KnownSet(EVERYTHING._replace(arrays=(rest,))))
        union.append(parts[0] if len(parts) == 1 else AllOf(tuple(parts)))
    reading.formulas.append(union[0] if len(union) == 1 else AnyOf(tuple(union)))


def _formula_of(condition: Condition) -> Formula:
    if isinstance(condition, str):
        return KnownSet(NOTHING._replace(objects=(ANY_OBJECT._replace(required=(condition,)),)))
    return Atoms(condition)


# --------------------------------------------------------------------------------------------------------- cases


class _Cases:
    """Finds the cases of a subschema, through all keywords that apply to the same value.

    `nothing` is the empty set of keys or items. `own(reader, site, is_asked)` returns the keys or items that the
    keywords of one subschema evaluate by themselves.
    """

    def __init__(
        self, reader: SchemaReader, nothing: Evaluated, own: Callable[[SchemaReader, Site, bool], Evaluated]
    ) -> None:
        self.reader = reader
        self.none = EvaluatedCase(frozenset(), nothing)
        self.own = own
        self._open: set[Conj] = set()  # the present path: a subschema that meets itself again evaluates nothing new

    def of(self, site: Site, is_asked: bool = False) -> list[EvaluatedCase]:
        """The cases of a subschema that is fulfilled. `is_asked`: the keyword that is being read is in it."""
        _check_shapes(site)
        cases = [EvaluatedCase(frozenset(), self.own(self.reader, site, is_asked))]
        for choices in self._choices(site):
            cases = self._product(site, cases, _pruned(choices))
        return cases

    def _product(self, site: Site, left: list[EvaluatedCase], right: list[EvaluatedCase]) -> list[EvaluatedCase]:
        if len(left) * len(right) > MAX_CASES * 20:
            raise self._too_many(site)
        pairs = product(left, right)
        cases = _pruned(EvaluatedCase(a.conditions | b.conditions, a.evaluated.joined(b.evaluated)) for a, b in pairs)
        if len(cases) > MAX_CASES:
            raise self._too_many(site)
        return cases

    @staticmethod
    def _too_many(site: Site) -> ConstrainError:
        message = f"what is unevaluated depends on more than {MAX_CASES} combinations of branches"
        return site.error(message, "write fewer branches that differ in their properties beside it", kind=LimitError)

    def _if_certain(self, conj: Conj) -> list[EvaluatedCase]:
        """The cases of a conjunction that the value fulfils in any case."""
        atom = self.reader.document.atoms[conj[0]] if conj else None
        if atom is None or conj in self._open:
            return [self.none]
        self._open.add(conj)
        try:
            return self.of(cast("Site", atom))
        finally:
            self._open.discard(conj)

    def _if_fulfilled(self, conj: Conj) -> list[EvaluatedCase]:
        """The cases of a conjunction, on the condition that the value fulfils it."""
        return [EvaluatedCase(case.conditions | {conj}, case.evaluated) for case in self._if_certain(conj)]

    def _choices(self, site: Site) -> Iterator[list[EvaluatedCase]]:
        """Yield the cases of each keyword that applies subschemas to the same value; one of them holds."""
        raw = {key: value for key, value in site.raw.items() if key not in site.dialect.lacks}
        none = self.none

        def child(part: Any, *steps: str | int) -> Conj:
            return self.reader.conj(part, site, steps)

        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in raw:
                yield self._if_certain(self.reader.follow(site, keyword, raw[keyword]))
        for i, part in enumerate(raw.get("allOf", ())):
            yield self._if_certain(child(part, "allOf", i))
        for keyword in ("anyOf", BRANCHES):
            for i, part in enumerate(raw.get(keyword, ())):
                yield [none, *self._if_fulfilled(child(part, keyword, i))]
        branches = [self._if_fulfilled(child(part, "oneOf", i)) for i, part in enumerate(raw.get("oneOf", ()))]
        if branches:
            yield [none, *(case for cases in branches for case in cases)]
        for keyword in ("dependentSchemas", "dependencies"):
            for name, part in raw.get(keyword, {}).items():
                if not isinstance(part, list):
                    cases = self._if_certain(child(part, keyword, name))
                    yield [none, *(EvaluatedCase(case.conditions | {name}, case.evaluated) for case in cases)]
        if "if" in raw:
            yield self._conditional(site, raw)

    def _conditional(self, site: Site, raw: dict[str, Any]) -> list[EvaluatedCase]:
        """The cases of `if` with `then`, and of `else` where `if` fails. `if` evaluates also without the others."""
        condition = self.reader.conj(raw["if"], site, ("if",))
        then = self._if_certain(self.reader.conj(raw.get("then", True), site, ("then",)))
        otherwise = self._if_certain(self.reader.conj(raw.get("else", True), site, ("else",)))
        fails = self.reader.document.negation(condition)
        return [
            self.none,
            *self._product(site, self._if_fulfilled(condition), then),
            *(EvaluatedCase(case.conditions | {fails}, case.evaluated) for case in otherwise),
        ]


def _check_shapes(site: Site) -> None:
    """Raise SchemaError for lists and objects that are none: a reference may lead here before they are read."""
    for keyword, shape in SHAPES.items():
        if keyword in site.raw and keyword not in site.dialect.lacks and not isinstance(site.raw[keyword], shape):
            what, example = ("a list", "[...]") if shape is list else ("an object", "{...}")
            raise site.error(f"{keyword} is {what} of schemas", f'write "{keyword}": {example}', keyword)


def _pruned(cases: Iterable[EvaluatedCase]) -> list[EvaluatedCase]:
    """The cases that no other case covers."""
    kept: list[EvaluatedCase] = []
    for case in sorted(dict.fromkeys(cases), key=lambda case: len(case.conditions)):
        tick(1 + len(kept))
        if not any(other.covers(case) for other in kept):
            kept = [other for other in kept if not case.covers(other)]
            kept.append(case)
    return kept


def _own_keys(reader: SchemaReader, site: Site, is_asked: bool) -> Keys:
    """The keys that the keywords of one subschema evaluate by themselves."""
    raw = site.raw
    if "additionalProperties" in raw or ("unevaluatedProperties" in raw and not is_asked):
        return Keys(every=True)
    patterns = raw.get("patternProperties", {})
    reading = SubschemaReading(reader, site)
    languages = frozenset(pattern_value(reading, "patternProperties", text) for text in patterns)
    return Keys(frozenset(raw.get("properties", {})), languages)


def _own_items(reader: SchemaReader, site: Site, is_asked: bool) -> Items:
    """The items that the keywords of one subschema evaluate by themselves."""
    raw, dialect = site.raw, site.dialect
    tuples = isinstance(raw.get("items"), list) and dialect.array_items
    rest = "additionalItems" if tuples else "items"
    if rest in raw or ("unevaluatedItems" in raw and not is_asked):
        return Items(every=True)
    prefix = raw["items"] if tuples else () if "prefixItems" in dialect.lacks else raw.get("prefixItems", ())
    if "contains" in raw and "prefixItems" not in dialect.lacks:  # not in draft 2019-09
        return Items(len(prefix), frozenset({reader.conj(raw["contains"], site, ("contains",))}))
    return Items(len(prefix))
