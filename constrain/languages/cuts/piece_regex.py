r"""Parser of the regexes that cut texts into pieces, to small programs for threads in order of preference.

The idea: such a regex is choices, sequences and counts over sets of characters, and looks one character ahead
(`(?!\S)`). A set is never understood here: its text (`[^\s\p{L}]`, `(?i:s)`) is handed to the engine that the
tokenizer itself uses, which says of every character whether it is a member (`members`). So sets are exact in every
version of Unicode, and the parser has to know nothing but the structure around them.

Engines: "tokenizers" (Oniguruma, Ruby's syntax) and "tiktoken" (Rust's fancy-regex). Limits, each refused with a
message: lazy counts, back references, words' borders, looks over more than one character or behind, possessive counts
that keep what the rest could have matched, and a pattern that matches the empty text.
Cost: 20 to 30 ms for a set, once a process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from constrain.errors import VocabularyError

Engine = str  # "tokenizers" or "tiktoken", whose set is a text of its syntax; "text": one literal character; "Digits" …
Letters = tuple[Engine, str]  # a set of characters by its name

MAX_COUNT = 64
ESCAPE = re.compile(r"\\(?:[pP]\{\^?[A-Za-z_=]+\}|[dDsSwW]|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[nrtfv]|[^\w\s])")
COUNT = re.compile(r"\{(\d+)(,?)(\d*)\}")
FOLDED_APART = ("ss", "ff", "fi", "fl", "st")  # `ß`, `ﬀ`, `ﬁ`, `ﬂ`, `ﬆ` match them without case: not one character
# Every character below plane 3's end and of the tags; elsewhere, where nothing is assigned but private use, samples
SAMPLE = np.array(
    [
        c
        for c in (*range(0x34000), *range(0x34000, 0x110000, 4096), *range(0xE0001, 0xE1000), *range(0x3FFFE, 0x110000, 65536), *range(0x3FFFF, 0x110000, 65536))
        if not 0xD800 <= c < 0xE000
    ],
    dtype=np.uint32,
)  # fmt: skip
SAMPLE.sort()


@dataclass(frozen=True)
class One:
    """One character of a set."""

    letters: Letters


@dataclass(frozen=True)
class Ahead:
    """The condition that the next character is in a set (`negative`: in none of it), or that there is none."""

    letters: Letters
    negative: bool
    at_end: bool


@dataclass(frozen=True)
class Row:
    """The parts one after another."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Either:
    """The first of the parts that leads to a match."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Times:
    """As many copies as lead to a match, `low` to `high` (None: no bound); `keeps`: none is given back."""

    part: Tree
    low: int
    high: int | None
    keeps: bool


Tree = One | Ahead | Row | Either | Times


def text_tree(text: str) -> Tree:
    """The tree of one literal text."""
    return Row(tuple(One(("text", character)) for character in text))


def can_be_empty(tree: Tree) -> bool:
    """Whether a tree may match no character."""
    if isinstance(tree, Row):
        return all(map(can_be_empty, tree.parts))
    if isinstance(tree, Either):
        return any(map(can_be_empty, tree.parts))
    return isinstance(tree, Ahead) or (isinstance(tree, Times) and (tree.low == 0 or can_be_empty(tree.part)))


class PieceParser:
    """The reader of one pattern in the syntax of an engine."""

    def __init__(self, pattern: str, engine: Engine) -> None:
        self.text, self.engine, self.at, self.folds = pattern, engine, 0, False

    def fail(self, what: str) -> NoReturn:
        raise VocabularyError(f"the pieces of this tokenizer are not understood: {what}", place=f"{self.text!r}, character {self.at}")

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
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

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
        if self.take("(?:") or (self.text.startswith("(", self.at) and not self.text.startswith("(?", self.at) and self.take("(")):
            return self.closed(self.choice())
        if self.take("(?i:"):
            return self.folded()
        if self.take("(?!") or self.take("(?="):
            negative = self.text[self.at - 1] == "!"
            inner = self.closed(self.choice())
            if not isinstance(inner, One):
                self.fail("a look at more than one character")
            return Ahead(inner.letters, negative, negative)
        if self.take("$"):  # Ruby's also holds before a line feed
            return Ahead(("text", "\n" if self.engine == "tokenizers" else ""), False, True)
        if self.take("\\z"):
            return Ahead(("text", ""), False, True)
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
        if not inside.isascii() or "\\" in inside or "[^" in inside or any(pair in inside.lower() for pair in FOLDED_APART):
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
    if isinstance(tree, Ahead):
        return program.add("ahead", sets.setdefault(tree.letters, len(sets)), tree.negative, tree.at_end, target)
    if isinstance(tree, Row):
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


@cache
def members(letters: Letters) -> NDArray[np.uint32]:
    """The code points where membership of a set changes, in order; those below the first are no members."""
    engine, text = letters
    if engine == "text":
        return np.array([bound for c in text for bound in (ord(c), ord(c) + 1)], dtype=np.uint32)
    sample = SAMPLE.astype("<u4").tobytes().decode("utf-32-le")
    try:
        rest = _matched(engine, text, sample) if engine == "tiktoken" else _unmatched(engine, text, sample)
    except VocabularyError:
        raise
    except Exception as error:  # the libraries raise `Exception` itself
        raise VocabularyError(f"the pieces of this tokenizer are not understood: {text}: {error}") from None
    inside = np.isin(SAMPLE, np.frombuffer(rest.encode("utf-32-le"), dtype="<u4"))
    if engine != "tiktoken":
        inside = ~inside
    changes = np.flatnonzero(np.diff(inside, prepend=False))
    found: NDArray[np.uint32] = SAMPLE[changes]
    return found


def _unmatched(engine: Engine, text: str, sample: str) -> str:
    """What an expression of tokenizers' engine, or a pre-tokenizer ("Digits", …), does not match in a sample."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    if engine == "tokenizers":
        return str(normalizers.Replace(Regex(text), "").normalize_str(sample))
    cut = pre_tokenizers.Digits(False) if engine == "Digits" else pre_tokenizers.Punctuation("contiguous")
    return "".join(piece for piece, _ in cut.pre_tokenize_str(sample)[::2])  # runs take turns; NUL is no member


