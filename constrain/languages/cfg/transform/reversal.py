"""The reversal of a grammar: every rule and every lexeme read from the end.

    start: "a" rest      reversed       start: rest "a"
    rest: "bc"                          rest: "cb"

The idea: the reversed grammar derives a text if and only if the grammar derives the mirrored text. So the texts that
may precede a given suffix are, mirrored, the texts that may follow the mirrored suffix (derived/quotient.py).

Exact for `lexer="dynamic"` without ignored terminals (`inline_ignored`). Under maximal munch the direction matters.
Cost: rules are reversed when they are reached. To flag right-recursive rules, up to `LIMIT` rules are visited at once;
in a larger grammar every rule is flagged, which is correct but slower.
"""

from __future__ import annotations

from collections.abc import Sequence

from constrain.languages.automata.quotient import reverse
from constrain.languages.cfg.ebnf import counted
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.walk import alternatives_of, left_recursive, reachable

LIMIT = 10_000


class ReversedGrammar:
    """The reversal of a grammar for `lexer="dynamic"` without ignored terminals.

    Attributes:
        grammar: Derives the mirrored texts.
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
        """The reversal of a symbol."""
        reversed_symbol = self._made.get(symbol)
        if reversed_symbol is None:
            reversed_symbol = self._made[symbol] = self._reverse(symbol)
            self._original[reversed_symbol] = symbol
        return reversed_symbol

    def original(self, symbol: Symbol) -> Symbol:
        """The symbol whose reversal a symbol is."""
        if symbol in self._original:
            return self._original[symbol]
        counts = counted_of(symbol)
        assert counts is not None  # only the tails of `counted` are made outside of this class
        item, low, high = counts
        return counted(self.original(item), low, high)

    def _reverse(self, symbol: Symbol) -> Symbol:
        if isinstance(symbol, Terminal):
            excluding = frozenset(Terminal(reverse(inner.node), inner.name) for inner in symbol.excluding)
            return Terminal(reverse(symbol.node), symbol.name, symbol.priority, symbol.literal, excluding)
        counts = counted_of(symbol)
        if counts is not None:  # copies of one item: their order does not matter
            item, low, high = counts
            return counted(self.symbol(item), low, high)

        def expand() -> Sequence[Sequence[Symbol]]:
            return [[self.symbol(inner) for inner in reversed(alternative)] for alternative in alternatives_of(symbol)]

        return Nonterminal(symbol.name, expand, right_recursive=self._tails is None or symbol in self._tails)


def counted_of(symbol: Symbol) -> tuple[Symbol, int, int] | None:
    """(item, low, high) of a nonterminal that `ebnf.counted` made; None for any other symbol."""
    if isinstance(symbol, Nonterminal) and isinstance(symbol.key, tuple) and symbol.key[:1] == ("counted",):
        _, item, low, high = symbol.key
        return item, low, high
    return None
