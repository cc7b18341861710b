"""Unions of many shapes of objects as one set of rules, by the subset construction.

The idea: `oneOf`, `not` and `if` leave hundreds of shapes that differ in few properties. If each were an alternative,
every mask would follow them all. Here the shapes with the same names are the rows of a table, with a column for each
name and one for open keys. A state s is a position in the object with the rows that are still possible there, the rows
that are *alive*. States are made as far as texts reach them:

    members(s) -> "}"                      if some row may end there
                | "," member(s)            if some row goes on
    member(s)  -> key ":" value members(s')    for each value of some row in this column; s': the rows that have it
                | member(s')               in declared order; s': the rows that may skip the column

In declared order a position is a column, and a *tail* is the rest of a row from there on; equal tails are one. In any
order a position is the bit set of the names written so far.

Cost: numpy calls for each column when the value is reached, then what texts visit. Limit: subsets may be many in
theory; a text meets at most one for each of its members.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.languages.automata.syntax import ANY_TEXT
from constrain.languages.cfg.rules import Nonterminal, Terminal
from constrain.languages.schema.sets.algebra import FALSE, Conj, ObjectBox
from constrain.languages.schema.write.terminals import Alternatives, key_terminal, other_key

if TYPE_CHECKING:
    from constrain.languages.schema.write.lower import Level

Part = tuple[ObjectBox, int, ObjectBox]  # a box, the number of one of its ready boxes, and that ready box
Alive = tuple[int, ...]  # the rows (or, in declared order, the tails) that are possible
Table = NDArray[np.int64]


class Tail(NamedTuple):
    """The rest of a row from some column on.

    Attributes:
        conj: The number of the conjunction of the value in this column; 0: the property must not come.
        must: Whether the property must come.
        following: The tail in the next column.
        needs: Whether a property must come in this column or a later one.
        more: Whether a property may come in this column or a later one.
    """

    conj: int
    must: bool
    following: int
    needs: bool
    more: bool


def unite_shapes(level: Level, conj: Conj, parts: Sequence[Part]) -> tuple[Alternatives, list[Part]]:
    """Unite the parts of one conjunction that have the same names.

    Returns:
        The alternatives of the united parts, and the parts that are left alone.
    """
    groups: defaultdict[tuple[str, ...], list[Part]] = defaultdict(list)
    alone = []
    for part in parts:
        box = part[2]
        if _is_plain(box):
            groups[tuple([name for name, _ in _named(level, box)])].append(part)
        else:
            alone.append(part)
    alternatives: Alternatives = []
    make = _InOrder if level.lowering.in_order else _AnyOrder
    for number, (names, group) in enumerate(groups.items()):
        if len(group) == 1:
            alone += group
            continue
        key = (level.lowering.serial, "union", level.place, conj, number)
        union = make(level, key, names, [box for _, _, box in group])
        if union.start:
            alternatives += union.whole()
    return alternatives, alone


def _is_plain(box: ObjectBox) -> bool:
    """True if the box only says which names have which values, and either any key may be open or none."""
    counts = box.high is not None or box.low > len(box.required)
    return not (counts or box.needs) and len(box.classes) == 1 and box.classes[0][0] == ANY_TEXT


def _named(level: Level, box: ObjectBox) -> Sequence[tuple[str, Conj]]:
    """The properties of a box; sorted if any order is allowed."""
    return box.named if level.lowering.in_order else sorted(box.named)


class _Union:
    """Makes the nonterminals of the objects of several boxes with the same names.

    Attributes:
        start: All rows, or all tails of the first column; empty if every box is.
        conjs: The conjunctions, by their numbers in the table.
    """

    start: Alive

    def __init__(self, level: Level, key: tuple[object, ...], names: tuple[str, ...], boxes: list[ObjectBox]) -> None:
        self.level = level
        self.key = key
        self.keys = [key_terminal(name, level.plain) for name in names]
        self.open_key = other_key(names, level.plain)
        self.conjs, table, must = _table(level, names, boxes)
        self.read(table, must)

    def whole(self) -> Alternatives:
        """The alternatives of an object: empty, or by what is written behind its bracket."""
        around = self.level.around
        alternatives: Alternatives = [[*around.empty_object]] if self.may_end(0, self.start) else []
        if self.goes_on(0, self.start):
            alternatives += [[*symbols, self._first(place)] for symbols, place in around.objects]
        return alternatives

    def _first(self, place: int) -> _Member:
        """The first member at a place, and all that follows it."""
        union = copy(self)
        union.level, union.key = self.level.at(place), (*self.key, place)
        return _Member(union, 0, self.start)

    def following(self, position: int, alive: Alive, open_yet: bool) -> Alternatives:
        """The alternatives of members(s): the end, or a comma and a member."""
        alternatives: Alternatives = [[*self.level.around.close_object]] if self.may_end(position, alive) else []
        if self.goes_on(position, alive):
            alternatives.append([*self.level.around.comma, _Member(self, position, alive, open_yet)])
        return alternatives

    def pairs(self, key: Terminal, left: dict[int, set[int]], position: int, open_yet: bool) -> Alternatives:
        """The members with a key. `left`: number of a value's conjunction -> the rows alive at `position` after it."""
        return [
            [*self.level.pair(key, self.conjs[conj]), _Members(self, position, _alive(rows), open_yet)]
            for conj, rows in left.items()
        ]

    def read(self, table: Table, must: Table) -> None:
        """Prepare the states.

        Args:
            table: int64[rows, names + 1], the number of the conjunction in each column.
            must: int64[rows, names], 1 where the property must come.
        """
        raise NotImplementedError

    def may_end(self, position: int, alive: Alive) -> bool:
        """True if one of the rows has every property that it must have."""
        raise NotImplementedError

    def goes_on(self, position: int, alive: Alive) -> bool:
        """True if one of the rows may have another member."""
        raise NotImplementedError

    def members(self, position: int, alive: Alive, open_yet: bool) -> Alternatives:
        """The alternatives of member(s): the members that may come next."""
        raise NotImplementedError


