"""From conjunctions of atoms to symbols of a lazy grammar: values, whitespace, and what is shared between all schemas.

The idea: a value is a nonterminal whose alternatives are made when a generation first reaches it. Small terminals
(brackets, the comma, `null`, any string, any number) are shared by all schemas, so that the engine shares their
states; a set of values that is only one terminal is that terminal. Every alternative is inhabited (`compute.py`), so
a generation never runs into a dead end.

Structure: whitespace is a terminal of its own between structural tokens; tails of lists are right recursive and are
parsed in constant space, so a value ends when its last bracket is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable

from constrain.automata.syntax import ANY_TEXT, alternate
from constrain.grammar.rules import Nonterminal, Symbol, Terminal
from constrain.schema.algebra import TRUE, ArrayBox, Conj, Normal, ObjectBox
from constrain.schema.compute import Computation
from constrain.schema.digits import NUMBER, number_node
from constrain.schema.lower_arrays import ArrayRule
from constrain.schema.lower_objects import ObjectRule
from constrain.schema.numbers import has_numbers
from constrain.schema.strings import is_void
from constrain.schema.terminals import (
    ANY_NUMBER,
    ANY_STRING,
    BOOLEAN,
    BOOLEANS,
    NULL,
    Alternatives,
    any_value,
    string_terminal,
)
from constrain.schema.whitespace import space

_numbers = itertools.count()


class Lowering:
    """The symbols of one schema under one policy of whitespace and order."""

    def __init__(self, computation: Computation, whitespace: str, property_order: str) -> None:
        self.computation = computation
        self.whitespace = whitespace
        self.in_order = property_order == "schema"
        self.space = space(whitespace)
        self.number = next(_numbers)  # stands for the schema in keys of nonterminals, which outlive it
        self._symbols: dict[Conj, Symbol] = {TRUE: any_value(whitespace)}
        self._numbers_of_boxes: dict[ArrayBox | ObjectBox, int] = {}

    def key(self, box: ArrayBox | ObjectBox) -> tuple[int, int]:
        """A short key for a box: equal for equal boxes of this schema, quick to hash however large the box is."""
        return self.number, self._numbers_of_boxes.setdefault(box, len(self._numbers_of_boxes))

    def value(self, conj: Conj) -> Symbol:
        """The symbol of the values that fulfil a conjunction, which is inhabited."""
        symbol = self._symbols.get(conj)
        if symbol is None:
            parts = self.parts(self.computation.normal(conj))
            symbol = parts[0] if len(parts) == 1 else _Value((self.number, "value", *conj), parts)
            self._symbols[conj] = symbol
        return symbol

    def parts(self, normal: Normal) -> list[Symbol]:
        """The parts of a set that are inhabited, each one symbol."""
        found: list[Symbol] = []
        if normal.null:
            found.append(NULL)
        if normal.booleans:
            found.append(BOOLEAN if len(normal.booleans) == 2 else BOOLEANS[next(iter(normal.booleans))])
        numbers = [box for box in normal.numbers if has_numbers(box)]
        if numbers:
            node = alternate(*map(number_node, numbers))
            found.append(ANY_NUMBER if node == NUMBER else Terminal(node, name="number"))
        if not is_void(normal.strings):
            found.append(ANY_STRING if normal.strings == ANY_TEXT else string_terminal(normal.strings))
        found += [ArrayRule(self, box) for box in normal.arrays if self.computation.has_arrays(box)]
        found += [ObjectRule(self, box) for box in normal.objects if self.computation.has_objects(box)]
        return found


class _Value(Nonterminal):
    """Any of some symbols."""

    __slots__ = ("parts",)

    def __init__(self, key: Hashable, parts: list[Symbol]) -> None:
        super().__init__("value", key=key)
        self.parts = parts

    def expand(self) -> Alternatives:
        return [[symbol] for symbol in self.parts]
