"""The common base of the pattern parsers: groups, alternatives, quantifiers, classes, and errors with their place.

The idea: one pass over the text with an explicit stack of open groups, so that nesting needs no Python recursion. A
dialect defines its escapes, anchors and group openings. Counted repeats are kept as counts and never written out.
Cost: linear in the pattern. Limit: `MAX_NESTING` open groups, since deeper trees would exhaust the stack of later
passes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NoReturn

from constrain.errors import LimitError, RegexError, span
from constrain.languages.automata.counts import read_count
from constrain.languages.automata.parse import assertions, lookaround
from constrain.languages.automata.parse.assertions import Near, Tree
from constrain.languages.automata.parse.atomic import OrderedPart, Ways, repeated
from constrain.languages.automata.parse.sets import Flags, SetParser
from constrain.languages.automata.syntax import ANY_CHAR, Node, Ranges, chars, literal
from constrain.languages.automata.unicode import intervals
from constrain.languages.automata.unicode.classes import NEWLINE
from constrain.limits import limits_at, tick

MAX_NESTING = 200
Kind = Literal["group", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "(?(DEFINE)"]
_HEX = "0123456789abcdefABCDEF"
COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
# A run of characters that mean themselves in both dialects, without the last one if a quantifier follows it.
# PERF: reading a run at once takes a tenth of the time: the 1,544 patterns of MaskBench take 0.10 instead of 0.25 ms.
PLAIN_RUN = re.compile(r"[A-Za-z0-9_ /:@,;<>=!&%~'\"-]+(?![*+?{]|\(\?#)")


@dataclass
class OpenGroup:
    """An open group.

    Attributes:
        kind: How it was opened.
        index: Its place in the pattern.
        flags: The flags to restore when it closes.
        branches: Its finished alternatives.
        parts: The alternative that is being read.
        ways: Inside of an atomic group, how parts match, by (alternative, part).
        condition: Of a conditional group, the assertion under which its second case holds.
    """

    kind: Kind
    index: int
    flags: Flags
    branches: list[list[Tree]] = field(default_factory=list)
    parts: list[Tree] = field(default_factory=list)
    ways: dict[tuple[int, int], Ways] = field(default_factory=dict)
    condition: Tree | None = None

    def tree(self) -> Tree:
        """The alternatives that were read so far."""
        return assertions.choice([assertions.sequence(parts) for parts in (*self.branches, self.parts)])

    def cases(self) -> list[list[OrderedPart]]:
        """The alternatives, with the ways to match their parts."""
        every = enumerate([*self.branches, self.parts])
        return [
            [OrderedPart(part, self.ways.get((i, j), Ways())) for j, part in enumerate(parts)] for i, parts in every
        ]

    def add(self, part: OrderedPart) -> None:
        """Append a part to the alternative that is being read."""
        self.ways[len(self.branches), len(self.parts)] = part.ways
        self.parts.append(part.tree)


class PatternParser(SetParser):
    """Parses one pattern. Dialects override the methods in the last section.

    Attributes:
        frames: The open groups, innermost last.
        repeatable: Whether a quantifier may follow.
        line_ends: The characters that end a line.
    """

    line_ends: ClassVar[Ranges] = NEWLINE

    def __init__(self, text: str, flags: Flags) -> None:
        super().__init__(text, flags)
        self.frames = [OpenGroup("group", 0, flags)]
        self.repeatable = False

    # --- groups and alternatives ------------------------------------------------------------------------------------

    def read(self) -> Tree:
        """Read the whole pattern."""
        with limits_at(lambda: span(self.text, self.at)):
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
            frame.branches.append(frame.parts)
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
        tree = self.finish(frame)
        if self.in_atomic():
            cases = tuple(frame.cases()) if frame.kind == "group" else ()
            ways = Ways(one=frame.kind not in ("group", "(?("), mixed=frame.kind == "(?(", branches=cases)
            self.frames[-1].add(OrderedPart(tree, ways))
        else:
            self.frames[-1].parts.append(tree)

    def in_atomic(self) -> bool:
        """True if an atomic group is open."""
        return any(frame.kind == "(?>" for frame in self.frames)

    def finish(self, frame: OpenGroup) -> Tree:
        """The tree of a group that was closed."""
        tree = frame.tree()
        if frame.kind == "group":
            if isinstance(tree, Node):
                hash(tree)  # hashes are cached; computing them from the inside out avoids deep recursion
            return tree
        if frame.kind == "(?>":
            return self.atomic(frame)
        try:
            return lookaround.look(tree, "<" not in frame.kind, "!" in frame.kind, frame.index)
        except lookaround.NotRegular as fault:
            self.fail_irregular(fault)

    def atomic(self, frame: OpenGroup) -> Tree:
        """The tree of an atomic group `(?>...)`, for dialects that have it."""
        self.fail("atomic groups are not supported", frame.index, 3)

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
        if low and high and read_count(low) > read_count(high):
            self.fail(f"at least {low} and at most {high} copies: nothing can match", start, self.at - start)
        return read_count(low), read_count(high) if high else None

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
        self.repeatable = self.repeats_again
        body, lazy = frame.parts.pop(), self.take("?")
        possessive = not lazy and self.takes_possessive()
        made = self.possessive(body, low, high, index) if possessive else assertions.loop(body, low, high)
        if self.in_atomic():
            part = OrderedPart(body, frame.ways.get((len(frame.branches), len(frame.parts)), Ways()))
            frame.add(repeated(part, made, lazy=lazy, possessive=possessive))
        else:
            frame.parts.append(made)

    def possessive(self, body: Tree, low: int, high: int | None, index: int) -> Tree:
        """The tree of a possessive quantifier `a*+`, for dialects that have it."""
        self.fail("possessive quantifiers are not supported", index)

    # --- characters, names, flags -------------------------------------------------------------------------------------

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
            "i": "ignore_case",
            "s": "dot_all",
            "m": "multi_line",
            "x": "verbose",
            "a": "ascii",
            "u": "ascii",
        }  # fmt: skip; "U" changes what is greedy, and no language
        changed = {**vars(self.flags)}
        value = True
        while self.peek() and (self.peek() in known or self.peek() == "-"):
            letter = self.peek()
            if letter == "-":
                value = False
            elif letter in names:
                changed[names[letter]] = value != (letter == "u")
            self.at += 1
        if self.at == start or self.peek() not in (")", ":"):
            self.at = start
            return None
        return Flags(**changed)

    def open_flagged(self, index: int, known: str) -> bool:
        """Read `?i)`, flags to the end of the group that is open, or `?i:`, which opens one; False: it is neither."""
        start = self.at
        flags = None
        if self.take("?"):
            flags = self.flags if self.peek() == ":" else self.group_flags(known)
        if flags is None:
            self.at = start
            return False
        if not self.take(")"):
            self.at += 1
            self.push("group", index)
        self.flags = flags
        return True

    def skip_verbose(self, is_blank: bool) -> bool:
        """Skip what a verbose pattern has between its parts: a blank, if it is one, or a comment; whether there was."""
        if not self.flags.verbose or not (is_blank or self.peek() == "#"):
            return False
        end = self.at if is_blank else self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end + 1
        return True

    # --- for the dialects -------------------------------------------------------------------------------------------

    repeats_again = False  # whether a repetition may be repeated

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

    def escape(self) -> Tree:
        """Read an escape outside of a class."""
        raise NotImplementedError

    def line_edge(self, character: str, index: int) -> Tree:
        """The anchor `^` or `$`, which has been read."""
        return Near(character == "$", self.line_ends if self.flags.multi_line else (), True, index)

    def atom(self) -> Tree:
        """Read one character, class, escape or anchor."""
        index, character = self.at, self.peek()
        if character == "[":
            return self.read_class()
        if character == "\\":
            return self.escape()
        self.at += 1
        if character == ".":
            return ANY_CHAR if self.flags.dot_all else chars(intervals.negate(self.line_ends))
        return self.line_edge(character, index) if character in "^$" else self.one(ord(character))


def finish_pattern(parser: PatternParser, tree: Tree) -> Node:
    """The plain language of a whole pattern. Raises RegexError or LimitError if assertions cannot be eliminated."""
    try:
        return lookaround.plain(tree)
    except lookaround.NotRegular as fault:
        parser.fail_irregular(fault)
