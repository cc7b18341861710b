"""From formulas to normal forms, and which sets are empty.

The idea: `normal(conj)` intersects what its atoms say; complements are pushed inwards by De Morgan's laws until they
meet a box (`complement.py`). A container does not look inside its parts, so only a schema that combines itself with
itself *without* passing through a property or item can run in circles, and that is an error.

`inhabited(conj)` is the least fixed point of "some part is inhabited", found with a worklist.

Cost: each conjunction is computed once, when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, TypeVar

from constrain.automata.syntax import ANY_TEXT, EMPTY, Literals, Node
from constrain.errors import ConstrainError, LimitError
from constrain.schema.read.document import Document, Site
from constrain.schema.read.limits import Limits
from constrain.schema.sets.algebra import (
    EVERYTHING,
    FALSE,
    NOTHING,
    TRUE,
    ArrayBox,
    Conj,
    NormalForm,
    ObjectBox,
    intersection,
    union,
    value_of,
)
from constrain.schema.sets.complement import complement_of
from constrain.schema.sets.formula import AllOf, AnyOf, Atoms, Formula, KnownSet, OneOf
from constrain.schema.sets.numbers import finite_numbers, has_numbers
from constrain.schema.sets.shapes_arrays import MAX_DISTINCT, ArrayShape, array_shape, has_arrays
from constrain.schema.sets.shapes_objects import ObjectShape, has_objects, object_shape, object_shapes, ready_boxes
from constrain.schema.sets.strings import finite_texts, is_void, plainly_some
from constrain.schema.sets.subtract import Tests, subtract

T = TypeVar("T")
MAX_WORK = 1_000_000  # pairs of boxes that are intersected for one schema
MANY = 6  # boxes from which on a product is cleared of empty ones
MAX_SETTLING = 8  # such products inside one another
MAX_PLAIN = 8  # levels of required parts that are looked at before the worklist is asked
MAX_BRANCHES = 300  # branches of a oneOf that are compared pair by pair


class _Loop(Exception):
    """An atom is needed while it is being computed."""

    def __init__(self, serial: int) -> None:
        self.serial = serial


class _Located:
    """See `Normalizer.located`. PERF: a class, since a generator costs ten times as much, for each conjunction."""

    __slots__ = ("_normalizer", "_conj")

    def __init__(self, normalizer: Normalizer, conj: Conj) -> None:
        self._normalizer = normalizer
        self._conj = conj

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            placed = self._normalizer.place(self._conj, error)
            try:
                if placed is not error:
                    raise placed from error
            finally:
                del placed  # its traceback holds this frame


class Normalizer:
    """NormalForm forms, shapes and emptiness of one document, all memoised."""

    def __init__(self, document: Document, limits: Limits) -> None:
        self.document = document
        self.limits = limits
        self._normals: dict[Conj, NormalForm] = {TRUE: EVERYTHING, FALSE: NOTHING}
        self._atoms: dict[tuple[int, bool], NormalForm] = {}
        self._open: set[tuple[int, bool]] = set()
        self._inhabited: dict[Conj, bool] = {TRUE: True, FALSE: False}
        self._asked: set[Conj] | None = None  # what the test under way has asked about
        self._work = 0
        self._settling = 0

    # ---------------------------------------------------------------------------------------------- normal forms

    def normal(self, conj: Conj) -> NormalForm:
        """The set of values that fulfil a conjunction. Raises SchemaError for references in a circle, LimitError."""
        known = self._normals.get(conj)
        if known is None:
            formula = self.document.formulas[conj[0]]
            if len(conj) == 1 and type(formula) is KnownSet:
                return formula.normal
            with self.located(conj):
                known = EVERYTHING
                for serial in conj:
                    known = self._intersection(known, self._atom(serial, True))
            self._normals[conj] = known
        return known

    def _atom(self, serial: int, positive: bool) -> NormalForm:
        """The set of an atom, or its complement."""
        key = (serial, positive)
        known = self._atoms.get(key)
        if known is None:
            if key in self._open:
                raise _Loop(serial)
            self._open.add(key)
            try:
                formula = self.document.formulas[serial]
                assert formula is not None
                known = self._value(formula) if positive else self._outside(formula)
            finally:
                self._open.discard(key)
            self._atoms[key] = known
        return known

    def _intersection(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """`algebra.intersection`, with its work counted. Raises LimitError."""
        self._count(len(a.arrays) * len(b.arrays) + len(a.objects) * len(b.objects))
        common = intersection(a, b)
        if len(common.objects) > MANY and len(a.objects) > 1 and len(b.objects) > 1:
            boxes = dict.fromkeys(box for each in common.objects if (box := self._settled(each)) is not None)
            return common._replace(objects=tuple(boxes))
        return common

    def _settled(self, box: ObjectBox) -> ObjectBox | None:
        """A box whose impossible properties are forbidden by name; None if one of them is required.

        Products of conditions on one property (`if` its value is a, `if` its value is b, ...) would grow exponentially
        if their empty combinations were kept.
        """
        if self._settling == MAX_SETTLING:  # on the way to the answer the same question may come up
            return box
        self._settling += 1
        known = self._inhabited
        try:
            empty = {
                name
                for name, conj in box.named
                if conj != FALSE and not (known.get(conj) or self._if_known(self.inhabited, conj))
            }
        finally:
            self._settling -= 1
        if empty.intersection(box.required):
            return None
        if not empty:
            return box
        return box._replace(named=tuple((name, FALSE if name in empty else conj) for name, conj in box.named))

    def _count(self, pairs: int) -> None:
        self._work += pairs
        self.limits.check(max(1, pairs))
        if self._work > MAX_WORK:
            raise LimitError(
                f"combining the alternatives of this schema takes more than {MAX_WORK} steps",
                fix="give the branches of oneOf a required property with its own const, or use anyOf",
            )

    def located(self, conj: Conj) -> _Located:
        """A context that gives errors from inside the algebra their place."""
        return _Located(self, conj)

    def place(self, conj: Conj, error: Exception) -> Exception:
        """The error with its place, or the same error if it has one or belongs to somebody else."""
        if isinstance(error, _Loop) and not self._open:
            site = self.document.atoms[error.serial]
            where = site if isinstance(site, Site) else self.document.site_of(conj)
            return where.error(
                "this schema refers to itself without passing through a property or an item", "remove the loop"
            )
        if isinstance(error, ConstrainError) and error.place is None:
            return self.document.site_of(conj).error(error.message, error.fix, kind=type(error))
        return error

    def _value(self, formula: Formula) -> NormalForm:
        """The set of a formula."""
        if isinstance(formula, KnownSet):
            return formula.normal
        if isinstance(formula, Atoms):
            return self._conjunction(formula.conj)
        if isinstance(formula, AllOf):
            result = EVERYTHING
            for part in formula.parts:
                result = self._intersection(result, self._value(part))
            return result
        if isinstance(formula, AnyOf):
            return union(self._value(part) for part in formula.parts)
        if isinstance(formula, OneOf):
            return self._exactly_one(formula.parts)
        return self._outside(formula.part)

    def _conjunction(self, conj: Conj) -> NormalForm:
        known = self._normals.get(conj)
        if known is None:
            formula = self.document.formulas[conj[0]]
            if len(conj) == 1 and type(formula) is KnownSet:
                return formula.normal
            known = EVERYTHING
            for serial in conj:
                known = self._intersection(known, self._atom(serial, True))
            self._normals[conj] = known
        return known

    def _outside(self, formula: Formula) -> NormalForm:
        """The complement of a formula."""
        if isinstance(formula, KnownSet):
            return complement_of(formula.normal, self.document.negation, self._strings, self._intersection)
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
            pairs = (self._value(AllOf(pair)) for pair in combinations(formula.parts, 2))
            return union([self._outside(AnyOf(formula.parts)), *pairs])
        return self._value(formula.part)

    # ----------------------------------------------------------------------------------------------------- oneOf

    def _exactly_one(self, parts: tuple[Formula, ...]) -> NormalForm:
        """Each branch less the branches that it overlaps; disjoint branches (the usual case) need no complement."""
        sets = [self._value(part) for part in parts]
        if _tell_apart(sets) and self._objects_apart(sets):
            return union(sets)
        if len(parts) > MAX_BRANCHES:
            raise LimitError(
                f"oneOf has {len(parts)} branches that no property tells apart, more than {MAX_BRANCHES}",
                fix="give every branch a required property with its own const, or use anyOf",
            )
        overlaps: dict[int, list[int]] = {i: [] for i in range(len(parts))}
        for i, j in combinations(range(len(parts)), 2):
            if self._may_overlap(sets[i], sets[j]):
                overlaps[i].append(j)
                overlaps[j].append(i)
        tests = Tests(
            lambda box: self._if_known(self.has_arrays, box), lambda box: self._if_known(self.has_objects, box)
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

    def _if_known(self, test: Callable[[T], bool], subject: T, otherwise: bool = True) -> bool:
        """What the test says; `otherwise` if the answer depends on what is being computed."""
        self._count(1)
        outer, self._asked = self._asked, None  # whatever is being tested, an answer here must be final
        try:
            return test(subject)
        except _Loop:
            return otherwise
        finally:
            self._asked = outer

    def _objects_apart(self, sets: list[NormalForm]) -> bool:
        """Is there a property, required in every object, whose texts tell the branches apart?"""
        unions = [part.objects for part in sets if part.objects]
        if len(unions) <= 1:
            return True
        common = set(unions[0][0].required)
        for boxes in unions:
            for box in boxes:
                common &= set(box.required)
        return any(
            self._if_known(lambda found: self._discriminates(found, unions), name, False) for name in sorted(common)
        )

    def _discriminates(self, name: str, unions: list[tuple[ObjectBox, ...]]) -> bool:
        """Does the property take finitely many texts, others in every union of objects?"""
        taken: set[str] = set()
        for boxes in unions:
            own: set[str] = set()
            for box in boxes:
                allowed = self._conjunction(value_of(box, name))
                if allowed._replace(strings=EMPTY) != NOTHING or not isinstance(allowed.strings, Literals):
                    return False
                own.update(allowed.strings.texts)
            if taken & own:
                return False
            taken |= own
        return True

    def _may_overlap(self, a: NormalForm, b: NormalForm) -> bool:
        """False only if the intersection is provably empty."""
        common = self._intersection(a, b)
        return common != NOTHING and self._if_known(self._is_inhabited, common)

    # ------------------------------------------------------------------------------------------------- emptiness

    def inhabited(self, conj: Conj) -> bool:
        """Does any finite value fulfil the conjunction? Exact: the least fixed point through references.

        Inside a test (`_decide`) the answer is what is known so far, and the question is noted.
        """
        known = self._inhabited.get(conj)
        if known is not None:
            return known
        if self._plainly(conj, MAX_PLAIN):
            return True
        if self._asked is None:
            return self._decide(conj)
        self._asked.add(conj)
        return False

    def _plainly(self, conj: Conj, depth: int) -> bool:
        """Is it seen at once that some value fulfils a conjunction, looking so many required parts deep?"""
        known = self._inhabited.get(conj)
        if known is not None:
            return known
        formula = self.document.formulas[conj[0]]
        if len(conj) > 1 or type(formula) is not KnownSet:
            return False
        normal = formula.normal
        if not (_holds_plain_values(normal) or (depth > 0 and self._has_plain_containers(normal, depth - 1))):
            return False
        self._inhabited[conj] = True
        return True

    def _has_plain_containers(self, normal: NormalForm, depth: int) -> bool:
        """Is it seen that some array or object is in a set, with all that it must have?"""
        for array in normal.arrays:
            if not (array.prefix or array.counts or array.unique or array.repeats) and self._plainly(array.rest, depth):
                return True
        for box in normal.objects:
            if not (box.needs or box.names or box.high is not None or box.low > len(box.required)):
                named = dict(box.named)
                if all(name in named and self._plainly(named[name], depth) for name in box.required):
                    return True
        return False

    def _decide(self, root: Conj) -> bool:
        """The least fixed point, by a worklist: a conjunction that was not shown to be inhabited is tested again when
        one that its test asked about has been. What has not been shown when the list is empty, is empty.
        """
        users: dict[Conj, set[Conj]] = {root: set()}  # for each conjunction: those whose tests asked about it
        queue = [root]
        while queue:
            conj = queue.pop()
            asked = None if conj in self._inhabited else self._test(conj)
            if asked is None:
                self._inhabited.setdefault(conj, True)
            else:
                for each in asked:
                    if each not in users:
                        users[each] = set()
                        queue.append(each)
                    users[each].add(conj)
            if self._inhabited.get(root):
                return True  # what is open still is decided when it is asked about
            if not queue:  # a test may have decided other conjunctions for good on its way
                for each in [each for each in users if self._inhabited.get(each)]:
                    queue += users.pop(each)
        self._inhabited.update((conj, False) for conj in users if conj not in self._inhabited)
        return False

    def _test(self, conj: Conj) -> set[Conj] | None:
        """None if the conjunction is inhabited by what is known so far, else what the answer depends on."""
        outer, self._asked = self._asked, set()
        try:
            self._count(1)
            with self.located(conj):
                normal = self._conjunction(conj) if self._open else self.normal(conj)
                return None if self._is_inhabited(normal) else self._asked
        finally:
            self._asked = outer

    def root_inhabited(self) -> bool:
        """Does anything fulfil the schema? If it is nested too deeply to be asked at once: from the innermost part
        outwards.
        """
        try:
            return self.inhabited(self.document.root)
        except RecursionError:
            for serial in range(len(self.document.atoms) - 1, 0, -1):
                self.inhabited((serial,))
            return self.inhabited(self.document.root)

    def _is_inhabited(self, normal: NormalForm) -> bool:
        return (
            normal.null
            or bool(normal.booleans)
            or any(map(has_numbers, normal.numbers))
            or not is_void(normal.strings)
            or any(has_arrays(box, self) for box in normal.arrays)
            or any(has_objects(box, self.inhabited, self._strings) for box in normal.objects)
        )

    def array_shape(self, box: ArrayBox) -> ArrayShape | None:
        """What arrays of the box look like; None if there are none."""
        return array_shape(box, self)

    def ready_boxes(self, box: ObjectBox) -> list[ObjectBox]:
        """The parts of a box, each with one shape or none."""
        return list(ready_boxes(box, self._strings))

    def object_shape(self, ready: ObjectBox) -> ObjectShape | None:
        """What objects of a part look like; None if there are none."""
        return object_shape(ready, self.inhabited)

    def object_shapes(self, box: ObjectBox) -> list[ObjectShape]:
        """What objects of the box look like; none if there are none."""
        return list(object_shapes(box, self.inhabited, self._strings))

    def has_objects(self, box: ObjectBox) -> bool:
        """Is the box inhabited?"""
        return has_objects(box, self.inhabited, self._strings)

    def has_arrays(self, box: ArrayBox) -> bool:
        """Is the box inhabited?"""
        return has_arrays(box, self)

    def values(self, conj: Conj) -> tuple[Any, ...] | None:
        """The values that fulfil a conjunction, if they are few and none is an array or an object; else None."""
        normal = self._conjunction(conj) if self._open else self.normal(conj)
        if normal.arrays or normal.objects:
            return None
        texts = () if is_void(normal.strings) else finite_texts(normal.strings)
        numbers = [finite_numbers(box, MAX_DISTINCT) for box in normal.numbers]
        if texts is None or None in numbers:
            return None
        null = (None,) if normal.null else ()
        return (*null, *sorted(normal.booleans), *sorted({n for each in numbers for n in each or ()}), *texts)

    def negation(self, conj: Conj) -> Conj:
        """The conjunction of the values that do not fulfil one."""
        return self.document.negation(conj)

    def constant(self, value: Any) -> Conj:
        """The conjunction that only one value fulfils."""
        return self.document.constant(value)

    def _strings(self, conj: Conj) -> Node:
        return (self._conjunction(conj) if self._open else self.normal(conj)).strings


def _holds_plain_values(normal: NormalForm) -> bool:
    """Is it seen at once that a value without parts is in a set, or an empty array or object?"""
    return (
        normal.null
        or bool(normal.booleans)
        or normal.strings is ANY_TEXT
        or plainly_some(normal.strings)
        or any(map(has_numbers, normal.numbers))
        or any(not (box.required or box.low or box.needs or box.names) for box in normal.objects)
        or any(not (box.low or box.counts or box.repeats) for box in normal.arrays)
    )


def _tell_apart(sets: list[NormalForm]) -> bool:
    """Are the sets disjoint for a reason that is seen at once: types, separate strings, a discriminating property?"""
    return (
        sum(part.null for part in sets) <= 1
        and sum(len(part.booleans) for part in sets) == len(frozenset().union(*(part.booleans for part in sets)))
        and sum(bool(part.numbers) for part in sets) <= 1
        and _separate([part.strings for part in sets])
        and sum(bool(part.arrays) for part in sets) <= 1
    )


def _separate(languages: list[Node]) -> bool:
    """At most one language is not empty, or all are finite and share no text."""
    inhabited = [language for language in languages if not is_void(language)]
    if len(inhabited) <= 1:
        return True
    finite = [language.texts for language in inhabited if isinstance(language, Literals)]
    return len(finite) == len(inhabited) and len(frozenset().union(*finite)) == sum(map(len, finite))
