"""Arrays as rules: one nonterminal for each number of items written so far and state of the shape.

    array -> "[" "]"                   if it may be empty
           | "[" item items(1)
    items(i) -> "]"                    if the array may end here
              | "," item items(i + 1)

Nonterminals are made when a text reaches them, so `maxItems: 100000` costs what is written. Numbers that differ in
nothing (`ArrayShape.steady`) share a nonterminal: an unbounded list loops back to itself.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from constrain.languages.cfg.bulk_rules import ArrayRules, ContainerRules, PlacedNonterminal, Position
from constrain.languages.cfg.rules import Nonterminal
from constrain.languages.schema.sets.algebra import ArrayBox
from constrain.languages.schema.sets.shapes_arrays import ArrayShape, ArrayState, Choice, CountedArrays
from constrain.languages.schema.write.terminals import Alternatives

if TYPE_CHECKING:
    from constrain.languages.schema.write.lower import Level

MANY_CHOICES = 16  # of one item


def array_container(level: Level, box: ArrayBox) -> ContainerRules | None:
    """The arrays of a box; None if it is empty."""
    shape = level.normalizer.array_shape(box)
    if shape is None:
        return None
    rules = _ArrayRules(level, shape)
    first = rules.items(0, shape.start) if rules.choices(0, shape.start) else None
    return ContainerRules(False, shape.complete(0, shape.start), first)


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

    @property
    def family(self) -> Hashable:
        """The key without the place."""
        serial, _, box = self.key
        return serial, box, "array"


class _Choices(Nonterminal):
    """Many alternatives: made when a text has come to them, since each choice before them has as many behind it."""

    ahead = False
    __slots__ = ()


class _Items(PlacedNonterminal):
    """The rest of an array after i items. A class, not a closure: each object costs the garbage collector time."""

    __slots__ = ("i", "rules", "state")

    def __init__(self, rules: _ArrayRules, i: int, state: ArrayState) -> None:
        super().__init__(f"item {i}", None, (*rules.key, i, *state), True, rules.watched)
        self.rules, self.i, self.state = rules, i, state

    def expand(self) -> Alternatives:
        return self.rules.alternatives(self.i, self.state)

    @property
    def position(self) -> Position | None:
        rules = self.rules
        if self.i and not rules.plain:
            return None
        return Position(rules.family, self.i, rules.level.place, rules.level.lowering.layouts)

    def at(self, place: int) -> _Items:
        return _Items(_ArrayRules(self.rules.level.at(place), self.rules.shape), self.i, self.state)

    def description(self) -> ArrayRules | None:
        rules = self.rules
        if not rules.plain:
            return None
        return ArrayRules("items", rules.shape.box.rest, rules.level.value_symbols, bool(rules.watched))
