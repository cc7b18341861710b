r"""Pieces: where a tokenizer cuts a text before its model sees it, known while bytes arrive.

The idea: a pre-tokenizer is a row of stages, most of them a regex with an order of preference. A regex is followed by
threads in that order, all at once. What the best match so far would mean, if the better threads come to nothing, is a
state of its own that reads along ("other"): so no character is ever read twice, and equal futures are equal states. A
stage that cuts what an earlier stage left hears of a character once the border before it is settled.

Positions are counted in bytes back from the end of what was read: bit k of a mask is the place k bytes before the end.
A byte settles some positions as borders (`ended`, each once), leaves some undecided (`open`), and all others are no
borders. The end of a text is always one.

Cost: a state is made when a text first reaches it, 0.3 to 1 ms for the 256 bytes that may come next. Limit: a state in
which more than `LIMIT` bytes are undecided is `DEAD` (27 blanks after a line feed, for Llama 3's regex).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from constrain.errors import VocabularyError
from constrain.languages.cuts.piece_regex import (
    Either,
    One,
    Program,
    Row,
    Symbols,
    Times,
    Tree,
    compile_pieces,
    parse_pieces,
    symbols,
    text_tree,
)

DEAD = 0
LIMIT = 26  # bytes: with those of one more character, positions fit into the masks, which are int32
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
BLANK = "▁"  # what SentencePiece writes for a blank

Masked = tuple[int, int]  # a state, and the mask of the borders that were settled on the way


class Stage(Protocol):
    """An automaton over symbols; state 0 is dead, state 1 has nothing pending."""

    def read(self, state: int, symbol: int) -> Masked: ...
    def open(self, state: int) -> int: ...
    def finish(self, state: int) -> int: ...


class Interned:
    """Numbers for states, and what was found out about them."""

    def __init__(self) -> None:
        self.values: list[Any] = [None]
        self._numbers: dict[Any, int] = {}
        self.known: dict[tuple[int, int], Masked] = {}

    def number(self, value: Any) -> int:
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found


class RegexStage:
    """The pieces that one regex makes: its matches from left to right, and what lies between two matches.

    A state is (threads, gap, best, inner, other). threads: those preferred to the best match so far. gap: bytes since
    the characters between matches that precede this attempt ended, −1: none do. best: bytes since the best match, −1:
    none yet. inner, other: the borders, and the state, if all threads fail; other is 0 where nothing was read yet.
    """

    def __init__(self, program: Program, over: Symbols, *, glued: bool, total: bool) -> None:
        self._program, self._symbols, self._glued = program, over, glued
        self._states = Interned()
        begin: list[int] = []
        self._enter(program.start, begin, set())
        self._begin = tuple(begin)
        self.start = self._states.number((self._begin, -1, -1, 0, 0))
        self._gap = self._states.number((self._begin, 0, -1, 0, 0))
        for number, target in program.kept:
            self._check_kept(number, target)
        if total and any(self._move(self._begin, symbol)[1] != 0 for symbol in range(len(over.sets))):
            raise VocabularyError("the tokenizer drops the characters that its regex does not match")

    def _check_kept(self, number: int, target: int) -> None:
        """Refuse a possessive count that keeps what the rest could match: greedy ones would give it back."""
        rest: list[int] = []
        if self._enter(target, rest, set()):
            return  # the rest matches anyhow
        for symbol, sets in enumerate(self._symbols.sets):
            if sets >> number & 1 and self._move(tuple(rest), symbol) != ((), -1):
                raise VocabularyError("the pieces of this tokenizer are not understood: a possessive count gives back")

    def _enter(self, line: int, threads: list[int], seen: set[int]) -> bool:
        """Add the threads of a line, in order. True: it reaches a match, so those after it are of no interest."""
        if line in seen:
            return False
        seen.add(line)
        kind, *rest = self._program.lines[line]
        if kind == "split":
            return any(self._enter(target, threads, seen) for target in rest[0])
        if kind == "match":
            return True
        threads.append(line)
        return False

    def _move(self, threads: Sequence[int], symbol: int | None) -> tuple[tuple[int, ...], int]:
        """The threads after a symbol (None: the end), and their match: 0 after it, 1 before it, −1 none."""
        after: list[int] = []
        seen: set[int] = set()
        passed: set[int] = set()
        sets = 0 if symbol is None else self._symbols.sets[symbol]

        def advance(line: int) -> int:
            kind, *rest = self._program.lines[line]
            if kind == "one":
                met = symbol is not None and sets >> rest[0] & 1
                return 0 if met and self._enter(rest[1], after, seen) else -1
            if kind == "match":
                return 1
            if line in passed:
                return -1
            passed.add(line)
            if kind == "ahead":
                number, negative, at_end, target = rest
                holds = at_end if symbol is None else (sets >> number & 1) != negative
                return advance(target) if holds else -1
            return next((found for target in rest[0] if (found := advance(target)) >= 0), -1)

        found = next((found for line in threads if (found := advance(line)) >= 0), -1)
        return tuple(after), found

    def read(self, state: int, symbol: int) -> Masked:
        """The state after a symbol, and the borders that it settles."""
        known = self._states.known.get((state, symbol))
        if known is None:
            known = self._states.known[state, symbol] = self._read(state, symbol)
        return known

    def _read(self, state: int, symbol: int) -> Masked:
        if state == DEAD:
            return DEAD, 0
        threads, gap, best, inner, other = self._states.values[state]
        width, ended = self._symbols.width[symbol], 0
        moved, found = self._move(threads, symbol)
        gap, best = (bytes_back + width if bytes_back >= 0 else -1 for bytes_back in (gap, best))
        if found >= 0:
            if gap >= 0 and not self._glued:
                ended = 1 << gap
            gap, best = -1, found * width
            other, inner = self.read(self.start, symbol) if found else (self.start, 0)
        elif not other:
            other, inner = self._gap, 0
        else:
            other, settled = self.read(other, symbol)
            inner = inner << width | settled
        if not moved:
            return other, ended | inner | (1 << best if best >= 0 else 0)
        if other == DEAD or max(gap, best) > LIMIT:
            return DEAD, 0
        return self._states.number((moved, gap, best, inner, other)), ended

    def open(self, state: int) -> int:
        """The positions that are undecided in a state."""
        if state == DEAD:
            return 0
        threads, gap, best, inner, other = self._states.values[state]
        mask = inner | self.open(other)
        if best >= 0:
            mask |= 1 << best
        if gap >= 0 and threads and not self._glued:
            mask |= 1 << gap
        return int(mask | any(self._program.lines[line][0] == "ahead" for line in threads) * (other != 0))

    def finish(self, state: int) -> int:
        """The positions that become borders if the text ends."""
        if state == DEAD:
            return 0
        threads, gap, best, inner, other = self._states.values[state]
        if not other:
            return int(gap >= 0)
        if self._move(threads, None)[1] >= 0:
            return 1 | (1 << gap if gap >= 0 and not self._glued else 0)
        return int(inner | self.finish(other) | (1 << best if best >= 0 else 0))


class Following:
    """Two stages: the second cuts each piece of the first, and sees its end as the end of a text.

    A state is (state of the first, symbols that the second has not heard, borders among them, state of the second).
    The second has heard all before the first undecided position.
    """

    def __init__(self, first: Stage, second: Stage, over: Symbols) -> None:
        self._first, self._second, self._width = first, second, over.width
        self._states = Interned()
        self._states.number((1, (), 0, 1))

    def read(self, state: int, symbol: int) -> Masked:
        """The state after a symbol, and the borders that it settles."""
        if state == DEAD:
            return DEAD, 0
        known = self._states.known.get((state, symbol))
        if known is None:
            first, waiting, borders, second = self._states.values[state]
            first, settled = self._first.read(first, symbol)
            borders = borders << self._width[symbol] | settled
            *parts, ended = self._hear((*waiting, symbol), borders, self._first.open(first), second)
            dead = DEAD in (first, parts[2]) or sum(self._width[s] for s in parts[0]) > LIMIT
            known = (DEAD, 0) if dead else (self._states.number((first, *parts)), ended)
            self._states.known[state, symbol] = known
        return known

    def _hear(self, waiting: tuple[int, ...], borders: int, undecided: int, second: int) -> tuple[Any, ...]:
        """Let the second stage read up to the first undecided position: what still waits, its state, its borders."""
        back, ended = sum(self._width[symbol] for symbol in waiting), 0
        for i in range(len(waiting) + 1):
            if undecided >> back & 1:
                return waiting[i:], borders & (1 << back) - 1, second, ended
            if borders >> back & 1:
                ended |= self._second.finish(second) << back
                second = 1
            if i < len(waiting):
                second, settled = self._second.read(second, waiting[i])
                back -= self._width[waiting[i]]
                ended |= settled << back
        return (), 0, second, ended

    def open(self, state: int) -> int:
        """The positions that are undecided in a state."""
        if state == DEAD:
            return 0
        first, waiting, _, second = self._states.values[state]
        back = sum(self._width[symbol] for symbol in waiting)
        mask = self._second.open(second) << back
        if second != 1:
            mask |= self._first.open(first) & 1 << back
        for symbol in waiting:
            back -= self._width[symbol]
            mask |= 1 << back
        return mask

    def finish(self, state: int) -> int:
        """The positions that become borders if the text ends."""
        if state == DEAD:
            return 0
        first, waiting, borders, second = self._states.values[state]
        return int(self._hear(waiting, borders | self._first.finish(first), 0, second)[3])


@dataclass(frozen=True)
class Cut:
    """One stage as the tokenizer's file describes it.

    tree: the regex; None matches nothing. glued: a match joins what is before it. total: what it does not match is
    dropped, so it must match everything.
    """

    tree: Tree | None
    glued: bool = False
    total: bool = False


class Pieces:
    """An automaton over bytes that knows the borders of a tokenizer's pieces.

    Args:
        cuts: The stages, in order.
        prepends: See the attribute.
        form: See the attribute.
        blank_as: The character that the stages see for a blank.

    Attributes:
        start: The state at the beginning of a text.
        next, ended, open: int32 tables: `next[state, byte]` (−1: `expand` the state first), the mask of the borders
            that the byte settles, and the mask `open[state]` of positions that are undecided.
        prepends: The tokenizer writes a blank before a text (that begins with none): it is read as part of the text.
        form: "NFC": the tokenizer brings texts to this form first; the pieces are those of texts that are in it.

    Raises:
        VocabularyError: Something that the stages do is not understood.

    Example:
        >>> from constrain.languages.cuts.pieces import GPT2, Pieces
        >>> pieces, borders = Pieces.of_regex(GPT2, "tokenizers"), []
        >>> state, text = pieces.start, b"it's 10"
        >>> for at, byte in enumerate(text, 1):
        ...     borders += [at - k for k in range(8) if pieces.borders(state, byte) >> k & 1]
        ...     state = pieces.step(state, byte)
        >>> borders, bin(pieces.open[state]), bin(pieces.finish(state))
        ([2, 4], '0b1', '0b1')
    """

    start = 1

    def __init__(self, cuts: Sequence[Cut], *, prepends: bool = False, form: str | None = None, blank_as: str = " ") -> None:
        self.prepends, self.form = prepends, form
        sets: dict[tuple[str, str], int] = {}
        programs = [compile_pieces(cut.tree, sets) for cut in cuts or [Cut(None)]]
        self._symbols = symbols(sets, ord(blank_as))
        self._whole: Stage | None = None
        for cut, program in zip(cuts or [Cut(None)], programs, strict=True):
            stage = RegexStage(program, self._symbols, glued=cut.glued, total=cut.total)
            self._whole = stage if self._whole is None else Following(self._whole, stage, self._symbols)
        self._rows = _utf8_rows(self._symbols.of)
        self._states = Interned()
        self._lock = threading.Lock()
        self.next = np.full((64, 256), -1, dtype=np.int32)
        self.ended = np.zeros((64, 256), dtype=np.int32)
        self.open = np.zeros(64, dtype=np.int32)
        self.next[DEAD] = DEAD
        self._state(1, (0, 0))

    @classmethod
    def of(cls, tokenizer: Any) -> Pieces:
        """The pieces of a fast tokenizer of transformers, or a `tokenizers.Tokenizer`.

        Args:
            tokenizer: The tokenizer.

        Raises:
            VocabularyError: Its normalizer changes texts, or a part of its pre-tokenizer is not understood.
        """
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not hasattr(backend, "pre_tokenizer"):
            raise VocabularyError(f"the pieces of {type(tokenizer).__name__} are not known: it has no fast backend")
        prepends, form, blank_as = _read_normalizer(_state_of(backend.normalizer))
        cuts, also_prepends = _read_pre_tokenizer(_state_of(backend.pre_tokenizer), True)
        return cls(cuts, prepends=prepends or also_prepends, form=form, blank_as=blank_as)

    @classmethod
    def of_regex(cls, pattern: str, engine: str = "tiktoken") -> Pieces:
        """The pieces that one regex makes.

        Args:
            pattern: The regex, in the syntax of the engine.
            engine: "tiktoken" (what does not match is dropped: refused), or "tokenizers" (it is a piece).

        Raises:
            VocabularyError: A part of it is not understood.
        """
        return cls([Cut(parse_pieces(pattern, engine), total=engine == "tiktoken")])

    def step(self, state: int, byte: int) -> int:
        """The state after a byte.

        Args:
            state: The state before it.
            byte: The byte.
        """
        if self.next[state, byte] < 0:
            self.expand(state)
        return int(self.next[state, byte])

    def borders(self, state: int, byte: int) -> int:
        """The mask of the positions that a byte settles as borders.

        Args:
            state: The state before it.
            byte: The byte; position 0 is after it.
        """
        self.step(state, byte)
        return int(self.ended[state, byte])

    def finish(self, state: int) -> int:
        """The mask of the positions that become borders if the text ends; 0 inside a character.

        Args:
            state: The state at the end.
        """
        if state == DEAD or self._whole is None:
            return 0
        whole, row = self._states.values[state]
        return self._whole.finish(whole) if row == (0, 0) else 0

    def expand(self, state: int) -> None:
        """Fill the rows of a state.

        Args:
            state: A state that `step` or `next` gave.
        """
        assert self._whole is not None
        with self._lock:
            if self.next[state, 0] >= 0:
                return
            whole, (depth, row) = self._states.values[state]
            targets, masks = np.zeros(256, dtype=np.int32), np.zeros(256, dtype=np.int32)
            made: dict[int, tuple[int, int]] = {-1: (DEAD, 0)}
            for byte, below in enumerate(self._rows[depth][row]):
                if below not in made:
                    if below < CHARACTER:
                        made[below] = (self._state(whole, (below >> 20, below & 0xFFFFF)), 0)
                    else:
                        after, settled = self._whole.read(whole, below - CHARACTER)
                        found = self._state(after, (0, 0))
                        made[below] = (found, settled if found else 0)
                targets[byte], masks[byte] = made[below]
            self.ended[state] = masks
            self.next[state] = targets  # last: readers without the lock look here first

    def _state(self, whole: int, row: tuple[int, int]) -> int:
        """The number of a state, with its undecided positions; DEAD if they are too many."""
        assert self._whole is not None
        undecided = self._whole.open(whole) << row[0]
        if whole == DEAD or undecided >> LIMIT + row[0] + 1:
            return DEAD
        state = self._states.number((whole, row))
        if state >= len(self.open):
            self.next = np.concatenate([self.next, np.full_like(self.next, -1)])
            self.ended = np.concatenate([self.ended, np.zeros_like(self.ended)])
            self.open = np.concatenate([self.open, np.zeros_like(self.open)])
        self.open[state] = undecided
        return state


CHARACTER = 1 << 30  # plus a symbol: the byte completes a character


def _utf8_rows(of: NDArray[np.int16]) -> list[list[list[int]]]:
    """What a byte means, by the bytes of its character so far and by row: CHARACTER + symbol, the row that comes next
    (bytes so far << 20 | row), or −1. Equal rows are one."""
    rows: list[list[list[int]]] = [[], [], [], []]
    numbers: list[dict[bytes, int]] = [{}, {}, {}, {}]

    def row_of(depth: int, targets: NDArray[np.int64]) -> int:
        """The row in which the 64 following bytes have these targets."""
        number = numbers[depth].setdefault(targets.tobytes(), len(rows[depth]))
        if number == len(rows[depth]):
            rows[depth].append([-1] * 128 + targets.tolist() + [-1] * 64)
        return depth << 20 | number

    last = np.where(of < 0, -1, of.astype(np.int64) + CHARACTER).reshape(-1, 64)
    root = [-1] * 256
    root[:0x80] = last[:2].reshape(-1).tolist()
    for lead in range(0xC2, 0xE0):
        root[lead] = row_of(1, last[lead - 0xC0])
    ends = [{}, {}]  # type: list[dict[bytes, int]]

    def middle(depth: int, first: int) -> NDArray[np.int64]:
        """The targets of a byte before the last: the rows of 64 blocks of 64 characters."""
        return np.array([row_of(depth, block) if block[0] >= 0 else -1 for block in last[first : first + 64]])

    for lead in range(0xE0, 0xF0):
        targets = middle(2, (lead - 0xE0) * 64)
        targets[:32] = -1 if lead == 0xE0 else targets[:32]  # no longer form of what has a shorter one
        root[lead] = row_of(1, targets)
    for lead in range(0xF0, 0xF5):
        above = np.full(64, -1)
        for second in range(16 if lead == 0xF0 else 0, 64 if lead < 0xF4 else 16):
            above[second] = row_of(2, middle(3, ((lead - 0xF0) * 64 + second) * 64))
        root[lead] = row_of(1, above)
    rows[0] = [root]
    return rows


def _state_of(part: Any) -> Any:
    """What a part of a tokenizer writes into its file."""
    if part is None:
        return None
    try:
        return json.loads(part.__getstate__())
    except Exception as error:  # parts written in Python have none; the library raises `Exception` itself
        raise VocabularyError(f"a {type(part).__name__} of the tokenizer cannot be read: {error}") from None


def _read_normalizer(part: Any) -> tuple[bool, str | None, str]:
    """(whether a blank is written before a text, the normal form, the character written for a blank)."""
    prepends, form, blank = False, None, " "
    for step in [] if part is None else part["normalizers"] if part["type"] == "Sequence" else [part]:
        kind = step["type"]
        if kind == "Replace" and step["pattern"] == {"String": " "} and step["content"] == BLANK:
            blank = BLANK
        elif kind == "Prepend" and step["prepend"] == BLANK:
            prepends = True
        elif kind == "NFC":
            form = kind
        else:
            raise VocabularyError(f"the tokenizer's normalizer {kind} changes texts: {json.dumps(step)[:200]}")
    return prepends, form, blank


def _read_pre_tokenizer(part: Any, alone: bool) -> tuple[list[Cut], bool]:
    """The stages of a pre-tokenizer, and whether it writes a blank before a text. alone: no stage comes before."""
    kind = part["type"] if part else "Sequence"
    if kind == "Sequence":
        steps = part["pretokenizers"] if part else []
        for step in steps[:-1]:
            if step["type"] in ("ByteLevel", "Metaspace"):
                raise VocabularyError(f"the tokenizer's pre-tokenizer {step['type']} changes what later ones see")
        read = [_read_pre_tokenizer(step, alone and len(steps) == 1) for step in steps]
        return [cut for cuts, _ in read for cut in cuts], any(prepends for _, prepends in read)
    cuts = _CUTS.get(kind, lambda _: None)(part)
    prepends = bool(part.get("add_prefix_space")) or part.get("prepend_scheme", "never") != "never"
    if cuts is None or (prepends and not alone):
        raise VocabularyError(f"the tokenizer's pre-tokenizer {kind} is not understood: {json.dumps(part)[:200]}")
    return cuts, prepends


def _split(part: Any) -> list[Cut] | None:
    pattern, behavior, invert = part["pattern"], part["behavior"], bool(part.get("invert"))
    tree = parse_pieces(pattern["Regex"], "tokenizers") if "Regex" in pattern else text_tree(pattern["String"])
    if pattern == {"String": ""} or (behavior, invert) not in _BEHAVIORS:
        return None
    glued, total = _BEHAVIORS[behavior, invert]
    return [Cut(tree, glued, total)]


def _metaspace(part: Any) -> list[Cut] | None:
    if part.get("replacement") != BLANK:
        return None
    word = Times(One(("tokenizers", f"[^ {BLANK}]")), 1, None, False)
    blank = One(("tokenizers", f"[ {BLANK}]"))
    return [Cut(Either((Row((blank, Times(word, 0, 1, False))), word)))] if part.get("split", True) else []


def _class_cut(part: Any, joined: bool) -> list[Cut]:
    one = One((part["type"], ""))
    return [Cut(Times(one, 1, None, False) if joined else one)]


_BEHAVIORS = {
    ("Isolated", False): (False, False),
    ("Isolated", True): (False, False),
    ("MergedWithPrevious", False): (True, False),
    ("Removed", True): (False, True),
}
_CUTS = {
    "ByteLevel": lambda part: [Cut(parse_pieces(GPT2, "tokenizers"))] if part.get("use_regex", True) else [],
    "Split": _split,
    "Metaspace": _metaspace,
    "Digits": lambda part: _class_cut(part, not part["individual_digits"]),
    "Punctuation": lambda part: (
        _class_cut(part, part["behavior"] == "Contiguous") if part["behavior"] in ("Isolated", "Contiguous") else None
    ),
}
