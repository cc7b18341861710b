"""Arrays as rules: one nonterminal per situation — items so far (as far as they matter) and the state of what is
counted.

    array -> "[" first(0)        first(i), next(i) -> "]" when complete
    first(0) -> item next(1)     next(i) -> "," item next(i + 1)

Situations are made when reached, so `maxItems: 100000` costs what is written. Positions that differ in nothing are one
situation: an unbounded list loops back to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from constrain.grammar.rules import Nonterminal, Symbol
from constrain.schema.algebra import ArrayBox
from constrain.schema.shapes_arrays import ArrayShape, CountedArrays, State
from constrain.schema.terminals import CLOSE_ARRAY, COMMA, OPEN_ARRAY, Alternatives

if TYPE_CHECKING:
    from constrain.schema.lower import Lowering


def array_rules(lowering: Lowering, box: ArrayBox) -> Nonterminal:
    """The arrays of a box, which is inhabited."""

    def expand() -> Alternatives:
        shape = lowering.computation.array_shape(box)
        assert shape is not None
        rules = _ArrayRules(lowering, shape)
        return [[OPEN_ARRAY, *lowering.space, rules.situation(0, shape.start)]]

    return Nonterminal("array", expand, key=lowering.key(box))


class _ArrayRules:
    """The situations inside the arrays of one shape."""

    def __init__(self, lowering: Lowering, shape: ArrayShape) -> None:
        self.lowering = lowering
        self.shape = shape
        self.key = lowering.key(shape.box)

    def situation(self, i: int, state: State) -> Nonterminal:
        """What may follow when i items are written (and the whitespace after them)."""
        if self.shape.high is None:
            i = min(i, max(self.shape.steady, 1))
        key = (*self.key, i, *state)
        box = self.shape.box
        watched = (box.unique or box.repeats) and isinstance(self.shape, CountedArrays)
        return Nonterminal(f"item {i}", self._expansion(i, state), key=key, right_recursive=True, watched=watched)

    def _expansion(self, i: int, state: State) -> Callable[[], Alternatives]:
        def expand() -> Alternatives:
            gap = self.lowering.space
            alternatives: Alternatives = []
            if self.shape.complete(i, state):
                alternatives.append([CLOSE_ARRAY])
            before: list[Symbol] = [COMMA, *gap] if i else []
            for conj, after in self.shape.entries(i, state):
                if self.shape.viable(i + 1, after):
                    alternatives.append([*before, self.lowering.value(conj), *gap, self.situation(i + 1, after)])
            return alternatives

        return expand
