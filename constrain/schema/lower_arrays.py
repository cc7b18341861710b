"""Arrays as rules: one nonterminal per situation — items so far (as far as they matter) and the state of what is
counted.

    array -> "[" first(0)        first(i), next(i) -> "]" when complete
    first(0) -> item next(1)     next(i) -> "," item next(i + 1)

Situations are made when reached, so `maxItems: 100000` costs what is written. Positions that differ in nothing are one
situation: an unbounded list loops back to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.grammar.rules import Nonterminal, Symbol
from constrain.schema.algebra import ArrayBox
from constrain.schema.shapes_arrays import ArrayShape, CountedArrays, State
from constrain.schema.terminals import CLOSE_ARRAY, COMMA, OPEN_ARRAY, Alternatives

if TYPE_CHECKING:
    from constrain.schema.lower import Lowering


def array_alternatives(lowering: Lowering, box: ArrayBox) -> Alternatives:
    """The arrays of a box; none if there are none."""
    shape = lowering.computation.array_shape(box)
    if shape is None:
        return []
    return [[OPEN_ARRAY, *lowering.space, _ArrayRules(lowering, shape).situation(0, shape.start)]]


class _ArrayRules:
    """The situations inside the arrays of one shape."""

    def __init__(self, lowering: Lowering, shape: ArrayShape) -> None:
        self.lowering = lowering
        self.shape = shape
        self.key = lowering.key(shape.box)
        self.watched = (shape.box.unique or shape.box.repeats) and isinstance(shape, CountedArrays)

    def situation(self, i: int, state: State) -> Nonterminal:
        """What may follow when i items are written (and the whitespace after them)."""
        if self.shape.high is None:
            i = min(i, max(self.shape.steady, 1))
        return _Items(self, i, state)

    def alternatives(self, i: int, state: State) -> Alternatives:
        """The end, or one more item."""
        gap = self.lowering.space
        alternatives: Alternatives = []
        if self.shape.complete(i, state):
            alternatives.append([CLOSE_ARRAY])
        before: list[Symbol] = [COMMA, *gap] if i else []
        for conj, after in self.shape.entries(i, state):
            if self.shape.viable(i + 1, after):
                alternatives.append([*before, self.lowering.value(conj), *gap, self.situation(i + 1, after)])
        return alternatives


class _Items(Nonterminal):
    """What may follow a number of items. A class, not a closure: each object costs the collector."""

    __slots__ = ("i", "rules", "state")

    def __init__(self, rules: _ArrayRules, i: int, state: State) -> None:
        super().__init__(f"item {i}", None, (*rules.key, i, *state), True, rules.watched)
        self.rules, self.i, self.state = rules, i, state

    def expand(self) -> Alternatives:
        return self.rules.alternatives(self.i, self.state)
