"""A guard for free text with pieces that have guards: each piece is read by its own.

The idea: free text ends at the first trigger, a JSON value where its brackets or quotes close, and then the stop comes;
so what was read tells where it stands, though the grammar allows a stop inside a piece. Where it does not tell (a
number as a whole piece, a piece without a guard, a stop of white space), nothing is vetoed from there on, and the check
of the finished text decides.

Cost: a search for the triggers in free text; in a piece what its guard costs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from constrain.guards import Guard
from constrain.guards.json_reader import AFTER, SCALAR
from constrain.guards.json_reader import JsonState as Read
from constrain.guards.repeats import Repeats, TokenTables
from constrain.vocab.vocabulary import Vocabulary

FREE, INSIDE, BEHIND, LOST = range(4)
SPACE = b" \t\n\r"


class GuardedPiece(NamedTuple):
    """What a trigger begins. guard: None if it has none."""

    start: bytes
    guard: Guard | None
    stop: bytes


class PiecesState(NamedTuple):
    """Where a text is.

    mode: FREE: in free text, `tail` is its end. INSIDE: in a piece, whose guard is in the state `inner`. BEHIND: a
    piece's value is complete, `tail` is what came after it. LOST: nobody knows. piece: the latest one.
    """

    mode: int
    tail: bytes = b""
    piece: int = -1
    inner: Hashable = None


class Pieces:
    """The guard (see `guards.Guard`). No start holds another one."""

    def __init__(self, pieces: Sequence[GuardedPiece], vocabulary: Vocabulary) -> None:
        self.pieces = pieces
        self.longest = max(len(piece.start) for piece in pieces)
        self.tables = TokenTables.of(vocabulary)
        self.always = self.tables.doubles.ids.size > 0

    def start(self) -> PiecesState:
        """Nothing was read."""
        return PiecesState(FREE)

    def step(self, state: Hashable, text: bytes) -> PiecesState | None:
        """See `Guard`."""
        here: PiecesState | None = cast(PiecesState, state)
        while text and here is not None:
            if here.mode == FREE:
                here, text = self._free(here, text)
            elif here.mode == INSIDE:
                here, text = self._inside(here, text)
            elif here.mode == BEHIND:
                here, text = self._behind(here, text)
            else:
                break
        return here

    def _free(self, here: PiecesState, text: bytes) -> tuple[PiecesState, bytes]:
        """The state at the end of the free text, and what is still to be read."""
        text = here.tail + text
        ends = [(at + len(each.start), i) for i, each in enumerate(self.pieces) if (at := text.find(each.start)) >= 0]
        if not ends:
            return PiecesState(FREE, text[len(text) - self.longest + 1 :] if len(text) >= self.longest else text), b""
        end, i = min(ends)
        guard = self.pieces[i].guard
        if not isinstance(guard, Repeats):
            return PiecesState(LOST), b""
        return PiecesState(INSIDE, b"", i, guard.start()), text[end:]

    def _inside(self, here: PiecesState, text: bytes) -> tuple[PiecesState | None, bytes]:
        """The same of a piece; None: its guard vetoes the text."""
        guard = cast(Repeats, self.pieces[here.piece].guard)
        after = guard.step(here.inner, text)
        if after is None:
            return None, b""
        if after.stack is not None or after.mode not in (AFTER, SCALAR):
            return here._replace(inner=after), b""
        read = cast(Read, here.inner)
        for i in range(len(text)):  # find out where the value is complete
            read = cast(Read, guard.step(read, text[i : i + 1]))
            if read.stack is None and read.mode == SCALAR:
                break
            if read.stack is None and read.mode == AFTER:
                return PiecesState(BEHIND, b"", here.piece), text[i + 1 :]
        return PiecesState(LOST), b""

    def _behind(self, here: PiecesState, text: bytes) -> tuple[PiecesState, bytes]:
        """The same of the stop, before which white space may stand."""
        stop = self.pieces[here.piece].stop.lstrip(SPACE)
        if not stop:
            return PiecesState(LOST), b""
        text = (here.tail + text).lstrip(SPACE)
        if len(text) < len(stop):
            return here._replace(tail=text), b""
        return PiecesState(FREE), text[len(stop) :]

    def veto(self, state: Hashable, row: NDArray[np.uint32]) -> None:
        """See `Guard`."""
        here = cast(PiecesState, state)
        if here.mode == INSIDE:
            cast(Repeats, self.pieces[here.piece].guard).veto(here.inner, row)
        if here.mode != LOST:  # tokens that begin a piece, and repeat something in it
            for token in self.tables.doubles.within(row):
                if self.step(here, self.tables.tokens[token] or b"") is None:
                    row[token >> 5] &= ~np.uint32(1 << (token & 31))
