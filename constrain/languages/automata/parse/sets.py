r"""Reads character classes: `[a-z]`, POSIX classes `[[:alpha:]]`, sets inside of sets, and the operators between them.

The idea: a cursor on the pattern that all dialects share. Python's `re` reads `[`, `--`, `&&`, `~~`, `||` in a class as
characters, and warns that a set may be meant; the `regex` package (V1), Rust and ECMA-262's flag `v` read sets. Where
`re` would warn, a class is *in doubt*: Python's dialect reads it as `regex` does, if that has a meaning for it; ECMA's
refuses it, if it would end elsewhere. Rust's reads sets everywhere.

Operators, of `regex` from loose to tight: `||`, `~~`, `&&`, `--`; in Rust all are equal. Juxtaposition binds tighter.
Cost: linear in the class; sets are at most `MAX_SETS` deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from constrain.errors import RegexError, span
from constrain.languages.automata.syntax import Chars, Node, Ranges
from constrain.languages.automata.unicode import intervals
from constrain.lazily import Remembered

MAX_SETS = 60  # sets inside of each other
SIMPLE_CLASS = re.compile(r"\[[^\\\]]{1,60}\]")  # short, and without escapes
MAX_CLASSES = 4096  # simple classes that are remembered: most patterns have the same few
_POSIX = re.compile(r"\[:(\^?)([A-Za-z][A-Za-z0-9 _&.:=-]*):\]")
_OPERATORS: dict[str, Callable[[Ranges, Ranges], Ranges]] = {
    "||": intervals.union,
    "~~": lambda one, other: intervals.union(intervals.subtract(one, other), intervals.subtract(other, one)),
    "&&": intervals.common,
    "--": intervals.subtract,
}

_classes: Remembered[tuple[type, Flags, str], Node] = Remembered(MAX_CLASSES)


@dataclass(frozen=True)
class Flags:
    """The modes that a pattern can set, for all of it or for a group."""

    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False
    verbose: bool = False
    ascii: bool = False


class SetParser:
    """A cursor on a pattern, and the reader of its classes. Dialects override the methods in the last section.

    Attributes:
        text: The pattern.
        at: The current position.
        flags: The flags in force.
        doubt: Where the class that was read last may have a set inside; None if nowhere.
    """

    def __init__(self, text: str, flags: Flags) -> None:
        self.text = text
        self.at = 0
        self.flags = flags
        self.doubt: int | None = None

    def fail(self, message: str, index: int, length: int = 1, fix: str | None = None) -> NoReturn:
        """Raise a `RegexError` that shows a place in the pattern."""
        raise RegexError(message, place=span(self.text, index, length), fix=fix)

    def take(self, expected: str) -> bool:
        """True if a text comes next; if so, advance behind it."""
        present = self.text.startswith(expected, self.at)
        self.at += len(expected) if present else 0
        return present

    def peek(self) -> str:
        """The next character, or "" at the end."""
        return self.text[self.at : self.at + 1]

    def read_class(self) -> Node:
        """Read a character class `[...]`. PERF: one without escapes is remembered, in a tenth of the time."""
        simple = SIMPLE_CLASS.match(self.text, self.at)
        if simple is None:
            return Chars(self.new_class())
        key = type(self), self.flags, simple.group()
        known = _classes.get(key)
        if known is not None:
            self.at = simple.end()
            return known
        made = Chars(self.new_class())
        if self.at == simple.end() and self.doubt is None:  # what ends later, or is in doubt, depends on what follows
            _classes.keep(key, made)
        return made

    def new_class(self) -> Ranges:
        """Read a character class that is not known yet."""
        opening, plain, fault = self.at, None, None
        self.doubt = opening if self.text.startswith("[[", opening) else None
        try:
            plain = self.plain_class(opening), self.at
        except RegexError as error:
            fault = error
        doubt = self.doubt
        if doubt is not None:
            try:
                self.at = opening
                nested = self.nested_set(1)
            except RegexError:  # there is one way to read it only
                self.at = plain[1] if plain else opening
                self.unsettled(doubt)
            else:
                return self.settled(plain, nested, doubt)
        if plain is None:
            assert fault
            raise fault
        return plain[0]

    def plain_class(self, opening: int) -> Ranges:
        """Read a class in which brackets and operators are characters, and notice where a set may be meant."""
        self.at += 1
        negative = self.take("^")
        first = self.at
        singles: list[tuple[int, int]] = []
        sets: list[Ranges] = []
        while not (self.peek() == "]" and (self.at > first or self.closes_at_once)):
            if self.at > first and self.text[self.at : self.at + 2] in _OPERATORS:
                self.doubt = self.at
            self.member(opening, singles, sets)
        self.at += 1
        ranges = self.close_case(singles, sets)
        return intervals.negate(ranges) if negative else ranges

    def member(self, opening: int, singles: list[tuple[int, int]], sets: list[Ranges], depth: int = 0) -> None:
        """Read a character, a range or a set. depth: how deep sets are inside of each other; 0: they are characters."""
        if self.at >= len(self.text):
            self.fail("this character class is not closed", opening, fix="add ], or write \\[ for a bracket")
        start = self.at
        low = self.set_or_atom(depth)
        if self.text.startswith("--", self.at):
            self.doubt = self.at
        if self.begins_range(depth) and not isinstance(low, int):
            self.refuse_set_in_range(start)
        elif self.begins_range(depth) and isinstance(low, int):
            self.at += 1
            high = self.set_or_atom(depth)
            if isinstance(high, int):
                if high < low:
                    self.fail("the ends of this range are in the wrong order", start, self.at - start)
                singles.append((low, high))
                return
            self.refuse_set_in_range(start)
            singles += [(low, low), (0x2D, 0x2D)]  # `a-\d`: a, the hyphen, and \d (ECMA-262 annex B.1.2.8.1)
            low = high
        if isinstance(low, int):
            singles.append((low, low))
        else:
            sets.append(low)

    def set_or_atom(self, depth: int) -> int | Ranges:
        """Read a set inside of a set of this depth, or a character or escape."""
        is_set = depth and self.peek() == "[" and not _POSIX.match(self.text, self.at)
        return self.nested_set(depth + 1) if is_set else self.class_atom()

    def begins_range(self, depth: int) -> bool:
        """True if a hyphen and the end of a range come next."""
        following = self.text[self.at + 1 : self.at + 2]
        return self.peek() == "-" and following not in ("]", "") and not (depth and following == "-")

    def class_atom(self) -> int | Ranges:
        """Read one character or escape inside `[...]`."""
        if self.peek() == "\\":
            return self.class_escape()
        if self.peek() == "[" and (found := _POSIX.match(self.text, self.at)):
            self.doubt = self.at
            named = self.posix_class(found[2])
            if named is None:
                self.fail(f"the class [:{found[2]}:] is not known", self.at, len(found[0]), self.posix_fix)
            self.at = found.end()
            return intervals.negate(named) if found[1] else named
        self.at += 1
        return ord(self.text[self.at - 1])

    # --- sets inside of sets ----------------------------------------------------------------------------------------

    def nested_set(self, depth: int) -> Ranges:
        """Read a class in which brackets and operators are those of sets."""
        opening = self.at
        if depth > MAX_SETS:
            self.fail("sets are too deep inside of each other", opening)
        self.at += 1
        negative = self.take("^")
        ranges = self.operand(0, depth, self.leading_characters())
        if not self.take("]"):
            self.fail("this character class is not closed", opening, fix="add ], or write \\[ for a bracket")
        return self.negate(ranges) if negative else ranges

    def operand(self, level: int, depth: int, singles: list[tuple[int, int]]) -> Ranges:
        """Read what binds at least as tight as a level. singles: characters that were read already."""
        ranges = self.juxtaposed(depth, singles)
        while self.operators.get(operator := self.text[self.at : self.at + 2], -1) >= level:
            self.at += 2
            ranges = _OPERATORS[operator](ranges, self.operand(self.operators[operator] + 1, depth, []))
        return ranges

    def juxtaposed(self, depth: int, singles: list[tuple[int, int]]) -> Ranges:
        """Read characters, ranges and sets, up to an operator or the closing bracket."""
        opening, sets, required = self.at, list[Ranges](), self.operand_is_required
        while required or not (self.peek() == "]" or self.text[self.at : self.at + 2] in self.operators):
            required = False
            self.member(opening, singles, sets, depth)
        return self.close_case(singles, sets)

    # --- for the dialects -------------------------------------------------------------------------------------------

    closes_at_once = False  # whether `[]` closes the class
    operators: ClassVar[Mapping[str, int]] = {"||": 0, "~~": 1, "&&": 2, "--": 3}  # how tight: as in `regex`
    posix_fix = "write \\[ for a bracket, or a class of POSIX: [:alpha:], [:digit:], [:alnum:], [:space:], [:punct:]"
    operand_is_required = True  # whether the first character of an operand is one, also if it is `]` or of an operator

    def settled(self, plain: tuple[Ranges, int] | None, nested: Ranges, doubt: int) -> Ranges:
        """The meaning of a class in doubt. plain: its characters and end without sets, None if it is none."""
        return nested

    def unsettled(self, doubt: int) -> None:
        """Take notice that a class in doubt has no sets."""

    def leading_characters(self) -> list[tuple[int, int]]:
        """Read the characters behind a bracket that are no operators there."""
        return []

    def refuse_set_in_range(self, start: int) -> None:
        r"""Refuse `\d-z` and `a-\d`, in dialects that do; in others the hyphen is a character."""

    def posix_class(self, name: str) -> Ranges | None:
        """The characters of `[:name:]`, for dialects that have it."""
        return None

    def class_escape(self) -> int | Ranges:
        """Read an escape inside `[...]`: a code point or a set."""
        raise NotImplementedError

    def negate(self, ranges: Ranges) -> Ranges:
        """All other characters."""
        return intervals.negate(ranges)

    def close_case(self, singles: list[tuple[int, int]], sets: list[Ranges]) -> Ranges:
        """The union of written characters and of class escapes, with case variants if the flags say so."""
        raise NotImplementedError
