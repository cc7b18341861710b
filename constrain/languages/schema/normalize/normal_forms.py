"""From formulas to normal forms.

The idea: `normal(conj)` intersects the sets of its atoms. Complements are pushed inwards by De Morgan's rules until
they meet a box (`sets/complement.py`). A container does not look inside its parts, so only a schema that combines
itself with itself *without* passing through a property or item can run in circles, and that is an error.

Whether a set is inhabited is decided by the subclass `Normalizer`. Its answers keep products and differences small. An
answer may depend on an atom that is still being computed; then `AtomLoop` is raised, and the box in question is kept.

Where branches of a `oneOf` overlap in too many ways, their union stands for it, and the finished text is checked; so is
a part of an intersection that has too many alternatives, and what too many properties could meet. A set may be greater
than its formula says for no other reason, and never smaller: complements are of boxes only.

Cost: each conjunction is computed once, when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import accumulate, combinations, takewhile
from math import inf
from typing import TypeVar

from constrain.errors import ConstrainError, LimitError
from constrain.languages.automata.syntax import EMPTY, Literals, Node
from constrain.languages.schema.normalize.conjunctions import Conjunctions
from constrain.languages.schema.read.document import Document, Negation, Site
from constrain.languages.schema.sets.algebra import (
    EVERYTHING,
    FALSE,
    MAX_ALTERNATIVES,
    NOTHING,
    TRUE,
    ArrayBox,
    Conj,
    NormalForm,
    ObjectBox,
    TooManyBoxes,
    intersection,
    meet_objects,
    speaks_of_named,
    union,
    values_of,
)
from constrain.languages.schema.sets.complement import complement_of
from constrain.languages.schema.sets.formula import AllOf, AnyOf, Atoms, CheckedLater, Formula, KnownSet, OneOf
from constrain.languages.schema.sets.shapes_objects import with_few_needs
from constrain.languages.schema.sets.strings import is_void
from constrain.languages.schema.sets.subtract import EmptinessTests, subtract
from constrain.limits import tick

T = TypeVar("T")
MAX_WORK = 1_000_000  # pairs of boxes that are intersected for one schema
MAX_TRIED = 10_000  # of them for one set that may be left to the check
MAX_ASKED = 150_000  # of them for one set that a schema asks for itself
MAX_UNPRUNED = 6  # empty boxes are dropped from a product with more boxes than this
MAX_PRUNING = 8  # nested products that are pruned
MAX_SUBTRACTIONS = 1000  # of branches of a oneOf from each other, one by one
MAX_BRANCHES = 300  # branches of a oneOf that are compared pair by pair
OVERLAP = "branches overlap in too many ways: what tells them apart is checked on the finished text"
NEEDS = "many properties can meet these conditions in too many ways: the last ones are checked on the finished text"


class AtomLoop(Exception):
    """An atom is needed while it is being computed."""

    def __init__(self, serial: int) -> None:
        self.serial = serial


class _Located:
    """The context that `NormalForms.located` returns. PERF: a generator would cost ten times as much."""

    __slots__ = ("_conj", "_forms")

    def __init__(self, forms: NormalForms, conj: Conj) -> None:
        self._forms = forms
        self._conj = conj

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            placed = self._forms.place(self._conj, error)
            try:
                if placed is not error:
                    raise placed from error
            finally:
                del placed  # its traceback holds this frame


class NormalForms:
    """The normal forms of one document, each computed once. `Normalizer` adds the tests of emptiness."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._normals: dict[Conj, NormalForm] = {TRUE: EVERYTHING, FALSE: NOTHING}
        self._atoms: dict[tuple[int, bool], NormalForm] = {}  # by serial number and sign
        self._open: dict[tuple[int, bool], None] = {}  # the atoms that are being computed, the innermost last
        self._inhabited: dict[Conj, bool] = {TRUE: True, FALSE: False}  # as far as it is decided
        self.join = Conjunctions(document).join
        self._work, self._all_work = 0, 0
        self._most_work = inf
        self._pruning = 0  # how many products that are being pruned enclose the present one

    def inhabited(self, conj: Conj) -> bool:
        """True if some value fulfils the conjunction."""
        raise NotImplementedError

    def has_values(self, normal: NormalForm) -> bool:
        """True if a set is inhabited."""
        raise NotImplementedError

    def has_arrays(self, box: ArrayBox) -> bool:
        """True if the box is inhabited."""
        raise NotImplementedError

    def has_objects(self, box: ObjectBox) -> bool:
        """True if the box is inhabited."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------- conjunctions and atoms

    def normal(self, conj: Conj) -> NormalForm:
        """The set of values that fulfil a conjunction.

        Raises:
            SchemaError: References run in a circle.
            LimitError: The algebra reached one of its limits.
        """
        known = self._normals.get(conj)
        if known is not None:
            return known
        formula = self.document.formulas[conj[0]]
        if len(conj) == 1 and type(formula) is KnownSet:
            return formula.normal
        if self._open:  # the outermost conjunction gives errors their place
            return self._conjunction(conj)
        with self.located(conj):
            return self._conjunction(conj)

    def _conjunction(self, conj: Conj) -> NormalForm:
        """PERF: conjunctions grow by complements, which are the last of their numbers: all but one are known."""
        known = len(conj) - 1
        while known and conj[:known] not in self._normals:
            known -= 1
        normal = self._normals[conj[:known]]
        for n, serial in enumerate(conj[known:], known + 1):
            meet = partial(self._intersection, normal, self._atom(serial, True))
            if type(self.document.atoms[serial]) is Negation:
                normal = self._unless_large(meet, serial, otherwise=normal)
            else:
                normal = self._unless_endless(meet, serial, otherwise=normal)
            if any(box.needs for box in normal.objects):
                normal = self._with_few_needs(normal, serial)
            self._normals[conj[:n]] = normal
        return normal

    def _unless_large(self, compute: Callable[[], NormalForm], serial: int, *, otherwise: NormalForm) -> NormalForm:
        """A set, if it is a union of few boxes; else `otherwise`, which holds it, and an atom is left to the check."""
        return self._unless_beyond(MAX_TRIED, compute, serial, otherwise)

    def _unless_endless(self, compute: Callable[[], NormalForm], serial: int, *, otherwise: NormalForm) -> NormalForm:
        """A set that a schema asks for: `_unless_large` with more patience, or what is left of an outer set's."""
        return compute() if self._most_work < inf else self._unless_beyond(MAX_ASKED, compute, serial, otherwise)

    def _unless_beyond(
        self, most: int, compute: Callable[[], NormalForm], serial: int, otherwise: NormalForm
    ) -> NormalForm:
        begun, outer = self._work, self._most_work
        self._most_work = begun + most
        try:
            normal = compute()
            if len(normal.objects) <= max(MAX_ALTERNATIVES, len(otherwise.objects)):
                return normal
        except TooManyBoxes:
            pass
        finally:
            self._most_work = outer
        self._work = begun  # what is given up does not count where it is a part of something else
        self._leave(serial, OVERLAP)
        return otherwise

    @property
    def _innermost(self) -> int:
        """The atom that is being computed: formulas are computed for one."""
        return next(reversed(self._open))[0]

    def _with_few_needs(self, normal: NormalForm, serial: int) -> NormalForm:
        boxes = tuple(map(with_few_needs, normal.objects))
        if boxes == normal.objects:
            return normal
        self._leave(serial, NEEDS)
        return normal._replace(objects=tuple(dict.fromkeys(boxes)))

    def _leave(self, serial: int, note: str) -> None:
        """Leave an atom to the check of the finished text."""
        residual = self.document.site_of((serial,)), "(overlap)", note
        if residual not in self.document.residuals:
            self.document.residuals.append(residual)

    def _atom(self, serial: int, positive: bool) -> NormalForm:
        """The set of an atom, or its complement."""
        key = (serial, positive)
        normal = self._atoms.get(key)
        if normal is None:
            if key in self._open:
                raise AtomLoop(serial)
            self._open[key] = None
            try:
                formula = self.document.formulas[serial]
                assert formula is not None
                if positive:
                    normal = self._set_of(formula)
                else:
                    normal = self._unless_large(lambda: self._outside(formula), serial, otherwise=EVERYTHING)
            finally:
                self._open.pop(key, None)
            self._atoms[key] = normal
        return normal

    def strings(self, conj: Conj) -> Node:
        """The strings that fulfil a conjunction."""
        return self.normal(conj).strings

    def located(self, conj: Conj) -> _Located:
        """A context that gives errors from inside the algebra the place of a conjunction."""
        return _Located(self, conj)

    def place(self, conj: Conj, error: Exception) -> Exception:
        """The error with its place; the same error if it has a place, or is not ours."""
        if isinstance(error, AtomLoop) and not self._open:
            atom = self.document.atoms[error.serial]
            site = atom if isinstance(atom, Site) else self.document.site_of(conj)
            return site.error(
                "this schema refers to itself without passing through a property or an item", "remove the loop"
            )
        if isinstance(error, TooManyBoxes) and self._open:
            return error  # what is being computed may do without
        if isinstance(error, ConstrainError) and error.place is None:
            kind = LimitError if isinstance(error, TooManyBoxes) else type(error)
            return self.document.site_of(conj).error(error.message, error.fix, kind=kind)
        return error

    # --------------------------------------------------------------------------------------------------- formulas

    def _set_of(self, formula: Formula) -> NormalForm:
        """The set of a formula."""
        tick()
        if isinstance(formula, KnownSet):
            return formula.normal
        if isinstance(formula, Atoms):
            return self.normal(formula.conj)
        if isinstance(formula, AllOf):
            return self._all(formula.parts)
        if isinstance(formula, AnyOf):
            return union(self._set_of(part) for part in formula.parts)
        if isinstance(formula, OneOf):
            return self._exactly_one(formula.parts, EVERYTHING)
        if isinstance(formula, CheckedLater):
            return EVERYTHING
        return self._outside(formula.part)

    def _all(self, parts: tuple[Formula, ...]) -> NormalForm:
        """The intersection of the parts, in their order, which decides the order of properties.

        Branches of a `oneOf` need to differ only inside the other parts: often it is their `type`, or the `required`
        property with a `const` in each branch, that tells branches apart.
        """
        others = [self._set_of(part) for part in parts if not isinstance(part, OneOf)]
        within = self._product(others) if len(others) < len(parts) else EVERYTHING
        known = iter(others)
        return self._product(
            self._exactly_one(part.parts, within) if isinstance(part, OneOf) else next(known) for part in parts
        )

    def _product(self, sets: Iterable[NormalForm]) -> NormalForm:
        """The intersection of the sets; conditions that come first are met last if the order of keys stays."""
        parts = list(sets)
        first = list(takewhile(self._keeps_order, parts))
        if first and len(first) < len(parts):
            others = self._in_turn(parts[len(first) :])
            names = frozenset[str]().union(*(box.said for part in first for box in part.objects))
            if all(names <= box.places.keys() for box in others.objects):
                return self._in_turn([others, *first])
        return self._in_turn(parts)

    def _keeps_order(self, normal: NormalForm) -> bool:
        """True if a set has conditions on named keys, and says of no key where it comes."""
        if not speaks_of_named(normal.objects):
            return False
        any_order = self.document.options.property_order == "any"
        return any_order or all(conj == FALSE for box in normal.objects for _, conj in box.named)

    def _in_turn(self, sets: Iterable[NormalForm]) -> NormalForm:
        result = EVERYTHING
        for normal in sets:
            meet = partial(self._intersection, result, normal)
            result = self._unless_endless(meet, self._innermost, otherwise=result)
        return result

    def _outside(self, formula: Formula) -> NormalForm:
        """The complement of a formula."""
        if isinstance(formula, KnownSet):
            return complement_of(formula.normal, self.document.negation, self.strings, self._intersection)
        if isinstance(formula, Atoms):
            return union(self._atom(serial, False) for serial in formula.conj) if formula.conj else NOTHING
        if isinstance(formula, AllOf):
            return union(self._outside(part) for part in formula.parts)
        if isinstance(formula, AnyOf):
            result = EVERYTHING
            for part in formula.parts:
                result = self._intersection(result, self._outside(part))
            return result
        if isinstance(formula, OneOf):
            pairs = (self._set_of(AllOf(pair)) for pair in combinations(formula.parts, 2))
            return union([self._outside(AnyOf(formula.parts)), *pairs])
        if isinstance(formula, CheckedLater):
            return EVERYTHING
        return self._set_of(formula.part)

    def _intersection(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """`algebra.intersection`, with its work counted and large products pruned. Raises LimitError."""
        self.count(len(a.arrays) * len(b.arrays) + len(a.objects) * len(b.objects))
        common = intersection(a, b, self.join)
        if len(common.objects) > MAX_UNPRUNED and len(a.objects) > 1 and len(b.objects) > 1:
            return common._replace(objects=self._all_pruned(common.objects, a.objects))
        if any(len(cases) > MAX_UNPRUNED for box in common.objects for cases in box.conditions):
            known = [case for box in a.objects for cases in box.conditions for case in cases]
            boxes = [
                box._replace(conditions=tuple([self._all_pruned(cases, known) for cases in box.conditions]))
                for box in common.objects
            ]
            return common._replace(objects=tuple([box for box in boxes if all(box.conditions)]))
        return common

    def _all_pruned(self, boxes: Iterable[ObjectBox], known: Iterable[ObjectBox]) -> tuple[ObjectBox, ...]:
        """The boxes, pruned; PERF: the known ones were pruned before, and are unchanged."""
        same = set(map(id, known))
        pruned = [box if id(box) in same else self._pruned(box) for box in boxes]
        return tuple(dict.fromkeys([box for box in pruned if box is not None]))

    def _pruned(self, box: ObjectBox) -> ObjectBox | None:
        """The box with properties that have no value forbidden by name; None if one of them is required.

        Products of conditions on one property (`if` its value is a, `if` its value is b, ...) would grow exponentially
        if their empty combinations were kept.
        """
        tick(len(box.named))
        if self._pruning == MAX_PRUNING:  # the tests may compute further products, which may ask the same again
            return box
        self._pruning += 1
        try:
            empty = {
                name
                for name, conj in box.named
                if conj != FALSE
                and not (self._inhabited.get(conj) or self._unless_loop(self.inhabited, conj, otherwise=True))
            }
        finally:
            self._pruning -= 1
        if empty.intersection(box.required):
            return None
        if not empty:
            return box
        return box._replace(named=tuple((name, FALSE if name in empty else conj) for name, conj in box.named))

    def _unless_loop(self, test: Callable[[T], bool], subject: T, *, otherwise: bool) -> bool:
        """The result of a test; `otherwise` if it depends on an atom that is being computed."""
        self.count(1)
        try:
            return test(subject)
        except AtomLoop:
            return otherwise

    def count(self, pairs: int) -> None:
        """Count pairs of boxes that are intersected. Raises LimitError if the schema has taken too many."""
        tick(max(1, pairs))
        given_up = self._work + pairs > self._most_work
        if given_up or self._all_work + pairs > MAX_WORK:
            kind = TooManyBoxes if given_up else LimitError
            raise kind(
                f"combining the alternatives of this schema takes more than {MAX_WORK} steps",
                fix="give the branches of oneOf a required property with its own const, or use anyOf",
            )
        self._work += pairs
        self._all_work += pairs

    # ----------------------------------------------------------------------------------------------------- oneOf

    def _exactly_one(self, parts: tuple[Formula, ...], within: NormalForm) -> NormalForm:
        """Each branch less the branches that it overlaps within a set; disjoint branches (the usual case) need no
        complement. The result counts within the set only."""
        sets = [self._set_of(part) for part in parts]
        try:
            inside = [self._intersection(within, part) for part in sets]
        except TooManyBoxes:
            if self._most_work < inf:
                raise
            self._leave(self._innermost, OVERLAP)
            return union(sets)
        if _visibly_disjoint(inside) and self._objects_disjoint(inside):
            return union(sets)
        return self._unless_large(lambda: self._apart(parts, sets, inside), self._innermost, otherwise=union(sets))

    def _apart(self, parts: tuple[Formula, ...], sets: list[NormalForm], inside: list[NormalForm]) -> NormalForm:
        """The union of the branches, each less the branches that it overlaps. `inside`: what counts of their sets."""
        if len(parts) > MAX_BRANCHES:
            raise TooManyBoxes(f"oneOf has {len(parts)} branches that no property tells apart")
        overlaps: dict[int, list[int]] = {i: [] for i in range(len(parts))}
        for i, j in combinations(range(len(parts)), 2):
            if self._may_overlap(inside[i], inside[j]):
                overlaps[i].append(j)
                overlaps[j].append(i)
        if sum(map(len, overlaps.values())) > MAX_SUBTRACTIONS and (disjoint := self._without_the_others(parts, sets)):
            return union(disjoint)
        tests = EmptinessTests(
            self.join,
            lambda box: self._unless_loop(self.has_arrays, box, otherwise=True),
            lambda box: self._unless_loop(self.has_objects, box, otherwise=True),
        )
        outside: dict[int, NormalForm] = {}
        branches = []
        for i, others in overlaps.items():
            branch = sets[i]
            for j in others:
                if branch == NOTHING:
                    break
                if j not in outside:
                    outside[j] = self._outside(parts[j])
                branch = subtract(branch, sets[j], outside[j], tests)
            branches.append(branch)
        return union(branches)

    def _without_the_others(self, parts: tuple[Formula, ...], sets: list[NormalForm]) -> list[NormalForm]:
        """Each branch intersected with the complements of all others; nothing if a complement is a union of boxes,
        whose products might grow.

        PERF: the complements before a branch and those after it are products, made once each, so that n branches take
        3 n intersections, not n * n differences.
        """
        outside = [self._outside(part) for part in parts]
        if any(max(len(part_set.numbers), len(part_set.arrays), len(part_set.objects)) > 1 for part_set in outside):
            return []
        before = list(accumulate(outside[:-1], self._intersection, initial=EVERYTHING))
        after = list(accumulate(outside[:0:-1], self._intersection, initial=EVERYTHING))[::-1]
        others = map(self._intersection, before, after)
        return [self._intersection(branch, part_set) for branch, part_set in zip(sets, others, strict=True)]

    def _may_overlap(self, a: NormalForm, b: NormalForm) -> bool:
        """False only if the intersection is provably empty."""
        common = self._intersection(a._replace(objects=()), b._replace(objects=()))
        if common != NOTHING and self._unless_loop(self.has_values, common, otherwise=True):
            return True
        return any(
            box is not None and self._unless_loop(self.has_objects, box, otherwise=True)
            for left in a.objects
            for box in [meet_objects(left, right, self.join) for right in b.objects]
        )

    def _objects_disjoint(self, sets: list[NormalForm]) -> bool:
        """True if a property that every object requires tells the branches apart by its texts."""
        unions = [part.objects for part in sets if part.objects]
        if len(unions) <= 1:
            return True
        common = set(unions[0][0].said)
        for boxes in unions:
            for box in boxes:
                common &= frozenset(box.required).union(*map(_required_always, box.conditions))
        return any(
            self._unless_loop(lambda name: self._discriminates(name, unions), name, otherwise=False)
            for name in sorted(common)
        )

    def _discriminates(self, name: str, unions: list[tuple[ObjectBox, ...]]) -> bool:
        """True if the property takes finitely many texts in every union of objects, and no text in two of them."""
        texts: set[str] = set()
        for boxes in unions:
            union_texts: set[str] = set()
            for box in boxes:
                for allowed in map(self.normal, values_of(box, name, self.join)):
                    if allowed == NOTHING:
                        continue
                    if allowed._replace(strings=EMPTY) != NOTHING or not isinstance(allowed.strings, Literals):
                        return False
                    union_texts.update(allowed.strings.texts)
            if texts & union_texts:
                return False
            texts |= union_texts
        return True


def _required_always(cases: tuple[ObjectBox, ...]) -> frozenset[str]:
    """The names that each case of a condition requires."""
    return frozenset(cases[0].required).intersection(*(case.required for case in cases))


def _visibly_disjoint(sets: list[NormalForm]) -> bool:
    """True if the sets, without their objects, are disjoint by type, or by strings that are listed."""
    return (
        sum(part.null for part in sets) <= 1
        and sum(len(part.booleans) for part in sets) == len(frozenset().union(*(part.booleans for part in sets)))
        and sum(bool(part.numbers) for part in sets) <= 1
        and _languages_disjoint([part.strings for part in sets])
        and sum(bool(part.arrays) for part in sets) <= 1
    )


def _languages_disjoint(languages: list[Node]) -> bool:
    """True if at most one language is not empty, or all are lists of texts that share none."""
    inhabited = [language for language in languages if not is_void(language)]
    if len(inhabited) <= 1:
        return True
    finite = [language.texts for language in inhabited if isinstance(language, Literals)]
    return len(finite) == len(inhabited) and len(frozenset().union(*finite)) == sum(map(len, finite))
