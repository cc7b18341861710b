"""Shapes of objects: boxes made ready to be written — what is empty inside them is gone.

The idea: a property that no value fulfils forbids its name; key languages with few texts become names; an existential
*need* ("some property with such a key has such a value") is met by a name, which makes that name required, or by one
of the open keys. What is left can be written from left to right without ever running into a dead end:
`ObjectShape.missing` counts what must still come.

Legend: pending — the set of needs (indices) not met so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, combinations, product

from constrain.automata.syntax import ANY_TEXT, Node
from constrain.errors import LimitError
from constrain.lazily import lazily
from constrain.schema.sets.algebra import FALSE, TRUE, Conj, ObjectBox, both, class_of
from constrain.schema.sets.strings import finite_texts, is_void, matches, meet_strings, without

Inhabited = Callable[[Conj], bool]
Pending = frozenset[int]
NONE: Pending = frozenset()
MAX_NEEDS = 8
INFINITE = 1 << 60


def _subsets(pending: Pending) -> Iterator[Pending]:
    for size in range(len(pending), -1, -1):
        yield from map(frozenset, combinations(sorted(pending), size))


def check_needs(needs: tuple[object, ...]) -> None:
    """Raises LimitError if there are too many to combine."""
    if len(needs) > MAX_NEEDS:
        raise LimitError(
            f"{len(needs)} existential conditions meet in one array or object, more than {MAX_NEEDS}",
            fix="write fewer contains, not and oneOf about the same value",
        )


class ObjectShape:
    """Objects property by property.

    members: (name, conj) in order, every conj inhabited. must: for each, is it required? declared: all names with a say
      of their own: an open key is none of them. classes: (key language less the declared names, conj) of open keys, all
      inhabited and with many keys.
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

    @property
    def declared(self) -> tuple[str, ...]:
        """See above."""
        return tuple(name for name, _ in self.box.named)

    @lazily
    def classes(self) -> tuple[tuple[Node, Conj], ...]:
        """Languages of open keys, with what their values fulfil."""
        found = []
        for language, conj in self.box.classes:
            if conj != FALSE:
                keys = language if language == ANY_TEXT else without(language, list(self.declared))
                if not is_void(keys) and self.inhabited(conj):
                    found.append((keys, conj))
        return tuple(found)

    @lazily
    def required_after(self) -> tuple[int, ...]:
        """required_after[i]: how many of members[i:] must be present."""
        return (*accumulate(self.must[::-1], initial=0),)[::-1]

    def choices(self, pending: Pending) -> list[tuple[Node, Conj, Pending]]:
        """Ways to add an open key: (its language, what its value fulfils, what is pending afterwards)."""
        if not self.needs:
            return [(language, conj, NONE) for language, conj in self.classes]
        found = self._choices.get(pending)
        if found is None:
            found = self._choices[pending] = []
            for (language, conj), met in product(self.classes, list(_subsets(pending))):
                if met and language == ANY_TEXT:  # met with a need, it is no longer "any string but the declared names"
                    language = without(language, list(self.declared))
                for n in met:
                    language, conj = meet_strings(language, self.needs[n][0]), both(conj, self.needs[n][1])
                if not met or (not is_void(language) and self.inhabited(conj)):
                    found.append((language, conj, pending - met))
        return found

    def missing(self, pending: Pending) -> int:
        """How many open keys are needed to meet the pending needs."""
        known = self._missing.get(pending)
        if known is None:
            lefts = {left for _, _, left in self.choices(pending) if left != pending}
            known = self._missing[pending] = min((1 + self.missing(left) for left in lefts), default=INFINITE)
        return known

    def viable(self, required: int, available: int, count: int, pending: Pending) -> bool:
        """Can an object be completed, with `count` properties behind it and `required` of `available` named ones to
        come?
        """
        more = required + self.missing(pending)
        if more >= INFINITE or (self.high is not None and count + more > self.high):
            return False
        return count + max(more, available) >= self.low or bool(self.classes)

    @property
    def all_pending(self) -> Pending:
        """Every need."""
        return frozenset(range(len(self.needs))) if self.needs else NONE


def object_shapes(box: ObjectBox, inhabited: Inhabited, strings: Callable[[Conj], Node]) -> Iterator[ObjectShape]:
    """The shapes of a box: none if it is empty, several if needs can be met by different names.

    strings: the strings that fulfil a conjunction (for `propertyNames`).
    """
    for ready in ready_boxes(box, strings):
        shape = object_shape(ready, inhabited)
        if shape is not None:
            yield shape


def ready_boxes(box: ObjectBox, strings: Callable[[Conj], Node]) -> Iterable[ObjectBox]:
    """Boxes that together are this one, each a shape at most; in them, what is required is named, and so is every key
    of a finite class, `propertyNames` is applied, and needs are left to open keys."""
    ready = _with_names(box, strings)
    if ready is None:
        return ()
    return needs_met_by_name(ready) if ready.needs else (ready,)


def object_shape(ready: ObjectBox, inhabited: Inhabited) -> ObjectShape | None:
    """The shape of a box that is ready; None if it is empty."""
    members = tuple([pair for pair in ready.named if inhabited(pair[1])])
    required = set(ready.required)
    if len(members) < len(ready.named) and not required.issubset([name for name, _ in members]):
        return None
    shape = ObjectShape(members, tuple([name in required for name, _ in members]), ready, inhabited)
    if (shape.counts or ready.needs) and not shape.viable(sum(shape.must), len(members), 0, shape.all_pending):
        return None
    return shape


def _with_names(box: ObjectBox, strings: Callable[[Conj], Node]) -> ObjectBox | None:
    """Apply `propertyNames`, name what is required, and name the keys of small finite classes; None if that is
    impossible.
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


def needs_met_by_name(box: ObjectBox) -> Iterator[ObjectBox]:
    """Split a box by who meets its needs: for each need one of the names, or some open key."""
    if not box.needs:
        yield box
        return
    language, conj = box.needs[0]
    others = box._replace(needs=box.needs[1:])
    for each in needs_met_by_name(others):
        if any(kept != FALSE for _, kept in each.classes):
            yield each._replace(needs=((language, conj), *each.needs))
        for i, (name, held) in enumerate(each.named):
            if held != FALSE and matches(language, name):
                named = (*each.named[:i], (name, both(held, conj)), *each.named[i + 1 :])
                required = each.required if name in each.required else (*each.required, name)
                yield each._replace(named=named, required=required)


def has_objects(box: ObjectBox, inhabited: Inhabited, strings: Callable[[Conj], Node]) -> bool:
    """Is the box inhabited? Looks only at properties that must be there, if that decides it."""
    if box.needs or box.names != TRUE or box.low > len(box.required):
        return next(object_shapes(box, inhabited, strings), None) is not None
    named = dict(box.named)
    if box.high is not None and len(box.required) > box.high:
        return False
    return all(inhabited(named[name] if name in named else class_of(box, name)) for name in box.required)
