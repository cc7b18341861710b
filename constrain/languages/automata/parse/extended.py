r"""Reads what Python's `re` refuses as the `regex` package reads it.

That is: `(?<name>...)`, `\p{...}`, `\h`, `\m`, `\M`, `\z`, set operators (sets.py), flags in the middle, look-behind of
several lengths, `(?|...)`, `(?(?=...)yes|no)`, `(?(DEFINE)...)`, and calls of groups, `(?&name)`, `(?1)`. A group that
is called is read once more in the place of the call; so the pattern is read twice, first for the places of its groups.
All else stays an error of `re`; `\d`, `\w`, `\s` and the case of letters stay those of `re`.
Limits: back-references, conditions on a group, and groups that call themselves are not regular.
Reference: https://pypi.org/project/regex/
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple, NoReturn

from constrain.errors import LimitError, RegexError, span
from constrain.languages.automata.parse import assertions
from constrain.languages.automata.parse.assertions import Near, Tree
from constrain.languages.automata.parse.atomic import OrderedPart, Ways
from constrain.languages.automata.parse.parser import Kind, OpenGroup
from constrain.languages.automata.parse.python import IRREGULAR, PythonParser
from constrain.languages.automata.parse.sets import Flags
from constrain.languages.automata.syntax import EPSILON, Ranges, chars
from constrain.languages.automata.unicode import intervals
from constrain.languages.automata.unicode.classes import loose_property

MAX_CALLS = 50  # groups that call each other in a chain
_CALL = re.compile(r"\?(?:(?:&|P>|P&)(?P<name>\w+)|(?P<number>R|[+-]?\d+))\)")
_NAMED = re.compile(r"\?P?<(?P<name>[^\W\d]\w*)>")
_PROPERTY = re.compile(r"\\[pP](?:\{(?P<negative>\^?)(?P<name>[^{}]*)\}|(?P<short>[CLMNPSZ]))")
_OPPOSITE: dict[Kind, Kind] = {"(?=": "(?!", "(?!": "(?=", "(?<=": "(?<!", "(?<!": "(?<="}
_ESCAPES = re.compile(r"\\(?:[abfnrtv]|[0-3]?[0-7]{1,2}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)"
                      r"[0-9a-fA-F]{4}|N\{[^}]+\}|[^A-Za-z0-9])", re.DOTALL)  # fmt: skip


class CapturedGroup(NamedTuple):
    """The place of the pattern of a capturing group, and its flags."""

    start: int
    end: int
    flags: Flags


Groups = dict[str, CapturedGroup]  # by name, and by number in digits


def parse_extended(pattern: str, flags: Flags, fault: RegexError) -> Tree:
    """The tree of a pattern that `re` refuses with a fault. Raises RegexError: that fault, or a better one."""
    parser = ExtendedParser(pattern, flags)
    parser.used = fault.message.startswith("look-behind")  # several lengths are no problem here
    try:
        tree = parser.read()
        if parser.called:
            parser = ExtendedParser(pattern, flags, parser.groups)
            tree = parser.read()
    except RegexError as error:
        raise (error if parser.used else fault) from None
    if not parser.used:
        raise fault
    return tree


class ExtendedParser(PythonParser):
    """Python's dialect with the syntax of the `regex` package, for patterns that nobody has checked.

    Attributes:
        used: Something was read that `re` does not know.
        called: A group is called.
        groups: Every capturing group that was closed.
        whole: The pattern; `text` ends with the group that is called.
        known: All groups of the pattern, from the first pass.
        chain: The groups in whose calls this is.
        names: The names of groups that were opened.
        trees: What the groups that were called mean.
    """

    def __init__(self, text: str, flags: Flags, known: Groups | None = None, chain: tuple[str, ...] = ()) -> None:
        super().__init__(text, flags)
        self.whole, self.known, self.chain = text, known, chain
        self.used, self.called = bool(chain), False
        self.groups: Groups = {}
        self.begun: dict[int, tuple[tuple[str, ...], Flags]] = {}  # by the place of the group
        self.trees: dict[str, Tree] = {}
        self.names: set[str] = set()
        self.count = 0

    def unread(self, what: str, index: int, length: int) -> NoReturn:
        """Refuse what the `regex` package reads and no regular language says."""
        self.used = True
        self.fail(what, index, length, IRREGULAR)

    def skip_blank(self) -> bool:
        if self.text.startswith("(?#", self.at) and ")" not in self.text[self.at :]:
            self.fail("this comment is not closed", self.at, 3, "add )")
        return super().skip_blank()

    # --- groups -----------------------------------------------------------------------------------------------------

    def open_group(self, index: int) -> None:
        if call := _CALL.match(self.text, self.at):
            self.at = call.end()
            self.frames[-1].add(OrderedPart(self.call(call, index), Ways(mixed=True)))
            self.repeatable = True
        elif named := _NAMED.match(self.text, self.at):
            self.used |= "P" not in named[0] or named["name"] in self.names  # `re` takes a name once
            self.names.add(named["name"])
            self.at = named.end()
            self.capture(index, named["name"])
        elif self.take("?|"):
            self.used = True
            self.push("group", index)
        elif self.take("?(DEFINE)"):
            self.used = True
            self.push("(?(DEFINE)", index)
        elif re.compile(r"\?\(\?<?[=!]").match(self.text, self.at):
            self.used = True
            self.push("(?(", index)
            self.at += 2
            super().open_group(self.at - 1)
        elif self.open_flagged(index, "imsxau"):
            self.used |= index > 0 and self.frames[-1].index != index
        elif self.peek() != "?":
            self.capture(index)
        elif self.text[self.at : self.at + 2] in ("?=", "?!", "?>", "?(") or self.text[self.at : self.at + 3] in (
            "?<=",
            "?<!",
        ):
            super().open_group(index)
        elif self.text.startswith("?P=", self.at):
            self.fail_backreference(index, self.at + 3)
        else:
            self.fail("unknown kind of group", index, 3)

    def capture(self, index: int, *names: str) -> None:
        """Open a capturing group."""
        self.count += 1
        self.push("group", index)
        self.begun[index] = (str(self.count), *names), self.flags

    def close_group(self, index: int) -> None:
        *_, outer, frame = [None, None, *self.frames]
        if frame and frame.index in self.begun:
            names, flags = self.begun.pop(frame.index)
            start = frame.index + 1
            if named := _NAMED.match(self.text, start):
                start = named.end()
            self.groups.update(dict.fromkeys(names, CapturedGroup(start, index, flags)))
        if frame and outer and outer.kind == "(?(" and outer.condition is None:
            outer.condition = self.finish(replace(frame, kind=_OPPOSITE[frame.kind]))
        super().close_group(index)

    def finish(self, frame: OpenGroup) -> Tree:
        if frame.kind == "(?(DEFINE)":
            return EPSILON
        if frame.kind != "(?(":
            return super().finish(frame)
        yes, *other = [*frame.branches, frame.parts]
        if len(other) > 1 or frame.condition is None:
            self.fail("a conditional group has at most two cases", frame.index, 3)
        return assertions.choice(
            [assertions.sequence(yes), assertions.sequence([frame.condition, *(other[0] if other else [])])]
        )

    def call(self, found: re.Match[str], index: int) -> Tree:
        """Read the group that is called once more, here."""
        self.used = self.called = True
        name, written = found["name"] or found["number"], f"({found[0]}"
        if name[0] in "+-":
            name = str(self.count + int(name) + (name[0] == "-"))
        if self.known is None:
            return EPSILON
        group = self.known.get(name)
        if name in ("R", "0") or name in self.chain or (group and group.start <= index < group.end):
            self.unread(f"{written} calls itself, which is not regular", index, len(written))
        if group is None:
            self.fail(f"there is no group {name}", index, len(written))
        if len(self.chain) >= MAX_CALLS:
            raise LimitError(f"more than {MAX_CALLS} groups call each other", place=span(self.text, index))
        if name not in self.trees:
            inner = ExtendedParser(self.whole, group.flags, self.known, (*self.chain, name))
            inner.text, inner.at = self.whole[: group.end], group.start
            inner.trees, inner.count = self.trees, self.count
            self.trees[name] = inner.read()
        return self.trees[name]

    # --- escapes ----------------------------------------------------------------------------------------------------

    def escape(self) -> Tree:
        index, letter = self.at, self.text[self.at + 1 : self.at + 2]
        if not letter:
            self.fail("the pattern ends in a backslash", index)
        if letter in ("p", "P", "h"):
            return chars(self.property(index))
        if letter in ("z", "m", "M"):
            self.at += 2
            self.used = True
            word = self.class_of("w")
            if letter == "z":
                return assertions.end(index)
            sides = [Near(ahead, word, False, index) for ahead in (letter == "M", letter == "m")]
            return assertions.sequence([self.edge(letter == "m", word, index), sides[1]])
        if letter and letter in "gkKGXRL":
            self.unread(f"\\{letter} is not read", index, 2)
        return super().escape()

    def edge(self, start: bool, word: Ranges, index: int) -> Near:
        """The assertion that no word character is before a word's start, or after its end."""
        return Near(not start, intervals.negate(word), True, index)

    def class_escape(self) -> int | Ranges:
        letter = self.text[self.at + 1 : self.at + 2]
        if not letter:
            self.fail("the pattern ends in a backslash", self.at)
        return self.property(self.at) if letter in "pPh" else super().class_escape()

    def property(self, index: int) -> Ranges:
        r"""Read `\p{...}`, `\pL` or `\h`."""
        self.used = True
        letter = self.text[index + 1]
        found = _PROPERTY.match(self.text, index)
        self.at = found.end() if found else index + 2
        if letter != "h" and not found:
            self.fail("a Unicode property needs braces", index, 2, f"write \\{letter}{{L}} for letters")
        name = "blank" if found is None else found["short"] or found["name"]
        ranges = loose_property(name)
        if ranges is None:
            fix = "use a general category (Lu), a script (Greek), a block (InGreek) or a property (Alphabetic)"
            self.fail(f"unknown Unicode property {name!r}", index, self.at - index, fix)
        if self.flags.ascii and letter != "h":
            ranges = intervals.common(ranges, ((0, 0x7F),))
        negative = (letter == "P") != bool(found and found["negative"])
        ranges = self.cased(ranges)
        return intervals.negate(ranges) if negative else ranges

    def character_escape(self) -> int:
        found, index = _ESCAPES.match(self.text, self.at), self.at
        if found is None:
            letter = self.text[self.at + 1 : self.at + 2]
            self.fail(f"bad escape \\{letter}" if letter else "the pattern ends in a backslash", index, 2)
        try:
            return super().character_escape()
        except KeyError:
            self.fail("there is no character of this name", index, self.at - index)

    def unsettled(self, doubt: int, with_sets: bool = False) -> None:
        self.used |= with_sets
        super().unsettled(doubt, with_sets)
