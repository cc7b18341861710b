"""Constraints whose language is regular: `regex`, `choices`, and `Regular` for a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from constrain.automata.parse.python import parse_python
from constrain.automata.syntax import Node, literals
from constrain.constraints.base import Constraint
from constrain.errors import GrammarError, RegexError, UnsatisfiableError
from constrain.lazily import lazily

_FLAGS = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


@dataclass(frozen=True)
class Regex(Constraint):
    """The texts that a regular expression matches as a whole; make one with `regex`."""

    pattern: str

    @lazily
    def node(self) -> Node:
        """The language."""
        return parse_python(self.pattern)

    def __repr__(self) -> str:
        return f"regex({self.pattern!r})"


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
    """A regular language given as a syntax tree."""

    language: Node

    @property
    def node(self) -> Node:
        """The language."""
        return self.language


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


def regex(pattern: str | re.Pattern[str]) -> Constraint:
    r"""Texts that a regular expression matches as a whole, like `re.fullmatch`.

    Args:
        pattern: A pattern in Python's syntax, or a compiled pattern with its flags; `^` and `$` are not needed.

    Returns:
        A constraint.

    Raises:
        RegexError: The pattern is malformed or not regular (back-references); the message has a caret.
        LimitError: It has too many groups inside each other, or too many combinations of assertions.

    Example:
        >>> import constrain
        >>> constrain.regex(r"[A-Z]{3}-\d+")
        regex('[A-Z]{3}-\\d+')
    """
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        pattern = _pattern_text(pattern)
    if not isinstance(pattern, str):
        raise RegexError(
            f"a pattern is a str or a compiled pattern of str, not {type(pattern).__name__}: {pattern!r}",
            fix="pass the pattern as text",
        )
    constraint = Regex(pattern)
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
    for index, option in enumerate(listed):
        if not isinstance(option, str):
            message = f"choice {index} is not a str but {type(option).__name__}: {option!r:.60}"
            raise GrammarError(message, fix="convert it with str() or json.dumps()")
        if any("\ud800" <= character <= "\udfff" for character in option):
            raise GrammarError(f"choice {index} has a lone surrogate: {option!r:.60}", fix="it is not text: remove it")
    if not listed:
        raise UnsatisfiableError("choices needs at least one option: no text is one of none", fix="give an option")
    distinct = tuple(dict.fromkeys(listed))
    return Choices(distinct) if enum is None else EnumChoices(distinct, enum)
