r"""Parser of ECMA-262 patterns (with the `u` flag), matched anywhere in a text, as in JSON Schema's `pattern`.

The idea: `parse_ecma("b+")` is the language of all texts that contain a match; `^` and `$` are the ends of the text.
`\d` and `\w` are ASCII, `.` excludes line ends, `\p{...}` is Unicode (ECMA-262, section 22.2; JSON Schema 2020-12 Core,
section 6.4). Real schemas deviate from the syntax; deviations with one evident meaning are accepted:

* Annex B.1.2: escaped punctuation (`\-`, `\_`, `\@`), lone `]`, `{` and `}` mean themselves.
* `(?i)`, `(?P<name>...)`, `\A`, `\Z` and `\z` mean the same as in other engines; `(?i:...)` is ECMAScript 2025.

Unknown letter escapes are refused, because engines disagree on them. Limit: backreferences are not regular.
"""

from __future__ import annotations

from typing import NoReturn

from constrain.languages.automata.parse import assertions
from constrain.languages.automata.parse.assertions import Tree
from constrain.languages.automata.parse.parser import Kind, PatternParser, finish_pattern
from constrain.languages.automata.parse.sets import Flags
from constrain.languages.automata.syntax import Node, Ranges, chars
from constrain.languages.automata.unicode import casing, intervals
from constrain.languages.automata.unicode.classes import (
    ASCII_DIGIT,
    ASCII_WORD,
    ECMA_LINE_END,
    ecma_space,
    unicode_property,
)

CONTROLS = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_LOOKS: tuple[Kind, ...] = ("(?<=", "(?<!", "(?=", "(?!")


def parse_ecma(pattern: str, *, whole: bool = False, flags: str = "") -> Node:
    """The texts that contain a match of an ECMA-262 pattern.

    Args:
        pattern: The pattern.
        whole: The texts that it matches from beginning to end, instead.
        flags: Letters of `ims`: for all of the pattern.

    Raises:
        RegexError: The pattern cannot be read or is not regular; with its place.
        LimitError: Groups are nested too deeply, or there are too many combinations of assertions.
    """
    parser = EcmaParser(pattern, Flags("i" in flags, "s" in flags, "m" in flags))
    tree = parser.read()
    return finish_pattern(parser, tree if whole else assertions.anywhere(tree))


