"""Difference of unions of boxes, kept small: what `oneOf` needs when its branches overlap.

The idea: A minus B is A intersected with the complement of B, but only those boxes of A that meet B have to be split.
After each step empty boxes are dropped, and boxes inside other boxes. So a `oneOf` of closed objects that differ in
some optional property stays about as large as it is written, instead of growing by a factor per branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from constrain.errors import LimitError
from constrain.schema.sets.algebra import FALSE, MAX_BOXES, ArrayBox, NormalForm, ObjectBox, meet_arrays, meet_objects
from constrain.schema.sets.numbers import has_numbers, meet_numbers
from constrain.schema.sets.shapes_objects import needs_met_by_name
from constrain.schema.sets.strings import meet_strings

Box = TypeVar("Box", bound=tuple[Any, ...])
MAX_COMPARED = 400  # boxes that are compared pair by pair to find those inside others


class Tests(NamedTuple):
    """Exact emptiness of boxes; True may also mean "not known yet"."""

    arrays: Callable[[ArrayBox], bool]
    objects: Callable[[ObjectBox], bool]


def subtract(a: NormalForm, b: NormalForm, outside_b: NormalForm, tests: Tests) -> NormalForm:
    """The values of `a` that are not in `b`; `outside_b` is the complement of `b`."""
    return NormalForm(
        a.null and not b.null,
        a.booleans - b.booleans,
        tuple(_split(a.numbers, b.numbers, outside_b.numbers, meet_numbers, has_numbers, _same)),
        meet_strings(a.strings, outside_b.strings),
        tuple(_split(a.arrays, b.arrays, outside_b.arrays, meet_arrays, tests.arrays, _same)),
        tuple(_outermost(_split(a.objects, b.objects, outside_b.objects, meet_objects, tests.objects, _closed))),
    )


def _same(box: Box) -> Iterator[Box]:
    yield box


def _closed(box: ObjectBox) -> Iterator[ObjectBox]:
    """Settle the needs of an object that has no open keys: only its names can meet them."""
    if box.needs and all(conj == FALSE for _, conj in box.classes):
        yield from needs_met_by_name(box)
    else:
        yield box


def _split(
    left: tuple[Box, ...],
    right: tuple[Box, ...],
    outside: tuple[Box, ...],
    meet: Callable[[Box, Box], Box | None],
    inhabited: Callable[[Box], bool],
    settle: Callable[[Box], Iterator[Box]],
) -> list[Box]:
    """The boxes of `left` less those of `right`."""

    def meets(a: Box, b: Box) -> bool:
        common = meet(a, b)
        return common is not None and inhabited(common)

    found: dict[Box, None] = {}
    for box in left:
        if not any(meets(box, other) for other in right):
            found[box] = None
            continue
        for other in outside:
            common = meet(box, other)
            if common is not None:
                found.update((each, None) for each in settle(common) if each not in found and inhabited(each))
        if len(found) > MAX_BOXES:
            raise LimitError(
                f"a difference of overlapping branches has more than {MAX_BOXES} alternatives",
                fix="give every branch of oneOf a required property with its own const, or use anyOf",
            )
    return list(found)


def _outermost(boxes: list[ObjectBox]) -> list[ObjectBox]:
    """The boxes that are not visibly inside another one."""
    if len(boxes) > MAX_COMPARED:
        return boxes
    kept: list[_Outline] = []
    for box in sorted(boxes, key=lambda each: len(each.required) + len(each.named)):
        outline = _Outline(box)
        if not any(outline.inside(other) for other in kept):
            kept.append(outline)
    outermost = {outline.box for outline in kept}
    return [box for box in boxes if box in outermost]


class _Outline:
    """A box, ready to be compared with others."""

    __slots__ = ("box", "named", "needs", "required")

    def __init__(self, box: ObjectBox) -> None:
        self.box = box
        self.named = {name: frozenset(conj) for name, conj in box.named}
        self.required = frozenset(box.required)
        self.needs = frozenset(box.needs)

    def inside(self, other: _Outline) -> bool:
        """Is it visibly a subset of the other? (False if it is not seen at once.)"""
        a, b = self.box, other.box
        if not (other.required <= self.required and other.needs <= self.needs):
            return False
        if a.classes != b.classes or a.names != b.names or a.low < b.low:
            return False
        if b.high is not None and (a.high is None or a.high > b.high):
            return False
        if self.named.keys() != other.named.keys():
            return False
        return all(other.named[name] <= conj or 0 in conj for name, conj in self.named.items())
