"""The answers of a constraint behind drafted texts: which bytes must follow, which may, and whether a text may.

The idea: the sequences of a batch, the steps of one and later requests ask a constraint the same questions again and
again. What it answers depends on the state alone, so answers are kept by state (`SpotTable`), and a `Spot` is a state
that a text has led to. Its matcher is made only for a question that nobody has asked there before, by reading the text
again.

Cost: a look-up a question; the first time a fork of the matcher and a call of its kernels.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from constrain.lazily import Remembered
from constrain.masks.engine.matcher import Matcher
from constrain.speculative.drafters.tables import DraftTables

FEW = 6  # bytes that may follow at a place of branches
ENTRIES = 1 << 16  # answers that are kept of a constraint, of each kind
CLOSING = (b'"', b",", b"\n", b"}", b"]", b" ", b"'", b")")
UNASKED, REFUSED = object(), None


class MayFollow(NamedTuple):
    """Bytes that may follow in a state. forced: all that must. few: that may behind it; None: more than `FEW`.

    ends: signs that end a value there.
    """

    forced: bytes
    few: list[bytes] | None
    ends: list[bytes]


class SpotTable:
    """The known answers at the states of a constraint. ways: by state. after: (state, text) → the state behind it."""

    def __init__(self) -> None:
        self.ways: Remembered[Hashable, MayFollow] = Remembered(ENTRIES)
        self.after: Remembered[tuple[Hashable, bytes], Hashable] = Remembered(ENTRIES)


tables: DraftTables[SpotTable] = DraftTables(SpotTable)


class Spot:
    """The state behind a text that may follow a sequence. origin: the matcher of the sequence."""

    __slots__ = ("_matcher", "origin", "state", "table", "text")

    def __init__(
        self, table: SpotTable, origin: Matcher, text: bytes, state: Hashable, matcher: Matcher | None = None
    ) -> None:
        self.table, self.origin, self.text, self.state, self._matcher = table, origin, text, state, matcher

    @classmethod
    def of(cls, table: SpotTable, engine: Matcher) -> Spot:
        """The end of a sequence."""
        return cls(table, engine, b"", engine.state, engine)

    @property
    def matcher(self) -> Matcher:
        """A matcher in this state, not to be changed."""
        if self._matcher is None:
            self._matcher = self.origin.fork()
            self._matcher.advance_bytes(self.text)
        return self._matcher

    def read(self, text: bytes) -> Spot | None:
        """The state behind some more bytes, None where they are refused."""
        after, matcher = self.table.after.get((self.state, text), UNASKED), None
        if after is UNASKED:
            matcher = read(self.matcher, text)
            after = REFUSED if matcher is None else matcher.state
            self.table.after.keep((self.state, text), after)
        return None if after is REFUSED else Spot(self.table, self.origin, self.text + text, after, matcher)

    def at(self, text: bytes, state: Hashable) -> Spot:
        """`read`, where the state behind the bytes is known."""
        return Spot(self.table, self.origin, self.text + text, state)

    @property
    def ways(self) -> MayFollow:
        """The bytes that may follow."""
        known = self.table.ways.get(self.state)
        if known is None:
            forced = self.matcher.forced_bytes()
            after = read(self.matcher, forced)
            few = None if after is None else following_bytes(after, FEW)
            known = MayFollow(forced, few, [] if after is None else ending_signs(after, few))
            self.table.ways.keep(self.state, known)
        return known


def read(matcher: Matcher, text: bytes) -> Matcher | None:
    """A fork of a matcher after some bytes, None where they are refused."""
    fork = matcher.fork()
    return fork if fork.advance_bytes(text) else None


def ending_signs(matcher: Matcher, few: list[bytes] | None) -> list[bytes]:
    """Up to two signs that may end a value here: little may follow them. A quotation mark alone, if it may."""
    found: list[bytes] = []
    for sign in CLOSING:
        after = read(matcher, sign) if few is None or sign in few else None
        if after is not None and (after.is_finished() or following_bytes(after, FEW) is not None):
            found.append(sign)
            if sign == b'"' or len(found) == 2:
                break
    return found


def following_bytes(matcher: Matcher, most: int) -> list[bytes] | None:
    """The bytes that may follow; None where there are more than `most`."""
    found: list[bytes] = []
    pending = [(0, 256)]
    while pending:
        first, last = pending.pop()
        bits = np.zeros(8, np.uint32)
        for word in range(first // 32, (last + 31) // 32):
            low, high = max(first, 32 * word) - 32 * word, min(last, 32 * word + 32) - 32 * word
            bits[word] = ((1 << high) - (1 << low)) & 0xFFFFFFFF
        if not matcher.any_byte(bits.view(np.int32)):
            continue
        if last - first == 1:
            found.append(bytes([first]))
            if len(found) > most:
                return None
        else:
            middle = (first + last) // 2
            pending += [(first, middle), (middle, last)]
    return found
