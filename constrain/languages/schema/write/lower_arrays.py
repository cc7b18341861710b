"""Arrays as rules: one nonterminal for each number of items written so far and state of the shape.

    array -> "[" "]"                   if it may be empty
           | "[" item items(1)
    items(i) -> "]"                    if the array may end here
              | "," item items(i + 1)

Nonterminals are made when a text reaches them, so `maxItems: 100000` costs what is written. Numbers that differ in
nothing (`ArrayShape.steady`) share a nonterminal: an unbounded list loops back to itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from constrain.languages.cfg.bulk_rules import ArrayRules, BulkNonterminal
from constrain.languages.cfg.rules import Nonterminal
from constrain.languages.schema.sets.algebra import ArrayBox
from constrain.languages.schema.sets.shapes_arrays import ArrayShape, ArrayState, Choice, CountedArrays
from constrain.languages.schema.write.terminals import Alternatives
from constrain.languages.schema.write.whitespace import OPEN_ARRAY

if TYPE_CHECKING:
    from constrain.languages.schema.write.lower import Level

MANY_CHOICES = 16  # of one item


def array_alternatives(level: Level, box: ArrayBox) -> Alternatives:
    """The alternatives for the arrays of a box; none if it is empty."""
    shape = level.normalizer.array_shape(box)
    if shape is None:
        return []
    rules, around = _ArrayRules(level, shape), level.around
    alternatives: Alternatives = [[*around.empty_array]] if shape.complete(0, shape.start) else []
    if rules.choices(0, shape.start):
        first = partial(_first, shape)
        alternatives += level.begun([OPEN_ARRAY], around.arrays, first, (*rules.key, "array"))
    return alternatives


def _first(shape: ArrayShape, levels: Sequence[Level]) -> list[_Items]:
    """The first item at each level, and all that follows it."""
    return [_ArrayRules(level, shape).items(0, shape.start) for level in levels]


class _ArrayRules:
    """Makes the nonterminals of the arrays of one shape.

    Attributes:
        watched: Whether the guard has to look for equal items.
        plain: Whether all items are alike, and only the first has no comma.
    """

    def __init__(self, level: Level, shape: ArrayShape) -> None:
        self.level = level
        self.shape = shape
        self.key = level.key(shape.box)
        counted = isinstance(shape, CountedArrays)
        self.watched = (shape.box.unique or shape.box.repeats) and counted
        self.plain = counted and shape.steady <= 1 and shape.high is None and not (shape.box.prefix or shape.start)

    def items(self, i: int, state: ArrayState) -> _Items:
        """The nonterminal of the array's rest after i items and the whitespace after them; i = 0: from the first on."""
        if self.shape.high is None:
            i = min(i, max(self.shape.steady, 1))
        return _Items(self, i, state)

    def alternatives(self, i: int, state: ArrayState) -> Alternatives:
        """The end, or one more item; the first, for i = 0."""
        around = self.level.around
        alternatives: Alternatives = [[*around.close_array]] if i and self.shape.complete(i, state) else []
        before = around.comma if i else ()
        choices = self.choices(i, state)
        if len(choices) > MANY_CHOICES:
            key = (*self.key, "choice", i, *state)
            many = _Choices(f"item {i}", lambda: self._chosen(i, choices), key, True, self.watched)
            return [*alternatives, [*before, many]]
        return [*alternatives, *([*before, *chosen] for chosen in self._chosen(i, choices))]

    def choices(self, i: int, state: ArrayState) -> list[Choice]:
        """The next items after which the array can be completed."""
        return [choice for choice in self.shape.choices(i, state) if self.shape.viable(i + 1, choice[1])]

    def _chosen(self, i: int, choices: list[Choice]) -> Alternatives:
        """An item, and the array's rest after it, for each choice.

        Where choices are many they stand behind a nonterminal of their own: at the end of each of them the engine
        expands what may come next, which is then the comma, and not as many choices again.
        """
        behind = self.level.around.behind
        return [[self.level.value(conj), *behind, self.items(i + 1, after)] for conj, after in choices]

    def bulk_rules(self) -> ArrayRules | None:
        """All rules of a plain array, which the engine makes in one call; None if it is not plain."""
        if not self.plain:
            return None
        around = self.level.around
        return ArrayRules(
            key=(*self.key, "list"),
            name="items",
            value_key=self.shape.box.rest,
            value_symbols=self.level.value_symbols,
            separator=around.comma,
            close=around.close_array,
            after_value=around.behind,
        )


class _Choices(Nonterminal):
    """Many alternatives: made when a text has come to them, since each choice before them has as many behind it."""

    ahead = False
    __slots__ = ()


class _Items(BulkNonterminal):
    """The rest of an array after i items. A class, not a closure: each object costs the garbage collector time."""

    __slots__ = ("i", "rules", "state")

    def __init__(self, rules: _ArrayRules, i: int, state: ArrayState) -> None:
        super().__init__(f"item {i}", None, (*rules.key, i, *state), True, rules.watched)
        self.rules, self.i, self.state = rules, i, state

    def expand(self) -> Alternatives:
        return self.rules.alternatives(self.i, self.state)

    def bulk_rules(self) -> ArrayRules | None:
        return None if self.i else self.rules.bulk_rules()

    @property
    def bulk_position(self) -> tuple[Hashable, int] | None:
        return ((*self.rules.key, "list"), 0) if self.i and self.rules.plain else None
