"""Unions of many shapes of objects as one set of rules: which of them are still meant is part of a situation.

The idea: `oneOf`, `not` and `if` leave hundreds of shapes that differ in few properties. Side by side, every mask would
follow them all. Here the shapes with the same names in the same order are rows of a table with a column for each name;
what is left of a row from some column on is a *tail*, and equal tails are one. A situation is a column with the tails
that are possible there (the subset construction, made as far as texts reach it):

    first(s), next(s) -> "}" when some tail may end     | "," member(s) when some tail goes on
    member(s)         -> key ":" value next(s')         for each value that some tail has here; s': what these leave
                       | member(s')                     s': what those leave that may do without

In the last column are the open keys.

Cost: numpy calls for each column when the value is reached, then what is visited. Limit: subsets may be many in theory;
they are never more than a text has positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from constrain.automata.syntax import ANY_TEXT
from constrain.grammar.rules import Nonterminal, Symbol, Terminal
from constrain.schema.algebra import FALSE, Conj, ObjectBox
from constrain.schema.terminals import ANY_STRING, CLOSE_OBJECT, COLON, COMMA, OPEN_OBJECT, Alternatives, key_terminal

if TYPE_CHECKING:
    from constrain.schema.lower import Lowering

Part = tuple[ObjectBox, int, ObjectBox]  # a box, and its part with this number, which is ready
Tails = tuple[int, ...]


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
    """(the parts that are united with others, the parts that stand alone). All are of one conjunction."""
    groups: defaultdict[tuple[str, ...], list[Part]] = defaultdict(list)
    alone = []
    for part in parts:
        box = part[2]
        if _is_plain(box):
            groups[tuple([name for name, _ in box.named])].append(part)
        else:
            alone.append(part)
    alternatives: Alternatives = []
    for number, (names, group) in enumerate(groups.items()):
        if len(group) == 1:
            alone += group
            continue
        union = _Union(lowering, (lowering.number, "union", conj, number), names, [box for _, _, box in group])
        if union.start:
            alternatives.append([OPEN_OBJECT, *lowering.space, _Members(union, 0, union.start)])
    return alternatives, alone


def _is_plain(box: ObjectBox) -> bool:
    """Whether only names matter, and any key may be open or none."""
    counts = box.high is not None or box.low > len(box.required)
    return not (counts or box.needs) and len(box.classes) == 1 and box.classes[0][0] == ANY_TEXT


class _Union:
    """The situations inside the objects of several boxes with the same names.

    columns: the tails of each column. start: those of whole shapes; none if all are empty. conjs: by number.
    """

    def __init__(
        self, lowering: Lowering, key: tuple[object, ...], names: tuple[str, ...], boxes: list[ObjectBox]
    ) -> None:
        self.lowering = lowering
        self.key = key
        self.keys = [key_terminal(name) for name in names]
        self.open_key = Terminal(ANY_STRING.node, name="key", excluding=frozenset(self.keys))
        self.conjs, self.columns = _tails(lowering, names, boxes)
        self.start: Tails = tuple(range(len(self.columns[0])))

    def following(self, column: int, tails: Tails, any_yet: bool, open_yet: bool) -> Alternatives:
        """The end, or a member (after a comma, unless it is the first)."""
        here = self.columns[column]
        alternatives: Alternatives = []
        if not all(here[tail].needs for tail in tails):
            alternatives.append([CLOSE_OBJECT])
        if any(here[tail].more for tail in tails):
            comma: list[Symbol] = [COMMA, *self.lowering.space] if any_yet else []
            alternatives.append([*comma, _Member(self, column, tails, open_yet)])
        return alternatives

    def members(self, column: int, tails: Tails) -> Alternatives:
        """The members that may come next."""
        here = self.columns[column]
        is_open = column == len(self.keys)
        left: defaultdict[int, set[int]] = defaultdict(set)  # by the numbers of conjunctions
        skipped = set()
        for tail in tails:
            conj, must, following, _, _ = here[tail]
            if conj:
                left[conj].add(tail if is_open else following)
            if not must and not is_open:
                skipped.add(following)
        key = self.open_key if is_open else self.keys[column]
        behind = column if is_open else column + 1
        gap, value = self.lowering.space, self.lowering.value
        alternatives: Alternatives = []
        for conj, after in left.items():
            then = _Members(self, behind, _tuple(after), True, is_open)
            alternatives.append([key, *gap, COLON, *gap, value(self.conjs[conj]), *gap, then])
        if any(self.columns[behind][tail].more for tail in skipped):
            alternatives.append([_Member(self, behind, _tuple(skipped))])
        return alternatives


def _tuple(tails: set[int]) -> Tails:
    return tuple(sorted(tails))


def _tails(lowering: Lowering, names: tuple[str, ...], boxes: list[ObjectBox]) -> tuple[list[Conj], list[list[Tail]]]:
    """(conjunctions by number, the distinct tails of each column) of boxes with the same names.

    The numbers of tails in the first column say which shapes are not empty.
    """
    numbers: defaultdict[Conj, int] = defaultdict(count().__next__)
    assert numbers[FALSE] == 0
    rows = [[numbers[pair[1]] for pair in (*box.named, box.classes[0])] for box in boxes]
    inhabited = np.array([lowering.computation.inhabited(conj) for conj in numbers])
    table = np.array(rows, np.int64)  # [boxes, names + 1]
    table[~inhabited[table]] = 0
    required = {each: [name in each for name in names] for each in {box.required for box in boxes}}
    must = np.array([required[box.required] for box in boxes], np.int64).reshape(len(boxes), len(names))
    possible = ~((table[:, :-1] == 0) & (must == 1)).any(axis=1)
    table, must = table[possible], must[possible]
    ends, at = np.unique(table[:, -1], return_inverse=True)
    columns = [[Tail(conj, False, 0, False, conj != 0) for conj in ends.tolist()]]
    for i in reversed(range(len(names))):
        after = columns[-1]
        found, at = np.unique((2 * table[:, i] + must[:, i]) * len(after) + at, return_inverse=True)
        columns.append([_tail(each, after) for each in found.tolist()])
    return list(numbers), columns[::-1]


def _tail(number: int, after: list[Tail]) -> Tail:
    """The tail with this number; after: those of the next column."""
    here, following = divmod(number, len(after))
    conj, must = divmod(here, 2)
    then = after[following]
    return Tail(conj, bool(must), following, bool(must) or then.needs, conj != 0 or then.more)


class _Members(Nonterminal):
    """What may come in a situation: open_yet, any_yet: a property that is not declared was written, any was."""

    __slots__ = ("any_yet", "column", "open_yet", "tails", "union")

    def __init__(self, union: _Union, column: int, tails: Tails, any_yet: bool = False, open_yet: bool = False) -> None:
        key = (*union.key, "members", column, tails, any_yet, open_yet)
        super().__init__("members", None, key, True, open_yet)
        self.union, self.column, self.tails, self.any_yet, self.open_yet = union, column, tails, any_yet, open_yet

    def expand(self) -> Alternatives:
        return self.union.following(self.column, self.tails, self.any_yet, self.open_yet)


class _Member(Nonterminal):
    """One of the members that may come next."""

    __slots__ = ("column", "tails", "union")

    def __init__(self, union: _Union, column: int, tails: Tails, open_yet: bool = False) -> None:
        super().__init__("member", None, (*union.key, "member", column, tails, open_yet), True, open_yet)
        self.union, self.column, self.tails = union, column, tails

    def expand(self) -> Alternatives:
        return self.union.members(self.column, self.tails)
