"""Whole words: under `lexer="greedy"` no lexeme ends in the middle of a word.

An ordinary lexer reads `selectx` as one word everywhere. A lexer that looks only for terminals that the parser admits
(Lark's contextual lexer, and ours) cuts it into `select` and `x` where no name is allowed, and the reserved word
`table`, which names exclude, into `tabl` and `e`. `WholeWords` forbids such cuts.

The idea: take a text of a terminal T that ends in a word character, and append one more word character (W). The result
is a text of T again, or it must be no lexeme at all. The texts of the second kind, `T W - T`, are given to T as
`Terminal.excluding`: they compete for the longest match, and count as nothing when they win. For a keyword they are the
keyword and one more character; for names the reserved words; for numbers `1a`. Of a terminal in `as_words` every text
counts as one that ends in a word character: `1.a` is no lexeme of SQL.

A competitor is completed only by a character that follows a text of T, so it never keeps a configuration alive by
itself: masks and prefixes stay exact. For a character beyond ASCII that no text of T ends with, its first bytes are
enough, if only word characters begin with them (`syntax.Begun`); so masks stay exact inside of the character, too.

Cost: one emptiness decision for each terminal that is not a literal; the lexer's states know a few more texts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from constrain.errors import GrammarError, LimitError
from constrain.languages.automata import syntax
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.quotient import right_quotient
from constrain.languages.automata.shape import first_characters, mirror
from constrain.languages.automata.syntax import Node
from constrain.languages.automata.unicode import intervals
from constrain.languages.cfg.rules import Grammar, LookaroundContext, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.analysis import empty_node
from constrain.languages.cfg.transform.contexts import character_classes, eliminate_context, terminals_of
from constrain.languages.cfg.transform.regular import inline_ignored_after
from constrain.languages.constraints.base import Constraint
from constrain.languages.grammar_text.text import GrammarText
from constrain.languages.grammar_text.unfinished import Unfinished, ranges_of

BEYOND_ASCII: syntax.Ranges = ((0x80, syntax.MAX_CODE_POINT),)


@dataclass(frozen=True)
class WholeWords(Constraint):
    """A greedy grammar in which a word is one lexeme.

    Attributes:
        text: The grammar.
        characters: The characters of words, as a class in Python's regex syntax (`[0-9A-Za-z_]`).
        before_words: The names of terminals that a word may follow directly, as in Python's `1if x else y`.
        ascii_keywords: Whether strings under the flag `i` have no letters beyond ASCII: `"like"i` is not `LİKE`.
        last: The name of a terminal behind which nothing is ignored, so that a text ends with it.
        as_words: The names of terminals that no word follows directly, whatever they end in: not `1.and` in SQL.

    Raises:
        GrammarError: The lexer is not greedy, or `characters` is not a class.
    """

    text: GrammarText
    characters: str
    before_words: tuple[str, ...] = ()
    ascii_keywords: bool = False
    last: str | None = None
    as_words: tuple[str, ...] = ()

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

    @cached_property
    def _text_grammar(self) -> Grammar:
        grammar = self.text.to_grammar()
        grammar = ascii_keywords(grammar) if self.ascii_keywords else grammar
        return grammar if self.last is None else ending(grammar, self.last)

    def as_dynamic(self) -> Grammar:
        """A dynamic grammar in which words are whole too. It has all texts of the greedy grammar, and may have more."""
        grammar = self._text_grammar
        if self.text.layout is not None and self.text.layout.columns is None:  # its rules depend on columns
            return super().as_dynamic()
        try:
            return apart(grammar, self._class, self.before_words, self.as_words)
        except LimitError:
            return super().as_dynamic()  # it has more texts, which is allowed

    def laid_out_like(self, texts: Sequence[str]) -> WholeWords:
        return replace(self, text=self.text.laid_out_like(texts))

    @property
    def report(self) -> list[Any]:
        return self.text.report

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings of the grammar."""
        return self.text.findings

    def _build(self) -> Grammar:
        return whole_words(self._text_grammar, self._class, self.before_words, self.as_words)

    def __repr__(self) -> str:
        return f"{self.text!r} with whole words of {self.characters}"


