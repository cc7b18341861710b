"""Sources: what a user asks for, as an immutable description that needs no tokenizer.

    constrain.regex(r"\\d{4}") | constrain.choices(["today", "tomorrow"])

The idea: a source gives a `Grammar` (`to_grammar`, made once), and, where its language is regular, a `Node` (`node`),
on which union and intersection are exact. Sources are values: equal descriptions are equal and hash alike, so
compiled forms can be cached by them.

Limits: the union of grammars is exact under `lexer="dynamic"`; under "greedy" the parts would compete for the longest
lexeme, which is another language, so that is refused. Two context-free languages have no computable intersection in
general, and one with a regular language is not built here: `&` needs regular sources, or sources that know better
(`_intersect`), as JSON schemas do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from constrain.automata.python import parse_python
from constrain.automata.syntax import Node, alternate, intersect, literals
from constrain.errors import GrammarError, RegexError, UnsatisfiableError
from constrain.grammar.analysis import empty_node
from constrain.grammar.build import Reading
from constrain.grammar.gbnf import read_gbnf
from constrain.grammar.lark_reader import read_lark
from constrain.grammar.regular import as_node, spaced_out
from constrain.grammar.rules import Grammar, Lexer, Nonterminal, Symbol, Terminal

if TYPE_CHECKING:
    from constrain.guards import Guard
    from constrain.vocab.vocabulary import Vocabulary

Format = Literal["lark", "gbnf"]
_SHOWN = 60  # characters of a description in messages


class Source:
    """Base of everything that can be compiled. Subclasses are frozen dataclasses and override `_build` or `node`."""

    def to_grammar(self) -> Grammar:
        """The grammar of this source; made at the first call.

        Raises UnsatisfiableError if no text is a member, GrammarError if it cannot be expressed.
        """
        return self._grammar

    @cached_property
    def _grammar(self) -> Grammar:
        return self._build()

    def _build(self) -> Grammar:
        if self.node is None:
            raise NotImplementedError(f"{type(self).__name__} must override node or _build")
        if empty_node(self.node):
            raise UnsatisfiableError(f"no text fulfils {self._shown()}", fix="relax one of its parts")
        terminal = Terminal(self.node, self._shown())
        return Grammar(Nonterminal("start", lambda: [[terminal]], key=("regular", terminal), shared=True))

    @property
    def node(self) -> Node | None:
        """The language as one regular language, or None if it is not known to be one."""
        return None

    @property
    def report(self) -> list[Any]:
        """What is enforced and what is not, entry by entry; empty where everything is."""
        return []

    def check(self, text: str) -> str | None:
        """What the grammar could not enforce about a finished text: None if all is well, else one sentence."""
        return None

    @property
    def residual(self) -> bool:
        """Whether a finished text counts only if it passes `check`."""
        return False

    @property
    def guarded(self) -> bool:
        """Whether there is a `guard`; where it cannot be used, `check` does what it would have done."""
        return False

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """What watches over the text where the grammar's nonterminals ask for it (`Nonterminal.watched`)."""
        return None

    def _unite(self, other: Source) -> Source:
        """Hook for `|`: one source for either, or NotImplemented. Asked of the left side, then of the right."""
        return NotImplemented

    def _intersect(self, other: Source) -> Source:
        """Hook for `&`: a source for both at once, or NotImplemented. Asked of the left side, then of the right."""
        return NotImplemented

    def _shown(self) -> str:
        text = repr(self)
        return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

    def __or__(self, other: Source) -> Source:
        if not isinstance(other, Source):
            return NotImplemented
        for one, two in ((self, other), (other, self)):
            either = one._unite(two)
            if either is not NotImplemented:
                return either
        return Union(tuple(dict.fromkeys([*_parts(self, Union), *_parts(other, Union)])))

    def __and__(self, other: Source) -> Source:
        if not isinstance(other, Source):
            return NotImplemented
        for one, two in ((self, other), (other, self)):
            both = one._intersect(two)
            if both is not NotImplemented:
                return both
        return Intersection(tuple(dict.fromkeys([*_parts(self, Intersection), *_parts(other, Intersection)])))


