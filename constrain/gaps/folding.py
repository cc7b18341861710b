"""Ignored text without rules of its own: a part of the lexeme before it, or one lexeme behind it.

The idea: under the dynamic lexer ignored text may stand behind any lexeme, and at the beginning. If it is as simple as
a run of spaces, a terminal's language may end with it: then there is no position between a lexeme and the space
behind it. Comments would multiply the states of all terminals, so they are one terminal, for all of the ignored text
there. Either way runs of spaces are not cut in every way. Positions are what a text with gaps costs.
"""

from __future__ import annotations

from functools import cache

from constrain.gaps.lexer import automaton_of
from constrain.gaps.rules import language_of
from constrain.languages.automata.syntax import alternate, concat, repeat
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal

FEW = 2  # states of an ignored language that may be a part of every terminal


def fold_ignored(grammar: Grammar) -> Grammar:
    """An equivalent grammar without ignored terminals. For `lexer="dynamic"`."""
    if not grammar.ignore:
        return grammar
    ignored = repeat(alternate(*map(language_of, grammar.ignore)))
    blank, is_simple = Terminal(ignored, "ignored"), len(automaton_of(ignored)[1]) <= FEW

    @cache
    def spaced(terminal: Terminal) -> tuple[Symbol, ...]:
        if is_simple:
            return (Terminal(concat(language_of(terminal), ignored), terminal.name),)
        return terminal, blank

    def folded(nonterminal: Nonterminal) -> Nonterminal:
        def expand() -> list[list[Symbol]]:
            return [[part for symbol in each for part in pieces(symbol)] for each in nonterminal.expand()]

        key = "folded", nonterminal, ignored
        return Nonterminal(nonterminal.name, expand, key, right_recursive=nonterminal.right_recursive)

    def pieces(symbol: Symbol) -> tuple[Symbol, ...]:
        return (folded(symbol),) if isinstance(symbol, Nonterminal) else spaced(symbol)

    return Grammar(Nonterminal("start", lambda: [[blank, folded(grammar.start)]]))
