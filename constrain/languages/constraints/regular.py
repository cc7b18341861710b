"""Constraints whose language is regular: `regex`, `choices`, and `Regular` for a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import Any, Literal, get_args

from constrain.errors import GrammarError, RegexError, UnsatisfiableError
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import Node, Ranges, Tokens, literals
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.constraints.base import Constraint
from constrain.lazily import lazily
from constrain.limits import default_limits, limits_at, tick

Dialect = Literal["python", "ecma", "rust"]
_NAMED = re.compile(r"\(\?P?<([^\W\d]\w*)>")
_FLAGS = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


@dataclass(frozen=True)
class Regex(Constraint):
    """The texts that a regular expression matches as a whole; make one with `regex`."""

    pattern: str
    dialect: Dialect = "python"

    @lazily
    def node(self) -> Node:
        if self.dialect == "python":
            return parse_python(self.pattern)
        if self.dialect == "ecma":
            return parse_ecma(self.pattern, whole=True)
        from constrain.languages.automata.parse.rust import parse_rust

        return parse_rust(self.pattern, whole=True)

    @property
    def captured(self) -> bool:
        """True if the pattern has named groups."""
        return _NAMED.search(self.pattern) is not None

    @lazily
    def _groups(self) -> Any:
        """The pattern, compiled by `re` or the package `regex`, which say what groups match; None: neither reads it."""
        for text in (self.pattern, _NAMED.sub(r"(?P<\1>", self.pattern)):
            with suppress(re.error):
                return re.compile(text)
        try:
            regex = import_module("regex")
            return regex.compile(self.pattern, regex.V1)
        except Exception:  # not installed, or it does not read the dialect
            return None

    def capture_spans(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> list[tuple[str, int, int]]:
        """(name, begin, end) of the named groups, in bytes, in the order in which they end."""
        whole = text.decode()
        found = self._groups.fullmatch(whole) if self._groups is not None else None
        named = [(name, *found.span(name)) for name in found.groupdict()] if found else []
        matched = sorted((span for span in named if span[1] >= 0), key=lambda span: (span[2], -span[1]))
        return [(name, len(whole[:begin].encode()), len(whole[:end].encode())) for name, begin, end in matched]

    def __repr__(self) -> str:
        dialect = "" if self.dialect == "python" else f", dialect={self.dialect!r}"
        return f"regex({self.pattern!r}{dialect})"


@dataclass(frozen=True)
class Choices(Constraint):
    """Finitely many texts; make one with `choices`."""

    options: tuple[str, ...]

    @lazily
    def node(self) -> Node:
        """The language: one node, however many options there are."""
        return literals(self.options)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.options[:5]))
        return f"choices([{shown}{', ...' if len(self.options) > 5 else ''}])"


@dataclass(frozen=True)
class Regular(Constraint):
    """A regular language given as a syntax tree. shown: what it was made from, for messages."""

    language: Node
    shown: str = field(default="", compare=False)

    @property
    def node(self) -> Node:
        return self.language

    def __repr__(self) -> str:
        return self.shown or f"Regular({self.language!r})"


@dataclass(frozen=True, repr=False)
class EnumChoices(Choices):
    """The values of an Enum; `parse` gives the member."""

    enum: type[Enum]

    def parse(self, text: str) -> Enum:
        """The member with this value."""
        return self.enum(text)


def _pattern_text(pattern: re.Pattern[str]) -> str:
    """A compiled pattern as text, its flags written at the beginning."""
    text = pattern.pattern
    written = re.match(r"\(\?([aimsux]+)\)", text)
    flags = "".join(letter for letter, flag in _FLAGS.items() if pattern.flags & flag)
    text = text[written.end() :] if written else text
    return f"(?{flags}){text}" if flags else text


def regex(pattern: str | re.Pattern[str], *, dialect: Dialect = "python") -> Constraint:
    r"""Texts that a regular expression matches as a whole, like `re.fullmatch`.

    Args:
        pattern: A pattern, or a compiled pattern of Python's with its flags; `^` and `$` are not needed.
        dialect: "python": that of `re`, and of the package `regex` where `re` refuses a pattern or warns of it. "ecma":
            JavaScript's syntax with the flag `u` (ECMA-262, section 22.2), which is that of JSON Schema's `pattern`;
            `\d` and `\w` are ASCII there. "rust": that of Rust's `regex` crate and of pydantic's `pattern=`.

    Returns:
        A constraint.

    Raises:
        RegexError: The pattern is malformed or not regular (back-references); the message has a caret.
        LimitError: It has too many groups inside each other, or too many combinations of assertions.

    Example:
        >>> import constrain
        >>> constrain.regex(r"[A-Z]{3}-\d+")
        regex('[A-Z]{3}-\\d+')
        >>> constrain.regex(r"(?<face>\u{1F600})[^]", dialect="ecma")
        regex('(?<face>\\u{1F600})[^]', dialect='ecma')
    """
    if not isinstance(dialect, str) or dialect not in get_args(Dialect):
        raise RegexError(f"unknown dialect {dialect!r:.60}", fix="use dialect='python', 'ecma' or 'rust'")
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        if dialect != "python":
            fix = "pass its text, or leave dialect= out"
            raise RegexError(f"a compiled pattern is in Python's syntax, not in that of {dialect}", fix=fix)
        pattern = _pattern_text(pattern)
    if not isinstance(pattern, str):
        raise RegexError(
            f"a pattern is a str or a compiled pattern of str, not {type(pattern).__name__}: {pattern!r}",
            fix="pass the pattern as text",
        )
    constraint = Regex(pattern, dialect)
    assert constraint.node is not None  # reads the pattern: errors are raised here, not at the first use
    return constraint


def choices(options: Iterable[str] | type[Enum]) -> Constraint:
    """One of these texts, exactly.

    Args:
        options: The texts (100,000 are fine), or an Enum whose values are texts. With an Enum, the value of an output
            is a member of it.

    Returns:
        A constraint.

    Raises:
        UnsatisfiableError: There are no texts.
        GrammarError: One of them is not a str, or has a lone surrogate.

    Example:
        >>> import constrain
        >>> constrain.choices(["yes", "no"])
        choices(['yes', 'no'])
    """
    if isinstance(options, str):
        raise GrammarError(f"choices need a list of texts, not one text: {options!r:.60}", fix="write choices([text])")
    if not isinstance(options, Iterable):
        raise GrammarError(
            f"choices need a list of texts, not {type(options).__name__}: {options!r:.60}", fix="write choices([text])"
        )
    enum = options if isinstance(options, type) and issubclass(options, Enum) else None
    listed = tuple(options) if enum is None else tuple(member.value for member in enum)
    index = 0
    with limits_at(lambda: f"choice {index}"), default_limits().reading("the choices", "give fewer"):
        for index, option in enumerate(listed):
            tick()
            if not isinstance(option, str):
                message = f"choice {index} is not a str but {type(option).__name__}: {option!r:.60}"
                raise GrammarError(message, fix="convert it with str() or json.dumps()")
            if has_lone_surrogate(option):
                raise GrammarError(
                    f"choice {index} has a lone surrogate: {option!r:.60}", fix="it is not text: remove it"
                )
    if not listed:
        raise UnsatisfiableError("choices needs at least one option: no text is one of none", fix="give an option")
    distinct = tuple(dict.fromkeys(listed))
    return Choices(distinct) if enum is None else EnumChoices(distinct, enum)