def _alive(rows: set[int]) -> Alive:
    return tuple(sorted(rows))


def _table(level: Level, names: tuple[str, ...], boxes: list[ObjectBox]) -> tuple[list[Conj], Table, Table]:
    """The table of the boxes that are not empty.

    Returns:
        The conjunctions by number (0: no value), and the two arguments of `_Union.read`.
    """
    numbers: defaultdict[Conj, int] = defaultdict(count().__next__)
    assert numbers[FALSE] == 0
    rows = [[numbers[pair[1]] for pair in (*_named(level, box), box.classes[0])] for box in boxes]
    inhabited = np.array([level.normalizer.inhabited(conj) for conj in numbers])
    table = np.array(rows, np.int64)
    table[~inhabited[table]] = 0
    required = {listed: [name in listed for name in names] for listed in {box.required for box in boxes}}
    must = np.array([required[box.required] for box in boxes], np.int64).reshape(len(boxes), len(names))
    possible = ~((table[:, :-1] == 0) & (must == 1)).any(axis=1)
    return list(numbers), table[possible], must[possible]


class _InOrder(_Union):
    """The declared properties in their order, then open keys. A position is a column; `columns` holds the tails."""

    columns: list[list[Tail]]

    def read(self, table: Table, must: Table) -> None:
        ends, at = np.unique(table[:, -1], return_inverse=True)
        columns = [[Tail(conj, False, 0, False, conj != 0) for conj in ends.tolist()]]
        for i in reversed(range(len(self.keys))):
            after = columns[-1]
            numbers, at = np.unique((2 * table[:, i] + must[:, i]) * len(after) + at, return_inverse=True)
            columns.append([_tail(number, after) for number in numbers.tolist()])
        self.columns = columns[::-1]
        self.start = tuple(range(len(self.columns[0])))

    def may_end(self, position: int, alive: Alive) -> bool:
        return not all(self.columns[position][tail].needs for tail in alive)

    def goes_on(self, position: int, alive: Alive) -> bool:
        return any(self.columns[position][tail].more for tail in alive)

    def members(self, position: int, alive: Alive, open_yet: bool) -> Alternatives:
        is_open = position == len(self.keys)
        tails: defaultdict[int, set[int]] = defaultdict(set)
        skipped = set()
        for tail in alive:
            conj, must, following, _, _ = self.columns[position][tail]
            if conj:
                tails[conj].add(tail if is_open else following)
            if not must and not is_open:
                skipped.add(following)
        if is_open:
            return self.pairs(self.open_key, tails, position, True)
        alternatives = self.pairs(self.keys[position], tails, position + 1, False)
        if self.goes_on(position + 1, _alive(skipped)):
            alternatives.append([_Member(self, position + 1, _alive(skipped))])
        return alternatives


