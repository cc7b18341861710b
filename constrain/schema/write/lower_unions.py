"""Unions of many shapes of objects as one set of rules: which of them are still meant is part of a situation.

The idea: `oneOf`, `not` and `if` leave hundreds of shapes that differ in few properties. Side by side, every mask would
follow them all. Here the shapes with the same names are rows of a table, with a column for each name and one for the
open keys. A situation is a place (how far the object is) with the rows that are possible there (the subset
construction, made as far as texts reach it):

    first(s), next(s) -> "}" when some row may end     | "," member(s) when some row goes on
    member(s)         -> key ":" value next(s')        for each value that some row has there; s': what these leave
                       | member(s')                    in declared order; s': what those leave that may do without

In declared order a place is a column, and what is left of a row from there on is a *tail*; equal tails are one. In any
order a place is the set of names so far.

Cost: numpy calls for each column when the value is reached, then what is visited. Limit: subsets may be many in theory;
they are never more than a text has positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.automata.syntax import ANY_TEXT
from constrain.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.schema.sets.algebra import FALSE, Conj, ObjectBox
from constrain.schema.write.terminals import CLOSE_OBJECT, COMMA, OPEN_OBJECT, Alternatives, key_terminal, other_key

if TYPE_CHECKING:
    from constrain.schema.write.lower import Lowering

Part = tuple[ObjectBox, int, ObjectBox]  # a box, and its part with this number, which is ready
Alive = tuple[int, ...]  # rows, or tails
Table = NDArray[np.int64]


class Tail(NamedTuple):
    """What is left of a shape from some column on.

    conj: the number of what the value here fulfils; 0: the property must not come. must: it must come. following: the
    tail in the next column. needs: some property must come. more: some may.
    """

    conj: int
    must: bool
    following: int
    needs: bool
    more: bool


def united(lowering: Lowering, conj: Conj, parts: Sequence[Part]) -> tuple[Alternatives, list[Part]]:
    """(the alternatives of parts that are united, the parts that stand alone). All parts are of one conjunction."""
    groups: defaultdict[tuple[str, ...], list[Part]] = defaultdict(list)
    alone = []
    for part in parts:
        box = part[2]
        if _is_plain(box):
            groups[tuple([name for name, _ in _named(lowering, box)])].append(part)
        else:
            alone.append(part)
    alternatives: Alternatives = []
    make = _InOrder if lowering.in_order else _AnyOrder
    for number, (names, group) in enumerate(groups.items()):
        if len(group) == 1:
            alone += group
            continue
        union = make(lowering, (lowering.number, "union", conj, number), names, [box for _, _, box in group])
        if union.start:
            alternatives.append([OPEN_OBJECT, *lowering.space, _Members(union, 0, union.start)])
    return alternatives, alone


def _is_plain(box: ObjectBox) -> bool:
    """Whether only names matter, and any key may be open or none."""
    counts = box.high is not None or box.low > len(box.required)
    return not (counts or box.needs) and len(box.classes) == 1 and box.classes[0][0] == ANY_TEXT


def _named(lowering: Lowering, box: ObjectBox) -> Sequence[tuple[str, Conj]]:
    """The properties of a box; in an order of their own if any order will do."""
    return box.named if lowering.in_order else sorted(box.named)


class _Union:
    """The situations inside the objects of several boxes with the same names.

    start: all rows, or all tails of the first column; none if every shape is empty. conjs: by the numbers in the table.
    """

    start: Alive

    def __init__(
        self, lowering: Lowering, key: tuple[object, ...], names: tuple[str, ...], boxes: list[ObjectBox]
    ) -> None:
        self.lowering = lowering
        self.key = key
        self.keys = [key_terminal(name) for name in names]
        self.open_key = other_key(names)
        self.conjs, table, must = _table(lowering, names, boxes)
        self.read(table, must)

    def following(self, place: int, alive: Alive, any_yet: bool, open_yet: bool) -> Alternatives:
        """The end, or a member (after a comma, unless it is the first)."""
        alternatives: Alternatives = []
        if self.may_end(place, alive):
            alternatives.append([CLOSE_OBJECT])
        if self.goes_on(place, alive):
            comma: list[Symbol] = [COMMA, *self.lowering.space] if any_yet else []
            alternatives.append([*comma, _Member(self, place, alive, open_yet)])
        return alternatives

    def pairs(self, key: Terminal, left: dict[int, set[int]], place: int, open_yet: bool) -> Alternatives:
        """Members with a key. left: by the number of what the value fulfils, who is alive behind it, at that place."""
        return [
            [*self.lowering.pair(key, self.conjs[conj]), _Members(self, place, _alive(rows), True, open_yet)]
            for conj, rows in left.items()
        ]

    def read(self, table: Table, must: Table) -> None:
        """Make a table ready: int64[rows, names + 1], numbers of conjunctions; int64[rows, names], 1: must come."""
        raise NotImplementedError

    def may_end(self, place: int, alive: Alive) -> bool:
        """Has one of them all that it must have?"""
        raise NotImplementedError

    def goes_on(self, place: int, alive: Alive) -> bool:
        """May one of them have another member?"""
        raise NotImplementedError

    def members(self, place: int, alive: Alive, open_yet: bool) -> Alternatives:
        """The members that may come next."""
        raise NotImplementedError


def _alive(found: set[int]) -> Alive:
    return tuple(sorted(found))


def _table(lowering: Lowering, names: tuple[str, ...], boxes: list[ObjectBox]) -> tuple[list[Conj], Table, Table]:
    """(conjunctions by number; 0: no value) and the table (see `read`) of the boxes that are not empty."""
    numbers: defaultdict[Conj, int] = defaultdict(count().__next__)
    assert numbers[FALSE] == 0
    rows = [[numbers[pair[1]] for pair in (*_named(lowering, box), box.classes[0])] for box in boxes]
    inhabited = np.array([lowering.normalizer.inhabited(conj) for conj in numbers])
    table = np.array(rows, np.int64)
    table[~inhabited[table]] = 0
    required = {each: [name in each for name in names] for each in {box.required for box in boxes}}
    must = np.array([required[box.required] for box in boxes], np.int64).reshape(len(boxes), len(names))
    possible = ~((table[:, :-1] == 0) & (must == 1)).any(axis=1)
    return list(numbers), table[possible], must[possible]


class _InOrder(_Union):
    """Declared order, then open keys. A place is a column; columns: the tails of each."""

    columns: list[list[Tail]]

    def read(self, table: Table, must: Table) -> None:
        ends, at = np.unique(table[:, -1], return_inverse=True)
        columns = [[Tail(conj, False, 0, False, conj != 0) for conj in ends.tolist()]]
        for i in reversed(range(len(self.keys))):
            after = columns[-1]
            found, at = np.unique((2 * table[:, i] + must[:, i]) * len(after) + at, return_inverse=True)
            columns.append([_tail(each, after) for each in found.tolist()])
        self.columns = columns[::-1]
        self.start = tuple(range(len(self.columns[0])))

    def may_end(self, place: int, alive: Alive) -> bool:
        return not all(self.columns[place][tail].needs for tail in alive)

    def goes_on(self, place: int, alive: Alive) -> bool:
        return any(self.columns[place][tail].more for tail in alive)

    def members(self, place: int, alive: Alive, open_yet: bool) -> Alternatives:
        is_open = place == len(self.keys)
        left: defaultdict[int, set[int]] = defaultdict(set)
        skipped = set()
        for tail in alive:
            conj, must, following, _, _ = self.columns[place][tail]
            if conj:
                left[conj].add(tail if is_open else following)
            if not must and not is_open:
                skipped.add(following)
        if is_open:
            return self.pairs(self.open_key, left, place, True)
        alternatives = self.pairs(self.keys[place], left, place + 1, False)
        if self.goes_on(place + 1, _alive(skipped)):
            alternatives.append([_Member(self, place + 1, _alive(skipped))])
        return alternatives


def _tail(number: int, after: list[Tail]) -> Tail:
    """The tail with this number; after: those of the next column."""
    here, following = divmod(number, len(after))
    conj, must = divmod(here, 2)
    then = after[following]
    return Tail(conj, bool(must), following, bool(must) or then.needs, conj != 0 or then.more)


class _AnyOrder(_Union):
    """Any order. A place is the bit set of the names so far; rows: numbers of conjunctions, must: bit sets."""

    rows: list[list[int]]
    must: list[int]

    def read(self, table: Table, must: Table) -> None:
        distinct = np.unique(np.hstack([table, must]), axis=0)
        n = len(self.keys)
        self.rows = distinct[:, : n + 1].tolist()
        self.must = [sum(1 << i for i, bit in enumerate(bits) if bit) for bits in distinct[:, n + 1 :].tolist()]
        self.start = tuple(range(len(self.rows)))

    def may_end(self, place: int, alive: Alive) -> bool:
        return any(not self.must[row] & ~place for row in alive)

    def goes_on(self, place: int, alive: Alive) -> bool:
        free = [i for i in range(len(self.keys)) if not place >> i & 1]
        return any(self.rows[row][-1] or any(self.rows[row][i] for i in free) for row in alive)

    def members(self, place: int, alive: Alive, open_yet: bool) -> Alternatives:
        alternatives: Alternatives = []
        for i, key in enumerate(self.keys):
            if not place >> i & 1:
                alternatives += self.pairs(key, self._by_value(i, alive), place | 1 << i, open_yet)
        return alternatives + self.pairs(self.open_key, self._by_value(-1, alive), place, True)

    def _by_value(self, column: int, alive: Alive) -> dict[int, set[int]]:
        """The rows that may have a member there, by what its value fulfils."""
        left: defaultdict[int, set[int]] = defaultdict(set)
        for row in alive:
            conj = self.rows[row][column]
            if conj:
                left[conj].add(row)
        return left


class _Members(Nonterminal):
    """What may come in a situation: open_yet, any_yet: a property that is not declared was written, any was."""

    __slots__ = ("any_yet", "at", "open_yet", "union")

    def __init__(self, union: _Union, place: int, alive: Alive, any_yet: bool = False, open_yet: bool = False) -> None:
        super().__init__("members", None, (*union.key, "members", place, alive, any_yet, open_yet), True, open_yet)
        self.union, self.at, self.any_yet, self.open_yet = union, (place, alive), any_yet, open_yet

    def expand(self) -> Alternatives:
        return self.union.following(*self.at, self.any_yet, self.open_yet)


class _Member(Nonterminal):
    """One of the members that may come next."""

    __slots__ = ("at", "open_yet", "union")

    def __init__(self, union: _Union, place: int, alive: Alive, open_yet: bool = False) -> None:
        super().__init__("member", None, (*union.key, "member", place, alive, open_yet), True, open_yet)
        self.union, self.at, self.open_yet = union, (place, alive), open_yet

    def expand(self) -> Alternatives:
        return self.union.members(*self.at, self.open_yet)
