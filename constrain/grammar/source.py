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

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from constrain.automata.python import parse_python
from constrain.automata.syntax import Node, alternate, intersect, literals
from constrain.errors import GrammarError, RegexError, UnsatisfiableError
from constrain.grammar.analysis import empty_node
from constrain.grammar.build import Reading, build
from constrain.grammar.ebnf import Choice, Expression
from constrain.grammar.ebnf_reader import read_ebnf
from constrain.grammar.finished import check_finished
from constrain.grammar.gbnf import read_gbnf
from constrain.grammar.lark_reader import read_lark
from constrain.grammar.layout import Layout, read_layout
from constrain.grammar.parts import Branch, branches, guard_of, parts_of
from constrain.grammar.parts import part as part_of
from constrain.grammar.regular import as_node
from constrain.grammar.rules import Grammar, Lexer, Nonterminal, Terminal
from constrain.lazily import lazily

if TYPE_CHECKING:
    from constrain.guards import Guard
    from constrain.vocab.vocabulary import Vocabulary

Format = Literal["lark", "gbnf", "ebnf"]
_SHOWN = 60  # characters of a description in messages


class Source:
    """Base of everything that can be compiled. Subclasses are frozen dataclasses and override `_build` or `node`.

    composite: its grammar's own nonterminals carry the checks of its parts (`Composite`).
    """

    composite: ClassVar[bool] = False

    def to_grammar(self) -> Grammar:
        """The grammar of this source; made at the first call.

        Raises UnsatisfiableError if no text is a member, GrammarError if it cannot be expressed.
        """
        return self._grammar

    @lazily
    def _grammar(self) -> Grammar:
        return self._build()

    def _build(self) -> Grammar:
        if self.node is None:
            raise NotImplementedError(f"{type(self).__name__} must override node or _build")
        if empty_node(self.node):
            raise UnsatisfiableError(f"no text fulfils {self._shown()}", fix="relax one of its parts")
        terminal = Terminal(self.node, self._shown())
        return Grammar(Nonterminal("start", lambda: [[terminal]], key=("regular", terminal), shared=True))

    def as_dynamic(self) -> Grammar:
        """A grammar for `lexer="dynamic"` with the texts of this source; of a greedy one it may have more."""
        return replace(self.to_grammar(), lexer="dynamic")

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

    @lazily
    def node(self) -> Node:
        """The language."""
        return parse_python(self.pattern)

    def __repr__(self) -> str:
        return f"regex({self.pattern!r})"


@dataclass(frozen=True)
class Choices(Source):
    """One of finitely many texts; make one with `choices`."""

    options: tuple[str, ...]

    @lazily
    def node(self) -> Node:
        """The language, as one node however many options there are."""
        return literals(self.options)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.options[:5]))
        return f"choices([{shown}{', ...' if len(self.options) > 5 else ''}])"


class Composite(Source):
    """Base of sources made of rules that may have other sources as parts; see `parts`. Subclasses give `reading`."""

    composite = True

    @property
    def reading(self) -> Reading:
        """The rules as read."""
        raise NotImplementedError

    def _build(self) -> Grammar:
        return self.reading.grammar

    @lazily
    def members(self) -> tuple[Source, ...]:
        """The parts that are sources of their own, and not regular."""
        return parts_of(self.reading.rules.values())

    @lazily
    def _branches(self) -> list[Branch] | None:
        guarded = any(part.guarded for part in self.members)
        return branches(self.reading.rules, self.reading.start) if guarded else None

    @property
    def report(self) -> list[Any]:
        """The parts' entries."""
        return [entry for part in self.members for entry in part.report]

    @property
    def residual(self) -> bool:
        """Whether some part has a check, or a guard that cannot be used as it is not certain where the part begins."""
        return any(part.residual or (part.guarded and self._branches is None) for part in self.members)

    @property
    def guarded(self) -> bool:
        """Whether a fixed text says where each guarded part begins."""
        return self._branches is not None

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guard of the part that the text has led to."""
        return None if self._branches is None else guard_of(self._branches, vocabulary)

    def check(self, text: str) -> str | None:
        """None if the parts have nothing against some derivation of the text."""
        if not any(part.residual or part.guarded for part in self.members):
            return None
        return check_finished(self.to_grammar(), text)


_RELATIVE_IMPORT = re.compile(r"%import\s+\.")


@lru_cache(maxsize=64)
def _read(text: str, kind: Format, start: str, lexer: Lexer, base: str | None, layout: Layout | None) -> Reading:
    """Remembered, so that equal texts have the same nonterminals and share the engine's states."""
    if kind != "lark":
        return (read_gbnf if kind == "gbnf" else read_ebnf)(text, start=start)
    return read_lark(text, start=start, lexer=lexer, base=base, layout=layout)


