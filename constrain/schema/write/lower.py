"""From conjunctions of atoms to symbols of a lazy grammar.

The idea: a value is a nonterminal whose alternatives are made when a text first reaches it. Small terminals (brackets,
the comma, `null`, any string, any number) are shared by all schemas, so that the engine shares their states. A set of
values that one terminal can spell is that terminal. Every alternative is inhabited (`normalize/normalizer.py`), so a
text never runs into a dead end. Symbols refer to the lowering, and the lowering keeps no nonterminal: nonterminals are
made again where they are needed again, and equal keys make them one to the engine.

Structure: whitespace is a terminal of its own between structural tokens. Tails of lists are right recursive and are
parsed in constant space, so a value ends when its last bracket is read.
"""

from __future__ import annotations

import itertools

from constrain.automata.syntax import ANY_TEXT, EMPTY
from constrain.cfg.bulk_rules import ValueSymbols
from constrain.cfg.rules import Nonterminal, Symbol, Terminal
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

_serials = itertools.count()


class Lowering:
    """Makes the symbols of one schema under one policy of whitespace and order.

    Attributes:
        space: The whitespace between two structural tokens.
        serial: A number for the schema in keys of nonterminals, which outlive the schema.
        prefix: The beginning of the keys of values.
    """

    def __init__(self, normalizer: Normalizer, whitespace: str, property_order: str) -> None:
        self.normalizer = normalizer
        self.whitespace = whitespace
        self.in_order = property_order == "schema"
        self.space = space(whitespace)
        self.serial = next(_serials)
        self.prefix = (self.serial, "value")
        self._terminals: dict[Conj, Terminal | None] = {}  # None: one terminal is not enough
        self._box_numbers: dict[ArrayBox | ObjectBox, int] = {}

    def key(self, box: ArrayBox | ObjectBox) -> tuple[int, int]:
        """A short key for a box: equal boxes of this schema have equal keys, and large boxes are hashed once."""
        return self.serial, self._box_numbers.setdefault(box, len(self._box_numbers))

    @property
    def value_symbols(self) -> ValueSymbols:
        """The function from conjunctions to symbols, for the engine. Not kept: it would be a reference cycle."""
        return ValueSymbols(self.prefix, self.value)

    def value(self, conj: Conj) -> Symbol:
        """The symbol of the values that fulfil a conjunction; the conjunction is inhabited."""
        if conj == TRUE:
            return any_value(self.whitespace)
        if conj in self._terminals:
            terminal = self._terminals[conj]
        else:
            normal = self.normalizer.normal(conj)
            terminals = [] if normal.arrays or normal.objects else self.terminals(normal)
            terminal = self._terminals[conj] = terminals[0] if len(terminals) == 1 else None
        return terminal if terminal is not None else _Value(self, conj)

    def pair(self, key: Terminal, conj: Conj) -> list[Symbol]:
        """The symbols of a member of an object, with the whitespace after its value."""
        return [key, *self.space, COLON, *self.space, self.value(conj), *self.space]

    def terminals(self, normal: NormalForm) -> list[Terminal]:
        """The terminals of a set's inhabited parts, without arrays and objects."""
        terminals: list[Terminal] = []
        if normal.null:
            terminals.append(NULL)
        if normal.booleans:
            terminals.append(BOOLEAN if len(normal.booleans) == 2 else BOOLEANS[next(iter(normal.booleans))])
        numbers = [box for box in normal.numbers if has_numbers(box)]
        if numbers:
            terminals.append(number_terminal(tuple(numbers)))
        if normal.strings == ANY_TEXT:
            terminals.append(ANY_STRING)
        elif normal.strings is not EMPTY and not is_void(normal.strings):
            terminals.append(string_terminal(normal.strings))
        return terminals

    def alternatives(self, conj: Conj) -> Alternatives:
        """The alternatives of a value. Those of arrays and objects are a bracket and a nonterminal."""
        normal = self.normalizer.normal(conj)
        alternatives: Alternatives = [[terminal] for terminal in self.terminals(normal)]
        for array in normal.arrays:
            alternatives += array_alternatives(self, array)
        if normal.objects:
            alternatives += object_alternatives(self, conj, normal.objects)
        return alternatives


class _Value(Nonterminal):
    """The values that fulfil a conjunction."""

    __slots__ = ("conj", "lowering")

    def __init__(self, lowering: Lowering, conj: Conj) -> None:
        super().__init__("value", key=lowering.prefix + conj)
        self.lowering, self.conj = lowering, conj

    def expand(self) -> Alternatives:
        return self.lowering.alternatives(self.conj)