def _parts(source: Source, kind: type[Union] | type[Intersection]) -> tuple[Source, ...]:
    return source.parts if isinstance(source, kind) else (source,)


@dataclass(frozen=True)
class Regex(Source):
    """A whole-string match of a regular expression; make one with `regex`."""

    pattern: str

    @cached_property
    def node(self) -> Node:
        """The language."""
        return parse_python(self.pattern)

    def __repr__(self) -> str:
        return f"regex({self.pattern!r})"


@dataclass(frozen=True)
class Choices(Source):
    """One of finitely many texts; make one with `choices`."""

    options: tuple[str, ...]

    @cached_property
    def node(self) -> Node:
        """The language, as one node however many options there are."""
        return literals(self.options)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.options[:5]))
        return f"choices([{shown}{', ...' if len(self.options) > 5 else ''}])"


_RELATIVE_IMPORT = re.compile(r"%import\s+\.")


@lru_cache(maxsize=64)
def _read(text: str, kind: Format, start: str, lexer: Lexer) -> Reading:
    """Remembered, so that equal texts have the same nonterminals and share the engine's states."""
    if kind == "gbnf":
        return read_gbnf(text, start=start)
    return read_lark(text, start=start, lexer=lexer)


@dataclass(frozen=True)
class GrammarText(Source):
    """A grammar text; make one with `grammar`."""

    text: str
    format: Format
    start: str
    lexer: Lexer

    @cached_property
    def reading(self) -> Reading:
        """The rules as read. Raises what `read_lark` and `read_gbnf` raise."""
        read = _read.__wrapped__ if _RELATIVE_IMPORT.search(self.text) else _read  # a file may change
        return read(self.text, self.format, self.start, self.lexer)

    @property
    def findings(self) -> tuple[str, ...]:
        """What the analysis found: rules that were dropped or are out of reach, terminals that can never meet."""
        return self.reading.findings

    def _build(self) -> Grammar:
        return self.reading.grammar

    @cached_property
    def node(self) -> Node | None:
        """The language as one regular language, if no rule of it is recursive and it is not too large."""
        return as_node(self.reading)

    def __repr__(self) -> str:
        first = next((line.strip() for line in self.text.splitlines() if line.strip()), "")
        return f"grammar({first!r}, format={self.format!r})"


@dataclass(frozen=True)
class Union(Source):
    """Any of the parts; make one with `|`."""

    parts: tuple[Source, ...]

    @cached_property
    def node(self) -> Node | None:
        """The union, if every part is regular."""
        nodes = [part.node for part in self.parts]
        return None if any(node is None for node in nodes) else alternate(*(node for node in nodes if node is not None))

    def _build(self) -> Grammar:
        if self.node is not None:
            return super()._build()
        starts: list[Sequence[Symbol]] = []
        empty: UnsatisfiableError | None = None
        for part in self.parts:
            try:
                starts.append([_dynamic_start(part)])
            except UnsatisfiableError as error:  # the empty language adds nothing, unless there is nothing else
                empty = error
        if not starts and empty is not None:
            raise empty
        return Grammar(Nonterminal("start", lambda: starts))

    @property
    def report(self) -> list[Any]:
        """The parts' entries."""
        return [entry for part in self.parts for entry in part.report]

    @property
    def residual(self) -> bool:
        """Whether some part has a check; parts have no guards here, since a text may leave the one for the other."""
        return any(part.residual or part.guarded for part in self.parts)

    def check(self, text: str) -> str | None:
        """None if some part has nothing against the text."""
        from constrain.automata.decide import matches  # loads numba

        faults = []
        for part in self.parts:
            if part.node is None:
                fault = part.check(text)
                if fault is None:
                    return None
                faults.append(fault)
            elif matches(part.node, text):
                return None
        return faults[0] if faults else None

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.parts))


def _dynamic_start(part: Source) -> Nonterminal:
    """A start symbol for the part under the dynamic lexer, nothing ignored."""
    if part.node is not None:
        return Regular(part.node).to_grammar().start
    grammar = part.to_grammar()
    if grammar.lexer != "dynamic":
        raise GrammarError(
            f"{part._shown()} has lexer='greedy' and cannot be united with another source: "
            "the longest lexeme would be sought among the parts of both",
            fix="use lexer='dynamic', or write both as one grammar",
        )
    return spaced_out(grammar).start


