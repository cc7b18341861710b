"""Rewrites for `|` and `&` of constraints: eliminate `%ignore`; find the regular language of a grammar.

The idea: under the dynamic lexer "ignored text may stand between any two lexemes" is the same as "every lexeme, and
the start, may be followed by ignored text", and rules can say that. Two grammars without ignored terminals can be
united by a new start symbol, or folded into one regular language if they do not recurse.

Cost: `inline_ignored` wraps nonterminals when a text reaches them; `regular_language` is linear in what it inlines.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import replace

from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.build import GrammarReading
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Part, Ref, Repeated, Sequence, to_table
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.analysis import terminals
from constrain.languages.cfg.transform.fold import to_node


def inline_ignored(grammar: Grammar) -> Grammar:
    """An equivalent grammar without ignored terminals: the rules derive the ignored texts. For `lexer="dynamic"`."""
    if not grammar.ignore:
        return grammar

    def expand_blank() -> SequenceOf[SequenceOf[Symbol]]:
        longer: list[list[Symbol]] = [[blank, terminal] for terminal in grammar.ignore]
        return [[], *longer]

    blank = Nonterminal("ignored", expand_blank)

    def spaced(nonterminal: Nonterminal) -> Nonterminal:
        def expand() -> SequenceOf[SequenceOf[Symbol]]:
            return [[part for symbol in alternative for part in pieces(symbol)] for alternative in nonterminal.expand()]

        return Nonterminal(
            nonterminal.name, expand, key=("spaced", nonterminal, blank), right_recursive=nonterminal.right_recursive
        )

    def pieces(symbol: Symbol) -> tuple[Symbol, ...]:
        return (spaced(symbol),) if isinstance(symbol, Nonterminal) else (symbol, blank)

    return Grammar(Nonterminal("start", lambda: [[blank, spaced(grammar.start)]]))


def inline_ignored_after(grammar: Grammar) -> Grammar:
    """A grammar whose rules derive what its terminals ignore after them (`Terminal.ignored_after`), for "dynamic"."""

    def blank(ignored: tuple[Terminal, ...]) -> Nonterminal:
        def expand() -> SequenceOf[SequenceOf[Symbol]]:
            longer: list[list[Symbol]] = [[again, terminal] for terminal in ignored]
            return [[], *longer]

        again = Nonterminal("ignored", expand, key=("ignored after", ignored))
        return again

    def spaced(nonterminal: Nonterminal) -> Nonterminal:
        def expand() -> SequenceOf[SequenceOf[Symbol]]:
            return [[part for symbol in alternative for part in pieces(symbol)] for alternative in nonterminal.expand()]

        key = "ignored after", nonterminal
        return Nonterminal(nonterminal.name, expand, key, right_recursive=nonterminal.right_recursive)

    def pieces(symbol: Symbol) -> tuple[Symbol, ...]:
        if isinstance(symbol, Nonterminal):
            return (spaced(symbol),)
        return (symbol, blank(symbol.ignored_after)) if symbol.ignored_after else (symbol,)

    return replace(grammar, start=spaced(grammar.start), lexer="dynamic")


def regular_language(reading: GrammarReading) -> Node | None:
    """The language of a grammar as a regular language, or None if it recurses or is too large to inline."""
    if reading.grammar.lexer == "greedy":
        return _only_terminal(reading.grammar)
    if any(terminal.contexts for terminal in terminals(to_table(reading.rules))):
        return None
    if not reading.grammar.ignore:
        return to_node(reading.rules, reading.start)
    return to_node(inline_ignored_rules(reading.rules, reading.start, reading.grammar.ignore), WHOLE)


WHOLE = "#"  # no rule of a grammar text can have this name
IGNORED = "#ignored"  # nor this one


def inline_ignored_rules(
    rules: Mapping[str, Expression],
    start: str,
    ignore: tuple[Terminal, ...],
    initial: bool = True,
    repeated: bool = True,
) -> dict[str, Expression]:
    """Equivalent rules without ignored terminals, with the new start rule `WHOLE`.

    Ignored texts may follow each terminal and, if `initial`, precede the whole text; several of them if `repeated`.
    """
    ignored = Repeated(Choice(tuple(Leaf(terminal) for terminal in ignore)), 0, None if repeated else 1)
    blank = Ref(IGNORED)
    spaced: dict[str, Expression] = {name: _spaced(rule, blank) for name, rule in rules.items()}
    return {WHOLE: Sequence((blank, Ref(start)) if initial else (Ref(start),)), **spaced, IGNORED: ignored}


def _spaced(expression: Expression, blank: Expression) -> Expression:
    """The expression with blanks after each terminal and part."""
    if isinstance(expression, Leaf | Part):
        return Sequence((expression, blank))
    if isinstance(expression, Ref):
        return expression
    if isinstance(expression, Repeated):
        return Repeated(_spaced(expression.part, blank), expression.low, expression.high)
    return type(expression)(tuple(_spaced(part, blank) for part in expression.parts))


def _only_terminal(grammar: Grammar) -> Node | None:
    """The language of a grammar that is a single terminal, where the lexer has no choice; else None."""
    alternatives = grammar.start.expand()
    if grammar.ignore or len(alternatives) != 1 or len(alternatives[0]) != 1:
        return None
    [symbol] = alternatives[0]
    return symbol.node if isinstance(symbol, Terminal) and not symbol.excluding else None
