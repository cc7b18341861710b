"""Unions of many shapes of objects as one set of rules, by the subset construction.

The idea: `oneOf`, `not` and `if` leave hundreds of shapes that differ in few properties. If each were an alternative,
every mask would follow them all. Here the shapes with the same names are the rows of a table, with a column for each
name and one for open keys. A state s is a position in the object with the rows that are still possible there, the rows
that are *alive*. States are made as far as texts reach them:

    members(s) -> "}"                      if some row may end there
                | "," member(s)            if some row goes on
    member(s)  -> key ":" value members(s')    for each value of some row in this column; s': the rows that have it
                | member(s')               in declared order; s': the rows that may skip the column

Where the values of a column are many, they stand behind the key as a nonterminal, made when a text has come to it.
In declared order a position is a column, and a *tail* is the rest of a row from there on; equal tails are one. In any
order a position is the bit set of the names written so far.

Cost: numpy calls for each column when the value is reached, then what texts visit. Limit: subsets may be many in
theory; a text meets at most one for each of its members.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from constrain.languages.automata.syntax import ANY_TEXT
from constrain.languages.cfg.rules import Nonterminal, Terminal
from constrain.languages.schema.sets.algebra import FALSE, Conj, ObjectBox, meet_objects
from constrain.languages.schema.write.terminals import Alternatives, key_terminal, other_key

if TYPE_CHECKING:
    from constrain.languages.schema.write.lower import Level

Part = tuple[ObjectBox, int, ObjectBox]  # a box, the number of one of its ready boxes, and that ready box
State = TypeVar("State")
Alive = tuple[tuple[int, ...], ...]  # for each table its rows (or, in declared order, the tails) that are possible
Array = NDArray[np.int64]
MANY = 8  # values of a property; more are made when a text has come to them


class Table(NamedTuple):
    """The boxes of a union, in a column for each of some names.

    Attributes:
        columns: The places of the names among those of all tables.
        conjs: int64[rows, columns + 1], the numbers of the conjunctions (0: no value); of open keys in the last column.
        must: int64[rows, columns], 1 where the property must come.
    """

    columns: Sequence[int]
    conjs: Array
    must: Array


class UnionState(NamedTuple):
    """A place in an object: a position, the rows that are alive there, and whether an open key was written."""

    position: int
    alive: Alive
    open_yet: bool = False

    @property
    def key(self) -> UnionState:
        """Itself: numbers and tuples of numbers."""
        return self


class Tail(NamedTuple):
    """The rest of a row from some column on.

    Attributes:
        conj: The number of the conjunction of the value in this column; 0: the property must not come.
        must: Whether the property must come.
        following: The tail in the next column of its table.
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
    for number, (names, group) in enumerate(groups.items()):
        if len(group) == 1:
            alone += group
            continue
        key = (level.lowering.serial, "union", level.place, conj, number)
        alternatives += _whole(level, key, names, [(range(len(names)), [box for _, _, box in group])])
    return alternatives, alone


def unite_conditions(level: Level, boxes: Sequence[ObjectBox]) -> tuple[Alternatives, list[ObjectBox]]:
    """Make a table for each condition of a box, as no two speak of the same name.

    Returns:
        The alternatives of the boxes whose conditions are tables, and the boxes that are left alone.
    """
    alternatives: Alternatives = []
    alone = []
    for box in boxes:
        ready = level.normalizer.ready_boxes(box._replace(conditions=()))
        if not box.conditions or not all(map(_is_plain, ready)):
            alone.append(box)
            continue
        for base in ready:
            names = tuple([name for name, _ in _named(level, base)])
            unions = [_columns(level, base, names, cases) for cases in box.conditions]
            others = sorted({*range(len(names))}.difference(*(columns for columns, _ in unions)))
            alternatives += _whole(level, (*level.key(box), "conditions"), names, [(others, [base]), *unions])
    return alternatives, alone


def _columns(
    level: Level, base: ObjectBox, names: tuple[str, ...], cases: Sequence[ObjectBox]
) -> tuple[list[int], list[ObjectBox]]:
    """The places of the names of which a condition speaks, and the boxes of its cases."""
    said = frozenset[str]().union(*(case.said for case in cases))
    met = [meet_objects(base, case, level.normalizer.join) for case in cases]
    return [i for i, name in enumerate(names) if name in said], [box for box in met if box is not None]


