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
from constrain.schema.sets.algebra import TRUE, ArrayBox, Conj, NormalForm, ObjectBox
from constrain.schema.sets.numbers import has_numbers
from constrain.schema.sets.strings import is_void
from constrain.schema.write.lower_arrays import array_alternatives
from constrain.schema.write.lower_objects import object_alternatives
from constrain.schema.write.terminals import (
    ANY_STRING,
    BOOLEAN,
    BOOLEANS,
    COLON,
    NULL,
    Alternatives,
    any_value,
    number_terminal,
    string_terminal,
)
from constrain.schema.write.whitespace import space

_numbers = itertools.count()


class Lowering:
    """The symbols of one schema under one policy of whitespace and order."""

    def __init__(self, normalizer: Normalizer, whitespace: str, property_order: str) -> None:
        self.normalizer = normalizer
        self.whitespace = whitespace
        self.in_order = property_order == "schema"
        self.space = space(whitespace)
        self.number = next(_numbers)  # stands for the schema in keys of nonterminals, which outlive it
        self.prefix = (self.number, "value")  # of the keys of values
        self._terminals: dict[Conj, Terminal | None] = {}  # None: not one terminal
        self._numbers_of_boxes: dict[ArrayBox | ObjectBox, int] = {}

    def key(self, box: ArrayBox | ObjectBox) -> tuple[int, int]:
        """A short key for a box: equal for equal boxes of this schema, quick to hash however large the box is."""
        return self.number, self._numbers_of_boxes.setdefault(box, len(self._numbers_of_boxes))

    @property
    def values(self) -> Values:
        """How the engine asks for values. Not kept: it would be a cycle, which only the collector frees."""
        return Values(self.prefix, self.value)

    def value(self, conj: Conj) -> Symbol:
        """The symbol of the values that fulfil a conjunction, which is inhabited."""
        if conj == TRUE:
            return any_value(self.whitespace)
        if conj in self._terminals:
            terminal = self._terminals[conj]
        else:
            normal = self.normalizer.normal(conj)
            found = [] if normal.arrays or normal.objects else self.terminals(normal)
            terminal = self._terminals[conj] = found[0] if len(found) == 1 else None
        return terminal if terminal is not None else _Value(self, conj)

    def pair(self, key: Terminal, conj: Conj) -> list[Symbol]:
        """A member of an object, with what stands behind its value."""
        return [key, *self.space, COLON, *self.space, self.value(conj), *self.space]

    def terminals(self, normal: NormalForm) -> list[Terminal]:
        """The parts of a set that are no containers, as far as they are inhabited."""
        found: list[Terminal] = []
        if normal.null:
            found.append(NULL)
        if normal.booleans:
            found.append(BOOLEAN if len(normal.booleans) == 2 else BOOLEANS[next(iter(normal.booleans))])
        numbers = [box for box in normal.numbers if has_numbers(box)]
        if numbers:
            found.append(number_terminal(tuple(numbers)))
        if normal.strings == ANY_TEXT:
            found.append(ANY_STRING)
        elif normal.strings is not EMPTY and not is_void(normal.strings):
            found.append(string_terminal(normal.strings))
        return found

    def alternatives(self, conj: Conj) -> Alternatives:
        """The ways to write a value; containers as far as their first bracket."""
        normal = self.normalizer.normal(conj)
        found: Alternatives = [[terminal] for terminal in self.terminals(normal)]
        for array in normal.arrays:
            found += array_alternatives(self, array)
        if normal.objects:
            found += object_alternatives(self, conj, normal.objects)
        return found


class _Value(Nonterminal):
    """The values that fulfil a conjunction."""

    __slots__ = ("conj", "lowering")

    def __init__(self, lowering: Lowering, conj: Conj) -> None:
        super().__init__("value", key=lowering.prefix + conj)
        self.lowering, self.conj = lowering, conj

    def expand(self) -> Alternatives:
        return self.lowering.alternatives(self.conj)
