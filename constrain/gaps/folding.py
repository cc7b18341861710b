"""Ignored text as a part of lexemes: each terminal becomes its texts followed by ignored ones.

The idea: under the dynamic lexer ignored text may stand behind any lexeme, and at the beginning. A terminal whose
language ends with it needs no rule for it. So there is no position between a lexeme and the space behind it, and runs
of spaces are not cut in every way: positions are what a text with gaps costs.
"""

from __future__ import annotations

from functools import cache

from constrain.automata.syntax import alternate, concat, repeat
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.gaps.rules import language_of


def fold_ignored(grammar: Grammar) -> Grammar:
    """An equivalent grammar without ignored terminals. For `lexer="dynamic"`."""
    if not grammar.ignore:
        return grammar
    blank = repeat(alternate(*map(language_of, grammar.ignore)))

    @cache
    def longer(terminal: Terminal) -> Terminal:
        return Terminal(concat(language_of(terminal), blank), terminal.name)

    def folded(nonterminal: Nonterminal) -> Nonterminal:
        def expand() -> list[list[Symbol]]:
            return [
                [folded(symbol) if isinstance(symbol, Nonterminal) else longer(symbol) for symbol in alternative]
                for alternative in nonterminal.expand()
            ]

        key = "folded", nonterminal, blank
        return Nonterminal(nonterminal.name, expand, key, right_recursive=nonterminal.right_recursive)

    return Grammar(Nonterminal("start", lambda: [[Terminal(blank, "ignored"), folded(grammar.start)]]))
