"""An automaton with names for its places: where does a text lead from here, and which texts lead from here to there?

    paths = Paths(node)
    paths.ends(p, other)        # the states that texts of another language lead to from the state p
    paths.between(p, q)         # the texts that lead from p to one of the states q, as a syntax tree

The idea: the states are those of the shared store (expressions, numbered as they are met), read character by character.
`between` eliminates states (Brzozowski and McCluskey, "Signal flow graph techniques for sequential circuit state
diagrams", 1963), the cheapest first; where the tree becomes too large it says so, and `steps` gives the transitions.

Cost: Python; a state costs 0.2 ms when it is first left, `ends` some µs for each pair of states that it meets.
Limit: LimitError beyond `LIMIT` states or pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from constrain.automata import syntax
from constrain.automata.decide import shared_store
from constrain.automata.lower import lower
from constrain.automata.store import Store
from constrain.automata.syntax import Node
from constrain.errors import LimitError
from constrain.kernels.records import arena

LIMIT = 20_000
LARGEST = 2_000  # parts of a tree that `between` gives
Ranges = list[tuple[int, int]]
Step = tuple[Node, int]  # (a set of characters, the state that they lead to)


class Language:
    """A language as an automaton: states are numbers from 0, the start."""

    def __init__(self, node: Node) -> None:
        self.store: Store = shared_store()
        self._numbers: dict[int, int] = {}
        self._expressions: list[int] = []
        self._rows: dict[int, NDArray[np.int64]] = {}
        self._steps: dict[int, list[Step]] = {}
        self._tails: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        with self.store.lock:
            start = lower(self.store, node)
        self.is_empty = start == arena.NONE
        self._number(start)

    def _number(self, expression: int) -> int:
        if expression == arena.NONE:
            return -1
        if expression not in self._numbers:
            if len(self._numbers) >= LIMIT:
                raise LimitError(
                    f"the regular side of an intersection has more than {LIMIT} states",
                    fix="simplify the pattern, or lower its counted repetitions",
                )
            self._numbers[expression] = len(self._expressions)
            self._expressions.append(expression)
        return self._numbers[expression]

    def accepts(self, state: int) -> bool:
        """Whether the texts that lead to a state are members."""
        return self.store.is_nullable(self._expressions[state])

    def row(self, state: int) -> NDArray[np.int64]:
        """The states after each byte, int64[256]; -1: none."""
        if state not in self._rows:
            store, expression = self.store, self._expressions[state]
            with store.lock:
                found = [store.run(expression, bytes([byte])) for byte in range(256)]
            self._rows[state] = np.array([self._number(each) for each in found], np.int64)
        return self._rows[state]

    def steps(self, state: int) -> list[Step]:
        """(characters, state) for each state that one character leads to."""
        if state not in self._steps:
            row = self.row(state)
            found: dict[int, Ranges] = {}
            for byte in range(0x80):
                if row[byte] >= 0:
                    found.setdefault(int(row[byte]), []).append((byte, byte))
            for lead in range(0xC2, 0xF5):
                length = 1 + (lead >= 0xE0) + (lead >= 0xF0)
                base = (lead & (0x3F >> length)) << 6 * length
                if row[lead] >= 0:
                    for low, high, target in self._tail(int(row[lead]), length):
                        found.setdefault(target, []).append((base + low, base + high))
            self._steps[state] = [(syntax.chars(ranges), target) for target, ranges in found.items()]
        return self._steps[state]

    def _tail(self, state: int, length: int) -> list[tuple[int, int, int]]:
        """(low, high, state): what `length` bytes 10xxxxxx lead to, as numbers of 6 · length bits."""
        if (state, length) not in self._tails:
            found: list[tuple[int, int, int]] = []
            unit = 1 << 6 * (length - 1)
            for i, after in enumerate(self.row(state)[0x80:0xC0].tolist()):
                inner = [(0, 0, after)] if length == 1 else self._tail(after, length - 1) if after >= 0 else []
                for low, high, target in inner:
                    low, high = low + i * unit, high + i * unit
                    if target >= 0 and found and found[-1][1:] == (low - 1, target):
                        found[-1] = (found[-1][0], high, target)
                    elif target >= 0:
                        found.append((low, high, target))
            self._tails[state, length] = found
        return self._tails[state, length]


class Paths(Language):
    """The regular side of an intersection."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._between: dict[tuple[int, frozenset[int]], Node | None] = {}

    def ends(self, state: int, other: Language) -> tuple[frozenset[int], bool]:
        """(the states that the texts of another language lead to from a state, do all of them lead somewhere?)."""
        seen = {(0, state)}
        stack = [] if other.is_empty else [(0, state)]
        found: set[int] = set()
        complete = True
        while stack:
            theirs, ours = stack.pop()
            if other.accepts(theirs):
                found.add(ours)
            pairs = np.unique(np.stack([other.row(theirs), self.row(ours)]), axis=1).T.tolist()
            for after, place in pairs:
                if after >= 0 and place < 0:
                    complete = False
                elif after >= 0 and (after, place) not in seen:
                    seen.add((after, place))
                    stack.append((after, place))
            if len(seen) > LIMIT:
                raise LimitError(
                    f"a terminal meets the regular side of an intersection in more than {LIMIT} states",
                    fix="simplify the pattern, or lower its counted repetitions",
                )
        return frozenset(found), complete

    @cached_property
    def accepting(self) -> frozenset[int]:
        """The states that accept, of all that can be reached."""
        return frozenset(state for state in self._forward(0) if self.accepts(state))

    def between(self, state: int, targets: Iterable[int]) -> Node | None:
        """The texts that lead from a state to one of the targets; None if their tree would be too large."""
        key = (state, frozenset(targets))
        if key not in self._between:
            self._between[key] = self._eliminate(*key)
        return self._between[key]

    def _forward(self, start: int) -> dict[int, None]:
        found, stack = {start: None}, [start]
        while stack:
            for _, after in self.steps(stack.pop()):
                if after not in found:
                    found[after] = None
                    stack.append(after)
        return found

    def _eliminate(self, start: int, targets: frozenset[int]) -> Node | None:
        forward = self._forward(start)
        before: dict[int, list[int]] = {}
        for state in forward:
            for _, after in self.steps(state):
                before.setdefault(after, []).append(state)
        useful = set(targets & forward.keys())
        stack = list(useful)
        while stack:
            for state in before.get(stack.pop(), ()):
                if state not in useful:
                    useful.add(state)
                    stack.append(state)
        if start not in useful:
            return syntax.EMPTY
        edges: dict[int, dict[int, tuple[Node, int]]] = {-2: {start: (syntax.EPSILON, 1)}}  # (tree, its size)
        for state in useful:
            edges[state] = {after: (node, 1) for node, after in self.steps(state) if after in useful}
            if state in targets:
                edges[state][-3] = (syntax.EPSILON, 1)
        while len(edges) > 1:
            into = {state: [each for each in edges if state in edges[each]] for state in edges}
            state = min((s for s in edges if s >= 0), key=lambda s: len(into[s]) * len(edges[s]))
            out = edges.pop(state)
            loop, loop_size = out.pop(state, (syntax.EPSILON, 0))
            around = syntax.repeat(loop)
            for each in into[state]:
                if each == state:
                    continue
                come, come_size = edges[each].pop(state)
                for after, (go, go_size) in out.items():
                    known, size = edges[each].get(after, (syntax.EMPTY, 0))
                    size += come_size + loop_size + go_size
                    if size > LARGEST:
                        return None
                    edges[each][after] = (syntax.alternate(known, syntax.concat(come, around, go)), size)
        return edges[-2][-3][0]