def _matched(engine: Engine, text: str, sample: str) -> str:
    """What an expression of tiktoken's engine matches in a sample: its encoding drops the rest."""
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding(engine, pat_str=text, mergeable_ranks=ranks, special_tokens={})
    return bytes(encoding.encode_ordinary(sample)).decode()


@dataclass(frozen=True)
class Symbols:
    """The characters by what the sets of a tokenizer tell apart, and by their length in UTF-8.

    Attributes:
        of: Code point → symbol; −1 for surrogates.
        sets: Symbol → the numbers of the sets that it is in, as bits.
        width: Symbol → bytes of its characters.
    """

    of: NDArray[np.int16]
    sets: Sequence[int]
    width: Sequence[int]


def symbols(sets: dict[Letters, int], blank_as: int = 0x20) -> Symbols:
    """The coarsest symbols for some sets. blank_as: the character that sets take the blank for."""
    bounds = [members(letters) for letters in sets]
    edges = np.array([0, 0x20, 0x21, 0x80, 0x800, 0xD800, 0xE000, 0x10000, blank_as, blank_as + 1], dtype=np.uint32)
    starts = np.unique(np.concatenate([edges, *bounds]))
    starts = starts[starts < 0x110000]
    masks = np.zeros(len(starts), dtype=np.int64)
    if len(sets) > 60:
        raise VocabularyError(f"the pieces of this tokenizer have {len(sets)} sets of characters; 60 are possible")
    for number, changes in enumerate(bounds):
        masks |= (np.searchsorted(changes, starts, side="right").astype(np.int64) & 1) << number
    masks[starts == 0x20] = masks[starts == blank_as]
    widths = np.searchsorted(np.array([0x80, 0x800, 0x10000]), starts, side="right") + 1
    both, numbers = np.unique(masks << 2 | (widths - 1), return_inverse=True)
    numbers = numbers.reshape(-1).astype(np.int16)
    numbers[starts == 0xD800] = -1
    of = np.repeat(numbers, np.diff(np.append(starts, 0x110000)))
    return Symbols(of, (both >> 2).tolist(), ((both & 3) + 1).tolist())
