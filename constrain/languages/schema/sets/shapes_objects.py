"""Shapes of objects: boxes that can be written from left to right without running into a dead end.

The idea: a property without values forbids its name; key languages with few texts become names; an existential
*need* ("some key in a language has a value that fulfils a conjunction") is met by a name, which makes that name
required, or by an *open* key, one that is not declared. `ObjectShape.missing` counts the open keys that must still
come. The needs not met so far are *pending*, a set of their indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, combinations, product
from math import prod

from constrain.errors import LimitError
from constrain.languages.automata.syntax import ANY_TEXT, Node
from constrain.languages.schema.sets.algebra import FALSE, TRUE, Conj, ObjectBox, both, class_of
from constrain.languages.schema.sets.strings import finite_texts, is_void, matches, meet_strings, without
from constrain.lazily import lazily
from constrain.limits import tick

Inhabited = Callable[[Conj], bool]
Pending = frozenset[int]
NONE: Pending = frozenset()
MAX_NEEDS = 8
MAX_WAYS = 10_000  # to meet the needs of an object by its names
INFINITE = 1 << 60


def _subsets(pending: Pending) -> Iterator[Pending]:
    """Yield the subsets, the largest first."""
    for size in range(len(pending), -1, -1):
        yield from map(frozenset, combinations(sorted(pending), size))


def check_needs(needs: tuple[object, ...]) -> None:
    """Raise LimitError if there are too many existential conditions to combine."""
    if len(needs) > MAX_NEEDS:
        raise LimitError(
            f"{len(needs)} existential conditions meet in one array or object, more than {MAX_NEEDS}",
            fix="write fewer contains, not and oneOf about the same value",
        )


class ObjectShape:
    """A set of objects, described property by property.

    Attributes:
        members: The declared properties that have values, as pairs (name, conj) in order.
        must: For each member, whether it is required.
        box: The box that the shape was made of.
        low: The least number of properties.
        high: The largest number of properties; None: no limit.
        needs: The existential conditions that open keys may have to meet.
        counts: Whether the number of properties matters.
    """

    def __init__(
        self, members: tuple[tuple[str, Conj], ...], must: tuple[bool, ...], box: ObjectBox, inhabited: Inhabited
    ) -> None:
        self.members = members
        self.must = must
        self.box = box
        self.inhabited = inhabited
        self.low, self.high = box.low, box.high
        self.needs = box.needs
        self.counts = box.high is not None or box.low > sum(must)
        self._choices: dict[Pending, list[tuple[Node, Conj, Pending]]] = {}
        self._missing: dict[Pending, int] = {NONE: 0}
        check_needs(box.needs)

    @lazily
    def declared(self) -> tuple[str, ...]:
        """All declared names, forbidden ones too. An open key is none of them."""
        return tuple(name for name, _ in self.box.named)

    @lazily
    def classes(self) -> tuple[tuple[Node, Conj], ...]:
        """The nonempty classes of open keys: pairs (key language without declared names, conj).

        "Any text" keeps the declared names: `write` excludes them more cheaply.
        """
        classes = []
        for language, conj in self.box.classes:
            if conj != FALSE:
                keys = language if language == ANY_TEXT else without(language, self.declared)
                if not is_void(keys) and self.inhabited(conj):
                    classes.append((keys, conj))
        return tuple(classes)

    @lazily
    def required_after(self) -> tuple[int, ...]:
        """The number of required members in members[i:], for each i."""
        return (*accumulate(self.must[::-1], initial=0),)[::-1]

    def choices(self, pending: Pending) -> list[tuple[Node, Conj, Pending]]:
        """The ways to add an open key, as triples (key language, conjunction of its value, needs pending after it)."""
        if not self.needs:
            return [(language, conj, NONE) for language, conj in self.classes]
        choices = self._choices.get(pending)
        if choices is None:
            choices = self._choices[pending] = []
            for (language, conj), met in product(self.classes, list(_subsets(pending))):
                tick()
                if met and language == ANY_TEXT:  # met with a need, it is no longer "any string but the declared names"
                    language = without(language, self.declared)
                for n in met:
                    language, conj = meet_strings(language, self.needs[n][0]), both(conj, self.needs[n][1])
                if not met or (not is_void(language) and self.inhabited(conj)):
                    choices.append((language, conj, pending - met))
        return choices

    def missing(self, pending: Pending) -> int:
        """The least number of open keys that meet the pending needs; `INFINITE` if none do."""
        count = self._missing.get(pending)
        if count is None:
            lefts = {left for _, _, left in self.choices(pending) if left != pending}
            count = self._missing[pending] = min((1 + self.missing(left) for left in lefts), default=INFINITE)
        return count

    def viable(self, required: int, available: int, count: int, pending: Pending) -> bool:
        """True if an object can be completed.

        Args:
            required: The number of required members that are not written yet.
            available: The number of members that are not written yet and may be.
            count: The number of properties written so far.
            pending: The needs that are not met yet.
        """
        more = required + self.missing(pending)
        if more >= INFINITE or (self.high is not None and count + more > self.high):
            return False
        return count + max(more, available) >= self.low or bool(self.classes)

    @property
    def all_pending(self) -> Pending:
        """All needs: they are pending at the start."""
        return frozenset(range(len(self.needs))) if self.needs else NONE


def object_shapes(box: ObjectBox, inhabited: Inhabited, strings: Callable[[Conj], Node]) -> Iterator[ObjectShape]:
    """Yield the shapes of a box: none if it is empty, several if different names can meet its needs.

    `strings` returns the strings that fulfil a conjunction (for `propertyNames`).
    """
    for ready in ready_boxes(box, strings):
        shape = object_shape(ready, inhabited)
        if shape is not None:
            yield shape


def ready_boxes(box: ObjectBox, strings: Callable[[Conj], Node]) -> Iterable[ObjectBox]:
    """The box as a union of *ready* boxes, each of which has one shape or is empty.

    In a ready box required names and the keys of small classes are named, `propertyNames` has been applied, and open
    keys alone meet its needs.
    """
    ready = _with_names(box, strings)
    if ready is None:
        return ()
    return split_needs(ready) if ready.needs else (ready,)


def object_shape(ready: ObjectBox, inhabited: Inhabited) -> ObjectShape | None:
    """The shape of a ready box; None if it is empty."""
    tick(1 + len(ready.named))
    members = tuple([pair for pair in ready.named if inhabited(pair[1])])
    required = set(ready.required)
    if len(members) < len(ready.named) and not required.issubset([name for name, _ in members]):
        return None
    shape = ObjectShape(members, tuple([name in required for name, _ in members]), ready, inhabited)
    if (shape.counts or ready.needs) and not shape.viable(sum(shape.must), len(members), 0, shape.all_pending):
        return None
    return shape


def _with_names(box: ObjectBox, strings: Callable[[Conj], Node]) -> ObjectBox | None:
    """The box with `propertyNames` applied, and with required names and the keys of small classes named.

    Returns None if a required name is not allowed.
    """
    named = dict(box.named)
    classes = box.classes
    for name in box.required:
        if name not in named:
            named[name] = class_of(box, name)
    if box.names != TRUE:
        keys = strings(box.names)
        classes = tuple((meet_strings(language, keys), conj) for language, conj in classes)
        named = {name: conj if matches(keys, name) else FALSE for name, conj in named.items()}
        if any(named[name] == FALSE for name in box.required):
            return None
    kept = []
    for language, conj in classes:
        texts = None if language is ANY_TEXT else finite_texts(language)
        if texts is None or conj == FALSE:
            kept.append((language, conj))
        else:
            named.update((text, conj) for text in texts if text not in named)
    if box.names == TRUE and len(named) == len(box.named) and len(kept) == len(classes):
        return box
    return box._replace(named=tuple(named.items()), classes=tuple(kept), names=TRUE)


def split_needs(box: ObjectBox) -> Iterator[ObjectBox]:
    """Yield one box for each way to meet the needs: each need by one of the names, or by some open key.

    Raises LimitError if there are more than `MAX_WAYS`.
    """
    check_ways(box)
    return _split_needs(box)


def ways_to_meet(box: ObjectBox) -> int:
    """In how many ways the names of a box can meet its needs."""
    names = [name for name, conj in box.named if conj != FALSE]
    return prod(1 + sum(matches(language, name) for name in names) for language, _ in box.needs)


def with_few_needs(box: ObjectBox) -> ObjectBox:
    """The box with as many of its needs, the first ones, as can be combined."""
    box = box._replace(needs=box.needs[:MAX_NEEDS])
    while ways_to_meet(box) > MAX_WAYS:
        box = box._replace(needs=box.needs[:-1])
    return box


def check_ways(box: ObjectBox) -> None:
    """Raise LimitError if names can meet the needs of a box in too many ways."""
    ways = ways_to_meet(box)
    if ways > MAX_WAYS:
        raise LimitError(
            f"{sum(conj != FALSE for _, conj in box.named)} properties can meet {len(box.needs)} existential "
            f"conditions in {ways} ways, more than {MAX_WAYS}",
            fix="write fewer not and oneOf about all properties of one object",
        )


def _split_needs(box: ObjectBox) -> Iterator[ObjectBox]:
    if not box.needs:
        yield box
        return
    language, conj = box.needs[0]
    others = box._replace(needs=box.needs[1:])
    for part in _split_needs(others):
        if any(class_conj != FALSE for _, class_conj in part.classes):
            yield part._replace(needs=((language, conj), *part.needs))
        for i, (name, name_conj) in enumerate(part.named):
            tick()
            if name_conj != FALSE and matches(language, name):
                named = (*part.named[:i], (name, both(name_conj, conj)), *part.named[i + 1 :])
                required = part.required if name in part.required else (*part.required, name)
                yield part._replace(named=named, required=required)


def has_objects(box: ObjectBox, inhabited: Inhabited, strings: Callable[[Conj], Node]) -> bool:
    """True if the box is inhabited. Looks only at required properties where that is enough."""
    if box.needs or box.names != TRUE or box.low > len(box.required):
        return next(object_shapes(box, inhabited, strings), None) is not None
    named = dict(box.named)
    if box.high is not None and len(box.required) > box.high:
        return False
    return all(inhabited(named[name] if name in named else class_of(box, name)) for name in box.required)
