"""The guard of free text with constrained pieces (`constrain.triggered`): each piece has a guard of its own.

The idea: free text ends at the first trigger, and a JSON value ends where its brackets or quotes close. So the text
determines where each piece begins and ends, although the grammar allows a stop inside a piece. Where the first stop in
the text is the end of a piece, as the caller may know (`sought`), pieces without a guard and numbers end there.
Other exceptions are a piece that is a number, a piece without a guard, and a stop that is white space: behind them
nothing is vetoed any more, and the check of the finished text decides.

Cost: one search for all triggers in free text; inside a piece the cost of its guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from constrain.languages.guards import Guard
from constrain.languages.guards.json_reader import AFTER, SCALAR
from constrain.languages.guards.json_reader import JsonState as Read
from constrain.languages.guards.repeats import GuardedText, Repeats
from constrain.languages.guards.token_tables import TokenTables
from constrain.languages.vocab.vocabulary import Vocabulary

FREE, INSIDE, BEHIND, SEEKING, LOST = range(5)
SPACE = b" \t\n\r"


class GuardedPiece(NamedTuple):
    """A piece that follows a trigger.

    Attributes:
        start: The trigger.
        guard: The piece's guard; None if it has none.
        stop: The text after the piece.
        others: Other texts that may stand there; none of them begins another.
        sought: The piece, if it has no guard or is a number, ends where one of these is first complete.
    """

    start: bytes
    guard: Guard | None
    stop: bytes
    others: tuple[bytes, ...] = ()
    sought: bool = False


class Starts:
    """Texts that are sought in another one, none of which contains another. PERF: as fast for a thousand as for one."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        low, high = min(texts), max(texts)
        differing = (i for i, (one, two) in enumerate(zip(low, high, strict=False)) if one != two)
        self.common = low[: next(differing, len(low))]
        self.least = min(map(len, texts))
        self.by_head: dict[bytes, list[tuple[bytes, int]]] = {}
        for i, text in enumerate(texts):
            self.by_head.setdefault(text[: self.least], []).append((text, i))

    def find(self, text: bytes) -> tuple[int, int] | None:
        """(index, end) of the text that is complete first; None: there is none."""
        at = text.find(self.common)
        while at >= 0:
            for start, i in self.by_head.get(text[at : at + self.least], ()):
                if text.startswith(start, at):
                    return i, at + len(start)
            at = text.find(self.common, at + 1)
        return None


def are_apart(texts: Sequence[bytes]) -> bool:
    """True if no text contains another one, or equals it."""
    starts = Starts(texts)
    return len({*texts}) == len(texts) and not any(
        text and (starts.find(text[1:]) or starts.find(text[:-1])) for text in texts
    )


class PiecesState(NamedTuple):
    """The state of the guard.

    Attributes:
        mode: FREE: in free text. INSIDE: in a piece. BEHIND: after the value of a piece. SEEKING: in a piece that ends
            with its first stop. LOST: unknown.
        tail: In modes FREE and SEEKING the last bytes of the text; in mode BEHIND the bytes after the value.
        piece: The index of the latest piece.
        inner: In mode INSIDE the state of the piece's guard.
    """

    mode: int
    tail: bytes = b""
    piece: int = -1
    inner: Any = None


class GuardedPieces(Guard):
    """The guard of free text with pieces. No trigger may contain another one."""

    def __init__(self, pieces: Sequence[GuardedPiece], vocabulary: Vocabulary) -> None:
        self.pieces = pieces
        self.starts = Starts([piece.start for piece in pieces])
        self.longest = max(len(piece.start) for piece in pieces)
        self.tables = TokenTables.of(vocabulary)
        self.always = self.tables.doubles.ids.size > 0

    def start(self) -> PiecesState:
        return PiecesState(FREE)

    def step(self, state: PiecesState, text: bytes) -> PiecesState | None:
        here: PiecesState | None = state
        while text and here is not None:
            if here.mode == FREE:
                here, text = self._free(here, text)
            elif here.mode == INSIDE:
                here, text = self._read_piece(here, text)
            elif here.mode == BEHIND:
                here, text = self._behind(here, text)
            elif here.mode == SEEKING:
                here, text = self._seek(here, text)
            else:
                break
        return here

    def _free(self, state: PiecesState, text: bytes) -> tuple[PiecesState, bytes]:
        """(state, remaining text) after free text."""
        text = state.tail + text
        found = self.starts.find(text)
        if found is None:
            return PiecesState(FREE, text[len(text) - self.longest + 1 :] if len(text) >= self.longest else text), b""
        i, end = found
        guard = self.pieces[i].guard
        if not isinstance(guard, Repeats):
            return PiecesState(SEEKING if self.pieces[i].sought else LOST, b"", i), text[end:]
        return PiecesState(INSIDE, b"", i, guard.start()), text[end:]

    def _read_piece(self, state: PiecesState, text: bytes) -> tuple[PiecesState | None, bytes]:
        """(state, remaining text) after text of a piece; the state is None if the piece's guard vetoes it."""
        guard = cast(Repeats, self.pieces[state.piece].guard)
        after = guard.step(state.inner, text)
        if after is None:
            return None, b""
        if after.stack is not None or after.mode not in (AFTER, SCALAR):
            return state._replace(inner=after), b""
        read = cast(Read, state.inner)
        for i in range(len(text)):  # find the end of the value
            read = cast(Read, guard.step(read, text[i : i + 1]))
            if read.stack is None and read.mode == SCALAR:
                sought = self.pieces[state.piece].sought
                return PiecesState(SEEKING if sought else LOST, b"", state.piece), text[i + 1 :]
            if read.stack is None and read.mode == AFTER:
                return PiecesState(BEHIND, b"", state.piece), text[i + 1 :]
        return PiecesState(LOST), b""

    def _behind(self, state: PiecesState, text: bytes) -> tuple[PiecesState, bytes]:
        """(state, remaining text) after text behind a value: white space and the stop."""
        stops = [stop.lstrip(SPACE) for stop in self._stops(state)]
        if not all(stops):
            return PiecesState(LOST), b""
        text = (state.tail + text).lstrip(SPACE)
        for stop in stops:
            if text.startswith(stop):
                return PiecesState(FREE), text[len(stop) :]
        return state._replace(tail=text), b""

    def _seek(self, state: PiecesState, text: bytes) -> tuple[PiecesState, bytes]:
        """(state, remaining text) after text of a piece that ends with its first stop."""
        text, stops = state.tail + text, self._stops(state)
        ends = [at + len(stop) for stop in stops if (at := text.find(stop)) >= 0]
        if ends:
            return PiecesState(FREE), text[min(ends) :]
        keep = max(map(len, stops)) - 1
        return state._replace(tail=text[len(text) - keep :] if 0 < keep < len(text) else text if keep else b""), b""

    def _stops(self, state: PiecesState) -> tuple[bytes, ...]:
        """The texts that may stand after the latest piece."""
        piece = self.pieces[state.piece]
        return piece.stop, *piece.others

    def veto(self, state: PiecesState, row: NDArray[np.uint32]) -> None:
        if state.mode == INSIDE:
            cast(Repeats, self.pieces[state.piece].guard).veto(state.inner, row)
        if state.mode != LOST:  # tokens that begin a piece and contain a repetition
            self.tables.veto_doubles(row, partial(self.step, state))

    def reader(self, state: PiecesState) -> GuardedText | None:
        return cast(Repeats, self.pieces[state.piece].guard).reader(state.inner) if state.mode == INSIDE else None
