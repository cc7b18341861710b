r"""Parser of the regexes that cut texts into pieces, to small programs for threads in order of preference.

The idea: such a regex is choices, sequences and counts over sets of characters, and looks one character ahead
(`(?!\S)`). A set is never understood here: its text (`[^\s\p{L}]`, `(?i:s)`) is handed to the engine that the
tokenizer itself uses, which says of every character whether it is a member. So sets are exact in every
version of Unicode (piece_sets.py), and the parser knows nothing but the structure around them.

Engines: "tokenizers" (Oniguruma, Ruby's syntax) and "tiktoken" (Rust's fancy-regex). Limits, each refused with a
message: lazy counts, back references, words' borders, looks over more than one character or behind, possessive counts
that keep what the rest could have matched, and a pattern that matches the empty text.
Cost: below 1 ms for the regexes of today's models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from constrain.errors import VocabularyError

Engine = str  # "tokenizers" or "tiktoken", whose set is a text of its syntax; "text": one literal character; "Digits" …
Letters = tuple[Engine, str]  # a set of characters by its name

MAX_COUNT = 64
ESCAPE = re.compile(
    r"\\(?:[pP]\{\^?[A-Za-z_=]+\}|[dDsSwW]|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[nrtfv]|[^\w\s])"
)
COUNT = re.compile(r"\{(\d+)(,?)(\d*)\}")
FOLDED_APART = ("ss", "ff", "fi", "fl", "st")  # `ß`, `ﬀ`, `ﬁ`, `ﬂ`, `ﬆ` match them without case: not one character


@dataclass(frozen=True)
class One:
    """One character of a set."""

    letters: Letters


@dataclass(frozen=True)
class NextIs:
    """The condition that the next character is in a set (`negative`: in none of it), or that there is none."""

    letters: Letters
    negative: bool
    at_end: bool


@dataclass(frozen=True)
class Chain:
    """The parts one after another."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Either:
    """The first of the parts that leads to a match."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Times:
    """A loop: `low` to `high` copies (None: no bound), as many as lead to a match; `keeps`: none is given back."""

    part: Tree
    low: int
    high: int | None
    keeps: bool


Tree = One | NextIs | Chain | Either | Times


def text_tree(text: str) -> Tree:
    """The tree of one literal text."""
    return Chain(tuple(One(("text", character)) for character in text))


def can_be_empty(tree: Tree) -> bool:
    """True if a tree may match no character."""
    if isinstance(tree, Chain):
        return all(map(can_be_empty, tree.parts))
    if isinstance(tree, Either):
        return any(map(can_be_empty, tree.parts))
    return isinstance(tree, NextIs) or (isinstance(tree, Times) and (tree.low == 0 or can_be_empty(tree.part)))


class PieceParser:
    """The reader of one pattern in the syntax of an engine."""

    def __init__(self, pattern: str, engine: Engine) -> None:
        self.text, self.engine, self.at, self.folds = pattern, engine, 0, False

    def fail(self, what: str) -> NoReturn:
        raise VocabularyError(
            f"the pieces of this tokenizer are not understood: {what}", place=f"{self.text!r}, character {self.at}"
        )

    def take(self, text: str) -> bool:
        """Step over a text, if it comes next."""
        found = self.text.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def whole(self) -> Tree:
        """The tree of the whole pattern."""
        tree = self.choice()
        if self.at < len(self.text):
            self.fail("a parenthesis is not opened")
        if can_be_empty(tree):
            self.fail("the pattern matches the empty text")
        return tree

    def choice(self) -> Tree:
        parts = [self.row()]
        while self.take("|"):
            parts.append(self.row())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def row(self) -> Tree:
        parts: list[Tree] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self.counted(self.atom()))
        return parts[0] if len(parts) == 1 else Chain(tuple(parts))

    def counted(self, part: Tree) -> Tree:
        low, high, braces = 1, 1, COUNT.match(self.text, self.at)
        bound: int | None = high
        if braces:
            self.at = braces.end()
            low = int(braces[1])
            bound = int(braces[3]) if braces[3] else None if braces[2] else low
        elif self.take("?"):
            low = 0
        elif self.take("*"):
            low, bound = 0, None
        elif self.take("+"):
            bound = None
        else:
            return part
        keeps = self.take("+")
        if self.text[self.at : self.at + 1] in ("?", "*", "+", "{") and self.at < len(self.text):
            self.fail("a count of a count, or a lazy one")
        if keeps and (not isinstance(part, One) or (braces and self.engine == "tokenizers")):
            self.fail("a possessive count of more than one character, or in braces")
        if max(low, bound or 0) > MAX_COUNT or (bound is not None and bound < low):
            self.fail("a count that is too large")
        if can_be_empty(part) and bound is None:
            self.fail("a loop over the empty text")
        return Times(part, low, bound, keeps)

    def atom(self) -> Tree:
        if self.take("(?:") or (
            self.text.startswith("(", self.at) and not self.text.startswith("(?", self.at) and self.take("(")
        ):
            return self.closed(self.choice())
        if self.take("(?i:"):
            return self.folded()
        if self.take("(?!") or self.take("(?="):
            negative = self.text[self.at - 1] == "!"
            inner = self.closed(self.choice())
            if not isinstance(inner, One):
                self.fail("a look at more than one character")
            return NextIs(inner.letters, negative, negative)
        if self.take("$"):  # Ruby's also holds before a line feed
            return NextIs(("text", "\n" if self.engine == "tokenizers" else ""), False, True)
        if self.take("\\z"):
            return NextIs(("text", ""), False, True)
        return One(self.letters())

    def closed(self, tree: Tree) -> Tree:
        if not self.take(")"):
            self.fail("a parenthesis is not closed")
        return tree

    def folded(self) -> Tree:
        """Read the rest of a group without case."""
        start, outer, self.folds = self.at, self.folds, True
        tree = self.closed(self.choice())
        self.folds = outer
        inside = self.text[start : self.at - 1]
        if (
            not inside.isascii()
            or "\\" in inside
            or "[^" in inside
            or any(pair in inside.lower() for pair in FOLDED_APART)
        ):
            self.fail("a group without case has more than ASCII letters")
        return tree

    def letters(self) -> Letters:
        """Read one set: a bracket, an escape, a dot or a literal character."""
        start, first = self.at, self.text[self.at]
        self.at += 1
        if first == "[":
            self.bracket()
        elif first == "\\":
            escape = ESCAPE.match(self.text, start)
            if not escape:
                self.fail(f"the escape {self.text[start : start + 2]}")
            self.at = escape.end()
        elif first in "?*+{}^()]":
            self.fail(f"{first!r} in this place")
        elif first != "." and not (self.folds and first.isalpha()):
            return "text", first
        text = self.text[start : self.at]
        return self.engine, f"(?i:{text})" if self.folds else text

    def bracket(self) -> None:
        """Step over the rest of a bracket, with those inside it."""
        self.take("^")
        if self.text.startswith("]", self.at):
            self.fail("a bracket that begins with ]")
        while not self.take("]"):
            if self.at >= len(self.text):
                self.fail("a bracket is not closed")
            inner = self.take("[")
            if inner:
                self.bracket()
            else:
                self.at += 2 if self.text[self.at] == "\\" else 1


def parse_pieces(pattern: str, engine: Engine) -> Tree:
    """The tree of a pattern in the syntax of an engine. Raises VocabularyError for what is not understood."""
    return PieceParser(pattern, engine).whole()


@dataclass
class Program:
    """Instructions for threads: an instruction is a tuple (kind, set or targets, target, …).

    ("one", set, target), ("ahead", set, negative, at_end, target), ("split", targets), ("match",): sets by number.

    Attributes:
        lines: The instructions.
        start: Where a thread begins.
        kept: (set, target) of the possessive counts: what comes after must not begin with a member.
    """

    lines: list[tuple[Any, ...]] = field(default_factory=list)
    start: int = 0
    kept: list[tuple[int, int]] = field(default_factory=list)

    def add(self, *line: Any) -> int:
        self.lines.append(line)
        return len(self.lines) - 1


def compile_pieces(tree: Tree | None, sets: dict[Letters, int]) -> Program:
    """The program of a tree (None: it matches nothing). Adds the sets that it names to `sets`, which numbers them."""
    program = Program()
    end = program.add("match")
    program.start = program.add("split", ()) if tree is None else _compile(program, tree, end, sets)
    return program


def _compile(program: Program, tree: Tree, target: int, sets: dict[Letters, int]) -> int:
    if isinstance(tree, One):
        return program.add("one", sets.setdefault(tree.letters, len(sets)), target)
    if isinstance(tree, NextIs):
        return program.add("ahead", sets.setdefault(tree.letters, len(sets)), tree.negative, tree.at_end, target)
    if isinstance(tree, Chain):
        for part in reversed(tree.parts):
            target = _compile(program, part, target, sets)
        return target
    if isinstance(tree, Either):
        return program.add("split", tuple(_compile(program, part, target, sets) for part in tree.parts))
    if tree.keeps and isinstance(tree.part, One):
        program.kept.append((sets.setdefault(tree.part.letters, len(sets)), target))
    after = target
    if tree.high is None:
        target = program.add("split")
        program.lines[target] = ("split", (_compile(program, tree.part, target, sets), after))
    for _ in range((tree.high or tree.low) - tree.low):
        target = program.add("split", (_compile(program, tree.part, target, sets), after))
    for _ in range(tree.low):
        target = _compile(program, tree.part, target, sets)
    return target
