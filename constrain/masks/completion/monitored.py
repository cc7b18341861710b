"""A short completion that the grammar and a monitor both allow: the grammar's own one has names that nobody knows.

    ends.completion(c, state)     # bytes; None: none was found

The idea: the monitor reads the grammar's shortest completion (shortest.py). Where it refuses that, the search branches:
to what the monitor offers there (`Guard.owed`, `Guard.names`), a name, or all that settles what a text owes, each as a
single step; and, later, to every lexeme that the grammar allows, at its shortest. Each branch goes on with the
grammar's completion again. What is found is read by both, so a completion that is found is one.

Texts are followed as in guarded.py, those first that are shortest together with what they miss. A step counts as
`LONG` bytes at most: how long a name is does not matter to the search, else all that is shorter would be tried before.

Source: weighted A*: Pohl, "Heuristic search viewed as path finding in a graph" (Artificial Intelligence 1, 1970).
Cost: some 10 µs where the monitor has no objection; else about a millisecond. Answers are remembered.
Limit: after `MOST` steps the search gives up; of names where any may stand the `NAMES` shortest are tried first.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.errors import UnsatisfiableError
from constrain.languages.automata.marks import MARK
from constrain.languages.cfg.rules import Terminal
from constrain.limits import look
from constrain.masks.completion.guarded import BEGUN, MISSING, End, end_of
from constrain.masks.completion.tokens_to_end import TokensToEnd
from constrain.masks.engine import inspect
from constrain.masks.engine.lookahead import GuardLookahead

MOST = 400  # steps that one search tries
FEW = 60  # the same where there is one search for each token
SURE = 12  # tokens that one token may add to a completion, as far as nobody looks
NAMES = 6
LONG = 3  # bytes that a step counts as at most
LATE = 40  # what it costs to try every lexeme
ENDS = 6  # of a lexeme that has begun
REMEMBERED = 1 << 14


class _Place(NamedTuple):
    """A text that both allow. begun: the text; spent: what it costs; rest: the grammar's completion."""

    begun: bytes
    spent: int
    configuration: int
    state: Hashable
    rest: bytes


