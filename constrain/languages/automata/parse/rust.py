r"""Parser of the syntax of Rust's `regex` crate, which is that of pydantic's `pattern=`; found anywhere in a text.

The idea: as ecma.py, without look-around and atomic groups, but with sets in classes everywhere, POSIX classes (ASCII),
flags `imsUxu` that hold to the end of their group, and Unicode's `\d`, `\w`, `\s`, `\b`. `$` is the end of the text. A
repetition may be repeated. Of classes without Unicode, `(?-u:\w)`, those of ASCII characters are read.
Not read: `(?R)` line ends, `\b{start}` and its like.
Reference: https://docs.rs/regex/latest/regex/#syntax
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from constrain.languages.automata.parse import assertions
from constrain.languages.automata.parse.assertions import Tree
from constrain.languages.automata.parse.parser import PatternParser, finish_pattern
from constrain.languages.automata.parse.sets import Flags
from constrain.languages.automata.syntax import Node, Ranges, chars
from constrain.languages.automata.unicode import casing, intervals
from constrain.languages.automata.unicode.classes import POSIX, category, loose_property

CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_CLASSES = {"d": "digit", "s": "space", "w": "word"}
_PROPERTY = re.compile(r"\\[pP](?:\{(?P<name>[^{}]*)\}|(?P<short>[A-Za-z]))")
_UNEQUAL = re.compile("!=")
_HEX = re.compile(r"\\(?:[xuU]\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
_NAMED = re.compile(r"\?P?<([A-Za-z_][\w.\[\]]*)>")


def parse_rust(pattern: str, *, whole: bool = False) -> Node:
    """The texts that contain a match of a pattern in Rust's syntax.

    Args:
        pattern: The pattern.
        whole: The texts that it matches from beginning to end, instead.

    Raises:
        RegexError: The pattern cannot be read; with its place.
        LimitError: Groups are nested too deeply.
    """
    parser = RustParser(pattern, Flags())
    tree = parser.read()
    return finish_pattern(parser, tree if whole else assertions.anywhere(tree))


class RustParser(PatternParser):
    """The dialect of Rust's `regex` crate. `Flags.ascii` is the flag `-u`."""

    operators: ClassVar[Mapping[str, int]] = {"&&": 0, "--": 0, "~~": 0}
    operand_is_required = False
    repeats_again = True
    has_property = False  # whether what is read last, or the class around it, names a property

    def is_count(self, low: str, high: str, comma: bool) -> bool:
        return bool(low)

    def skip_blank(self) -> bool:
        return self.skip_verbose(self.peek().isspace())

    def open_group(self, index: int) -> None:
        if named := _NAMED.match(self.text, self.at):
            self.at = named.end()
            self.push("group", index)
            return
        if not self.open_flagged(index, "imsUux"):
            if self.peek() == "?":
                known = "(?:...), (?<name>...), (?P<name>...), (?i) and (?i:...), with the flags i, m, s, u, U, x"
                self.fail("unknown kind of group", index, 3, f"Rust's regexes have {known}, and no look-around")
            self.push("group", index)

    def atom(self) -> Tree:
        if self.peek() == "{":
            fix = "write \\{ for the character"
            self.fail("there is nothing to repeat here, or this is no count", self.at, fix=fix)
        return super().atom()

    def escape(self) -> Tree:
        index, letter = self.at, self.text[self.at + 1 : self.at + 2]
        if letter and letter in "AzbB":
            self.at += 2
            if letter in "Az":
                return assertions.start(index) if letter == "A" else assertions.end(index)
            if self.peek() == "{":
                self.fail("this kind of word boundary is not read", index, 3, "write \\b")
            boundary = assertions.word_boundary if letter == "b" else assertions.not_word_boundary
            return boundary(self.named("w"), index)
        meaning = self.class_escape()
        return self.one(meaning) if isinstance(meaning, int) else chars(meaning)

    def class_escape(self) -> int | Ranges:
        index, letter = self.at, self.text[self.at + 1 : self.at + 2]
        if letter in ("p", "P"):
            return self.property(index)
        self.at += 2
        if letter.lower() in _CLASSES:
            ranges = self.named(letter.lower())
            return ranges if letter.islower() else self.negate(ranges)
        if found := _HEX.match(self.text, index):
            self.at = found.end()
            code = int(next(filter(None, found.groups())), 16)
            if code <= 0x10FFFF and not 0xD800 <= code < 0xE000:
                return code
        elif letter in CONTROLS:
            return CONTROLS[letter]
        elif letter and letter.isascii() and not letter.isalnum() and letter not in "<>":
            return ord(letter)
        what = f"unknown escape \\{letter}" if letter else "the pattern ends in a backslash"
        fix = "Rust's regexes have no back-references; write \\\\ for a backslash"
        return self.fail(what, index, max(2, self.at - index), fix)

    def named(self, letter: str) -> Ranges:
        r"""The characters of `\d`, `\s` or `\w`."""
        name = _CLASSES[letter]
        if self.flags.ascii:
            return POSIX[name]
        ranges = loose_property(name) or ()
        return ranges if letter == "s" else self.assigned(ranges)  # blanks are the same in all versions

    def assigned(self, ranges: Ranges) -> Ranges:
        """The characters of a property that this Python knows too: Rust's Unicode is older than that of our tables."""
        self.has_property = True
        return intervals.subtract(ranges, category("Cn") or ())

    def negate(self, ranges: Ranges) -> Ranges:
        """All other characters; beside a property only what this Python knows: Rust's Unicode is newer."""
        others = intervals.negate(ranges)
        return self.assigned(others) if self.has_property else others

    def property(self, index: int) -> Ranges:
        r"""Read `\pL`, `\p{L}`, `\p{Script=Greek}` or `\p{Script!=Greek}`."""
        found = _PROPERTY.match(self.text, index)
        self.at = found.end() if found else index + 2
        name = (found["short"] or found["name"]) if found else ""
        plain, times = _UNEQUAL.subn("=", name)
        ranges = loose_property(plain, rust=True)
        if ranges is None or found is None:
            fix = "use a general category (Lu), a script (Greek) or a property (Alphabetic)"
            self.fail(f"unknown Unicode property {name!r}", index, self.at - index, fix)
        ranges = self.close_case([], [self.assigned(ranges)])
        return self.negate(ranges) if (self.text[index + 1] == "P") != bool(times) else ranges

    def class_atom(self) -> int | Ranges:
        if self.flags.verbose and (self.peek().isspace() or self.peek() == "#"):
            fix = "write \\x20 for a space, or remove it"
            self.fail("a blank in a class, which the flag x skips, is not read", self.at, fix=fix)
        return super().class_atom()

    def leading_characters(self) -> list[tuple[int, int]]:
        singles: list[tuple[int, int]] = []
        while self.take("-"):
            singles.append((0x2D, 0x2D))
        return singles if singles or not self.take("]") else [(0x5D, 0x5D)]

    def new_class(self) -> Ranges:
        self.doubt, self.has_property = self.at, False  # what is remembered has no sets inside
        return self.nested_set(1)

    def refuse_set_in_range(self, start: int) -> None:
        if self.text[start] != "[":
            self.fail("a set cannot begin or end a range", start, 2, "write \\- for a hyphen")

    def posix_class(self, name: str) -> Ranges | None:
        ranges = POSIX.get(name)
        return None if ranges is None else self.close_case([], [ranges])

    def close_case(self, singles: list[tuple[int, int]], sets: list[Ranges]) -> Ranges:
        ranges = intervals.union(singles, *sets)
        if not self.flags.ignore_case:
            return ranges
        return (casing.ascii_folding() if self.flags.ascii else casing.ecma_folding()).close(ranges)