def _is_plain(box: ObjectBox) -> bool:
    """True if the box only says which names have which values, and either any key may be open or none."""
    counts = box.high is not None or box.low > len(box.required)
    return not (counts or box.needs) and len(box.classes) == 1 and box.classes[0][0] == ANY_TEXT


def _named(level: Level, box: ObjectBox) -> Sequence[tuple[str, Conj]]:
    """The properties of a box; sorted if any order is allowed."""
    return box.named if level.lowering.in_order else sorted(box.named)


def _whole(
    level: Level,
    key: tuple[Hashable, ...],
    names: tuple[str, ...],
    unions: Sequence[tuple[Sequence[int], list[ObjectBox]]],
) -> Alternatives:
    """The alternatives of the objects that are in each of the unions, which hold boxes with the same names."""
    make = _InOrder if level.lowering.in_order else _AnyOrder
    union = make(level, key, names, unions)
    return union.whole() if all(union.start.alive) else []


class StateRules(Generic[State]):
    """Makes the nonterminals of objects, two for each state: members(s), the rest of one, and member(s)."""

    level: Level
    key: tuple[Any, ...]

    def following(self, at: State) -> Alternatives:
        """The alternatives of members(s): the end, or a comma and a member."""
        alternatives: Alternatives = [[*self.level.around.close_object]] if self.complete(at) else []
        if self.goes_on(at):
            alternatives.append([*self.level.around.comma, self.member(at)])
        return alternatives

    def member(self, at: State) -> Nonterminal:
        """The nonterminal member(s)."""
        return MemberRules(self, at)

    def complete(self, at: State) -> bool:
        """True if the object may end here."""
        raise NotImplementedError

    def goes_on(self, at: State) -> bool:
        """True if a member may come next."""
        raise NotImplementedError

    def members(self, at: State) -> Alternatives:
        """The alternatives of member(s): the members that may come next."""
        raise NotImplementedError


class RestRules(Nonterminal):
    """members(s). A class, not a closure: there are many, and each object costs the garbage collector time."""

    __slots__ = ("rules", "state")

    def __init__(self, rules: Any, state: Any) -> None:
        super().__init__("members", None, (*rules.key, "members", *state.key), True, state.open_yet)
        self.rules, self.state = rules, state

    def expand(self) -> Alternatives:
        alternatives: Alternatives = self.rules.following(self.state)
        return alternatives


class MemberRules(Nonterminal):
    """member(s)."""

    __slots__ = ("rules", "state")

    def __init__(self, rules: Any, state: Any) -> None:
        super().__init__("member", None, (*rules.key, "member", *state.key), True, state.open_yet)
        self.rules, self.state = rules, state

    def expand(self) -> Alternatives:
        alternatives: Alternatives = self.rules.members(self.state)
        return alternatives


