"""Automata over characters that tell the borders of pieces: of one regex, and of one stage after another.

The idea: a regex is followed by threads in its order of preference, all at once. What the best match so far would
mean, if the better threads come to nothing, is a state of its own that reads along ("other"): so no character is ever
read twice, and equal futures are equal states. A stage that cuts what an earlier one left hears of a character once
the border before it is settled.

Masks count positions in bytes back from the end of what was read: bit k is the place k bytes before the end.
Cost: 5 to 50 µs for a state and a symbol that meet for the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from constrain.errors import VocabularyError
from constrain.languages.cuts.piece_regex import Program
from constrain.languages.cuts.piece_sets import Symbols

DEAD = 0
LIMIT = 26  # bytes: with those of one more character, positions fit into the masks, which are int32

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
        self._open: dict[int, int] = {}

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
        known = self._open.get(state)
        if known is None:
            known = self._likely(state)
            if known & ~1 and self._first.open(self._states.values[state][0]):
                known &= self._after_next(state) | 1
            self._open[state] = known
        return known

    def _likely(self, state: int) -> int:
        """The positions that each stage by itself leaves undecided."""
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

    def _after_next(self, state: int) -> int:
        """The positions that may still become borders by the next symbol or behind it: what would make one of a
        position for the second stage may end the piece for the first."""
        found = self.finish(state)
        for symbol, width in enumerate(self._width):
            after, settled = self.read(state, symbol)
            found |= (settled | self._likely(after)) >> width
        return found

    def finish(self, state: int) -> int:
        """The positions that become borders if the text ends."""
        if state == DEAD:
            return 0
        first, waiting, borders, second = self._states.values[state]
        return int(self._hear(waiting, borders | self._first.finish(first), 0, second)[3])