@lru_cache(maxsize=64)
def ascii_keywords(grammar: Grammar) -> Grammar:
    """The grammar with strings in ASCII only: Python's flag `i` adds letters beyond ASCII. Cached."""

    def terminal(old: Terminal) -> Terminal:
        return replace(old, node=_ascii(old.node)) if old.literal else old

    return _with_terminals(grammar, terminal, "ASCII keywords")


@lru_cache(maxsize=64)
def ending(grammar: Grammar, last: str) -> Grammar:
    """The grammar in which nothing is ignored behind the terminal of a name. Cached."""

    def terminal(old: Terminal) -> Terminal:
        return replace(old, ignored_after=()) if old.name == last else old

    return _with_terminals(grammar, terminal, ("last", last))


def _ascii(node: Node) -> Node:
    if isinstance(node, syntax.Concat):
        return syntax.concat(*map(_ascii, node.args))
    plain = intervals.common(node.ranges, ((0, 0x7F),)) if isinstance(node, syntax.Chars) else ()
    return syntax.chars(plain) if plain else node


@lru_cache(maxsize=64)
def whole_words(
    grammar: Grammar, characters: Node, before_words: tuple[str, ...] = (), as_words: tuple[str, ...] = ()
) -> Grammar:
    """The grammar with competitors for all terminals that are not named in `before_words`.

    `characters` is the class of word characters. Cached, so that equal grammars have the same nonterminals and share
    the engine's states.
    """

    def terminal(old: Terminal) -> Terminal:
        return _with_competitor(old, _words(old, characters, before_words, as_words), characters)

    return _with_terminals(grammar, terminal, ("whole words", characters, before_words, as_words))


@lru_cache(maxsize=64)
def apart(
    grammar: Grammar, characters: Node, before_words: tuple[str, ...] = (), as_words: tuple[str, ...] = ()
) -> Grammar:
    """The dynamic grammar in which no word character follows a lexeme that ends in one.

    And no lexeme follows ignored text that it would make longer (unfinished.py). It has all texts of the greedy grammar
    with whole words, whose lexemes are such. What the last character was and what the next one may be are states of the
    rules (`contexts.py`). Nothing is ignored in it. Raises LimitError.
    """
    others = intervals.negate(ranges_of(characters))
    terminals = list(terminals_of(grammar.start))
    ignored = {*grammar.ignore, *(other for terminal in terminals for other in terminal.ignored_after or ())}
    begins = intervals.union(*(first_characters(other.node) for other in (*terminals, *ignored)))
    unfinished = Unfinished((other.node for other in grammar.ignore), (other.node for other in terminals))

    def terminal(old: Terminal) -> Terminal:
        node = syntax.difference(old.node, unfinished.alone) if old in grammar.ignore else old.node
        words = syntax.intersect(_words(old, characters, before_words, as_words), node)
        after = intervals.ANY
        if bool(grammar.closing) == (old in ignored):  # ignored elsewhere: this would multiply the rules (Java: by 8)
            after = _no_longer(old.node, begins) if old in ignored else _after_line(old, terminals, begins)
        if empty_node(words) and after == intervals.ANY:
            return replace(old, node=node, ignored_after=None)
        rows = [LookaroundContext(intervals.ANY, True, intervals.common(others, after), True, words)]
        rest = syntax.difference(node, words)
        if not empty_node(rest):
            rows.append(LookaroundContext(intervals.ANY, True, after, True, rest))
        return replace(old, node=node, ignored_after=None, contexts=tuple(rows))

    if not empty_node(unfinished.continued):
        grammar = replace(grammar, ignore=(*grammar.ignore, Terminal(unfinished.continued, "ignored")))
    spelled_out = inline_ignored_after(grammar) if grammar.closing else replace(grammar, lexer="dynamic")
    changed = _with_terminals(spelled_out, terminal, None)
    whole = changed.start
    if not empty_node(unfinished.alone):
        row = LookaroundContext(intervals.ANY, True, (), True, unfinished.last)
        last = Terminal(unfinished.last, "ignored to the end", contexts=(row,))
        whole = Nonterminal("start", lambda: [[changed.start], [changed.start, last]])
    return replace(eliminate_context(replace(changed, start=whole)), closing=grammar.closing)