class _Union(StateRules[UnionState]):
    """Makes the nonterminals of the objects of several boxes with the same names.

    Attributes:
        start: All rows, or all tails of the first columns; none in a table whose boxes are all empty.
        conjs: The conjunctions, by their numbers in the tables.
        owners: For each name, and for open keys, the number of its table and its column there.
    """

    start: UnionState

    def __init__(
        self,
        level: Level,
        key: tuple[Hashable, ...],
        names: tuple[str, ...],
        unions: Sequence[tuple[Sequence[int], list[ObjectBox]]],
    ) -> None:
        self.level = level
        self.key = key
        self.keys = [key_terminal(name, level.plain) for name in names]
        self.open_key = other_key(names, level.plain)
        self.conjs, tables = _tables(level, unions)
        owners = {at: (n, i) for n, table in enumerate(tables) for i, at in enumerate(table.columns)}
        self.owners = [*(owners[at] for at in range(len(names))), (0, len(tables[0].columns))]
        self.read(tables)

    def whole(self) -> Alternatives:
        """The alternatives of an object: empty, or by what is written behind its bracket."""
        around = self.level.around
        alternatives: Alternatives = [[*around.empty_object]] if self.complete(self.start) else []
        if self.goes_on(self.start):
            alternatives += [[*symbols, self._first(place)] for symbols, place in around.objects]
        return alternatives

    def _first(self, place: int) -> MemberRules:
        """The first member at a place, and all that follows it."""
        union = copy(self)
        union.level, union.key = self.level.at(place), (*self.key, place)
        return MemberRules(union, self.start)

    def pairs(self, key: Terminal, column: int, alive: Alive, position: int, open_yet: bool) -> Alternatives:
        """The members with a key in a column, which lead from the rows that are alive to a position."""
        behind = [key, *self.level.around.colon]
        if len(self.left(column, alive)) > MANY:
            name = (*self.key, "values", column, position, alive, open_yet)
            values = Nonterminal("values", lambda: self.values(column, alive, position, open_yet), name)
            return [[*behind, values]]
        return [[*behind, *value] for value in self.values(column, alive, position, open_yet)]

    def values(self, column: int, alive: Alive, position: int, open_yet: bool) -> Alternatives:
        """The values behind a key, and all that follows them."""
        table, _ = self.owners[column]
        behind: defaultdict[tuple[int, ...], list[Conj]] = defaultdict(list)
        for conj, rows in self.left(column, alive).items():
            behind[tuple(sorted(rows))].append(self.conjs[conj])
        return [
            [
                value,
                *self.level.around.behind,
                RestRules(self, UnionState(position, _with(alive, table, rows), open_yet)),
            ]
            for rows, conjs in behind.items()
            for value in self.level.values(conjs)
        ]

    def left(self, column: int, alive: Alive) -> dict[int, set[int]]:
        """Number of a value's conjunction in a column -> the rows of its table that are alive behind it."""
        raise NotImplementedError

    def read(self, tables: list[Table]) -> None:
        """Prepare the states."""
        raise NotImplementedError


def _with(alive: Alive, table: int, rows: Iterable[int]) -> Alive:
    """The rows that are alive, where they are these in one table."""
    return (*alive[:table], tuple(sorted(rows)), *alive[table + 1 :])


def _tables(level: Level, unions: Sequence[tuple[Sequence[int], list[ObjectBox]]]) -> tuple[list[Conj], list[Table]]:
    """The conjunctions by number (0: no value), and the tables of the boxes that are not empty."""
    numbers: defaultdict[Conj, int] = defaultdict(count().__next__)
    assert numbers[FALSE] == 0
    tables = []
    for n, (columns, boxes) in enumerate(unions):
        named = [_named(level, box) for box in boxes]
        rows = [
            [*(numbers[pairs[i][1]] for i in columns), 0 if n else numbers[box.classes[0][1]]]
            for pairs, box in zip(named, boxes, strict=True)
        ]
        names = [named[0][i][0] for i in columns] if boxes else []
        required = {listed: [name in listed for name in names] for listed in {box.required for box in boxes}}
        must = np.array([required[box.required] for box in boxes], np.int64).reshape(len(boxes), len(columns))
        tables.append(Table(columns, np.array(rows, np.int64).reshape(len(boxes), len(columns) + 1), must))
    inhabited = np.array([level.normalizer.inhabited(conj) for conj in numbers])
    return list(numbers), [_possible(table, inhabited) for table in tables]


def _possible(table: Table, inhabited: NDArray[np.bool_]) -> Table:
    """The rows of a table in which each property that must come has a value."""
    table.conjs[~inhabited[table.conjs]] = 0
    possible = ~((table.conjs[:, :-1] == 0) & (table.must == 1)).any(axis=1)
    return Table(table.columns, table.conjs[possible], table.must[possible])


