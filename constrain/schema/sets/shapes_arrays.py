"""Shapes of arrays: boxes made ready to be written from left to right without ever running into a dead end.

The idea: what an array may still hold depends on the index and on a small *state* — how many items met each counted
condition (`contains`), or which values were used (`uniqueItems` over few values). `choices` lists the ways to fill an
index, `viable` says whether an array can still be completed, so a way that leads nowhere is never offered.

    CountedArrays    state: one number for each condition, up to the number that matters
    DistinctArrays   state: a bit set of the values used so far

Cost: made when a text reaches it; `lengths` visits one state for each combination of counts below their limits.
Limit: `MAX_STEPS` items or counts that must be looked ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple, Protocol

from constrain.errors import LimitError
from constrain.schema.sets.algebra import ArrayBox, Conj, both
from constrain.schema.sets.shapes_objects import Inhabited, check_needs
from constrain.schema.sets.values import value_key

MAX_STEPS = 400
MAX_DISTINCT = 200  # values of an item up to which `uniqueItems` remembers which ones were used
ArrayState = tuple[int, ...]
Choice = tuple[Conj, ArrayState]  # what the item fulfils, the state afterwards


class Queries(Protocol):
    """What a shape asks about its parts (`normalizer.Normalizer`)."""

    def inhabited(self, conj: Conj) -> bool:
        """Does anything fulfil it?"""

    def negation(self, conj: Conj) -> Conj:
        """Names the complement of a conjunction."""

    def values(self, conj: Conj) -> tuple[Any, ...] | None:
        """The finitely many values of a conjunction, or None."""

    def constant(self, value: Any) -> Conj:
        """Names a value."""


class ArrayShape(Protocol):
    """Arrays from left to right. From index `steady` on all situations are alike but for their state.

    high: most items, None for no limit.
    """

    box: ArrayBox
    start: ArrayState
    high: int | None
    steady: int

    def choices(self, i: int, state: ArrayState) -> list[Choice]:
        """Ways to fill index i."""

    def complete(self, i: int, state: ArrayState) -> bool:
        """May the array end after i items?"""

    def viable(self, i: int, state: ArrayState) -> bool:
        """Can an array with i items behind it be completed?"""

    def parts(self) -> Iterator[Conj]:
        """Everything that an item may have to fulfil."""


def array_shape(box: ArrayBox, queries: Queries) -> ArrayShape | None:
    """The shape of a box, or None if it is empty (it may be empty all the same if equal items are asked for)."""
    if box.unique and not box.counts:
        domains = _domains(box, queries)
        if domains is not None:
            distinct = DistinctArrays(box, queries, domains)
            return distinct if distinct.viable(0, distinct.start) else None
    shape = CountedArrays(box, queries)
    return shape if shape.viable(0, shape.start) else None


def has_arrays(box: ArrayBox, queries: Queries) -> bool:
    """Is the box inhabited? Looks only at items that must be there, unless they are counted or all different."""
    if box.counts or (box.unique and box.low > 1):
        return array_shape(box, queries) is not None
    required = box.prefix[: box.low]
    return all(map(queries.inhabited, required)) and (box.low <= len(box.prefix) or queries.inhabited(box.rest))


def _item(box: ArrayBox, i: int) -> Conj:
    return box.prefix[i] if i < len(box.prefix) else box.rest


def _last(box: ArrayBox, inhabited: Inhabited) -> int | None:
    """The most items there can be, counts aside."""
    for i, conj in enumerate(box.prefix):
        if box.high is not None and i >= box.high:
            return box.high
        if not inhabited(conj):
            return i
    if (box.high is not None and box.high <= len(box.prefix)) or inhabited(box.rest):
        return box.high
    return len(box.prefix)


# ------------------------------------------------------------------------------------------------------- counted


class Lengths(NamedTuple):
    """A set of lengths: those whose bit is set, and all from `tail` on (None: no tail)."""

    bits: int
    tail: int | None = None

    def meets(self, low: int, high: int | None) -> bool:
        """Is some length in [low, high]?"""
        if high is not None and high < low:
            return False
        if self.tail is not None and (high is None or self.tail <= high):
            return True
        within = self.bits >> low
        return bool(within if high is None else within & ((1 << (high - low + 1)) - 1))


class CountedArrays:
    """Arrays some of whose items are counted (see `ArrayShape`); the usual ones have nothing to count."""

    def __init__(self, box: ArrayBox, queries: Queries) -> None:
        self.box = box
        self.queries = queries
        self.counts = box.counts
        self.high = _last(box, queries.inhabited)
        self.alike = max([len(box.prefix), *(count.start for count in box.counts)])
        self.steady = max(self.alike, box.low)
        self.start: ArrayState = (0,) * len(box.counts)
        self._lengths: dict[tuple[int, ArrayState], Lengths] = {}
        check_needs(box.counts)
        self.caps = tuple(count.least if count.most is None else count.most for count in box.counts)
        if box.counts and self.alike + sum(self.caps) > MAX_STEPS:
            raise LimitError(
                f"{self.alike + sum(self.caps)} items would have to be looked ahead, more than {MAX_STEPS}",
                fix="lower minContains and maxContains, or write fewer items before them",
            )

    def choices(self, i: int, state: ArrayState) -> list[Choice]:
        """See `ArrayShape`. An item that is counted fulfils the condition; where there is an upper limit, one that is
        not counted fails it."""
        if self.high is not None and i >= self.high:
            return []
        found = []
        for each in product(*(self._options(n, i, state[n]) for n in range(len(state)))):
            conj = _item(self.box, i)
            for extra, _ in each:
                conj = both(conj, extra)
            if self.queries.inhabited(conj):
                found.append((conj, tuple(seen for _, seen in each)))
        return found

    def _options(self, n: int, i: int, seen: int) -> list[tuple[Conj, int]]:
        """What condition n may ask of item i: (conjunction, count afterwards)."""
        count = self.counts[n]
        if i < count.start:
            return [((), seen)]
        other: Conj = () if count.most is None else self.queries.negation(count.conj)
        return [(count.conj, seen + 1), (other, seen)] if seen < self.caps[n] else [(other, seen)]

    def complete(self, i: int, state: ArrayState) -> bool:
        """See `ArrayShape`."""
        return i >= self.box.low and self._satisfied(state)

    def _satisfied(self, state: ArrayState) -> bool:
        return all(seen >= count.least for seen, count in zip(state, self.counts, strict=True))

    def viable(self, i: int, state: ArrayState) -> bool:
        """See `ArrayShape`."""
        if not self.counts:
            return self.high is None or self.box.low <= self.high
        high = None if self.box.high is None else self.box.high - i
        return self.lengths(i, state).meets(max(0, self.box.low - i), high)

    def lengths(self, i: int, state: ArrayState) -> Lengths:
        """How many items may still follow so that all counts are right; minimum and maximum aside."""
        key = (min(i, self.alike), state)
        known = self._lengths.get(key)
        if known is None:
            known = self._lengths[key] = self._measure(*key)
        return known

    def _measure(self, i: int, state: ArrayState) -> Lengths:
        bits = int(self._satisfied(state))
        tail: int | None = None
        repeats = False
        for after in {after for _, after in self._unlimited(i, state)}:
            if i == self.alike and after == state:
                repeats = True
                continue
            then = self.lengths(i + 1, after)
            bits |= then.bits << 1
            if then.tail is not None:
                tail = min(tail, then.tail + 1) if tail is not None else then.tail + 1
        if repeats and (bits or tail is not None):  # one more item, and all is as it was
            shortest = (bits & -bits).bit_length() - 1 if bits else tail
            tail = shortest if tail is None or shortest is None else min(tail, shortest)
        return Lengths(bits, tail)

    def _unlimited(self, i: int, state: ArrayState) -> list[Choice]:
        """`choices` as if there were no maximum."""
        high, self.high = self.high, None
        try:
            return self.choices(i, state)
        finally:
            self.high = high

    def parts(self) -> Iterator[Conj]:
        """See `ArrayShape`."""
        last = self.alike if self.high is None else min(self.alike, self.high - 1)
        for i in range(last + 1):
            for state in product(*({0, cap} for cap in self.caps)):
                yield from (conj for conj, _ in self.choices(i, state))


# ------------------------------------------------------------------------------------------------------ distinct


def _domains(box: ArrayBox, queries: Queries) -> list[tuple[Any, ...]] | None:
    """The values of each prefix item and of the rest, if all are few."""
    found = []
    for conj in (*box.prefix, box.rest):
        values = queries.values(conj) if queries.inhabited(conj) else ()
        if values is None or len(values) > MAX_DISTINCT:
            return None
        found.append(values)
    return found


class DistinctArrays:
    """Arrays without equal items, over few values (see `ArrayShape`). The state holds one integer: a bit for each value
    that was used."""

    def __init__(self, box: ArrayBox, queries: Queries, domains: list[tuple[Any, ...]]) -> None:
        self.box = box
        self.queries = queries
        self.start: ArrayState = (0,)
        self.numbers: dict[Any, int] = {}
        self.domains = [
            {self.numbers.setdefault(value_key(value), len(self.numbers)): queries.constant(value) for value in domain}
            for domain in domains
        ]
        most = len(self.numbers)
        self.high: int | None = most if box.high is None else min(box.high, most)
        self.steady = max(len(box.prefix), box.low)

    def _domain(self, i: int) -> dict[int, Conj]:
        return self.domains[min(i, len(self.domains) - 1)]

    def choices(self, i: int, state: ArrayState) -> list[Choice]:
        """See `ArrayShape`: every value that was not used."""
        if self.high is not None and i >= self.high:
            return []
        used, item = state[0], _item(self.box, i)
        free = [(both(item, conj), (used | 1 << n,)) for n, conj in self._domain(i).items() if not used >> n & 1]
        return [choice for choice in free if self.queries.inhabited(choice[0])]

    def complete(self, i: int, state: ArrayState) -> bool:
        """See `ArrayShape`."""
        return i >= self.box.low

    def viable(self, i: int, state: ArrayState) -> bool:
        """See `ArrayShape`. The items up to the minimum get different values: a bipartite matching, found by augmenting
        paths (Kuhn 1955)."""
        if self.box.low > len(self.numbers):
            return False
        holder: dict[int, int] = {}  # value -> index

        def place(index: int, tried: set[int]) -> bool:
            for n in self._domain(index):
                if n in tried or state[0] >> n & 1:
                    continue
                tried.add(n)
                if n not in holder or place(holder[n], tried):
                    holder[n] = index
                    return True
            return False

        return all(place(index, set()) for index in range(i, self.box.low))

    def parts(self) -> Iterator[Conj]:
        """See `ArrayShape`."""
        for i in range(len(self.domains)):
            yield from (conj for conj, _ in self.choices(i, self.start))
