"""Parser of Python's `re` patterns, matched against a whole text (`re.fullmatch`).

The idea: Python's own compiler validates the pattern, so errors are its errors, with their place; the parser below
translates it. `flags` are those of `re`. Anchors, lookaround, `re.MULTILINE`, case-insensitivity and Unicode classes
mean exactly the same as in this version of Python; a lazy quantifier matches the same texts as a greedy one.
Classes in which `re` warns of sets are read as the `regex` package reads them (sets.py), and so is much that `re`
refuses (extended.py).
Limits: backreferences and conditional groups are not regular. Atomic groups and possessive quantifiers are read where
a look-ahead says what they exclude (atomic.py).
Reference: https://docs.python.org/3/library/re.html#regular-expression-syntax
"""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings

from constrain.errors import LimitError, RegexError, span
from constrain.languages.automata.parse import assertions, atomic
from constrain.languages.automata.parse.assertions import Look, Near, Tree
from constrain.languages.automata.parse.parser import PLAIN_RUN, Kind, OpenGroup, PatternParser, finish_pattern
from constrain.languages.automata.parse.sets import Flags
from constrain.languages.automata.syntax import Node, Ranges, chars, literals
from constrain.languages.automata.unicode import casing, intervals
from constrain.languages.automata.unicode.classes import (
    ASCII_DIGIT,
    ASCII_SPACE,
    ASCII_WORD,
    posix_class,
    python_class,
    unicode_property,
)

MAX_PATTERN = 250_000  # characters of a pattern with operators
IRREGULAR = "write the texts as alternatives, or give a wider pattern and check=constrain.sampling.pattern_check(...)"
_CONTROLS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_BLANKS = " \t\n\r\v\f"
_MANY_DIGITS = re.compile(r"[0-9]{4301}")  # Python reads no more of a number
_ASCII_CLASSES = {"d": ASCII_DIGIT, "s": ASCII_SPACE, "w": ASCII_WORD}


def parse_python(pattern: str, *, flags: int = 0, anywhere: bool = False) -> Node:
    """The texts that `re.fullmatch(pattern, text, flags)` matches; if anywhere, those in which `re.search`
    finds it, for which sets in classes are no sets.

    Raises:
        RegexError: The pattern cannot be read or is not regular; with its place.
        LimitError: Groups are nested too deeply, or there are too many combinations of assertions.
    """
    if not isinstance(pattern, str):
        raise RegexError(f"a pattern must be a text, not {pattern!r}")
    fault = None
    try:
        effective = _compiled_flags(pattern, flags)
    except RegexError as error:
        if _MANY_DIGITS.search(pattern):
            raise
        effective, fault = flags, error
    except RecursionError:
        PythonParser(pattern, Flags()).read()  # raises an error with the place, unless the stack was nearly full before
        raise LimitError("the pattern is nested too deeply", fix="use fewer levels, or call it from fewer") from None
    modes = Flags(
        ignore_case=bool(effective & re.IGNORECASE),
        dot_all=bool(effective & re.DOTALL),
        multi_line=bool(effective & re.MULTILINE),
        verbose=bool(effective & re.VERBOSE),
        ascii=bool(effective & re.ASCII),
    )
    parser = (_SearchParser if anywhere else PythonParser)(pattern, modes)
    if fault is None:
        tree = parser.read()
    else:
        from constrain.languages.automata.parse.extended import parse_extended

        tree = parse_extended(pattern, modes, fault)
    return finish_pattern(parser, assertions.anywhere(tree) if anywhere else tree)