def _tail(number: int, after: list[Tail]) -> Tail:
    """The tail with a number; `after` are the tails of the next column."""
    entry, following = divmod(number, len(after))
    conj, must = divmod(entry, 2)
    then = after[following]
    return Tail(conj, bool(must), following, bool(must) or then.needs, conj != 0 or then.more)


class _AnyOrder(_Union):
    """Properties in any order. A position is the bit set of the names written so far.

    Attributes:
        rows: The numbers of the conjunctions in each row.
        must: The names that must come in each row, as a bit set.
    """

    rows: list[list[int]]
    must: list[int]

    def read(self, table: Table, must: Table) -> None:
        distinct = np.unique(np.hstack([table, must]), axis=0)
        n = len(self.keys)
        self.rows = distinct[:, : n + 1].tolist()
        self.must = [sum(1 << i for i, bit in enumerate(bits) if bit) for bits in distinct[:, n + 1 :].tolist()]
        self.start = tuple(range(len(self.rows)))

    def may_end(self, position: int, alive: Alive) -> bool:
        return any(not self.must[row] & ~position for row in alive)

    def goes_on(self, position: int, alive: Alive) -> bool:
        free = [i for i in range(len(self.keys)) if not position >> i & 1]
        return any(self.rows[row][-1] or any(self.rows[row][i] for i in free) for row in alive)

    def members(self, position: int, alive: Alive, open_yet: bool) -> Alternatives:
        alternatives: Alternatives = []
        for i, key in enumerate(self.keys):
            if not position >> i & 1:
                alternatives += self.pairs(key, self._by_value(i, alive), position | 1 << i, open_yet)
        return alternatives + self.pairs(self.open_key, self._by_value(-1, alive), position, True)

    def _by_value(self, column: int, alive: Alive) -> dict[int, set[int]]:
        """The rows that may have a member in a column, by the number of its value's conjunction."""
        left: defaultdict[int, set[int]] = defaultdict(set)
        for row in alive:
            conj = self.rows[row][column]
            if conj:
                left[conj].add(row)
        return left


class _Members(Nonterminal):
    """members(s). `open_yet`: an open key was written."""

    __slots__ = ("at", "open_yet", "union")

    def __init__(self, union: _Union, position: int, alive: Alive, open_yet: bool) -> None:
        super().__init__("members", None, (*union.key, "members", position, alive, open_yet), True, open_yet)
        self.union, self.at, self.open_yet = union, (position, alive), open_yet

    def expand(self) -> Alternatives:
        return self.union.following(*self.at, self.open_yet)


class _Member(Nonterminal):
    """member(s)."""

    __slots__ = ("at", "open_yet", "union")

    def __init__(self, union: _Union, position: int, alive: Alive, open_yet: bool = False) -> None:
        super().__init__("member", None, (*union.key, "member", position, alive, open_yet), True, open_yet)
        self.union, self.at, self.open_yet = union, (position, alive), open_yet

    def expand(self) -> Alternatives:
        return self.union.members(*self.at, self.open_yet)