class _InOrder(_Union):
    """The declared properties in their order, then open keys. A position is a column; `tails` holds those of all."""

    tails: list[Tail]

    def read(self, tables: list[Table]) -> None:
        self.tails = []
        self.start = UnionState(0, tuple([self._read(table) for table in tables]))

    def _read(self, table: Table) -> tuple[int, ...]:
        """Number the tails of a table. Returns those of its first column."""
        ends, at = np.unique(table.conjs[:, -1], return_inverse=True)
        own = range(len(self.tails), len(self.tails) + len(ends))  # behind an open key comes another one
        first = self._add([Tail(conj, False, i, False, conj != 0) for i, conj in zip(own, ends.tolist(), strict=True)])
        for i in reversed(range(len(table.columns))):
            after = first
            numbers, at = np.unique((2 * table.conjs[:, i] + table.must[:, i]) * len(after) + at, return_inverse=True)
            first = self._add([self._tail(number, after) for number in numbers.tolist()])
        return tuple(first)

    def _add(self, tails: list[Tail]) -> range:
        self.tails += tails
        return range(len(self.tails) - len(tails), len(self.tails))

    def _tail(self, number: int, after: range) -> Tail:
        """The tail with a number among those of a column; `after` are those of the next."""
        entry, following = divmod(number, len(after))
        conj, must = divmod(entry, 2)
        then = self.tails[after[following]]
        return Tail(conj, bool(must), after[following], bool(must) or then.needs, conj != 0 or then.more)

    def complete(self, at: UnionState) -> bool:
        return not any(all(self.tails[tail].needs for tail in tails) for tails in at.alive)

    def goes_on(self, at: UnionState) -> bool:
        return any(self.tails[tail].more for tails in at.alive for tail in tails)

    def members(self, at: UnionState) -> Alternatives:
        position, alive, _ = at
        if position == len(self.keys):
            return self.pairs(self.open_key, position, alive, position, True)
        alternatives = self.pairs(self.keys[position], position, alive, position + 1, False)
        table, _ = self.owners[position]
        skipped = {self.tails[tail].following for tail in alive[table] if not self.tails[tail].must}
        rest = UnionState(position + 1, _with(alive, table, skipped))
        if skipped and self.goes_on(rest):
            alternatives.append([MemberRules(self, rest)])
        return alternatives

    def left(self, column: int, alive: Alive) -> dict[int, set[int]]:
        left: defaultdict[int, set[int]] = defaultdict(set)
        for tail in alive[self.owners[column][0]]:
            conj, _, following, _, _ = self.tails[tail]
            if conj:
                left[conj].add(following)
        return left


class _AnyOrder(_Union):
    """Properties in any order. A position is the bit set of the names written so far.

    Attributes:
        rows: For each table, the numbers of the conjunctions in each row.
        must: For each table, the names that must come in each row, as a bit set.
    """

    rows: list[list[list[int]]]
    must: list[list[int]]

    def read(self, tables: list[Table]) -> None:
        self.rows, self.must = [], []
        for columns, conjs, must in tables:
            distinct = np.unique(np.hstack([conjs, must]), axis=0)
            n = len(columns) + 1
            self.rows.append(distinct[:, :n].tolist())
            bits = [[bit << at for at, bit in zip(columns, row, strict=True)] for row in distinct[:, n:].tolist()]
            self.must.append(list(map(sum, bits)))
        self.start = UnionState(0, tuple([tuple(range(len(rows))) for rows in self.rows]))

    def complete(self, at: UnionState) -> bool:
        pairs = zip(self.must, at.alive, strict=True)
        return all(any(not must[row] & ~at.position for row in rows) for must, rows in pairs)

    def goes_on(self, at: UnionState) -> bool:
        free = [owner for i, owner in enumerate(self.owners) if not at.position >> i & 1]
        return any(self.rows[table][row][column] for table, column in free for row in at.alive[table])

    def members(self, at: UnionState) -> Alternatives:
        position, alive, open_yet = at
        alternatives: Alternatives = []
        for i, key in enumerate(self.keys):
            if not position >> i & 1:
                alternatives += self.pairs(key, i, alive, position | 1 << i, open_yet)
        return alternatives + self.pairs(self.open_key, len(self.keys), alive, position, True)

    def left(self, column: int, alive: Alive) -> dict[int, set[int]]:
        table, own = self.owners[column]
        left: defaultdict[int, set[int]] = defaultdict(set)
        for row in alive[table]:
            conj = self.rows[table][row][own]
            if conj:
                left[conj].add(row)
        return left
