"""The normal form of a set of JSON values: one part per JSON type, closed under intersection and union.

The idea: JSON types are disjoint, so a set of values is six independent sets. Numbers, arrays and objects are unions of
simple *boxes*; strings are one regular language of decoded texts. Subschemas inside a container are not expanded. Each
is a `Conj`, a conjunction of *atoms* (subschemas known by serial number, `read/document.py`). So intersecting two
objects only merges tuples of integers, recursion needs no unfolding, and there are finitely many conjunctions.

    Conj    (3, 7)   values that fulfil atom 3 and atom 7;  TRUE = () everything;  FALSE = (0,) nothing

Cost: intersecting unions multiplies their boxes; more than `MAX_BOXES` raise a `LimitError`. This file drops only boxes
that are visibly empty; `normalize/normalizer.py` decides emptiness exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from constrain.errors import LimitError
from constrain.languages.automata.syntax import ANY_TEXT, EMPTY, Node, alternate
from constrain.languages.schema.sets.numbers import ANY_NUMBER, NumberBox, meet_numbers
from constrain.languages.schema.sets.strings import begin_apart, is_void, matches, meet_strings
from constrain.lazily import lazily
from constrain.limits import tick

Conj = tuple[int, ...]
TRUE: Conj = ()
FALSE: Conj = (0,)
Box = TypeVar("Box", bound=tuple[Any, ...])
MAX_BOXES = 100_000
MAX_ALTERNATIVES = 5_000  # boxes of one value; making the rules of a box takes a millisecond
MAX_OVERLAPS = 50  # classes of keys that overlapping patterns make: a mask follows each of them


class TooManyBoxes(LimitError):
    """A union of boxes has grown too large."""


def both(a: Conj, b: Conj) -> Conj:
    """The conjunction of two conjunctions."""
    if not a or a == b:
        return b
    if not b:
        return a
    if a[0] == 0 or b[0] == 0:
        return FALSE
    return tuple(sorted({*a, *b}))


Join = Callable[[Conj, Conj], Conj]  # `both`, or a version of it that knows more of the atoms
Named = tuple[tuple[str, Conj], ...]
Classes = tuple[tuple[Node, Conj], ...]


class Count(NamedTuple):
    """A counted condition: between `least` and `most` items from index `start` on fulfil `conj`; None: no maximum."""

    start: int
    conj: Conj
    least: int = 1
    most: int | None = None


class ArrayBox(NamedTuple):
    """A set of arrays.

    No context-free grammar remembers values. So `unique` is written exactly where items have few values, and left to
    the guard (`constrain.languages.guards`) elsewhere.

    Attributes:
        prefix: What item i fulfils, for the first items.
        rest: What every later item fulfils.
        low: The least number of items.
        high: The largest number of items; None: no limit.
        counts: How many items fulfil further conjunctions.
        unique: No two items are equal.
        repeats: At least two items are equal.
    """

    prefix: tuple[Conj, ...] = ()
    rest: Conj = TRUE
    low: int = 0
    high: int | None = None
    counts: tuple[Count, ...] = ()
    unique: bool = False
    repeats: bool = False


class _ObjectFields(NamedTuple):
    named: tuple[tuple[str, Conj], ...] = ()
    required: tuple[str, ...] = ()
    classes: tuple[tuple[Node, Conj], ...] = ((ANY_TEXT, TRUE),)
    names: Conj = TRUE
    low: int = 0
    high: int | None = None
    needs: tuple[tuple[Node, Conj], ...] = ()
    conditions: tuple[tuple[ObjectBox, ...], ...] = ()


class ObjectBox(_ObjectFields):
    """A set of objects. The value of a named key fulfils its own conjunction, the value of any other that of its class.

    Attributes:
        named: Pairs (name, conj) in declared order; FALSE forbids the name.
        required: The names that must be present.
        classes: Pairs (key language, conj). The languages are disjoint and together hold every text; they say nothing
            of named keys.
        names: What every key fulfils as a string.
        low: The least number of properties.
        high: The largest number of properties; None: no limit.
        needs: Existential conditions (key language, conj): some key in the language has a value that fulfils `conj`.
        conditions: Unions of boxes that speak of named keys alone; the object is in one box of each. No two speak of
            the same key, and all keys are in `named`: n conditions that do not interact are not 2^n boxes.
    """

    @lazily
    def places(self) -> dict[str, int]:
        """The index of each name in `named`."""
        return {name: place for place, (name, _) in enumerate(self.named)}

    @lazily
    def forbidden(self) -> frozenset[str]:
        """The names that the box forbids."""
        return frozenset([name for name, conj in self.named if conj == FALSE])

    @lazily
    def said(self) -> frozenset[str]:
        """The names that the box names or requires."""
        return frozenset([*self.places, *self.required])


class NormalForm(NamedTuple):
    """A set of JSON values: the union of its parts.

    Attributes:
        null: Whether null is in the set.
        booleans: The booleans in the set.
        numbers: The union of these boxes.
        strings: The regular language of decoded texts.
        arrays: The union of these boxes.
        objects: The union of these boxes.
    """

    null: bool
    booleans: frozenset[bool]
    numbers: tuple[NumberBox, ...]
    strings: Node
    arrays: tuple[ArrayBox, ...]
    objects: tuple[ObjectBox, ...]

    def of_types(self, types: frozenset[str]) -> NormalForm:
        """The values in it that have one of these types."""
        return NormalForm(
            self.null and "null" in types,
            self.booleans if "boolean" in types else frozenset(),
            self.numbers if "number" in types else (),
            self.strings if "string" in types else EMPTY,
            self.arrays if "array" in types else (),
            self.objects if "object" in types else (),
        )


ANY_ARRAY, ANY_OBJECT = ArrayBox(), ObjectBox()
OPEN = ANY_OBJECT.classes
_UNSAID = ANY_OBJECT[2:]  # of a box that speaks of named keys alone
BOTH_BOOLEANS = frozenset((False, True))
EVERYTHING = NormalForm(True, BOTH_BOOLEANS, (ANY_NUMBER,), ANY_TEXT, (ANY_ARRAY,), (ANY_OBJECT,))
NOTHING = NormalForm(False, frozenset(), (), EMPTY, (), ())


def intersection(a: NormalForm, b: NormalForm, join: Join = both) -> NormalForm:
    """The values in both sets."""
    if a is EVERYTHING or a is b:
        return b
    if b is EVERYTHING:
        return a
    return NormalForm(
        a.null and b.null,
        a.booleans & b.booleans,
        _products(a.numbers, b.numbers, meet_numbers, ANY_NUMBER),
        meet_strings(a.strings, b.strings),
        _products(a.arrays, b.arrays, partial(meet_arrays, join=join), ANY_ARRAY),
        _products(a.objects, b.objects, partial(meet_objects, join=join), ANY_OBJECT, partial(_under, join=join)),
    )


def union(sets: Iterable[NormalForm]) -> NormalForm:
    """The values in any of the sets."""
    parts = list(sets)
    if len(parts) == 1:
        return parts[0]
    return NormalForm(
        any(part.null for part in parts),
        frozenset().union(*(part.booleans for part in parts)),
        _merged((part.numbers for part in parts), ANY_NUMBER),
        alternate(*(part.strings for part in parts)),
        _merged((part.arrays for part in parts), ANY_ARRAY),
        _merged((part.objects for part in parts), ANY_OBJECT),
    )


def _merged(unions: Iterable[tuple[Box, ...]], whole: Box) -> tuple[Box, ...]:
    """The boxes of all unions without repetition; only `whole`, if it is one of them."""
    boxes = dict.fromkeys(box for boxes in unions for box in boxes)
    return (whole,) if whole in boxes else tuple(boxes)


def _products(
    left: tuple[Box, ...],
    right: tuple[Box, ...],
    meet: Callable[[Box, Box], Box | None],
    whole: Box,
    under: Callable[[Box, tuple[Box, ...]], Iterable[Box] | None] = lambda box, boxes: None,
) -> tuple[Box, ...]:
    """The nonempty intersections of two unions of boxes, pairwise but where `under` makes that of a box and a union.

    `meet` returns None for an empty intersection. `whole` is the box of everything.
    """
    if left == (whole,) or not right:
        return right
    if right == (whole,) or not left:
        return left
    if len(left) * len(right) > MAX_BOXES:
        raise TooManyBoxes(
            f"an intersection of two unions has {len(left)} x {len(right)} alternatives, more than {MAX_BOXES}",
            fix="write fewer alternatives under allOf, or factor out what they share",
        )
    common: dict[Box, None] = {}
    for a in left:
        tick(len(right))
        boxes = under(a, right)
        if boxes is None:
            boxes = (box for b in right if (box := meet(a, b)) is not None)
        common.update(dict.fromkeys(boxes))
    return tuple(common)


def _under(box: ObjectBox, union: tuple[ObjectBox, ...], join: Join) -> Iterable[ObjectBox] | None:
    """The objects of a box in a union, if that is a condition on properties that the box names: a box at most.

    Names that the box does not declare would come in the order of each part of the union: then None.
    """
    if not speaks_of_named(union) or not all(other.said <= box.places.keys() for other in union):
        return None
    met = under_condition(box, union, join)
    return () if met is None else (met,)


def speaks_of_named(union: tuple[ObjectBox, ...]) -> bool:
    """True if the union is a condition: of several boxes that say something of named keys alone."""
    return len(union) > 1 and all(box[2:] == _UNSAID for box in union)


def under_condition(box: ObjectBox, cases: tuple[ObjectBox, ...], join: Join) -> ObjectBox | None:
    """The objects of a box in one of the cases, which speak of keys that it names; None if there are visibly none."""
    base = box._replace(conditions=()) if box.conditions else box
    left = []
    for case in cases:
        met = meet_objects(base, case, join)
        if met is base:
            return box
        if met is not None:
            left.append(case._replace(named=tuple([met.named[base.places[name]] for name, _ in case.named])))
    if len(left) > 1:
        return _with_conditions(box, (tuple(dict.fromkeys(left)),), join)
    return meet_objects(box, left[0], join) if left else None


def _with_conditions(box: ObjectBox, conditions: tuple[tuple[ObjectBox, ...], ...], join: Join) -> ObjectBox | None:
    """The box under further conditions; two conditions on the same key are multiplied with each other."""
    kept = list(box.conditions)
    for cases in conditions:
        names = frozenset[str]().union(*(case.said for case in cases))
        apart = []
        for other in kept:
            if names.isdisjoint(chain.from_iterable(case.said for case in other)):
                apart.append(other)
            else:
                cases = _products(other, cases, partial(meet_objects, join=join), ANY_OBJECT)
                if len(cases) > MAX_ALTERNATIVES:
                    raise TooManyBoxes(f"conditions on the same properties have {len(cases)} cases together")
        kept = [*apart, cases]
    return box._replace(conditions=tuple(kept)) if all(kept) else None


def multiplied(box: ObjectBox, join: Join = both) -> Iterator[ObjectBox]:
    """Yield the boxes without conditions whose union a box is: one for each choice of cases."""
    if not box.conditions:
        yield box
        return
    *before, last = box.conditions
    for part in multiplied(box._replace(conditions=tuple(before)), join):
        tick()
        yield from (met for case in last if (met := meet_objects(part, case, join)) is not None)


def _lower_limit(a: int | None, b: int | None) -> int | None:
    """The stricter of two maxima; None stands for no limit."""
    return b if a is None else a if b is None else min(a, b)


def meet_arrays(a: ArrayBox, b: ArrayBox, join: Join = both) -> ArrayBox | None:
    """The arrays in both boxes; None if there are visibly none."""
    low, high = max(a.low, b.low), _lower_limit(a.high, b.high)
    if (high is not None and low > high) or (a.unique and b.repeats) or (a.repeats and b.unique):
        return None
    length = max(len(a.prefix), len(b.prefix))
    a_items = a.prefix + (a.rest,) * (length - len(a.prefix))
    b_items = b.prefix + (b.rest,) * (length - len(b.prefix))
    prefix = tuple(join(x, y) for x, y in zip(a_items, b_items, strict=True))
    counts = tuple(dict.fromkeys(a.counts + b.counts))
    return ArrayBox(prefix, join(a.rest, b.rest), low, high, counts, a.unique or b.unique, a.repeats or b.repeats)


def meet_objects(a: ObjectBox, b: ObjectBox, join: Join = both) -> ObjectBox | None:
    """The objects in both boxes; None if there are visibly none."""
    low, high = max(a.low, b.low), _lower_limit(a.high, b.high)
    if high is not None and low > high:
        return None
    required = a.required if not b.required else _union_in_order(a.required, b.required)
    if not (a.forbidden.isdisjoint(required) and b.forbidden.isdisjoint(required)):  # PERF: before any tuple is made
        return None
    named = _narrowed(a, b, required, join) if b.classes == OPEN else _meet_named(a, b, required, join)
    if named is None:
        return None
    if named is a.named and required is a.required and b[2:] == _UNSAID:  # PERF: mostly so in a long product
        return a
    needs = a.needs if not b.needs else _union_in_order(a.needs, b.needs)
    classes = meet_classes(a.classes, b.classes, join)
    met = ObjectBox(named, required, classes, join(a.names, b.names), low, high, needs, a.conditions)
    return _with_conditions(met, b.conditions, join) if b.conditions else met


def _narrowed(a: ObjectBox, b: ObjectBox, required: tuple[str, ...], join: Join) -> Named | None:
    """The named keys of both boxes, where b says nothing of other keys; None if a required one has no value.

    PERF: complements of boxes are mostly such boxes of one name, which meet boxes of many.
    """
    if not b.named:
        return a.named
    named, places, same = list(a.named), a.places, True
    for pair in b.named:
        name, right = pair
        place = places.get(name)
        left = class_of(a, name) if place is None else named[place][1]
        if left and left != right:
            conj = join(left, right)
            if conj == FALSE and name in required:
                return None
            if place is not None and conj == left:
                continue
            pair = name, conj
        elif place is not None and left:
            continue
        same = False
        if place is None:
            named.append(pair)
        else:
            named[place] = pair
    return a.named if same else tuple(named)


def _meet_named(a: ObjectBox, b: ObjectBox, required: tuple[str, ...], join: Join) -> Named | None:
    """The named keys of both boxes; None if a required one has no value."""
    named = []
    b_places = b.places
    a_open, b_open = (box.classes[0][1] if len(box.classes) == 1 else None for box in (a, b))
    for pair in a.named:
        name, left = pair
        place = b_places.get(name)
        right = b.named[place][1] if place is not None else class_of(b, name) if b_open is None else b_open
        if right and right != left:
            pair = name, join(left, right)
            if pair[1] == FALSE and name in required:
                return None
        named.append(pair)
    a_places = a.places
    for pair in b.named:
        name, right = pair
        if name not in a_places:
            left = class_of(a, name) if a_open is None else a_open
            named.append((name, join(left, right)) if left and left != right else pair)
    forbidden = {name for name, conj in named if conj == FALSE}
    return None if forbidden and not forbidden.isdisjoint(required) else tuple(named)


def _union_in_order(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both tuples, without repetition."""
    if len(b) == 1 and b[0] in a:  # PERF: the usual case
        return a
    return a if set(a).issuperset(b) else tuple(dict.fromkeys(a + b))  # a name may stand in one of them twice


