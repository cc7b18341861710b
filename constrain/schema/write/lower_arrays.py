"""Arrays as rules: one nonterminal per situation — items so far (as far as they matter) and the state of what is
counted.

    array -> "[" first(0)        first(i), next(i) -> "]" when complete
    first(0) -> item next(1)     next(i) -> "," item next(i + 1)

Situations are made when reached, so `maxItems: 100000` costs what is written. Positions that differ in nothing are one
situation: an unbounded list loops back to itself.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from constrain.cfg.rules import ListRules, Nonterminal, Symbol
from constrain.schema.sets.algebra import ArrayBox
from constrain.schema.sets.shapes_arrays import ArrayShape, ArrayState, CountedArrays
from constrain.schema.write.terminals import CLOSE_ARRAY, COMMA, OPEN_ARRAY, Alternatives

if TYPE_CHECKING:
    from constrain.schema.write.lower import Lowering


def array_alternatives(lowering: Lowering, box: ArrayBox) -> Alternatives:
    """The arrays of a box; none if there are none."""
    shape = lowering.normalizer.array_shape(box)
    if shape is None:
        return []
    return [[OPEN_ARRAY, *lowering.space, _ArrayRules(lowering, shape).situation(0, shape.start)]]


class _ArrayRules:
    """The situations inside the arrays of one shape."""

    def __init__(self, lowering: Lowering, shape: ArrayShape) -> None:
        self.lowering = lowering
        self.shape = shape
        self.key = lowering.key(shape.box)
        counted = isinstance(shape, CountedArrays)
        self.watched = (shape.box.unique or shape.box.repeats) and counted
        self.plain = counted and shape.steady <= 1 and shape.high is None and not (shape.box.prefix or shape.start)

    def situation(self, i: int, state: ArrayState) -> Nonterminal:
        """What may follow when i items are written (and the whitespace after them)."""
        if self.shape.high is None:
            i = min(i, max(self.shape.steady, 1))
        return _Items(self, i, state)

    def alternatives(self, i: int, state: ArrayState) -> Alternatives:
        """The end, or one more item."""
        gap = self.lowering.space
        alternatives: Alternatives = []
        if self.shape.complete(i, state):
            alternatives.append([CLOSE_ARRAY])
        before: list[Symbol] = [COMMA, *gap] if i else []
        for conj, after in self.shape.choices(i, state):
            if self.shape.viable(i + 1, after):
                alternatives.append([*before, self.lowering.value(conj), *gap, self.situation(i + 1, after)])
        return alternatives

    def repetition(self) -> ListRules | None:
        """All that there is of a list of equals."""
        if not self.plain:
            return None
        gap = self.lowering.space
        return ListRules(
            key=(*self.key, "list"),
            name="items",
            part=self.shape.box.rest,
            values=self.lowering.values,
            empty=self.shape.box.low == 0,
            separator=(COMMA, *gap),
            close=(CLOSE_ARRAY,),
            behind=gap,
        )


class _Items(Nonterminal):
    """What may follow a number of items. A class, not a closure: each object costs the collector."""

    __slots__ = ("i", "rules", "state")
    chained = True

    def __init__(self, rules: _ArrayRules, i: int, state: ArrayState) -> None:
        super().__init__(f"item {i}", None, (*rules.key, i, *state), True, rules.watched)
        self.rules, self.i, self.state = rules, i, state

    def expand(self) -> Alternatives:
        return self.rules.alternatives(self.i, self.state)

    def chain(self) -> ListRules | None:
        return None if self.i else self.rules.repetition()

    @property
    def place(self) -> tuple[Hashable, int] | None:
        return ((*self.rules.key, "list"), 0) if self.i and self.rules.plain else None
