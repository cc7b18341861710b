"""From conjunctions of atoms to symbols of a lazy grammar: values, whitespace, and what is shared between all schemas.

The idea: a value is a nonterminal whose alternatives are made when a generation first reaches it. Small terminals (brackets, the comma,
`null`, any string, any number) are shared by all schemas, so that the engine shares their states; a set of values that is only
one terminal is that terminal. Every alternative is inhabited (`compute.py`), so a generation never runs into a dead end.

Structure: whitespace is a terminal of its own between structural tokens; tails of lists are right recursive and are parsed in
constant space, so a value ends when its last bracket is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from constrain.automata.syntax import ANY_TEXT, Node, alternate, json_string, literal, literals
from constrain.grammar.rules import Nonterminal, Symbol, Terminal
from constrain.schema.algebra import TRUE, ArrayBox, Conj, Normal, ObjectBox
from constrain.schema.compute import Computation
from constrain.schema.digits import NUMBER, number_node
from constrain.schema.numbers import has_numbers
from constrain.schema.strings import is_void
from constrain.schema.whitespace import space

Alternatives = list[list[Symbol]]


def punctuation(text: str) -> Terminal:
    """A fixed text of JSON."""
    return Terminal(literal(text), name=repr(text), literal=True)


OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY, COMMA, COLON = map(punctuation, "{}[],:")
NULL = punctuation("null")
BOOLEANS = {False: punctuation("false"), True: punctuation("true")}
BOOLEAN = Terminal(literals(("true", "false")), name="boolean", literal=True)
ANY_STRING = Terminal(json_string(ANY_TEXT), name="string")
ANY_NUMBER = Terminal(NUMBER, name="number")


@lru_cache(maxsize=65536)
def key_terminal(name: str) -> Terminal:
    """A declared key, in every spelling."""
    return Terminal(json_string(literal(name)), name=f"key {name!r}")


class Lowering:
    """The symbols of one schema under one policy of whitespace and order."""

    def __init__(self, computation: Computation, whitespace: str, property_order: str) -> None:
        self.computation = computation
        self.whitespace = whitespace
        self.in_order = property_order == "schema"
        self.space = space(whitespace)
        self._symbols: dict[Conj, Symbol] = {TRUE: any_value(whitespace)}

    def value(self, conj: Conj) -> Symbol:
        """The symbol of the values that fulfil a conjunction, which is inhabited."""
        symbol = self._symbols.get(conj)
        if symbol is None:
            alternatives = self.alternatives(self.computation.normal(conj))
            if len(alternatives) == 1:
                symbol = alternatives[0][0]
            else:
                symbol = Nonterminal("value", lambda: alternatives, key=(self, conj))
            self._symbols[conj] = symbol
        return symbol

    def alternatives(self, normal: Normal) -> list[list[Symbol]]:
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
        found += [self.array(box) for box in normal.arrays if self.computation.has_arrays(box)]
        found += [self.object(box) for box in normal.objects if self.computation.has_objects(box)]
        return [[symbol] for symbol in found]

    def array(self, box: ArrayBox) -> Nonterminal:
        """The arrays of a box."""
        from constrain.schema.lower_arrays import array

        return array(self, box)

    def object(self, box: ObjectBox) -> Nonterminal:
        """The objects of a box."""
        from constrain.schema.lower_objects import objects

        return objects(self, box)


def string_terminal(language: Node) -> Terminal:
    """The string literals of a language of decoded texts."""
    return Terminal(json_string(language), name="string")


@lru_cache(maxsize=8)
def any_value(whitespace: str) -> Nonterminal:
    """Any JSON value: the same symbol in every schema."""
    gap = space(whitespace)

    def rule(name: str, *alternatives: Sequence[Symbol | str], tail: bool = False) -> Nonterminal:
        def expand() -> Alternatives:
            return [[rules[part] if isinstance(part, str) else part for part in each] for each in alternatives]

        rules[name] = Nonterminal(name, expand, key=("any", whitespace, name), right_recursive=tail)
        return rules[name]

    rules: dict[str, Nonterminal] = {}
    rule("any member", (ANY_STRING, *gap, COLON, *gap, "any value", *gap, "any members"), tail=True)
    rule("any members", (CLOSE_OBJECT,), (COMMA, *gap, "any member"), tail=True)
    rule("any object", (OPEN_OBJECT, *gap, "any first member"))
    rule("any first member", (CLOSE_OBJECT,), ("any member",), tail=True)
    rule("any items", (CLOSE_ARRAY,), (COMMA, *gap, "any value", *gap, "any items"), tail=True)
    rule("any array", (OPEN_ARRAY, *gap, "any first item"))
    rule("any first item", (CLOSE_ARRAY,), ("any value", *gap, "any items"), tail=True)
    return rule(
        "any value", (NULL,), (BOOLEAN,), (ANY_NUMBER,), (ANY_STRING,), ("any array",), ("any object",)
    )
