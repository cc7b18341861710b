"""A short completion that the guard allows too: the grammar's own one may repeat a key or an item.

    ends.end(c, state)            # the completion, and its number of tokens, EOS included

The idea: the guard reads the grammar's shortest completion (shortest.py). Nearly always it allows all of it. Else the
texts that both allow are followed byte by byte, first the one whose bytes so far and grammar's completion are fewest
together. The bytes of the completion count a little more, else twelve items that differ are tried in all orders. So
the text that is found has at most an eighth more bytes than the shortest one. Texts after which the same may follow
count once: white space, and values that came in another order. Of bytes that the grammar does not tell apart, those are
tried that may lead to what was seen, and one other. Where the guard bounds the characters of a text, completions with
the fewest characters stand in the place of those with the fewest bytes.

Source: weighted A*: Pohl, "Heuristic search viewed as path finding in a graph" (Artificial Intelligence 1, 1970).
Cost: some 10 µs where the guard has no objection; else about a millisecond for each item that would be repeated.
Limit: after `MOST` texts the search gives up; of bytes alike, `ALIKE` are tried.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from constrain.languages.automata.marks import MARK
from constrain.languages.guards.rivals import is_fresh, standing
from constrain.masks.completion.characters import CharactersToEnd, bound_of
from constrain.masks.completion.spellings import NEVER
from constrain.masks.completion.tokens_to_end import TokensToEnd
from constrain.masks.engine.lookahead import GuardLookahead

MOST = 2_000  # texts that one search follows
BEGUN, MISSING = 8, 9  # what a byte of the text and one of its completion cost
ALIKE = 16  # bytes that are tried where the grammar does not tell them apart


class _Text(NamedTuple):
    """A text that the guard allows. Texts are compared by their first three attributes.

    Attributes:
        cost: What decides which text is followed next.
        missing: The bytes of the grammar's completion.
        begun: The text.
        configuration: That of the grammar after it.
        state: That of the guard after it.
        rest: The grammar's shortest completion.
    """

    cost: int
    missing: int
    begun: bytes
    configuration: int
    state: Hashable
    rest: bytes


class End(NamedTuple):
    """A completion. tokens: that it takes, EOS included; NEVER if none was found."""

    text: bytes
    tokens: int


def end_of(text: bytes | None, to_end: TokensToEnd) -> End:
    """The end that a completion makes; None: there is no completion."""
    if text is None:
        return End(b"", NEVER)
    return End(text, min(to_end.spellings.fewest(text) + 1, NEVER))


class GuardedEnds:
    """Completions under one compiled constraint. The caller of its methods holds the automaton's lock."""

    def __init__(self, to_end: TokensToEnd, lookahead: GuardLookahead) -> None:
        self.to_end = to_end
        self.lookahead = lookahead
        self.guard = lookahead.guard
        self.shortest = to_end.shortest
        if bound_of(self.guard) is not None:
            automaton = to_end.automaton
            self.shortest = CharactersToEnd.of(automaton, lookahead.rules, automaton.vocabulary).shortest

    def end(self, configuration: int, state: Hashable) -> End:
        """The completion of a text; of the fewest bytes, if not of the fewest tokens."""
        text = self.completion(configuration, state)
        if text is not None and text == self.to_end.shortest.completion(configuration):
            return End(text, self.to_end.needs(configuration))
        return end_of(text, self.to_end)

    def completion(self, configuration: int, state: Hashable) -> bytes | None:
        """A short completion that the grammar and the guard allow, in bytes; None if none was found."""
        rest = self.to_end.shortest.completion(configuration)
        if rest is None or self.guard.step(state, rest) is not None:
            return rest
        rest = self.shortest.completion(configuration) or b""
        texts = [_text(b"", configuration, state, rest)]
        followed: set[Hashable] = set()
        while texts and len(followed) < MOST:
            text = heapq.heappop(texts)
            if self.guard.step(text.state, text.rest) is not None:
                return text.begun + text.rest
            key = self._place(text)
            if key not in followed:
                followed.add(key)
                for longer in self._longer(text):
                    heapq.heappush(texts, longer)
        return None

    def _place(self, text: _Text) -> Hashable:
        """A key: after texts with equal keys the same may follow."""
        reading = self.guard.reader(text.state)
        return text.configuration, text.state if reading is None else (reading.guard, standing(reading.here))

    def _longer(self, text: _Text) -> Iterator[_Text]:
        """The texts with one byte more. Of bytes alike, one after which nothing that was seen can come is enough."""
        for alike, after in self.lookahead.ways(text.configuration):
            rest = self.shortest.completion(after)
            if rest is None:
                continue
            for byte in alike[:ALIKE]:
                if byte == MARK and text.rest[:1] != alike[:1]:  # begins the name of a special token
                    continue
                state = self.guard.step(text.state, bytes((byte,)))
                if state is not None:
                    begun = text.begun + bytes((byte,))
                    yield _text(begun, after, state, rest)
                    reading = self.guard.reader(state)
                    if reading is not None and is_fresh(reading.here):
                        break


def _text(begun: bytes, configuration: int, state: Hashable, rest: bytes) -> _Text:
    return _Text(BEGUN * len(begun) + MISSING * len(rest), len(rest), begun, configuration, state, rest)
