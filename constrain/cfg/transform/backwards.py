"""Grammars read from the end: every rule and every lexeme backwards.

    start: "a" rest      backwards      start: rest "a"
    rest: "bc"                          rest: "cb"

The idea: a text is derived by the backward grammar if and only if the text written backwards is derived by the
grammar. So what may stand before a given ending is what may follow it, read backwards (`derived/quotient.py`).

Exact for `lexer="dynamic"` with nothing ignored (`regular.spaced_out`). Under maximal munch the direction matters.
Cost: rules are reversed when they are reached. To flag tail calls, all rules are looked at once, up to `LIMIT` of
them; beyond that every rule counts as right-recursive, which is right but slower.
"""

from __future__ import annotations

from collections.abc import Sequence

from constrain.automata.quotient import reverse
from constrain.cfg.ebnf import counted
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.cfg.transform.walk import alternatives_of, left_recursive, reachable

LIMIT = 10_000


class Backwards:
    """A grammar read backwards.

    grammar: its start derives the texts, backwards.
    """

    def __init__(self, grammar: Grammar) -> None:
        assert grammar.lexer == "dynamic"
        assert not grammar.ignore
        self._original: dict[Symbol, Symbol] = {}
        self._made: dict[Symbol, Symbol] = {}
        table = reachable(grammar.start, LIMIT)
        self._tails = None if table is None else left_recursive(table)
        start = self.symbol(grammar.start)
        assert isinstance(start, Nonterminal)
        self.grammar = Grammar(start)

    def symbol(self, symbol: Symbol) -> Symbol:
        """The symbol backwards."""
        made = self._made.get(symbol)
        if made is None:
            made = self._made[symbol] = self._reverse(symbol)
            self._original[made] = symbol
        return made

    def original(self, symbol: Symbol) -> Symbol:
        """What a symbol of the backward grammar was made from."""
        if symbol in self._original:
            return self._original[symbol]
        links = counted_of(symbol)
        assert links is not None  # a later link of a chain
        item, low, high = links
        return counted(self.original(item), low, high)

    def _reverse(self, symbol: Symbol) -> Symbol:
        if isinstance(symbol, Terminal):
            excluding = frozenset(Terminal(reverse(each.node), each.name) for each in symbol.excluding)
            return Terminal(reverse(symbol.node), symbol.name, symbol.priority, symbol.literal, excluding)
        links = counted_of(symbol)
        if links is not None:  # the links of the chain must come one by one, from whichever end
            item, low, high = links
            return counted(self.symbol(item), low, high)

        def expand() -> Sequence[Sequence[Symbol]]:
            return [[self.symbol(each) for each in reversed(alternative)] for alternative in alternatives_of(symbol)]

        return Nonterminal(symbol.name, expand, right_recursive=self._tails is None or symbol in self._tails)


def counted_of(symbol: Symbol) -> tuple[Symbol, int, int] | None:
    """(symbol, least, most copies) of what `ebnf.counted` made."""
    if isinstance(symbol, Nonterminal) and isinstance(symbol.key, tuple) and symbol.key[:1] == ("counted",):
        _, item, low, high = symbol.key
        return item, low, high
    return None