def _compiled_flags(pattern: str, flags: int) -> int:
    """The flags, and the flags that the pattern sets itself. Python's compiler checks the pattern.

    It takes 2 µs a character, and nothing stops it: what is no more than a text does not need it.
    """
    if flags == 0 and PLAIN_RUN.fullmatch(pattern):
        return int(re.UNICODE)
    if len(pattern) > MAX_PATTERN:
        raise LimitError(
            f"a pattern of {len(pattern)} characters, with operators, is longer than {MAX_PATTERN}",
            place=span(pattern[:80], 0, 80),
            fix="use constrain.choices() for texts, or constrain.seq() and constrain.alt() of shorter patterns",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as "possible nested set", which announces a future change
            return re.compile(pattern, flags & ~re.DEBUG).flags
    except re.error as fault:
        raise RegexError(fault.msg, place=span(pattern, fault.pos or 0)) from None
    except OverflowError as fault:
        raise RegexError(str(fault), place=span(pattern, 0, len(pattern))) from None
    except (ValueError, TypeError) as fault:
        if many := _MANY_DIGITS.search(pattern):
            place = span(pattern, many.start())
            raise RegexError("a number has more than 4,300 digits", place=place, fix="write fewer") from None
        raise RegexError(f"{fault} ({pattern!r}, flags={flags!r})") from None


class PythonParser(PatternParser):
    """Python's dialect, for patterns that `re.compile` has accepted.

    Attributes:
        with_sets: Whether the classes in doubt were read as sets; None before the first.
    """

    with_sets: bool | None = None

    def skip_blank(self) -> bool:
        if self.take("(?#"):
            self.at = self.text.index(")", self.at) + 1
            return True
        return self.skip_verbose(self.peek() in _BLANKS)

    def is_count(self, low: str, high: str, comma: bool) -> bool:
        return comma or bool(low)

    def takes_possessive(self) -> bool:
        return sys.version_info >= (3, 11) and self.take("+")

    def possessive(self, body: Tree, low: int, high: int | None, index: int) -> Tree:
        found = atomic.possessive(body, low, high, index)
        if found is None:
            message = "a possessive quantifier is read after what matches in one way at a place only"
            self.fail(message, index, self.at - index, IRREGULAR)
        return found

    def atomic(self, frame: OpenGroup) -> Tree:
        found = atomic.atomic(frame.cases(), frame.index)
        if found is None:
            self.fail("an atomic group in which one part decides about another is not read", frame.index, 3, IRREGULAR)
        return found

    def open_group(self, index: int) -> None:
        kinds: dict[str, Kind] = {"?<=": "(?<=", "?<!": "(?<!", "?=": "(?=", "?!": "(?!", "?>": "(?>"}
        for opening, kind in kinds.items():
            if self.take(opening):
                self.push(kind, index)
                return
        if self.take("?P="):
            self.fail_backreference(index, self.text.index(")", index) + 1)
        if self.take("?("):
            self.fail("a condition on a group is not regular: it needs memory of the text", index, 3, IRREGULAR)
        if self.take("?P<"):
            self.group_name()
        elif self.open_flagged(index, "imsxau"):
            return
        self.push("group", index)

    def fail_backreference(self, index: int, end: int) -> None:
        r"""Refuse `\1` and `(?P=name)`."""
        self.fail("a backreference is not regular: it needs memory of the text", index, end - index, IRREGULAR)

    def line_edge(self, character: str, index: int) -> Tree:
        if character == "$" and not self.flags.multi_line:
            return Look(True, literals(["", "\n"]), index)  # also before a newline at the end of the text
        return super().line_edge(character, index)

    def escape(self) -> Tree:
        index, letter = self.at, self.text[self.at + 1]
        if letter in "AZbB":
            self.at += 2
            return self.anchor(letter, index)
        if letter.lower() in _ASCII_CLASSES:
            self.at += 2
            return chars(self.class_of(letter))
        if letter in "123456789" and not self.is_octal():
            self.at += 1
            self.digits()
            self.fail_backreference(index, self.at)
        return self.one(self.character_escape())

    def anchor(self, letter: str, index: int) -> Tree:
        r"""The assertion of `\A`, `\Z`, `\b` or `\B`."""
        if letter in "AZ":
            return assertions.start(index) if letter == "A" else assertions.end(index)
        word = self.class_of("w")
        if letter == "b":
            return assertions.word_boundary(word, index)
        anywhere = assertions.not_word_boundary(word, index)
        if sys.version_info >= (3, 14):
            return anywhere
        # Up to Python 3.13 `\B` does not match in the empty text.
        somewhere = [Near(ahead, intervals.ANY, False, index) for ahead in (False, True)]
        return assertions.choice([assertions.sequence([side, anywhere]) for side in somewhere])

    def class_escape(self) -> int | Ranges:
        letter = self.text[self.at + 1]
        if letter.lower() in _ASCII_CLASSES:
            self.at += 2
            return self.class_of(letter)
        return self.character_escape()

    def class_of(self, letter: str) -> Ranges:
        r"""The characters of `\d`, `\s` or `\w`; of an upper-case letter the complement."""
        small = letter.lower()
        ranges = _ASCII_CLASSES[small] if self.flags.ascii else python_class(small)
        return ranges if letter == small else intervals.negate(ranges)

    def settled(self, plain: tuple[Ranges, int] | None, nested: Ranges, doubt: int) -> Ranges:
        self.unsettled(doubt, True)
        return nested

    def unsettled(self, doubt: int, with_sets: bool = False) -> None:
        if self.with_sets not in (None, with_sets):
            fix = "write \\[, \\-, \\&, \\~ and \\| for the characters"
            self.fail("one class of this pattern reads as sets, and another one cannot", doubt, 2, fix)
        self.with_sets = with_sets

    def posix_class(self, name: str) -> Ranges | None:
        ranges = posix_class(name)
        return None if ranges is None else self.cased(ranges)

    def cased(self, ranges: Ranges) -> Ranges:
        """A property with the other cases of its letters, if case is ignored."""
        if self.flags.ignore_case:
            for names, all_cases in ((("Lu", "Ll", "Lt"), "LC"), (("Uppercase", "Lowercase"), "Cased")):
                if any(ranges == unicode_property(name) for name in names):
                    return unicode_property(all_cases) or ()
        return ranges

    def is_octal(self) -> bool:
        """True if three octal digits follow the backslash."""
        digits = self.text[self.at + 1 : self.at + 4]
        return len(digits) == 3 and all(digit in "01234567" for digit in digits)

    def character_escape(self) -> int:
        """Read an escape that means one character."""
        self.at += 2
        letter = self.text[self.at - 1]
        if letter in "01234567":
            digits = letter
            while len(digits) < 3 and self.peek() and self.peek() in "01234567":
                digits += self.peek()
                self.at += 1
            return int(digits, 8)
        for name, count in (("x", 2), ("u", 4), ("U", 8)):
            if letter == name:
                return self.hexadecimal(count) or 0
        if letter == "N":
            end = self.text.index("}", self.at)
            name = self.text[self.at + 1 : end]
            self.at = end + 1
            return ord(unicodedata.lookup(name))
        return _CONTROLS.get(letter, ord(letter))

    def close_case(self, singles: list[tuple[int, int]], sets: list[Ranges]) -> Ranges:
        if self.flags.ignore_case:
            folding = casing.ascii_folding() if self.flags.ascii else casing.python_folding()
            singles = [*folding.close(intervals.union(singles))]
        return intervals.union(singles, *sets)


class _SearchParser(PythonParser):
    """Python's dialect as `re` itself reads it, also where a set may be meant."""

    def settled(self, plain: tuple[Ranges, int] | None, nested: Ranges, doubt: int) -> Ranges:
        if plain is None:
            return nested
        ranges, self.at = plain
        return ranges
