"""Is a text a regular expression of ECMA-262? (Validation 2020-12, section 7.3.8)

Patterns nest, so they are no regular language: this is asked of the finished text. `constrain.automata.parse.ecma`
reads more than the standard (`(?i)`, `(?P<name>...)`) and less (no backreferences), since it asks for a meaning; here
only the grammar of ECMA-262 section 22.2.1 counts, with or without the `u` flag, without the leniencies of annex B.
Modifiers (`(?i:...)`) are those of ECMAScript 2025. Cost: linear in the text, and no recursion.
"""

from __future__ import annotations

import re

from constrain.automata.unicode.classes import unicode_property

_SYNTAX = "^$\\.*+?()[]{}|/"
_QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_NAME = re.compile(r"<([^\W0-9]|\$)(?:\w|[$\u200c\u200d])*>")
_OPENING = re.compile(r"\((?:\?(?:(?P<look><?[=!])|(?P<on>[ims]*)(?P<minus>-)?(?P<off>[ims]*):|(?=<)))?")
_HEX_ESCAPE = re.compile("x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}")
_CODE_POINT = re.compile(r"u\{([0-9a-fA-F]+)\}")
_PROPERTY = re.compile(r"[pP]\{([A-Za-z0-9_=]+)\}")
_REFERENCE = re.compile("[1-9][0-9]*")


class _Fault(Exception):
    """The text is no pattern."""


def is_regex(text: str) -> bool:
    """Is the text a Pattern of ECMA-262, with the flag `u` or with none?"""
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

    open: for each open group, may a quantifier follow it? named: names of groups, references: those referred to.
    groups: number of capturing groups, highest: the highest number referred to.
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
        """A border of alternatives or groups, an assertion, or an atom with its quantifier."""
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
        found = self.take(_QUANTIFIER)
        if found and found[3]:
            _demand(int(found[1]) <= int(found[3]))

    def open_group(self) -> None:
        """`(`, `(?:`, `(?=`, `(?<name>`, `(?i-s:` and the like."""
        found = self.take(_OPENING)
        assert found
        if found["look"]:
            self.open.append(False)
            return
        self.open.append(True)
        if found["on"] is not None:  # modifiers, none of them twice; `(?-:` changes nothing and is not allowed
            flags = found["on"] + found["off"]
            _demand(len(set(flags)) == len(flags) and (flags or not found["minus"]))
            _demand(found["minus"] or not found["off"])
            return
        self.groups += 1
        if found.group() == "(?":
            self.named.add(self.name())  # ECMAScript 2025 allows the same name in different alternatives

    def name(self) -> str:
        found = self.take(_NAME)
        _demand(found)
        assert found
        return found.group()

    def escape(self) -> bool:
        """An escape outside of a class, from behind its backslash on; False for an assertion."""
        letter = self.text[self.at : self.at + 1]
        if letter in ("b", "B"):
            self.at += 1
            return False
        if letter == "k":
            self.at += 1
            self.references.add(self.name())
        elif number := self.take(_REFERENCE):
            self.highest = max(self.highest, int(number.group()))
        elif not self.class_of_characters():
            self.character_escape(_SYNTAX)
        return True

    def class_of_characters(self) -> bool:
        r"""Step over `\d`, `\p{...}` and the like, from behind the backslash on."""
        if self.text[self.at : self.at + 1] in tuple("dDsSwW"):
            self.at += 1
            return True
        found = self.take(_PROPERTY) if self.unicode else None
        if found:
            _demand(unicode_property(found[1]) is not None)
        return found is not None

    def character_escape(self, punctuation: str) -> int:
        """The code point of an escape of one character; punctuation: what the `u` flag lets a backslash precede."""
        if found := self.take(_HEX_ESCAPE):
            return int(found.group()[1:], 16)
        if self.unicode and (found := self.take(_CODE_POINT)):
            value = int(found[1], 16)
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
        if letter and letter in "tnvfr":
            return {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}[letter]
        if self.unicode:
            _demand(letter and letter in punctuation)
        else:
            _demand(letter and not (letter.isidentifier() or f"a{letter}".isidentifier()))
        return ord(letter)

    def read_class(self) -> None:
        """`[...]`: the ends of a range are characters in their order."""
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
        """A character of a class, as its code point; None for an escape that stands for many."""
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