@dataclass(frozen=True)
class GrammarText(Composite):
    """A grammar text; make one with `grammar`."""

    text: str
    format: Format
    start: str
    lexer: Lexer
    base: str | None = None
    layout: Layout | None = None

    @lazily
    def reading(self) -> Reading:
        """The rules as read. Raises what `read_lark` and `read_gbnf` raise."""
        read = _read.__wrapped__ if _RELATIVE_IMPORT.search(self.text) else _read  # a file may change
        return read(self.text, self.format, self.start, self.lexer, self.base, self.layout)

    @property
    def findings(self) -> tuple[str, ...]:
        """What the analysis found: rules that were dropped or are out of reach, terminals that can never meet."""
        return self.reading.findings

    @lazily
    def node(self) -> Node | None:
        """The language as one regular language, if no rule of it is recursive and it is not too large."""
        return as_node(self.reading)

    def __repr__(self) -> str:
        first = next((line.strip() for line in self.text.splitlines() if line.strip()), "")
        return f"grammar({first!r}, format={self.format!r})"


@dataclass(frozen=True)
class Union(Composite):
    """Any of the parts; make one with `|`."""

    parts: tuple[Source, ...]

    @lazily
    def node(self) -> Node | None:
        """The union, if every part is regular."""
        nodes = [part.node for part in self.parts]
        return None if any(node is None for node in nodes) else alternate(*(node for node in nodes if node is not None))

    @lazily
    def reading(self) -> Reading:
        """One rule. A part without texts adds nothing, unless there is nothing else."""
        rules: dict[str, Expression] = {"start": Choice(tuple(map(part_of, self.parts)))}
        try:
            return build(rules, "start", folded=True, place=lambda name: None)
        except UnsatisfiableError:
            for part in self.parts:
                part.to_grammar()  # raises what is wrong with it
            raise

    def _build(self) -> Grammar:
        return Source._build(self) if self.node is not None else self.reading.grammar

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.parts))


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
    """All of the parts, of which at most one is not regular; make one with `&`.

    Raises GrammarError if two parts are not regular, or if one is under lexer="greedy".
    """

    parts: tuple[Source, ...]

    def __post_init__(self) -> None:
        others = [part for part in self.parts if part.node is None]
        if len(others) > 1:
            raise GrammarError(
                f"cannot intersect {others[0]._shown()} and {others[1]._shown()}: both are recursive, and what they "
                "have in common cannot be computed",
                fix="write one of them as a regular language, or put the restriction into the other's rules",
            )
        if others and others[0].to_grammar().lexer != "dynamic":
            raise GrammarError(
                f"cannot intersect {others[0]._shown()}, which has lexer='greedy': the longest lexeme would be sought "
                "among lexemes that the other side has cut",
                fix="use lexer='dynamic', or put the restriction into the grammar's own terminals and rules",
            )

    @lazily
    def _other(self) -> Source | None:
        """The part that is not regular."""
        return next((part for part in self.parts if part.node is None), None)

    @lazily
    def _regular(self) -> Node:
        return intersect(*(part.node for part in self.parts if part.node is not None))

    @property
    def node(self) -> Node | None:
        """The intersection, if all parts are regular."""
        return self._regular if self._other is None else None

    def _build(self) -> Grammar:
        if self._other is None:
            return super()._build()
        from constrain.grammar.product import product  # loads numba

        return product(self._other.to_grammar(), self._regular)

    @property
    def report(self) -> list[Any]:
        """The entries of the part that is not regular."""
        return [] if self._other is None else self._other.report

    @property
    def residual(self) -> bool:
        """Whether a finished text counts only if it passes `check`."""
        return self._other is not None and self._other.residual

    def check(self, text: str) -> str | None:
        """What the part that is not regular could not enforce."""
        return None if self._other is None else self._other.check(text)

    @property
    def guarded(self) -> bool:
        """Whether the part that is not regular has a guard."""
        return self._other is not None and self._other.guarded

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guard of the part that is not regular."""
        return None if self._other is None else self._other.guard(vocabulary)

    def __getattr__(self, name: str) -> Any:
        if name == "parse" and self._other is not None:  # only where that part has values
            return self._other.parse  # type: ignore[attr-defined]
        raise AttributeError(name)

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


def grammar(
    text: str | os.PathLike[str],
    *,
    format: Format = "lark",  # noqa: A002
    start: str | None = None,
    lexer: Lexer | None = None,
    base: str | os.PathLike[str] | None = None,
    layout: Layout | Mapping[str, Any] | None = None,
) -> Source:
    """Texts of a context-free grammar.

    text: the grammar, or the path of a file that holds it (a `Path`, not a str).
    format: "lark" (Lark's EBNF, imports included), "gbnf" (llama.cpp) or "ebnf" (XGrammar).
    start: the rule to start from; by default "start" in Lark, "root" otherwise.
    lexer: "dynamic" — every way to cut a text into terminals counts; "greedy" — the longest terminal that fits, as
      programming languages are lexed. By default "dynamic", with a layout "greedy"; GBNF and EBNF have no terminals and
      are always "dynamic".
    layout: what lines, columns and brackets mean (Lark); None: nothing. A mapping of a `Layout`'s fields is taken too.
    base: the folder that relative imports of Lark start from (`%import .name.rule`); by default that of the file, else
      the working directory.
    Raises GrammarError with line, column and caret; UnsatisfiableError if the start rule derives no text; OSError if
    the file cannot be read.
    """
    if isinstance(text, os.PathLike):
        base = os.path.dirname(text) if base is None else base
        text = _file(text)
    if not isinstance(text, str):
        raise GrammarError(
            f"a grammar is a str, not {type(text).__name__}: {text!r:.60}", fix="pass the grammar's text, or a Path"
        )
    if format not in get_args(Format):
        raise GrammarError(f"unknown grammar format {format!r}", fix="use format='lark', 'gbnf' or 'ebnf'")
    lines = None if layout is None else read_layout(layout)
    if lexer is None:
        lexer = "greedy" if lines is not None else "dynamic"
    if lexer not in get_args(Lexer):
        raise GrammarError(f"unknown lexer {lexer!r}", fix="use lexer='dynamic' or lexer='greedy'")
    if format != "lark" and lexer == "greedy":
        raise GrammarError(f"{format.upper()} has no lexer: lexer='greedy' has no meaning", fix="use lexer='dynamic'")
    if lines is not None and (format != "lark" or lexer == "dynamic"):
        raise GrammarError("a layout needs a Lark grammar and lexer='greedy'", fix="leave out format= and lexer=")
    start = start if start is not None else "start" if format == "lark" else "root"
    source = GrammarText(text, format, start, lexer, None if base is None else os.fspath(base), lines)
    source.to_grammar()  # read now: a fault belongs to this line, not to a later one
    return source


def _file(path: os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        raw = file.read()
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = f"{os.fspath(path)} is not UTF-8: {error.reason} at byte {error.start}"
        raise GrammarError(message, fix="encode it as UTF-8") from None


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