@dataclass(frozen=True)
class Regular(Source):
    """A regular language given as a syntax tree."""

    language: Node

    @property
    def node(self) -> Node:
        """The language."""
        return self.language


@dataclass(frozen=True)
class Intersection(Source):
    """All of the parts, which are regular; make one with `&`. Raises GrammarError if a part is not regular."""

    parts: tuple[Source, ...]

    def __post_init__(self) -> None:
        for part in self.parts:
            if part.node is None:
                raise GrammarError(
                    f"cannot intersect {part._shown()}: its language is recursive, and & needs regular languages",
                    fix="put the restriction into the grammar's own terminals and rules",
                )

    @cached_property
    def node(self) -> Node:
        """The intersection."""
        return intersect(*(part.node for part in self.parts if part.node is not None))

    def __repr__(self) -> str:
        return " & ".join(f"({part!r})" if isinstance(part, Union) else repr(part) for part in self.parts)


def regex(pattern: str) -> Source:
    r"""Texts that a regular expression matches as a whole, like `re.fullmatch`.

    pattern: Python syntax; `^` and `$` are not needed.
    Raises RegexError, with a caret, for what cannot be read or is not regular (back-references).

    >>> regex(r"[A-Z]{3}-\d+")
    regex('[A-Z]{3}-\\d+')
    """
    if not isinstance(pattern, str):
        raise RegexError(f"a pattern is a str, not {type(pattern).__name__}: {pattern!r}", fix="pass regex.pattern")
    source = Regex(pattern)
    assert source.node is not None  # read now: a fault belongs to this line, not to a later one
    return source


def grammar(text: str, *, format: Format = "lark", start: str | None = None, lexer: Lexer = "dynamic") -> Source:  # noqa: A002
    """Texts of a context-free grammar.

    format: "lark" (Lark's EBNF, imports included) or "gbnf" (llama.cpp).
    start: the rule to start from; by default "start" in Lark, "root" in GBNF.
    lexer: "dynamic" — every way to cut a text into terminals counts; "greedy" — the longest terminal that fits, as
      programming languages are lexed. GBNF has no terminals and is always "dynamic".
    Raises GrammarError with line, column and caret; UnsatisfiableError if the start rule derives no text.
    """
    if not isinstance(text, str):
        raise GrammarError(
            f"a grammar is a str, not {type(text).__name__}: {text!r:.60}", fix="pass the grammar's text"
        )
    if format not in get_args(Format):
        raise GrammarError(f"unknown grammar format {format!r}", fix="use format='lark' or format='gbnf'")
    if lexer not in get_args(Lexer):
        raise GrammarError(f"unknown lexer {lexer!r}", fix="use lexer='dynamic' or lexer='greedy'")
    if format == "gbnf" and lexer == "greedy":
        raise GrammarError("GBNF has no lexer: lexer='greedy' has no meaning", fix="use lexer='dynamic'")
    source = GrammarText(text, format, start if start is not None else "root" if format == "gbnf" else "start", lexer)
    source.to_grammar()  # read now: a fault belongs to this line, not to a later one
    return source


def choices(options: Iterable[str]) -> Source:
    """One of these texts, exactly; 100,000 of them are fine.

    Raises UnsatisfiableError if there are none, GrammarError if one is not a str or has a lone surrogate.
    """
    if isinstance(options, str):
        raise GrammarError(f"choices need a list of texts, not one text: {options!r:.60}", fix="write choices([text])")
    listed = tuple(options)
    for index, option in enumerate(listed):
        if not isinstance(option, str):
            message = f"choice {index} is not a str but {type(option).__name__}: {option!r:.60}"
            raise GrammarError(message, fix="convert it with str() or json.dumps()")
        if any("\ud800" <= character <= "\udfff" for character in option):
            raise GrammarError(f"choice {index} has a lone surrogate: {option!r:.60}", fix="it is not text: remove it")
    if not listed:
        raise UnsatisfiableError("choices needs at least one option: no text is one of none", fix="give an option")
    return Choices(tuple(dict.fromkeys(listed)))