class EcmaParser(PatternParser):
    """The ECMA-262 dialect."""

    line_ends = ECMA_LINE_END

    closes_at_once = True  # `[]` matches nothing, `[^]` any character
    posix_fix = "write \\[ for a bracket, or \\p{Alphabetic}, \\p{Lu}, [0-9]: ECMA-262 has no classes of POSIX"

    def is_count(self, low: str, high: str, comma: bool) -> bool:
        return bool(low)

    def open_group(self, index: int) -> None:
        for kind in _LOOKS:
            if self.take(kind[1:]):
                self.push(kind, index)
                return
        if self.take("?<") or self.take("?P<"):
            self.group_name()
        elif self.open_flagged(index, "ims"):
            return
        elif self.take("?>"):
            self.fail("atomic groups are not part of ECMA-262", index, 3, "write (?:...) if nothing depends on it")
        elif self.peek() == "?":
            known = "(?:...), (?=...), (?!...), (?<=...), (?<!...), (?<name>...)"
            self.fail("unknown kind of group", index, 3, f"the kinds are {known}, (?i:...)")
        self.push("group", index)

    def line_edge(self, character: str, index: int) -> Tree:
        self.repeatable = False
        return super().line_edge(character, index)

    def escape(self) -> Tree:
        index = self.at
        letter = self.text[index + 1 : index + 2]
        if letter and letter in "AZzbB":
            self.at += 2
            self.repeatable = False
            return self.anchor(letter, index)
        ranges = self.class_of(letter)
        if ranges is not None:
            return chars(self.close_case([], [ranges]))
        if letter and letter in "123456789k":
            self.at += 1
            self.digits()
            fix = "write the possible texts as alternatives"
            self.fail(
                "a backreference is not regular: it needs memory of the text", index, max(2, self.at - index), fix
            )
        return self.one(self.character_escape())

    def anchor(self, letter: str, index: int) -> Tree:
        r"""The assertion of `\b` or `\B`; also of `\A`, `\Z` and `\z`, which are not ECMA-262."""
        if letter in "bB":
            word = self.close_case([], [ASCII_WORD])
            return (assertions.word_boundary if letter == "b" else assertions.not_word_boundary)(word, index)
        return assertions.start(index) if letter == "A" else assertions.end(index)

    def class_escape(self) -> int | Ranges:
        if self.text.startswith("\\b", self.at):
            self.at += 2
            return 8
        ranges = self.class_of(self.text[self.at + 1 : self.at + 2])
        return self.character_escape() if ranges is None else ranges

    def settled(self, plain: tuple[Ranges, int] | None, nested: Ranges, doubt: int) -> Ranges:
        """The class without sets, as the flag `u` has it; refused if it is none, or one with sets would end later."""
        if plain is None or plain[1] != self.at:
            self.refuse_sets(doubt)
        return plain[0]

    def refuse_sets(self, index: int) -> NoReturn:
        """Refuse what only the flag `v` would read."""
        fix = "write \\[ or \\- for the character: ECMA-262 has no sets in classes without the flag v"
        self.fail("this class would be another one with sets", index, 2, fix)

    def refuse_set_in_range(self, start: int) -> None:
        if self.text.startswith("--", self.at) and self.text[self.at + 2 : self.at + 3] != "]":
            self.refuse_sets(self.at)

    def class_of(self, letter: str) -> Ranges | None:
        r"""Read `\d`, `\s`, `\w`, `\p{...}`, `\D`, ...; None, and nothing is read, for any other escape."""
        if not letter or letter not in "dswDSWpP":
            return None
        index = self.at
        self.at += 2
        if letter in "pP":
            ranges = self.property(index)
        elif letter in "sS":
            ranges = ecma_space()
        else:
            ranges = ASCII_DIGIT if letter in "dD" else self.close_case([], [ASCII_WORD])
        return ranges if letter.islower() else intervals.negate(ranges)

    def property(self, index: int) -> Ranges:
        r"""Read the braces of `\p{...}`."""
        end = self.text.find("}", self.at)
        if self.peek() != "{" or end < 0:
            self.fail(
                "a Unicode property needs braces", index, 2, f"write {self.text[index : index + 2]}{{L}} for letters"
            )
        name = self.text[self.at + 1 : end]
        ranges = unicode_property(name)
        if ranges is None:
            fix = "use a general category (Lu, Letter), a script (Script=Greek) or a binary property (Alphabetic)"
            self.fail(f"unknown Unicode property {name!r}", index, end + 1 - index, fix)
        self.at = end + 1
        return ranges

    def character_escape(self) -> int:
        """Read an escape that means one character (CharacterEscape)."""
        index = self.at
        self.at += 2
        letter = self.text[index + 1 : index + 2]
        if not letter:
            self.fail("the pattern ends in a backslash", index, fix="write \\\\ for a backslash")
        if letter in CONTROLS:
            return CONTROLS[letter]
        if letter == "0" and not (self.peek() and self.peek() in "0123456789"):
            return 0
        if letter == "c" and self.peek().isascii() and self.peek().isalpha():
            self.at += 1
            return ord(self.text[self.at - 1]) % 32
        if letter in "xu":
            return self.hexadecimal_escape(letter, index)
        if letter.isascii() and letter.isalnum():
            self.fail(f"unknown escape \\{letter}", index, 2, f"write {letter} for the character itself")
        return ord(letter)

    def hexadecimal_escape(self, letter: str, index: int) -> int:
        r"""Read the digits of `\xHH`, `\uHHHH`, a surrogate pair of two such, or `\u{H...}`."""
        if letter == "u" and self.take("{"):
            end = self.text.find("}", self.at)
            code = self.hexadecimal(end - self.at) if end > self.at else None
            if code is None or code > 0x10FFFF:
                self.fail("a code point needs hexadecimal digits up to 10FFFF", index, max(3, end + 1 - index))
            self.at = end + 1
            return code
        count = 2 if letter == "x" else 4
        code = self.hexadecimal(count)
        if code is None:
            self.fail(f"\\{letter} needs {count} hexadecimal digits", index, 2, f"write {letter} for the letter itself")
        if letter == "u" and 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", self.at):
            self.at += 2
            low = self.hexadecimal(4)
            if low is not None and 0xDC00 <= low < 0xE000:
                return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            self.at -= 2 if low is None else 6
        return code

    def close_case(self, singles: list[tuple[int, int]], sets: list[Ranges]) -> Ranges:
        ranges = intervals.union(singles, *sets)
        return casing.ecma_folding().close(ranges) if self.flags.ignore_case else ranges