class MonitoredEnds:
    """Completions under one compiled constraint. The caller of its methods holds the automaton's lock.

    Attributes:
        late_names: The names that are tried where every lexeme is; None: all.
    """

    late_names: int | None = None

    def __init__(self, to_end: TokensToEnd, lookahead: GuardLookahead) -> None:
        self.to_end = to_end
        self.lookahead = lookahead
        self.guard = lookahead.guard
        self._forget()

    def _forget(self) -> None:
        self._epoch = self.to_end.automaton.epoch
        self._known: dict[tuple[int, Hashable], tuple[bytes | None, int]] = {}  # and the steps of the search
        self._lexemes: dict[int, list[bytes]] = {}
        self._followed: dict[tuple[int, bytes], int | None] = {}  # PERF: the same names are tried again and again

    def end(self, configuration: int, state: Hashable, most: int = MOST) -> End:
        """The completion of a text that was found, and its number of tokens. most: steps of the search."""
        return end_of(self.completion(configuration, state, most), self.to_end)

    def completion(self, configuration: int, state: Hashable, most: int = MOST) -> bytes | None:
        """A short completion that the grammar and the guard allow; None if none was found."""
        if self._epoch != self.to_end.automaton.epoch or max(len(self._known), len(self._followed) >> 2) > REMEMBERED:
            self._forget()
        key = configuration, state
        text, tried = self._known.get(key, (None, 0))
        if text is None and tried < most:
            text = self._search(configuration, state, most)
            self._known[key] = text, most
        return text

    def labels(self, state: Hashable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[>= V] each: labels of tokens, and how many tokens each of them may add to the completion of a text.

        Tokens with equal labels, after which the grammar is the same, leave the same to be completed.
        """
        known = self.guard.labels(state)
        labels = np.arange(len(self.lookahead.tokens)) if known is None else known
        return labels, np.full(len(labels), SURE)

    def _search(self, configuration: int, state: Hashable, most: int) -> bytes | None:
        look()  # a mask may ask for hundreds of searches
        rest = self.to_end.shortest.completion(configuration)
        if rest is None:
            return None
        serial = 0
        followed: set[tuple[int, Hashable, bool]] = set()
        start = _Place(b"", 0, configuration, state, rest)
        heap = [(self._missing(start), serial, False, start)]
        while heap and serial < most:
            cost, _, late, place = heapq.heappop(heap)
            known = self._found(place)
            if known is not None:
                return place.begun + known
            if not late and self._may_end(place):
                return place.begun + place.rest
            key = place.configuration, place.state, late
            if key in followed:
                continue
            followed.add(key)
            if not late:
                heapq.heappush(heap, (cost + LATE, serial := serial + 1, True, place))
            for at in self._branchings(place):
                for longer in self._longer(at, late):
                    cost_of_place = longer.spent + self._missing(longer)
                    heapq.heappush(heap, (cost_of_place, serial := serial + 1, False, longer))
        return None

    def _missing(self, place: _Place) -> int:
        """The cost of the rest of a place."""
        return MISSING * len(place.rest)

    def _found(self, place: _Place) -> bytes | None:
        """The completion of a place that another search has found."""
        return self._known.get((place.configuration, place.state), (None, 0))[0]

    def _step(self, state: Hashable, text: bytes) -> Hashable | None:
        try:
            return self.guard.step(state, text)
        except UnsatisfiableError:  # a name must stand there, and none is known
            return None

    def _may_end(self, place: _Place) -> bool:
        """True if the guard allows the grammar's completion."""
        end = self._step(place.state, place.rest)
        return end is not None and self.guard.may_end(end)

    def _branchings(self, place: _Place) -> list[_Place]:
        """The place, and the last one on the way of the grammar's completion that the guard allows."""
        state, read = place.state, 0
        for byte in place.rest:
            after = self._step(state, bytes((byte,)))
            if after is None:
                break
            state, read = after, read + 1
        last = self._after(place, place.rest[:read], BEGUN * read) if read else None
        return [place] if last is None else [last, place]

    def _after(self, place: _Place, text: bytes, spent: int) -> _Place | None:
        """The place after more text; None: one of both refuses it."""
        key = place.configuration, text
        if key not in self._followed:
            self._followed[key] = self.lookahead.follow(*key)
        configuration = self._followed[key]
        state = None if configuration is None else self._step(place.state, text)
        rest = None if configuration is None or state is None else self.to_end.shortest.completion(configuration)
        if configuration is None or rest is None:
            return None
        return _Place(place.begun + text, place.spent + spent, configuration, state, rest)

    def _longer(self, place: _Place, late: bool) -> Iterator[_Place]:
        """The places after one step more. late: whether every lexeme is a step."""
        owed = () if late else self.guard.owed(place.state)
        for step in owed:
            yield from self._stepped(place, step, BEGUN)
        for name in islice(() if owed else self.guard.names(place.state), self.late_names if late else NAMES):
            yield from self._stepped(place, name, BEGUN * min(len(name), LONG))
        for lexeme in (b" ", *self._lexemes_after(place.configuration)) if late else ():
            yield from self._stepped(place, lexeme, BEGUN * min(len(lexeme), LONG))

    def _stepped(self, place: _Place, step: bytes, cost: int) -> Iterator[_Place]:
        """The place after a step, with a blank before it where it cannot stand without one; none if it may not."""
        for text in (step, b" " + step):
            after = self._after(place, text, cost)
            if after is not None:
                yield after
                return

    def _lexemes_after(self, configuration: int) -> list[bytes]:
        """The shortest texts of the lexemes that may come next, and the ends of the one that has begun."""
        if configuration not in self._lexemes:
            shortest = self.to_end.shortest
            found: set[bytes | None] = set()
            for lexeme in inspect.lexemes(self.to_end.automaton, configuration):
                if lexeme.fresh:
                    symbols = (shortest.name(record) for record, _ in shortest.terminals(lexeme.parser))
                    found.update(shortest.lexeme(symbol) for symbol in symbols if isinstance(symbol, Terminal))
                else:
                    found.update(islice(shortest.ends.by_terminals(lexeme.lexer), ENDS))
            texts = [text for text in found if text and MARK not in text]
            self._lexemes[configuration] = sorted(texts, key=lambda text: (len(text), text))
        return self._lexemes[configuration]