def meet_classes(a: Classes, b: Classes, join: Join = both) -> Classes:
    """The common refinement of two partitions of the keys.

    n patterns that overlap make 2^n classes. Raises LimitError if more than `MAX_OVERLAPS` of them are new.
    """
    if len(a) == len(b) == 1:
        return a if a[0][1] == b[0][1] else ((ANY_TEXT, join(a[0][1], b[0][1])),)
    met = [(i, j) for i, (left, _) in enumerate(a) for j, (right, _) in enumerate(b) if not begin_apart(left, right)]
    of_left, of_right = Counter(i for i, _ in met), Counter(j for _, j in met)
    merged: dict[Conj, list[Node]] = {}
    overlaps: set[Conj] = set()
    for i, j in met:
        tick()
        # PERF: a class that lies in one of the other partition stays as it is: n disjoint patterns are n small trees.
        if of_left[i] == 1:
            language = a[i][0]
        elif of_right[j] == 1:
            language = b[j][0]
        else:
            tick(32)  # it may take long to decide whether an intersection of patterns is empty
            language = meet_strings(a[i][0], b[j][0])
            if is_void(language):
                of_left[i] -= 1
                of_right[j] -= 1
                continue
        conj = join(a[i][1], b[j][1])
        merged.setdefault(conj, []).append(language)
        if conj not in (a[i][1], b[j][1]) and a[i][0] != b[j][0]:
            overlaps.add(conj)
            if len(overlaps) > MAX_OVERLAPS:
                raise TooManyBoxes(
                    f"patternProperties overlap in more than {MAX_OVERLAPS} ways",
                    fix="write patterns that no key matches together, or fewer of them",
                )
    return tuple((alternate(*languages), conj) for conj, languages in merged.items())


def values_of(box: ObjectBox, name: str, join: Join = both) -> tuple[Conj, ...]:
    """The conjunctions one of which the value of a key must fulfil: several where a condition speaks of the key."""
    place = box.places.get(name)
    conj = class_of(box, name) if place is None else box.named[place][1]
    for cases in box.conditions:
        said = [(case, case.places.get(name)) for case in cases]
        if any(place is not None for _, place in said):
            met = [conj if place is None else join(conj, case.named[place][1]) for case, place in said]
            return tuple(dict.fromkeys(met))
    return (conj,)


def class_of(box: ObjectBox, name: str) -> Conj:
    """The conjunction that the value of an unnamed key must fulfil."""
    if len(box.classes) == 1:
        return box.classes[0][1]
    return next((conj for language, conj in box.classes if matches(language, name)), FALSE)
