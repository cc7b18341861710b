"""Terminals and rules that all schemas share: punctuation, any string, any number, any value.

The engine keeps its states by terminal, so equal languages are equal terminals here, whatever schema they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from constrain.automata.syntax import ANY_TEXT, Node, alternate, json_string, literal, literals
from constrain.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.schema.formats.bounds import at_most
from constrain.schema.sets.digits import NUMBER, number_node
from constrain.schema.sets.numbers import NumberBox
from constrain.schema.write.whitespace import space

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


@lru_cache(maxsize=4096)
def key_terminal(name: str) -> Terminal:
    """A declared key, in every spelling."""
    return Terminal(json_string(literal(name)), name=f"key {name!r}")


def other_key(names: Sequence[str]) -> Terminal:
    """Any key but these."""
    return Terminal(ANY_STRING.node, name="key", excluding=frozenset(map(key_terminal, names)))


@lru_cache(maxsize=1024)
def number_terminal(boxes: tuple[NumberBox, ...]) -> Terminal:
    """The spellings of the numbers in any of the boxes."""
    node = alternate(*map(number_node, boxes))
    return ANY_NUMBER if node == NUMBER else Terminal(node, name="number")


@lru_cache(maxsize=1024)
def string_terminal(language: Node) -> Terminal:
    """The string literals of a language of decoded texts."""
    return Terminal(json_string(at_most(language)), name="string")


@lru_cache(maxsize=8)
def any_value(whitespace: str) -> Nonterminal:
    """Any JSON value: the same symbol in every schema."""
    gap = space(whitespace)

    def rule(
        name: str, *alternatives: Sequence[Symbol | str], tail: bool = False, watched: bool = False
    ) -> Nonterminal:
        def expand() -> Alternatives:
            return [[rules[part] if isinstance(part, str) else part for part in each] for each in alternatives]

        key = ("any", whitespace, name)
        rules[name] = Nonterminal(name, expand, key=key, right_recursive=tail, watched=watched, shared=True)
        return rules[name]

    rules: dict[str, Nonterminal] = {}
    pair = (ANY_STRING, *gap, COLON, *gap, "any value", *gap, "any members")
    rule("any member", pair, tail=True)
    rule("any next member", pair, tail=True, watched=True)
    rule("any members", (CLOSE_OBJECT,), (COMMA, *gap, "any next member"), tail=True, watched=True)
    rule("any object", (OPEN_OBJECT, *gap, "any first member"))
    rule("any first member", (CLOSE_OBJECT,), ("any member",), tail=True)
    rule("any items", (CLOSE_ARRAY,), (COMMA, *gap, "any value", *gap, "any items"), tail=True)
    rule("any array", (OPEN_ARRAY, *gap, "any first item"))
    rule("any first item", (CLOSE_ARRAY,), ("any value", *gap, "any items"), tail=True)
    return rule("any value", (NULL,), (BOOLEAN,), (ANY_NUMBER,), (ANY_STRING,), ("any array",), ("any object",))
