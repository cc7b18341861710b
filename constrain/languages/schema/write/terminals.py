"""Terminals and rules that all schemas share: any string, any number, any value.

The engine keeps its states by terminal, so equal languages are equal terminals here, whatever schema they come from.
plain: only the spellings that serializers write (`automata/lower.py`, `sets/plain_numbers.py`), not all of JSON's.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache

from constrain.languages.automata.syntax import ANY_TEXT, Node, alternate, json_string, literal, literals
from constrain.languages.cfg.rules import Nonterminal, Plainest, Symbol, Terminal
from constrain.languages.schema.formats.bounds import at_most
from constrain.languages.schema.sets.digits import any_number_node
from constrain.languages.schema.sets.numbers import ANY_NUMBER, NumberBox
from constrain.languages.schema.sets.plain_numbers import plain_number_node
from constrain.languages.schema.write.whitespace import (
    MAX_DEPTH,
    MAX_UNIT,
    Alternatives,
    Opening,
    Policy,
    Symbols,
    layout,
    plainest,
    punctuation,
)

NULL = punctuation("null")
BOOLEANS = {False: punctuation("false"), True: punctuation("true")}
BOOLEAN = Terminal(literals(("true", "false")), name="boolean", literal=True)


@lru_cache(maxsize=2)
def any_string(plain: bool) -> Terminal:
    """Any string literal."""
    return Terminal(json_string(ANY_TEXT, plain), name="string")


@lru_cache(maxsize=4096)
def key_terminal(name: str, plain: bool) -> Terminal:
    """A declared key."""
    return Terminal(json_string(literal(name), plain), name=f"key {name!r}")


def other_key(names: Sequence[str], plain: bool) -> Terminal:
    """Any key but these."""
    excluded = frozenset(key_terminal(name, plain) for name in names)
    return Terminal(any_string(plain).node, name="key", excluding=excluded)


@lru_cache(maxsize=1024)
def number_terminal(boxes: tuple[NumberBox, ...], plain: bool) -> Terminal:
    """The spellings of the numbers in any of the boxes."""
    return Terminal(alternate(*map(plain_number_node if plain else any_number_node, boxes)), name="number")


@lru_cache(maxsize=1024)
def string_terminal(language: Node, plain: bool) -> Terminal:
    """The string literals of a language of decoded texts."""
    return Terminal(json_string(at_most(language), plain), name="string")


def any_value(whitespace: Policy, place: int, plain: bool) -> Nonterminal:
    """Any JSON value at a place: the same symbol in every schema."""
    return _any_rules(whitespace, place, plain)["any value"]


class _Undecided(Nonterminal):
    """Any JSON value where no layout is chosen yet. Its key has the policy, the place, and how values are spelled."""

    __slots__ = ()

    def plainest(self) -> Plainest | None:
        assert isinstance(self.key, tuple)
        _, whitespace, place, plain, _ = self.key
        chosen = plainest(whitespace, place)
        return None if chosen is None else Plainest(any_value(whitespace, chosen, plain), MAX_UNIT, MAX_DEPTH)


@lru_cache(maxsize=1024)
def _any_rules(whitespace: Policy, place: int, plain: bool) -> dict[str, Nonterminal]:
    """The rules of any JSON value at a place, by name."""
    around, at = layout(whitespace, place), plainest(whitespace, place)
    rules: dict[str, Nonterminal] = {}

    def rule(
        name: str, *alternatives: Sequence[Symbol | str], tail: bool = False, watched: bool = False
    ) -> Nonterminal:
        def expand() -> Alternatives:
            return [
                [symbol(part) if isinstance(part, str) else part for part in alternative]
                for alternative in alternatives
            ]

        kind = Nonterminal if at is None or name != "any value" else _Undecided
        rules[name] = kind(name, expand, key=key(name), right_recursive=tail, watched=watched, shared=True)
        return rules[name]

    def container(name: str, empty: Symbols, openings: Sequence[Opening], first: str) -> None:
        def expand() -> Alternatives:
            begun = [[*symbols, _any_rules(whitespace, place, plain)[first]] for symbols, place in openings]
            return [[*empty], *begun]

        rules[name] = Nonterminal(name, expand, key=key(name), shared=True)

    def key(name: str) -> tuple[Hashable, ...]:
        return ("any", whitespace, place, plain, name)

    def symbol(name: str) -> Symbol:
        return any_value(whitespace, around.inner, plain) if name == "inner value" else rules[name]

    pair = (any_string(plain), *around.colon, "inner value", *around.behind, "any members")
    rule("any member", pair, tail=True)
    rule("any next member", pair, tail=True, watched=True)
    rule("any members", around.close_object, (*around.comma, "any next member"), tail=True, watched=True)
    container("any object", around.empty_object, around.objects, "any member")
    rule("any items", around.close_array, (*around.comma, "inner value", *around.behind, "any items"), tail=True)
    rule("any first item", ("inner value", *around.behind, "any items"), tail=True)
    container("any array", around.empty_array, around.arrays, "any first item")
    number = number_terminal((ANY_NUMBER,), plain)
    rule("any value", (NULL,), (BOOLEAN,), (number,), (any_string(plain),), ("any array",), ("any object",))
    return rules
