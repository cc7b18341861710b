"""The syntax of ECMA-262 patterns, checked without giving them a meaning: JSON Schema's format `regex`.

`ecma.py` returns the language of a pattern, so it reads less than the standard (no backreferences), and
tolerates more (`(?i)`, `(?P<name>...)`, lone brackets). This check is the grammar of ECMA-262 section 22.2.1, with or
without the `u` flag, without the leniencies of annex B; modifiers (`(?i:...)`) are those of ECMAScript 2025. The two
readers would disagree about nearly every escape and group, so they are two. Cost: linear in the text, no recursion.
"""

from __future__ import annotations

import re

from constrain.languages.automata.counts import read_count
from constrain.languages.automata.parse.ecma import CONTROLS
from constrain.languages.automata.unicode.classes import unicode_property

_SYNTAX = "^$\\.*+?()[]{}|/"
_QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_NAME = re.compile(r"<([^\W0-9]|\$)(?:\w|[$\u200c\u200d])*>")
_OPENING = re.compile(r"\((?:\?(?:(?P<look><?[=!])|(?P<on>[ims]*)(?P<minus>-)?(?P<off>[ims]*):|(?=<)))?")
_HEX_ESCAPE = re.compile("x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}")
_CODE_POINT = re.compile(r"u\{([0-9a-fA-F]+)\}")
_PROPERTY = re.compile(r"[pP]\{([A-Za-z0-9_=]+)\}")
_REFERENCE = re.compile("[1-9][0-9]*")


class _Fault(Exception):
    """The text is not a pattern."""


def is_ecma_pattern(text: str) -> bool:
    """True if the text is a Pattern of ECMA-262, with or without the flag `u`."""
    return _parses(text, True) or _parses(text, False)


def _parses(text: str, unicode: bool) -> bool:
    try:
        _Syntax(text, unicode).check()
    except _Fault:
        return False
    return True


def _demand(holds: object) -> None:
    if not holds:
        raise _Fault


class _Syntax:
    """One pass over a pattern.

    Attributes:
        open: For each open group, whether a quantifier may follow it.
        named: The names of groups.
        references: The names that are referred to.
        groups: The number of capturing groups.
        highest: The highest number that is referred to.
    """

    def __init__(self, text: str, unicode: bool) -> None:
        self.text, self.unicode = text, unicode
        self.at = 0
        self.open: list[bool] = []
        self.named: set[str] = set()
        self.references: set[str] = set()
        self.groups = self.highest = 0

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over a match that begins here."""
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def check(self) -> None:
        """Raise `_Fault` unless the text is a pattern."""
        while self.at < len(self.text):
            self.term()
        _demand(not self.open and self.references <= self.named and self.highest <= self.groups)

    def term(self) -> None:
        """Step over `|`, a parenthesis, an assertion, or an atom with its quantifier."""
        character = self.text[self.at]
        if character == "(":
            self.open_group()
            return
        repeatable = True
        if character == ")":
            _demand(self.open)
            repeatable = self.open.pop()
            self.at += 1
        elif character == "[":
            self.read_class()
        elif character == "\\":
            self.at += 1
            repeatable = self.escape()
        else:
            _demand(character not in "*+?{}]")
            self.at += 1
            repeatable = character not in "^$|"
        if repeatable:
            self.quantifier()

    def quantifier(self) -> None:
        """Step over a quantifier, if one comes next."""
        found = self.take(_QUANTIFIER)
        if found and found[3]:
            _demand(read_count(found[1]) <= read_count(found[3]))

    def open_group(self) -> None:
        """Step over `(`, `(?:`, `(?=`, `(?<name>`, `(?i-s:` and the like."""
        opening = self.take(_OPENING)
        assert opening
        if opening["look"]:
            self.open.append(False)
            return
        self.open.append(True)
        if opening["on"] is not None:  # modifiers, none of them twice; `(?-:` changes nothing and is not allowed
            flags = opening["on"] + opening["off"]
            _demand(len(set(flags)) == len(flags) and (flags or not opening["minus"]))
            _demand(opening["minus"] or not opening["off"])
            return
        self.groups += 1
        if opening.group() == "(?":
            self.named.add(self.name())  # ECMAScript 2025 allows the same name in different alternatives

    def name(self) -> str:
        """Step over a name in angle brackets, and return both."""
        found = self.take(_NAME)
        _demand(found)
        assert found
        return found.group()

    def escape(self) -> bool:
        """Step over an escape outside of a class, after its backslash. Returns False for an assertion."""
        letter = self.text[self.at : self.at + 1]
        if letter in ("b", "B"):
            self.at += 1
            return False
        if letter == "k":
            self.at += 1
            self.references.add(self.name())
        elif number := self.take(_REFERENCE):
            self.highest = max(self.highest, read_count(number.group()))
        elif not self.class_of_characters():
            self.character_escape(_SYNTAX)
        return True

    def class_of_characters(self) -> bool:
        r"""Step over `\d`, `\p{...}` and the like, after the backslash. False (and no step) if there is none."""
        if self.text[self.at : self.at + 1] in tuple("dDsSwW"):
            self.at += 1
            return True
        found = self.take(_PROPERTY) if self.unicode else None
        if found:
            _demand(unicode_property(found[1]) is not None)
        return found is not None

    def character_escape(self, punctuation: str) -> int:
        """Step over an escape of one character, after the backslash, and return its code point.

        `punctuation` are the characters that may be escaped under the `u` flag.
        """
        if escape := self.take(_HEX_ESCAPE):
            return int(escape.group()[1:], 16)
        if self.unicode and (escape := self.take(_CODE_POINT)):
            value = int(escape[1], 16)
            _demand(value <= 0x10FFFF)
            return value
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter == "c":
            control = self.text[self.at : self.at + 1]
            _demand(control.isascii() and control.isalpha())
            self.at += 1
            return ord(control) % 32
        if letter == "0":
            _demand(self.text[self.at : self.at + 1] not in tuple("0123456789"))
            return 0
        if letter in CONTROLS:
            return CONTROLS[letter]
        if self.unicode:
            _demand(letter and letter in punctuation)
        else:
            _demand(letter and not (letter.isidentifier() or f"a{letter}".isidentifier()))
        return ord(letter)

    def read_class(self) -> None:
        """Step over `[...]`. The ends of a range are characters, in their order."""
        self.at += 1
        if self.text[self.at : self.at + 1] == "^":
            self.at += 1
        while self.text[self.at : self.at + 1] != "]":
            low = self.class_atom()
            following = self.text[self.at + 1 : self.at + 2]
            if self.text[self.at : self.at + 1] == "-" and following not in ("]", ""):
                self.at += 1
                high = self.class_atom()
                _demand(low is not None and high is not None and low <= high)
        self.at += 1

    def class_atom(self) -> int | None:
        """Step over a character of a class, and return its code point; None for an escape of several characters."""
        _demand(self.at < len(self.text))
        character = self.text[self.at]
        self.at += 1
        if character != "\\":
            return ord(character)
        if self.class_of_characters():
            return None
        if self.text[self.at : self.at + 1] == "b":
            self.at += 1
            return 8
        return self.character_escape(_SYNTAX + "-")