def _after_line(terminal: Terminal, terminals: Sequence[Terminal], begins: syntax.Ranges) -> syntax.Ranges:
    """The characters that may follow a terminal that takes in any lexeme behind it, as a line does; else, all."""
    lexemes = intervals.union(*(first_characters(each.node) for each in terminals))
    if terminal.literal or intervals.common(intervals.negate(_last_characters(terminal)), lexemes):
        return intervals.ANY  # some lexeme begins with a character that cannot be in it
    line = Unfinished([terminal.node], (each.node for each in terminals))
    if not empty_node(syntax.difference(terminal.node, line.alone)):
        return intervals.ANY
    return line.stops(begins)


def _last_characters(terminal: Terminal) -> syntax.Ranges:
    return first_characters(mirror(terminal.node))


def _no_longer(node: Node, begins: syntax.Ranges) -> syntax.Ranges:
    """The characters that may follow a lexeme under maximal munch: none that makes every text longer."""
    classes = (each for each in character_classes(node) if intervals.common(each, begins))
    longer = [each for each in classes if empty_node(syntax.difference(node, right_quotient(node, chr(each[0][0]))))]
    return intervals.negate(intervals.union(*longer)) if longer else intervals.ANY


def _with_terminals(grammar: Grammar, change: Callable[[Terminal], Terminal], name: Hashable) -> Grammar:
    """The grammar with other terminals. name: of the change, for the keys of nonterminals; None: for one use."""
    terminals: dict[Terminal, Terminal] = {}
    nonterminals: dict[Nonterminal, Nonterminal] = {}

    def terminal(old: Terminal) -> Terminal:
        if old not in terminals:
            terminals[old] = change(old)
        return terminals[old]

    def symbol(old: Symbol) -> Symbol:
        if isinstance(old, Terminal):
            return terminal(old)
        if old not in nonterminals:
            key = None if old.key is None or name is None else (name, old.key)
            nonterminals[old] = Nonterminal(old.name, partial(alternatives, old), key, old.right_recursive, old.watched)
        return nonterminals[old]

    def alternatives(old: Nonterminal) -> Sequence[Sequence[Symbol]]:
        return [[symbol(member) for member in alternative] for alternative in old.expand()]

    start = symbol(grammar.start)
    assert isinstance(start, Nonterminal)
    return replace(grammar, start=start, ignore=tuple(map(terminal, grammar.ignore)))


def _words(terminal: Terminal, characters: Node, before_words: tuple[str, ...], as_words: tuple[str, ...]) -> Node:
    """The texts of a terminal that no word may follow directly: they end in a word character, or count as words."""
    if terminal.name in before_words or terminal.ignored_after == ():  # nothing is ignored after it: it stands at words
        return syntax.EMPTY
    if terminal.name in as_words:
        return terminal.node
    words = syntax.intersect(terminal.node, syntax.concat(syntax.repeat(syntax.ANY_CHAR), characters))
    return terminal.node if terminal.literal and not empty_node(words) else words  # one word, or none


def _with_competitor(terminal: Terminal, words: Node, characters: Node) -> Terminal:
    if empty_node(words):
        return terminal
    last = _last_characters(terminal)  # other characters end no text of the terminal
    never = intervals.common(intervals.common(ranges_of(characters), BEYOND_ASCII), intervals.negate(last))
    others = syntax.chars(intervals.common(ranges_of(characters), intervals.negate(never)))
    longer = [syntax.difference(syntax.concat(words, others), terminal.node)]
    longer.append(syntax.concat(words, syntax.Begun(never)))
    longer = [node for node in longer if not empty_node(node)]
    if not longer:
        return terminal
    competitor = Terminal(syntax.alternate(*longer), f"{terminal.name} inside a word")
    return replace(terminal, excluding=terminal.excluding | {competitor})
