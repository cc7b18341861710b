"""Whole words: under `lexer="greedy"` no lexeme ends in the middle of a word.

A parser's lexer cuts `selectx` as one word, wherever it stands. A lexer that looks for nothing but what the parser
admits (Lark's contextual lexer, and ours) cuts it into `select` and `x` where no name can stand, and `table`, a
reserved word that the names exclude, into `tabl` and `e`. `WholeWords` adds what is missing.

The idea: a text of a terminal T, ending in a word character, with one more word character behind it, is either a text
of T again or no lexeme at all. Those that are not, `T W - T`, are given to T as `Terminal.excluding`: they compete for
the longest match, and count as nothing when they win. For a keyword these are the keyword and one character; for names
the reserved words; for numbers `1a`.

A competitor can be completed only by a character that follows a text of T, so it never keeps a configuration alive
by itself: masks and prefixes stay exact. Of a character beyond ASCII that no text of T ends with, the bytes that
only word characters begin with are enough (`syntax.Begun`), so this holds inside of it, too.

Cost: one emptiness decision for each terminal that is not a literal; the lexer's states know a few more texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

from constrain.automata import intervals, syntax
from constrain.automata.python import parse_python
from constrain.automata.shape import mirror
from constrain.automata.syntax import Node
from constrain.errors import GrammarError
from constrain.grammar.analysis import empty_node, first_characters
from constrain.grammar.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.grammar.source import GrammarText, Source

BEYOND_ASCII: syntax.Ranges = ((0x80, syntax.MAX_CODE_POINT),)


@dataclass(frozen=True)
class WholeWords(Source):
    """A greedy grammar in which a word is one lexeme.

    text: the grammar. characters: the characters of words, as a class in Python's regex syntax (`[0-9A-Za-z_]`).
    before_words: names of terminals that a word may follow directly, as in Python's `1if x else y`.
    Raises GrammarError where the lexer is not greedy or `characters` is not a class.
    """

    text: GrammarText
    characters: str
    before_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.text.lexer != "greedy":
            raise GrammarError(
                f"whole words need lexer='greedy', not {self.text.lexer!r}: otherwise every cut counts",
                fix="use lexer='greedy', or leave the words out",
            )
        if not isinstance(self._class, syntax.Chars):
            raise GrammarError(f"{self.characters!r} is not a class of characters", fix="write it as [0-9A-Za-z_]")

    @cached_property
    def _class(self) -> Node:
        return parse_python(self.characters)

    @property
    def findings(self) -> tuple[str, ...]:
        """What the analysis of the grammar found."""
        return self.text.findings

    def _build(self) -> Grammar:
        return whole_words(self.text.to_grammar(), self._class, self.before_words)

    def __repr__(self) -> str:
        return f"{self.text!r} with whole words of {self.characters}"


@lru_cache(maxsize=64)
def whole_words(grammar: Grammar, characters: Node, before_words: tuple[str, ...] = ()) -> Grammar:
    """The grammar with competitors added to its terminals, but for those named. characters: the word characters.

    Remembered, so that equal grammars have the same nonterminals and share the engine's states.
    """
    terminals: dict[Terminal, Terminal] = {}
    nonterminals: dict[Nonterminal, Nonterminal] = {}

    def terminal(old: Terminal) -> Terminal:
        if old not in terminals:
            kept = old.name in before_words or old.after == ()  # nothing is ignored after it: it stands at words
            terminals[old] = old if kept else _with_competitor(old, characters)
        return terminals[old]

    def symbol(old: Symbol) -> Symbol:
        if isinstance(old, Terminal):
            return terminal(old)
        if old not in nonterminals:
            key = None if old.key is None else ("whole words", characters, before_words, old.key)
            nonterminals[old] = Nonterminal(old.name, partial(alternatives, old), key, old.right_recursive, old.watched)
        return nonterminals[old]

    def alternatives(old: Nonterminal) -> Sequence[Sequence[Symbol]]:
        return [[symbol(each) for each in alternative] for alternative in old.expand()]

    start = symbol(grammar.start)
    assert isinstance(start, Nonterminal)
    return replace(grammar, start=start, ignore=tuple(map(terminal, grammar.ignore)))


def _with_competitor(terminal: Terminal, characters: Node) -> Terminal:
    words = syntax.intersect(terminal.node, syntax.concat(syntax.repeat(syntax.ANY_CHAR), characters))
    if terminal.literal:  # one word, or none
        if empty_node(words):
            return terminal
        words = terminal.node
    last = _ranges(first_characters(mirror(terminal.node)))  # other characters end no text of the terminal
    never = intervals.common(intervals.common(_ranges(characters), BEYOND_ASCII), intervals.negate(last))
    others = syntax.chars(intervals.common(_ranges(characters), intervals.negate(never)))
    longer = [syntax.difference(syntax.concat(words, others), terminal.node)]
    longer.append(syntax.concat(words, syntax.Begun(never)))
    longer = [each for each in longer if not empty_node(each)]
    if not longer:
        return terminal
    competitor = Terminal(syntax.alternate(*longer), f"{terminal.name} inside a word")
    return replace(terminal, excluding=terminal.excluding | {competitor})


def _ranges(node: Node) -> syntax.Ranges:
    assert isinstance(node, syntax.Chars)
    return node.ranges
