"""From conjunctions of atoms to symbols of a lazy grammar: values, whitespace, and what is shared between all schemas.

The idea: a value is a nonterminal whose alternatives are made when a generation first reaches it. Small terminals
(brackets, the comma, `null`, any string, any number) are shared by all schemas, so that the engine shares their
states; a set of values that is only one terminal is that terminal. Every alternative is inhabited (`normalizer.py`), so
a generation never runs into a dead end. Symbols refer to the lowering, which keeps no nonterminal: they are made
again where they are needed again, and equal ones are one nonterminal to the engine.

Structure: whitespace is a terminal of its own between structural tokens; tails of lists are right recursive and are
parsed in constant space, so a value ends when its last bracket is read.
"""

from __future__ import annotations

import itertools

from constrain.automata.syntax import ANY_TEXT, EMPTY
from constrain.cfg.rules import Nonterminal, Symbol, Terminal, Values
from constrain.schema.normalize.normalizer import Normalizer
from constrain.schema.read.document import Options
from constrain.schema.sets.algebra import TRUE, ArrayBox, Conj, NormalForm, ObjectBox
from constrain.schema.sets.numbers import has_numbers
from constrain.schema.sets.strings import is_void
from constrain.schema.write.lower_arrays import array_alternatives
from constrain.schema.write.lower_objects import object_alternatives
from constrain.schema.write.terminals import (
    BOOLEAN,
    BOOLEANS,
    NULL,
    Alternatives,
    any_string,
    any_value,
    number_terminal,
    string_terminal,
)
from constrain.schema.write.whitespace import layout, space

_numbers = itertools.count()


class Lowering:
    """The symbols of one schema as it is written under some options."""

    def __init__(self, normalizer: Normalizer, options: Options) -> None:
        self.normalizer = normalizer
        self.whitespace = options.whitespace
        self.plain = options.spelling == "plain"
        self.in_order = options.property_order == "schema"
        self.before = space(options.whitespace)
        self.number = next(_numbers)  # stands for the schema in keys of nonterminals, which outlive it
        self._terminals: dict[Conj, Terminal | None] = {}  # None: not one terminal
        self._numbers_of_boxes: dict[ArrayBox | ObjectBox, int] = {}

    def box_number(self, box: ArrayBox | ObjectBox) -> int:
        """A number for a box: equal for equal boxes of this schema, quick to hash however large the box is."""
        return self._numbers_of_boxes.setdefault(box, len(self._numbers_of_boxes))

    def value(self, conj: Conj, depth: int = 0) -> Symbol:
        """The symbol of the values that fulfil a conjunction, which is inhabited, inside so many containers."""
        if conj == TRUE:
            return any_value(self.whitespace, depth, self.plain)
        if conj in self._terminals:
            terminal = self._terminals[conj]
        else:
            normal = self.normalizer.normal(conj)
            found = [] if normal.arrays or normal.objects else self.terminals(normal)
            terminal = self._terminals[conj] = found[0] if len(found) == 1 else None
        return terminal if terminal is not None else _Value(Level(self, depth), conj)

    def terminals(self, normal: NormalForm) -> list[Terminal]:
        """The parts of a set that are no containers, as far as they are inhabited."""
        found: list[Terminal] = []
        if normal.null:
            found.append(NULL)
        if normal.booleans:
            found.append(BOOLEAN if len(normal.booleans) == 2 else BOOLEANS[next(iter(normal.booleans))])
        numbers = [box for box in normal.numbers if has_numbers(box)]
        if numbers:
            found.append(number_terminal(tuple(numbers), self.plain))
        if normal.strings == ANY_TEXT:
            found.append(any_string(self.plain))
        elif normal.strings is not EMPTY and not is_void(normal.strings):
            found.append(string_terminal(normal.strings, self.plain))
        return found


class Level:
    """What is written at one depth: the punctuation of its containers, and the values in them."""

    def __init__(self, lowering: Lowering, depth: int) -> None:
        self.lowering = lowering
        self.depth = depth
        self.normalizer = lowering.normalizer
        self.plain = lowering.plain
        self.around = layout(lowering.whitespace, depth)

    def key(self, box: ArrayBox | ObjectBox) -> tuple[int, int, int]:
        """A short key for a box at this depth."""
        return self.lowering.number, self.depth, self.lowering.box_number(box)

    @property
    def values(self) -> Values:
        """How the engine asks for the values in containers. Not kept: it would be a cycle, which only the collector
        frees."""
        return Values((self.lowering.number, "value", self.around.inner), self.value)

    def value(self, conj: Conj) -> Symbol:
        """The symbol of the values in a container that fulfil a conjunction, which is inhabited."""
        return self.lowering.value(conj, self.around.inner)

    def pair(self, key: Terminal, conj: Conj) -> list[Symbol]:
        """A member of an object, with what stands behind its value."""
        return [key, *self.around.colon, self.value(conj), *self.around.behind]

    def alternatives(self, conj: Conj) -> Alternatives:
        """The ways to write a value; containers as far as their first bracket."""
        normal = self.normalizer.normal(conj)
        found: Alternatives = [[terminal] for terminal in self.lowering.terminals(normal)]
        for array in normal.arrays:
            found += array_alternatives(self, array)
        if normal.objects:
            found += object_alternatives(self, conj, normal.objects)
        return found


class _Value(Nonterminal):
    """The values that fulfil a conjunction."""

    __slots__ = ("conj", "level")

    def __init__(self, level: Level, conj: Conj) -> None:
        super().__init__("value", key=(level.lowering.number, "value", level.depth, *conj))
        self.level, self.conj = level, conj

    def expand(self) -> Alternatives:
        return self.level.alternatives(self.conj)
