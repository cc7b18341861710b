"""Shapes of arrays: boxes that can be written from left to right without running into a dead end.

The idea: the rest of an array depends on the index and on a small *state*: how many items fulfilled each counted
condition (`contains`), or which values were used (`uniqueItems` over few values). `choices` lists the ways to fill an
index. `viable` tells whether an array can still be completed, so that no choice leads to a dead end.

    CountedArrays    state: one number for each condition, up to the number that matters
    DistinctArrays   state: a bit set of the values used so far

Cost: a shape is made when a text reaches it; `lengths` visits one state for each combination of counts below their
limits. Limit: the items before the counted part and the counts add up to at most `MAX_STEPS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from constrain.errors import LimitError
from constrain.languages.schema.sets.algebra import FALSE, ArrayBox, Conj
from constrain.languages.schema.sets.shapes_objects import Inhabited, check_needs
from constrain.languages.schema.sets.values import value_key
from constrain.limits import tick

MAX_STEPS = 400
MAX_DISTINCT = 200  # the largest number of values per item for which the grammar remembers which ones were used
ArrayState = tuple[int, ...]
Choice = tuple[Conj, ArrayState]  # the conjunction that the item fulfils, and the state after it


class Queries(Protocol):
    """Questions that shapes ask about the conjunctions inside them (`normalizer.Normalizer` answers)."""

    def inhabited(self, conj: Conj) -> bool:
        """True if some value fulfils the conjunction."""

    def negation(self, conj: Conj) -> Conj:
        """The complement of a conjunction, as a conjunction."""

    def join(self, a: Conj, b: Conj) -> Conj:
        """The conjunction of two conjunctions, by few atoms."""

    def values(self, conj: Conj) -> tuple[Any, ...] | None:
        """The values that fulfil a conjunction, if they are few; else None."""

    def constant(self, value: Any) -> Conj:
        """The conjunction that only this JSON value fulfils."""


class ArrayShape(Protocol):
    """A set of arrays, described from left to right.

    Attributes:
        box: The box that the shape was made of.
        start: The state before the first item.
        high: The largest number of items; None: no limit.
        steady: From this index on, the choices depend on the state alone.
    """

    box: ArrayBox
    start: ArrayState
    high: int | None
    steady: int

    def choices(self, i: int, state: ArrayState) -> list[Choice]:
        """The ways to fill index i in a state."""

    def complete(self, i: int, state: ArrayState) -> bool:
        """True if the array may end after i items."""

    def viable(self, i: int, state: ArrayState) -> bool:
        """True if an array with i items can be completed."""

    def parts(self) -> Iterator[Conj]:
        """Yield every conjunction that an item may have to fulfil."""


def array_shape(box: ArrayBox, queries: Queries) -> ArrayShape | None:
    """The shape of a box; None if the box is empty. A box that asks for equal items may be empty and have a shape."""
    if box.unique and not box.counts:
        domains = _domains(box, queries)
        if domains is not None:
            distinct = DistinctArrays(box, queries, domains)
            return distinct if distinct.viable(0, distinct.start) else None
    shape = CountedArrays(box, queries)
    return shape if shape.viable(0, shape.start) else None


def has_arrays(box: ArrayBox, queries: Queries) -> bool:
    """True if the box is inhabited. Looks only at required items, unless items are counted or all different."""
    if box.counts or (box.unique and box.low > 1):
        return array_shape(box, queries) is not None
    required = box.prefix[: box.low]
    return all(map(queries.inhabited, required)) and (box.low <= len(box.prefix) or queries.inhabited(box.rest))


def _item(box: ArrayBox, i: int) -> Conj:
    return box.prefix[i] if i < len(box.prefix) else box.rest


def _max_items(box: ArrayBox, inhabited: Inhabited) -> int | None:
    """The largest number of items without regard to counts; None: no limit."""
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
    """A set of lengths: n is in it if bit n of `bits` is set, or if n >= `tail` (None: no tail)."""

    bits: int
    tail: int | None = None

    def meets(self, low: int, high: int | None) -> bool:
        """True if some length is in [low, high]; high None: no limit."""
        if high is not None and high < low:
            return False
        if self.tail is not None and (high is None or self.tail <= high):
            return True
        within = self.bits >> low
        return bool(within if high is None else within & ((1 << (high - low + 1)) - 1))


class CountedArrays:
    """An `ArrayShape` for any box; most boxes have nothing to count, and one state.

    Attributes:
        alike: From this index on, all items have the same conjunction and are counted alike.
        caps: For each condition the number up to which its count matters.
    """

    def __init__(self, box: ArrayBox, queries: Queries) -> None:
        self.box = box
        self.queries = queries
        self.counts = box.counts
        self.high = _max_items(box, queries.inhabited)
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
        """The ways to fill index i. A counted item fulfils the condition; under a maximum, any other item fails it."""
        return [] if self.high is not None and i >= self.high else self._choices(i, state)

    def _choices(self, i: int, state: ArrayState) -> list[Choice]:
        """`choices` without regard to the largest number of items."""
        choices: list[Choice] = [(_item(self.box, i), ())]
        for n, seen in enumerate(state):
            options = self._options(n, i, seen)
            tick(len(choices) * len(options))
            joined = [
                (self.queries.join(conj, condition), (*after, now))
                for conj, after in choices
                for condition, now in options
            ]
            choices = [choice for choice in joined if choice[0] != FALSE]  # PERF: of 2^n ways few are left
        return [choice for choice in choices if self.queries.inhabited(choice[0])]

    def _options(self, n: int, i: int, seen: int) -> list[tuple[Conj, int]]:
        """The ways in which item i may count for condition n, as pairs (conjunction, count after the item)."""
        count = self.counts[n]
        if i < count.start:
            return [((), seen)]
        other: Conj = () if count.most is None else self.queries.negation(count.conj)
        return [(count.conj, seen + 1), (other, seen)] if seen < self.caps[n] else [(other, seen)]

    def complete(self, i: int, state: ArrayState) -> bool:
        """True if the array may end after i items."""
        return i >= self.box.low and self._satisfied(state)

    def _satisfied(self, state: ArrayState) -> bool:
        return all(seen >= count.least for seen, count in zip(state, self.counts, strict=True))

    def viable(self, i: int, state: ArrayState) -> bool:
        """True if an array with i items can be completed."""
        if not self.counts:
            return self.high is None or self.box.low <= self.high
        if i == 0 and (known := self._quickly_viable()) is not None:
            return known
        high = None if self.box.high is None else self.box.high - i
        return self.lengths(i, state).meets(max(0, self.box.low - i), high)

    def _quickly_viable(self) -> bool | None:
        """True or False if a look at each condition by itself decides that there is an array; else None.

        PERF: n conditions have 2^n states, and most boxes are decided here.
        """
        if self.box.prefix or self.alike:
            return None
        rest, inhabited = self.box.rest, self.queries.inhabited
        if any(count.least and not inhabited(self.queries.join(rest, count.conj)) for count in self.counts):
            return False
        unlimited = self.box.high is None and all(count.most is None for count in self.counts)
        return True if unlimited and inhabited(rest) else None

    def lengths(self, i: int, state: ArrayState) -> Lengths:
        """The numbers of further items that can satisfy all counts, without regard to `minItems` and `maxItems`."""
        key = (min(i, self.alike), state)
        lengths = self._lengths.get(key)
        if lengths is None:
            lengths = self._lengths[key] = self._measure(*key)
        return lengths

    def _measure(self, i: int, state: ArrayState) -> Lengths:
        bits = int(self._satisfied(state))
        tail: int | None = None
        repeats = False
        for after in {after for _, after in self._choices(i, state)}:
            if i == self.alike and after == state:
                repeats = True
                continue
            then = self.lengths(i + 1, after)
            bits |= then.bits << 1
            if then.tail is not None:
                tail = min(tail, then.tail + 1) if tail is not None else then.tail + 1
        if repeats and (bits or tail is not None):  # an item may leave the state as it is: every longer length is in
            shortest = (bits & -bits).bit_length() - 1 if bits else tail
            tail = shortest if tail is None or shortest is None else min(tail, shortest)
        return Lengths(bits, tail)

    def parts(self) -> Iterator[Conj]:
        """Yield every conjunction that an item may have to fulfil."""
        last = self.alike if self.high is None else min(self.alike, self.high - 1)
        for i in range(last + 1):  # with nothing counted yet an item has every choice that it has later
            yield from (conj for conj, _ in self.choices(i, self.start))


# ------------------------------------------------------------------------------------------------------ distinct


def _domains(box: ArrayBox, queries: Queries) -> list[tuple[Any, ...]] | None:
    """The values of each prefix item and of later items; None if some are many."""
    domains = []
    for conj in (*box.prefix, box.rest):
        values = queries.values(conj) if queries.inhabited(conj) else ()
        if values is None or len(values) > MAX_DISTINCT:
            return None
        domains.append(values)
    return domains


class DistinctArrays:
    """An `ArrayShape` for arrays without equal items, over few values.

    The state is one integer with a bit for each value that was used.
    """

    def __init__(self, box: ArrayBox, queries: Queries, domains: list[tuple[Any, ...]]) -> None:
        self.box = box
        self.queries = queries
        self.start: ArrayState = (0,)
        self.numbers: dict[Any, int] = {}
        self.domains = [
            {self.numbers.setdefault(value_key(value), len(self.numbers)): queries.constant(value) for value in domain}
            for domain in domains
        ]
        self.bits = [sum(1 << n for n in domain) for domain in self.domains]  # the values of each, as a state has them
        self._fulfilling: list[list[tuple[int, Conj]] | None] = [None] * len(self.domains)
        most = len(self.numbers)
        self.high: int | None = most if box.high is None else min(box.high, most)
        self.steady = max(len(box.prefix), box.low)

    def _items(self, i: int) -> list[tuple[int, Conj]]:
        """The values of item i that fulfil all that is said of items: (number, what the item has to fulfil)."""
        place = min(i, len(self.domains) - 1)
        found = self._fulfilling[place]
        if found is None:
            item = _item(self.box, i)
            pairs = [(n, self.queries.join(item, conj)) for n, conj in self.domains[place].items()]
            found = self._fulfilling[place] = [(n, conj) for n, conj in pairs if self.queries.inhabited(conj)]
        return found

    def choices(self, i: int, state: ArrayState) -> list[Choice]:
        """One choice for each value that was not used."""
        if self.high is not None and i >= self.high:
            return []
        used = state[0]
        return [(conj, (used | 1 << n,)) for n, conj in self._items(i) if not used >> n & 1]

    def complete(self, i: int, state: ArrayState) -> bool:
        """True if the array may end after i items."""
        return i >= self.box.low

    def viable(self, i: int, state: ArrayState) -> bool:
        """True if an array with i items can be completed.

        The items up to the minimum need different values. Items behind the prefix are alike, so counting decides; with
        the prefix it is a bipartite matching, found by augmenting paths (Kuhn 1955).
        """
        if self.box.low > len(self.numbers):
            return False
        if i >= len(self.box.prefix):
            free = self.bits[min(i, len(self.bits) - 1)] & ~state[0]
            return free.bit_count() >= self.box.low - i
        matched: dict[int, int] = {}  # value -> index

        def match(index: int, tried: set[int]) -> bool:
            domain = self.domains[min(index, len(self.domains) - 1)]
            values = [n for n in domain if not state[0] >> n & 1]
            tick(1 + len(values))
            for n in sorted(values, key=matched.__contains__):  # those first that no item has
                if n in tried:
                    continue
                tried.add(n)
                if n not in matched or match(matched[n], tried):
                    matched[n] = index
                    return True
            return False

        return all(match(index, set()) for index in range(i, self.box.low))

    def parts(self) -> Iterator[Conj]:
        """Yield every conjunction that an item may have to fulfil."""
        for i in range(len(self.domains)):
            yield from (conj for conj, _ in self.choices(i, self.start))
