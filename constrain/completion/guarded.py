"""The shortest completion that the guard allows too: the grammar's own one may repeat an item.

    ends.needs(c, state)          # the tokens that complete the text, EOS included

The idea: the guard reads the grammar's shortest completion (shortest.py). Nearly always it allows all of it. Else it
vetoes some byte, so no text that agrees so far will do. Texts that leave the completion earlier, by one other byte, and
go on as the grammar's shortest one does, are tried, the shortest first. The first that the guard reads beyond that byte
is kept, and the rest of it is mended in the same way.

Source: the partition of what is left by the place of the first difference is that of Lawler, "A procedure for computing
the K best solutions" (1972). Not always the shortest: what was kept is not taken back.
Cost: some 10 µs where the guard has no objection; else about a millisecond for each item that would be repeated.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from constrain.automata.marks import MARK
from constrain.completion.tokens_to_end import NEVER, TokensToEnd
from constrain.engine.lookahead import Lookahead

ROUNDS = 64  # vetoed bytes that one completion may get around
TRIED = 400  # texts that may be tried for one of them
ALIKE = 16  # bytes that are tried where the grammar does not tell them apart


class _Way(NamedTuple):
    """A text that the guard allows, completed as the grammar does it.

    Attributes:
        begun: The text.
        configuration: That of the grammar after it.
        state: That of the guard after it.
        rest: The shortest completion.
    """

    begun: bytes
    configuration: int
    state: Hashable
    rest: bytes


class GuardedEnds:
    """Completions under one compiled constraint. The caller of its methods holds the automaton's lock."""

    def __init__(self, to_end: TokensToEnd, lookahead: Lookahead) -> None:
        self.to_end = to_end
        self.lookahead = lookahead
        self.guard = lookahead.guard

    def needs(self, configuration: int, state: Hashable) -> int:
        """The number of tokens that complete the text, EOS included; NEVER if no completion was found."""
        text = self.completion(configuration, state)
        if text is None:
            return NEVER
        if text == self.to_end.shortest.completion(configuration):
            return self.to_end.needs(configuration)
        return min(self.to_end.spellings.fewest(text) + 1, NEVER)

    def completion(self, configuration: int, state: Hashable) -> bytes | None:
        """A completion that the grammar and the guard allow, in bytes; None if none was found."""
        rest = self.to_end.shortest.completion(configuration)
        if rest is None or self.guard.step(state, rest) is not None:
            return rest
        way: _Way | None = _Way(b"", configuration, state, rest)
        for _ in range(ROUNDS):
            assert way is not None
            allowed = self._allowed(way)
            if allowed is None:
                return way.begun + way.rest
            way = self._around(way, allowed)
            if way is None:
                return None
        return None

    def _allowed(self, way: _Way) -> int | None:
        """How many bytes of a way the guard allows; None: all of them."""
        if self.guard.step(way.state, way.rest) is not None:
            return None
        state: Hashable | None = way.state
        for i in range(len(way.rest)):
            state = self.guard.step(state, way.rest[i : i + 1])
            if state is None:
                return len(way.begun) + i
        return None

    def _around(self, start: _Way, allowed: int) -> _Way | None:
        """A way of which the guard allows more than so many bytes; None if none was found."""
        ways = list(self._leaving(start))
        heapq.heapify(ways)
        for _ in range(TRIED):
            if not ways:
                return None
            way = heapq.heappop(ways)[-1]
            reached = self._allowed(way)
            if reached is None or reached > allowed:
                return way
            for each in self._leaving(way):
                heapq.heappush(ways, each)
        return None

    def _leaving(self, way: _Way) -> Iterator[tuple[int, int, bytes, _Way]]:
        """The ways that leave another one by one byte, before the guard's veto, with what orders them.

        The shorter comes first, then the one that leaves late.
        """
        configuration, state = way.configuration, way.state
        for i, taken in enumerate(way.rest):
            begun, following = way.begun + way.rest[:i], configuration
            for alike, after in self.lookahead.ways(configuration):
                if taken in alike:
                    following = after
                rest = self.to_end.shortest.completion(after)
                for byte in alike[:ALIKE] if rest is not None else b"":
                    text = bytes((byte,))
                    reached = None if byte in (taken, MARK) else self.guard.step(state, text)
                    if reached is not None and rest is not None:
                        other = _Way(begun + text, after, reached, rest)
                        yield len(other.begun) + len(rest), -i - len(way.begun), other.begun, other
            reached = self.guard.step(state, way.rest[i : i + 1])
            if reached is None:
                return
            configuration, state = following, reached
