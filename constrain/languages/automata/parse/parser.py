"""The common base of the pattern parsers: groups, alternatives, quantifiers, classes, and errors with their place.

The idea: one pass over the text with an explicit stack of open groups, so that nesting needs no Python recursion. A
dialect defines its escapes, anchors and group openings. Counted repeats are kept as counts and never written out.
Cost: linear in the pattern. Limit: `MAX_NESTING` open groups, since deeper trees would exhaust the stack of later
passes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from constrain.errors import LimitError, RegexError, span
from constrain.languages.automata.parse import assertions, lookaround
from constrain.languages.automata.parse.assertions import Tree
from constrain.languages.automata.syntax import Chars, Node, Ranges, chars, literal
from constrain.languages.automata.unicode import intervals
from constrain.limits import tick

MAX_NESTING = 200
Kind = Literal["group", "(?=", "(?!", "(?<=", "(?<!", "(?>"]
_HEX = "0123456789abcdefABCDEF"
COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
SIMPLE_CLASS = re.compile(r"\[[^\\\]]{1,60}\]")  # short, and without escapes
MAX_CLASSES = 4096  # simple classes that are remembered: most patterns have the same few
# A run of characters that mean themselves in both dialects, without the last one if a quantifier follows it.
# PERF: reading a run at once takes a tenth of the time: the 1,544 patterns of MaskBench take 0.10 instead of 0.25 ms.
PLAIN_RUN = re.compile(r"[A-Za-z0-9_ /:@,;<>=!&%~'\"-]+(?![*+?{]|\(\?#)")


_classes: dict[tuple[type, Flags, str], Node] = {}


@dataclass(frozen=True)
class Flags:
    """The modes that a pattern can set, for all of it or for a group."""

    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False
    verbose: bool = False
    ascii: bool = False


@dataclass
class OpenGroup:
    """An open group.

    Attributes:
        kind: How it was opened.
        index: Its place in the pattern.
        flags: The flags to restore when it closes.
        branches: Its finished alternatives.
        parts: The alternative that is being read.
    """

    kind: Kind
    index: int
    flags: Flags
    branches: list[Tree] = field(default_factory=list)
    parts: list[Tree] = field(default_factory=list)

    def tree(self) -> Tree:
        """The alternatives that were read so far."""
        return assertions.choice([*self.branches, assertions.sequence(self.parts)])


class PatternParser:
    """Parses one pattern. Dialects override the methods in the last section.

    Attributes:
        text: The pattern.
        at: The current position.
        flags: The flags in force.
        frames: The open groups, innermost last.
        repeatable: Whether a quantifier may follow.
    """

    def __init__(self, text: str, flags: Flags) -> None:
        self.text = text
        self.at = 0
        self.flags = flags
        self.frames = [OpenGroup("group", 0, flags)]
        self.repeatable = False

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

    # --- groups and alternatives ------------------------------------------------------------------------------------

    def read(self) -> Tree:
        """Read the whole pattern."""
        while self.at < len(self.text):
            tick()
            self.read_item()
        if len(self.frames) > 1:
            self.fail("this group is not closed", self.frames[-1].index, fix="add ), or write \\( for a parenthesis")
        return self.frames[0].tree()

    def read_item(self) -> None:
        """Read one atom, quantifier, bar or parenthesis."""
        index, character = self.at, self.peek()
        frame = self.frames[-1]
        run = PLAIN_RUN.match(self.text, index) if not (self.flags.ignore_case or self.flags.verbose) else None
        if run:
            self.at, self.repeatable = run.end(), False
            frame.parts.append(literal(run.group()))
            return
        if self.skip_blank():
            return
        bounds = self.quantifier()
        if bounds is not None:
            self.repeat_last(frame, index, *bounds)
        elif character == "|":
            self.at += 1
            frame.branches.append(assertions.sequence(frame.parts))
            frame.parts, self.repeatable = [], False
        elif character == "(":
            if len(self.frames) > MAX_NESTING:
                place = span(self.text, index)
                raise LimitError(f"more than {MAX_NESTING} groups inside each other", place=place, fix="remove groups")
            self.at += 1
            self.open_group(index)
        elif character == ")":
            self.close_group(index)
        else:
            self.repeatable = True
            frame.parts.append(self.atom())

    def push(self, kind: Kind, index: int) -> None:
        """Open a group; the items that follow belong to it."""
        self.frames.append(OpenGroup(kind, index, self.flags))
        self.repeatable = False

    def close_group(self, index: int) -> None:
        """Read `)` and append the group to the enclosing one."""
        if len(self.frames) == 1:
            self.fail("this ) closes no group", index, fix="write \\) for a parenthesis")
        self.at += 1
        frame = self.frames.pop()
        self.flags = frame.flags
        self.repeatable = True
        self.frames[-1].parts.append(self.finish(frame))

    def finish(self, frame: OpenGroup) -> Tree:
        """The tree of a group that was closed."""
        tree = frame.tree()
        if frame.kind == "group":
            if isinstance(tree, Node):
                hash(tree)  # hashes are cached; computing them from the inside out avoids deep recursion
            return tree
        if frame.kind == "(?>":
            return self.atomic(tree, frame.index)
        try:
            return lookaround.look(tree, "<" not in frame.kind, "!" in frame.kind, frame.index)
        except lookaround.NotRegular as fault:
            self.fail_irregular(fault)

    def atomic(self, tree: Tree, index: int) -> Tree:
        """The tree of an atomic group `(?>...)`, for dialects that have it."""
        self.fail("atomic groups are not supported", index, 3)

    def fail_irregular(self, fault: lookaround.NotRegular) -> NoReturn:
        """Raise the error for an assertion that cannot be eliminated."""
        place = span(self.text, fault.index)
        if fault.too_many:
            raise LimitError(fault.reason, place=place, fix="use fewer alternatives with assertions in them") from fault
        fix = "write it without the assertion, or move it to the start or end of the pattern"
        raise RegexError(fault.reason, place=place, fix=fix) from fault

    # --- quantifiers ------------------------------------------------------------------------------------------------

    def quantifier(self) -> tuple[int, int | None] | None:
        """Read `*`, `+`, `?` or `{...}` and return its bounds; None, and nothing is read, if no quantifier is next."""
        start = self.at
        simple = COUNTS.get(self.peek())
        if simple is not None:
            self.at += 1
            return simple
        if not self.take("{"):
            return None
        low = self.digits()
        high = self.digits() if self.take(",") else low
        comma = "," in self.text[start : self.at]
        if not self.take("}") or not self.is_count(low, high, comma):
            self.at = start
            return None
        if low and high and int(low) > int(high):
            self.fail(f"at least {low} and at most {high} copies: nothing can match", start, self.at - start)
        return int(low or 0), int(high) if high else None

    def digits(self) -> str:
        """Read ASCII digits."""
        start = self.at
        while self.peek() and self.peek() in "0123456789":
            self.at += 1
        return self.text[start : self.at]

    def repeat_last(self, frame: OpenGroup, index: int, low: int, high: int | None) -> None:
        """Apply a quantifier to the last part. A lazy `?` after it does not change the language."""
        if not self.repeatable:
            self.fail(
                "there is nothing to repeat here", index, fix=f"write \\{self.text[index]} for the character itself"
            )
        self.repeatable = False
        body = frame.parts.pop()
        possessive = not self.take("?") and self.takes_possessive()
        if possessive:
            frame.parts.append(self.possessive(body, low, high, index))
        else:
            frame.parts.append(assertions.loop(body, low, high))

    def possessive(self, body: Tree, low: int, high: int | None, index: int) -> Tree:
        """The tree of a possessive quantifier `a*+`, for dialects that have it."""
        self.fail("possessive quantifiers are not supported", index)

    # --- classes and characters -------------------------------------------------------------------------------------

    def read_class(self) -> Node:
        """Read a character class `[...]`. PERF: one without escapes is remembered, in a tenth of the time."""
        simple = SIMPLE_CLASS.match(self.text, self.at)
        if simple is None:
            return self.new_class()
        key = type(self), self.flags, simple.group()
        known = _classes.get(key)
        if known is not None:
            self.at = simple.end()
            return known
        made = self.new_class()
        if self.at == simple.end():  # the class of `[^]a]` ends later in one dialect
            if len(_classes) >= MAX_CLASSES:
                _classes.clear()
            _classes[key] = made
        return made

    def new_class(self) -> Node:
        """Read a character class that is not known yet."""
        opening = self.at
        self.at += 1
        negative = self.take("^")
        first = self.at
        singles: list[tuple[int, int]] = []
        sets: list[Ranges] = []
        while not (self.peek() == "]" and (self.at > first or self.closes_at_once)):
            if self.at >= len(self.text):
                self.fail("this character class is not closed", opening, fix="add ], or write \\[ for a bracket")
            start = self.at
            low = self.class_atom()
            if isinstance(low, int) and self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.class_atom()
                if isinstance(high, int):
                    if high < low:
                        self.fail("the ends of this range are in the wrong order", start, self.at - start)
                    singles.append((low, high))
                    continue
                singles += [(low, low), (0x2D, 0x2D)]  # `a-\d`: a, the hyphen, and \d (ECMA-262 annex B.1.2.8.1)
                low = high
            if isinstance(low, int):
                singles.append((low, low))
            else:
                sets.append(low)
        self.at += 1
        ranges = self.close_case(singles, sets)
        return Chars(intervals.negate(ranges) if negative else ranges)

    def class_atom(self) -> int | Ranges:
        """Read one character or escape inside `[...]`."""
        if self.peek() == "\\":
            return self.class_escape()
        self.at += 1
        return ord(self.text[self.at - 1])

    def one(self, code_point: int) -> Node:
        """The language of one character, with its case variants if case is ignored."""
        pair = (code_point, code_point)
        return chars(self.close_case([pair], []) if self.flags.ignore_case else [pair])

    def hexadecimal(self, count: int) -> int | None:
        """Read `count` hexadecimal digits; None, and nothing is read, if there are fewer."""
        digits = self.text[self.at : self.at + count]
        if len(digits) < count or any(digit not in _HEX for digit in digits):
            return None
        self.at += count
        return int(digits, 16)

    def group_name(self) -> None:
        """Read a group's name and its `>`."""
        end = self.text.find(">", self.at)
        if end <= self.at:
            self.fail("this group has no name", self.at - 1, fix="write (?<name>...)")
        self.at = end + 1

    def group_flags(self, known: str) -> Flags | None:
        """Read `i`, `-s`, `im-s`, ... and return the resulting flags; None, and nothing is read, if there are none.

        known: the letters of the dialect's flags.
        """
        start = self.at
        names = {
            "i": "ignore_case", "s": "dot_all", "m": "multi_line", "x": "verbose", "a": "ascii", "u": "ascii",
        }  # fmt: skip
        changed = {**vars(self.flags)}
        value = True
        while self.peek() and (self.peek() in known or self.peek() == "-"):
            letter = self.peek()
            if letter == "-":
                value = False
            else:
                changed[names[letter]] = value and letter != "u"
            self.at += 1
        if self.at == start or self.peek() not in (")", ":"):
            self.at = start
            return None
        return Flags(**changed)

    # --- for the dialects -------------------------------------------------------------------------------------------

    closes_at_once = False  # whether `[]` closes the class

    def skip_blank(self) -> bool:
        """Skip a comment, or a blank in a verbose pattern; whether there was any."""
        return False

    def takes_possessive(self) -> bool:
        """Read the `+` that makes a quantifier possessive; False if there is none, or the dialect lacks it."""
        return False

    def is_count(self, low: str, high: str, comma: bool) -> bool:
        """True if the digits (maybe none) between braces are a quantifier; else the brace is a character."""
        raise NotImplementedError

    def open_group(self, index: int) -> None:
        """Read the text after `(` and push a frame; or handle a group without contents."""
        raise NotImplementedError

    def atom(self) -> Tree:
        """Read one character, class, escape or anchor."""
        raise NotImplementedError

    def class_escape(self) -> int | Ranges:
        """Read an escape inside `[...]`: a code point or a set."""
        raise NotImplementedError

    def close_case(self, singles: list[tuple[int, int]], sets: list[Ranges]) -> Ranges:
        """The union of written characters and of class escapes, with case variants if the flags say so."""
        raise NotImplementedError


def finish_pattern(parser: PatternParser, tree: Tree) -> Node:
    """The plain language of a whole pattern. Raises RegexError or LimitError if assertions cannot be eliminated."""
    try:
        return lookaround.plain(tree)
    except lookaround.NotRegular as fault:
        parser.fail_irregular(fault)
