"""The automaton of a regular language with numbered states: states after texts, and texts between states.

    paths = Paths(node)
    paths.ends(p, other)        # the states that texts of another language lead to from state p
    paths.between(p, q)         # the texts that lead from p to one of the states q, as a syntax tree

The idea: the states are expressions of the shared store, numbered in the order of their discovery, with transitions by
characters. `between` eliminates states (Brzozowski and McCluskey, "Signal flow graph techniques for sequential circuit
state diagrams", 1963), the cheapest first. If the tree would become too large it returns None, and callers use the
transitions (`steps`).

Cost: Python; 0.2 ms for the transitions of a state, a few µs for each pair of states in `ends`.
Limit: LimitError beyond `LIMIT` states or pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from constrain.errors import LimitError
from constrain.kernels.records import arena
from constrain.languages.automata import syntax
from constrain.languages.automata.decide import shared_store
from constrain.languages.automata.lower import lower
from constrain.languages.automata.store import Store
from constrain.languages.automata.syntax import Node
from constrain.limits import tick

LIMIT = 20_000
LARGEST = 2_000  # parts of a tree that `between` returns
Ranges = list[tuple[int, int]]
Step = tuple[Node, int]  # (a set of characters, the state that they lead to)


class PairStep(NamedTuple):
    """The pairs (expression, state) after one byte, whether they are all, and whether the expression may end."""

    pairs: list[tuple[int, int]]
    complete: bool
    is_end: bool


class Language:
    """The automaton of a language. States are numbers; 0 is the start."""

    def __init__(self, node: Node) -> None:
        self.store: Store = shared_store()
        self._numbers: dict[int, int] = {}
        self._expressions: list[int] = []
        self._rows: dict[int, list[int]] = {}
        self._steps: dict[int, list[Step]] = {}
        self._tails: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        with self.store.memory.lock:
            start = lower(self.store, node)
        self.start: int = start
        self.is_empty = start == arena.NONE
        self._number(start)

    def _number(self, expression: int) -> int:
        """The number of a state; -1 for the dead one. Raises LimitError."""
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

    @property
    def size(self) -> int:
        """The number of states that are known."""
        return len(self._expressions)

    def explore(self) -> None:
        """Number all states, in the order in which rows lead to them. Raises LimitError."""
        state = 0
        while state < self.size:
            tick(8)
            self.row(state)
            state += 1

    def accepts(self, state: int) -> bool:
        """True if a state is accepting."""
        return self.store.is_nullable(self._expressions[state])

    def row(self, state: int) -> list[int]:
        """The state after each byte; -1: none."""
        if state not in self._rows:
            store, expression = self.store, self._expressions[state]
            with store.memory.lock:
                successors = store.row(expression)
            numbers = {successor: self._number(successor) for successor in dict.fromkeys(successors)}
            self._rows[state] = [numbers[successor] for successor in successors]
        return self._rows[state]

    def steps(self, state: int) -> list[Step]:
        """Pairs (characters, state), one for each state that a character leads to."""
        if state not in self._steps:
            row = self.row(state)
            targets: dict[int, Ranges] = {}
            for byte in range(0x80):
                if row[byte] >= 0:
                    targets.setdefault(row[byte], []).append((byte, byte))
            for lead in range(0xC2, 0xF5):
                length = 1 + (lead >= 0xE0) + (lead >= 0xF0)
                base = (lead & (0x3F >> length)) << 6 * length
                if row[lead] >= 0:
                    for low, high, target in self._tail(row[lead], length):
                        targets.setdefault(target, []).append((base + low, base + high))
            self._steps[state] = [(syntax.chars(ranges), target) for target, ranges in targets.items()]
        return self._steps[state]

    def _tail(self, state: int, length: int) -> list[tuple[int, int, int]]:
        """Triples (low, high, state): the states after `length` continuation bytes, by the bits that these encode."""
        if (state, length) not in self._tails:
            triples: list[tuple[int, int, int]] = []
            unit = 1 << 6 * (length - 1)
            for i, after in enumerate(self.row(state)[0x80:0xC0]):
                inner = [(0, 0, after)] if length == 1 else self._tail(after, length - 1) if after >= 0 else []
                for low, high, target in inner:
                    low, high = low + i * unit, high + i * unit
                    if target >= 0 and triples and triples[-1][1:] == (low - 1, target):
                        triples[-1] = (triples[-1][0], high, target)
                    elif target >= 0:
                        triples.append((low, high, target))
            self._tails[state, length] = triples
        return self._tails[state, length]


def bytes_to_end(language: Language, most: int) -> dict[int, int] | None:
    """The bytes of a shortest end from each state that has one; None: there are more states than `most`, or no text."""
    before: dict[int, set[int]] = {}
    state = 0
    while state < language.size:
        if state == most or language.is_empty:
            return None
        tick()
        for after in set(language.row(state)):
            before.setdefault(after, set()).add(state)
        state += 1
    distance = {state: 0 for state in range(language.size) if language.accepts(state)}
    level = list(distance)
    for state in level:  # grows
        for earlier in before.get(state, ()):
            if earlier not in distance:
                distance[earlier] = distance[state] + 1
                level.append(earlier)
    return distance


class Paths(Language):
    """The automaton of the regular side of an intersection."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._between: dict[tuple[int, frozenset[int]], Node | None] = {}
        self._their_rows: dict[tuple[Store, int], list[int]] = {}
        self._pairs: dict[tuple[Store, int, int], PairStep] = {}

    def ends(self, state: int, other: Language) -> tuple[frozenset[int], bool]:
        """(states that the texts of another language lead to from a state, whether none of these texts is rejected)."""
        stack = [] if other.is_empty else [(other.start, state)]
        seen = set(stack)
        ends: set[int] = set()
        complete = True
        while stack:
            theirs, ours = stack.pop()
            step = self._pair_step(other.store, theirs, ours)
            if step.is_end:
                ends.add(ours)
            complete &= step.complete
            for pair in step.pairs:
                if pair not in seen:
                    seen.add(pair)
                    stack.append(pair)
            if len(seen) > LIMIT:
                raise LimitError(
                    f"a terminal meets the regular side of an intersection in more than {LIMIT} states",
                    fix="simplify the pattern, or lower its counted repetitions",
                )
        return frozenset(ends), complete

    def _pair_step(self, store: Store, theirs: int, ours: int) -> PairStep:
        """The pairs that a byte leads to from an expression of another language and a state of this one.

        PERF: kept by expression, since the lexemes of a grammar have most of their states in common.
        """
        key = (store, theirs, ours)
        if key not in self._pairs:
            if (store, theirs) not in self._their_rows:
                with store.memory.lock:
                    self._their_rows[store, theirs] = store.row(theirs)
            both = dict.fromkeys(zip(self._their_rows[store, theirs], self.row(ours), strict=True))
            open_ = [pair for pair in both if pair[0] != arena.NONE]
            pairs = [pair for pair in open_ if pair[1] >= 0]
            self._pairs[key] = PairStep(pairs, len(pairs) == len(open_), store.is_nullable(theirs))
        return self._pairs[key]

    @cached_property
    def accepting(self) -> frozenset[int]:
        """The accepting states among all reachable ones."""
        return frozenset(state for state in self._forward(0) if self.accepts(state))

    def between(self, state: int, targets: Iterable[int]) -> Node | None:
        """The texts that lead from a state to one of the targets; None if their tree would be too large."""
        key = (state, frozenset(targets))
        if key not in self._between:
            self._between[key] = self._eliminate(*key)
        return self._between[key]

    def _forward(self, start: int) -> dict[int, None]:
        """The states that are reachable from a state."""
        reached, stack = {start: None}, [start]
        while stack:
            for _, after in self.steps(stack.pop()):
                if after not in reached:
                    reached[after] = None
                    stack.append(after)
        return reached

    def _eliminate(self, start: int, targets: frozenset[int]) -> Node | None:
        """`between`, by state elimination; -2 and -3 are an extra start and end."""
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
        return combined(edges)


def combined(edges: dict[int, dict[int, tuple[Node, int]]]) -> Node | None:
    """The texts from -2 to -3 in a graph; None if their tree would be too large.

    edges: the states that each state leads to, with the texts between and the size of their tree. It is consumed.
    """
    while len(edges) > 1:
        into = {state: [source for source in edges if state in edges[source]] for state in edges}
        state = min((s for s in edges if s >= 0), key=lambda s: len(into[s]) * len(edges[s]))
        out = edges.pop(state)
        loop, loop_size = out.pop(state, (syntax.EPSILON, 0))
        around = syntax.repeat(loop)
        for source in into[state]:
            if source == state:
                continue
            enter, enter_size = edges[source].pop(state)
            for after, (leave, leave_size) in out.items():
                direct, size = edges[source].get(after, (syntax.EMPTY, 0))
                size += enter_size + loop_size + leave_size
                if size > LARGEST:
                    return None
                edges[source][after] = (syntax.alternate(direct, syntax.concat(enter, around, leave)), size)
    return edges[-2].get(-3, (syntax.EMPTY, 0))[0]
