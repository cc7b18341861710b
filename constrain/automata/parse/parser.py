"""What the two pattern dialects share: groups, alternatives, quantifiers, classes, and the carets of their errors.

The idea: one pass over the text with a stack of open groups, so nesting costs no Python stack while reading. A
dialect says what its escapes, anchors and group openings mean. Counted repeats are kept as counts, never written
out. Cost: linear in the pattern. Limit: `MAX_NESTING` open groups, since trees that deep would exhaust the stack
further on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from constrain.automata.parse import assertions, lookaround
from constrain.automata.parse.assertions import Tree
from constrain.automata.syntax import Node, Ranges, chars, literal
from constrain.automata.unicode import intervals
from constrain.errors import LimitError, RegexError, span

MAX_NESTING = 200
Kind = Literal["group", "(?=", "(?!", "(?<=", "(?<!", "(?>"]
_HEX = "0123456789abcdefABCDEF"
# Characters that mean themselves in both dialects, up to one that a quantifier may follow.
# PERF: read at once, they cost a tenth: the 1,544 patterns of MaskBench take 0.10 instead of 0.25 ms each.
_PLAIN_RUN = re.compile(r"[A-Za-z0-9_ /:@,;<>=!&%~'\"-]+(?![*+?{]|\(\?#)")


@dataclass(frozen=True)
class Flags:
    """The modes that a pattern can switch on, for all of it or for a group."""

    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False
    verbose: bool = False
    ascii: bool = False


@dataclass
class OpenGroup:
    """An open group. branches: its finished alternatives; parts: the one being read; flags: those to go back to."""

    kind: Kind
    index: int
    flags: Flags
    branches: list[Tree] = field(default_factory=list)
    parts: list[Tree] = field(default_factory=list)

    def tree(self) -> Tree:
        """What was read so far."""
        return assertions.choice([*self.branches, assertions.sequence(self.parts)])


class PatternParser:
    """Reads one pattern. A dialect fills in the methods below the line "the dialect's part"."""

    def __init__(self, text: str, flags: Flags) -> None:
        self.text = text
        self.at = 0
        self.flags = flags
        self.frames = [OpenGroup("group", 0, flags)]
        self.repeatable = False  # may a quantifier follow?

    def fail(self, message: str, index: int, length: int = 1, fix: str | None = None) -> NoReturn:
        """Raise a `RegexError` with a caret under the fault."""
        raise RegexError(message, place=span(self.text, index, length), fix=fix)

    def take(self, expected: str) -> bool:
        """Step over a text if it comes next."""
        found = self.text.startswith(expected, self.at)
        self.at += len(expected) if found else 0
        return found

    def peek(self) -> str:
        """The next character, or the empty text at the end."""
        return self.text[self.at : self.at + 1]

    # --- groups and alternatives ------------------------------------------------------------------------------------

    def read(self) -> Tree:
        """The whole pattern."""
        while self.at < len(self.text):
            self.read_item()
        if len(self.frames) > 1:
            self.fail("this group is not closed", self.frames[-1].index, fix="add ), or write \\( for a parenthesis")
        return self.frames[0].tree()

    def read_item(self) -> None:
        """One atom, quantifier, or border of a group."""
        index, character = self.at, self.peek()
        frame = self.frames[-1]
        run = _PLAIN_RUN.match(self.text, index) if not (self.flags.ignore_case or self.flags.verbose) else None
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
        """Open a group; what follows belongs to it."""
        self.frames.append(OpenGroup(kind, index, self.flags))
        self.repeatable = False

    def close_group(self, index: int) -> None:
        """Step over `)` and give the group to the one around it."""
        if len(self.frames) == 1:
            self.fail("this ) closes no group", index, fix="write \\) for a parenthesis")
        self.at += 1
        frame = self.frames.pop()
        self.flags = frame.flags
        self.repeatable = True
        self.frames[-1].parts.append(self.finish(frame))

    def finish(self, frame: OpenGroup) -> Tree:
        """The meaning of a group that was just closed."""
        tree = frame.tree()
        if frame.kind == "group":
            if isinstance(tree, Node):
                hash(tree)  # hashes are kept, so computing them from the inside out needs no deep recursion
            return tree
        if frame.kind == "(?>":
            return self.atomic(tree, frame.index)
        try:
            return lookaround.look(tree, "<" not in frame.kind, "!" in frame.kind, frame.index)
        except lookaround.NotRegular as fault:
            self.fail_irregular(fault)

    def atomic(self, tree: Tree, index: int) -> Tree:
        """`(?>...)`, for dialects that have it."""
        self.fail("atomic groups are not supported", index, 3)

    def fail_irregular(self, fault: lookaround.NotRegular) -> NoReturn:
        """Report an assertion that could not be turned into a plain language."""
        place = span(self.text, fault.index)
        if fault.too_many:
            raise LimitError(fault.reason, place=place, fix="use fewer alternatives with assertions in them") from fault
        fix = "write it without the assertion, or move it to the start or end of the pattern"
        raise RegexError(fault.reason, place=place, fix=fix) from fault

    # --- quantifiers ------------------------------------------------------------------------------------------------

    def quantifier(self) -> tuple[int, int | None] | None:
        """Step over `*`, `+`, `?` or `{...}` and return its bounds; None if there is none here."""
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if self.peek() in simple:
            self.at += 1
            return simple[self.text[self.at - 1]]
        start = self.at
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
        """Step over ASCII digits."""
        start = self.at
        while self.peek() and self.peek() in "0123456789":
            self.at += 1
        return self.text[start : self.at]

    def repeat_last(self, frame: OpenGroup, index: int, low: int, high: int | None) -> None:
        """Apply a quantifier, whose lazy `?` changes nothing for a language, to the last part."""
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
        """`a*+`, for dialects that have it."""
        self.fail("possessive quantifiers are not supported", index)

    # --- classes and characters -------------------------------------------------------------------------------------

    def read_class(self) -> Node:
        """`[...]`, from its bracket on."""
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
                singles += [(low, low), (0x2D, 0x2D)]  # `a-\d`: three things (ECMA-262 annex B.1.2.8.1)
                low = high
            if isinstance(low, int):
                singles.append((low, low))
            else:
                sets.append(low)
        self.at += 1
        found = self.close_case(singles, sets)
        return chars(intervals.negate(found) if negative else found)

    def class_atom(self) -> int | Ranges:
        """One character, or one class escape, inside `[...]`."""
        if self.peek() == "\\":
            return self.class_escape()
        self.at += 1
        return ord(self.text[self.at - 1])

    def one(self, code_point: int) -> Node:
        """One character, or its case variants."""
        pair = (code_point, code_point)
        return chars(self.close_case([pair], []) if self.flags.ignore_case else [pair])

    def hexadecimal(self, count: int) -> int | None:
        """Step over exactly so many hexadecimal digits; None (and no step) if they are not there."""
        digits = self.text[self.at : self.at + count]
        if len(digits) < count or any(digit not in _HEX for digit in digits):
            return None
        self.at += count
        return int(digits, 16)

    def group_name(self) -> None:
        """Step over a group's name and its `>`."""
        end = self.text.find(">", self.at)
        if end <= self.at:
            self.fail("this group has no name", self.at - 1, fix="write (?<name>...)")
        self.at = end + 1

    def group_flags(self, known: str) -> Flags | None:
        """Step over `i`, `-s`, `im-s`, ... and return the flags they make; None (and no step) if there are none."""
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

    # --- the dialect's part -----------------------------------------------------------------------------------------

    closes_at_once = False  # does `[]` close the class?

    def skip_blank(self) -> bool:
        """Step over what means nothing (a verbose pattern's blanks); True if there was any."""
        return False

    def takes_possessive(self) -> bool:
        """Step over the `+` that makes a quantifier possessive, where the dialect has it."""
        return False

    def is_count(self, low: str, high: str, comma: bool) -> bool:
        """Are these (possibly empty) digits between braces a quantifier? Else the brace is a character."""
        raise NotImplementedError

    def open_group(self, index: int) -> None:
        """Read what follows `(` and push a frame; or handle a group without contents."""
        raise NotImplementedError

    def atom(self) -> Tree:
        """One character, class, escape or anchor."""
        raise NotImplementedError

    def class_escape(self) -> int | Ranges:
        """An escape inside `[...]`, from its backslash on."""
        raise NotImplementedError

    def close_case(self, singles: list[tuple[int, int]], sets: list[Ranges]) -> Ranges:
        """The union of written characters and of class escapes, with case variants if the flags say so."""
        raise NotImplementedError


def finish_pattern(reader: PatternParser, tree: Tree) -> Node:
    """The plain language of a whole pattern."""
    try:
        return lookaround.plain(tree)
    except lookaround.NotRegular as fault:
        reader.fail_irregular(fault)
