"""Differences of unions of boxes, kept small, for `oneOf` with overlapping branches.

The idea: A minus B is A intersected with the complement of B, but only those boxes of A that meet B have to be split.
After each step, empty boxes and boxes inside other boxes are dropped. So a `oneOf` of closed objects that differ in
some optional property stays about as large as it is written, instead of growing by a factor per branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

from constrain.languages.schema.sets.algebra import (
    FALSE,
    MAX_ALTERNATIVES,
    ArrayBox,
    Join,
    NormalForm,
    ObjectBox,
    TooManyBoxes,
    meet_arrays,
    meet_objects,
)
from constrain.languages.schema.sets.numbers import has_numbers, meet_numbers
from constrain.languages.schema.sets.shapes_objects import split_needs
from constrain.languages.schema.sets.strings import meet_strings
from constrain.limits import tick

Box = TypeVar("Box", bound=tuple[Any, ...])
MAX_COMPARED = 400  # the largest number of boxes among which boxes inside others are looked for, pair by pair


class EmptinessTests(NamedTuple):
    """Tests whether boxes are inhabited. False is exact; True may also mean that it is not known yet.

    `join` makes the conjunction of two conjunctions.
    """

    join: Join
    arrays: Callable[[ArrayBox], bool]
    objects: Callable[[ObjectBox], bool]


def subtract(a: NormalForm, b: NormalForm, outside_b: NormalForm, tests: EmptinessTests) -> NormalForm:
    """The values of `a` that are not in `b`; `outside_b` is the complement of `b`."""
    meet = partial(meet_objects, join=tests.join)
    return NormalForm(
        a.null and not b.null,
        a.booleans - b.booleans,
        tuple(_split(a.numbers, b.numbers, outside_b.numbers, meet_numbers, has_numbers, _same)),
        meet_strings(a.strings, outside_b.strings),
        tuple(_split(a.arrays, b.arrays, outside_b.arrays, partial(meet_arrays, join=tests.join), tests.arrays, _same)),
        tuple(_outermost(_split(a.objects, b.objects, outside_b.objects, meet, tests.objects, _split_closed))),
    )


def _same(box: Box) -> Iterator[Box]:
    yield box


def _split_closed(box: ObjectBox) -> Iterator[ObjectBox]:
    """Split the needs of a box without open keys, which only its names can meet."""
    if box.needs and all(conj == FALSE for _, conj in box.classes):
        yield from split_needs(box)
    else:
        yield box


def _split(
    left: tuple[Box, ...],
    right: tuple[Box, ...],
    outside: tuple[Box, ...],
    meet: Callable[[Box, Box], Box | None],
    inhabited: Callable[[Box], bool],
    split: Callable[[Box], Iterator[Box]],
) -> list[Box]:
    """The boxes of `left` without the values of `right`; `outside` is the complement of `right`."""

    def overlap(a: Box, b: Box) -> bool:
        tick()
        common = meet(a, b)
        return common is not None and inhabited(common)

    difference: dict[Box, None] = {}
    for box in left:
        if not any(overlap(box, other) for other in right):
            difference[box] = None
            continue
        for other in outside:
            tick()
            common = meet(box, other)
            if common is not None:
                difference.update((part, None) for part in split(common) if part not in difference and inhabited(part))
        if len(difference) > MAX_ALTERNATIVES:
            raise TooManyBoxes(
                f"a difference of overlapping branches has more than {MAX_ALTERNATIVES} alternatives",
                fix="give every branch of oneOf a required property with its own const, or use anyOf",
            )
    return list(difference)


def _outermost(boxes: list[ObjectBox]) -> list[ObjectBox]:
    """The boxes that are not visibly subsets of another one."""
    if len(boxes) > MAX_COMPARED:
        return boxes
    outermost: set[ObjectBox] = set()
    alike: dict[tuple[object, ...], list[tuple[ObjectBox, frozenset[object]]]] = {}
    for box in sorted(boxes, key=lambda box: len(box.required) + len(box.named)):
        kept = alike.setdefault((len(box.named), box.classes, box.names), [])
        tick(1 + len(kept) // 8)
        demands = frozenset(box.required + box.needs + box.conditions)
        if not any(fewer <= demands and _is_within(box, other) for other, fewer in kept):
            kept.append((box, demands))
            outermost.add(box)
    return [box for box in boxes if box in outermost]


def _is_within(a: ObjectBox, b: ObjectBox) -> bool:
    """True if what a box says of its properties, and of their number, is visibly at least what another one says."""
    if a.low < b.low or (b.high is not None and (a.high is None or a.high > b.high)):
        return False
    named, places = b.named, b.places
    for name, conj in a.named:
        place = places.get(name)
        if place is None:
            return False
        other = named[place][1]
        if other != conj and conj != FALSE and not set(other).issubset(conj):
            return False
    return True
