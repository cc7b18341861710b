"""Completions of texts with parts that are read apart, and the choice of what looks for a completion.

The idea: a text has several places, one for each way to read it (engine/regions/places.py). From a place, the shortest
completion is that of the part, by its own grammar and guard, and then that of the grammar around, in which each part
to come has the least text of its own. The shortest over all places is taken, and read once more.

A bound of characters beside the parts (`BoundedParts`) lets what is found pass, or not.

Limit: names that parts share (`shared=`) are known to the part that has begun, not to those to come.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.records import arena
from constrain.languages.automata.least import count_characters
from constrain.languages.cfg.followed import bracket
from constrain.languages.cfg.rules import Terminal
from constrain.languages.guards.product import Product
from constrain.masks.completion.characters import CharacterBound, bound_of
from constrain.masks.completion.guarded import End, GuardedEnds, end_of
from constrain.masks.completion.monitored import SURE, MonitoredEnds
from constrain.masks.completion.shortest import Shortest, Text
from constrain.masks.completion.tokens_to_end import TokensToEnd
from constrain.masks.engine.compiled import CompiledConstraint
from constrain.masks.engine.regions import RegionsGuard
from constrain.masks.engine.regions.escapes import EscapedRegion, escaped
from constrain.masks.engine.regions.places import NO_STATE, RegionPlace

OUTER = 64  # tokens that one may add to a completion which is not inside of a part: it may begin much
EDGE = 1 << 40  # labels of tokens that run over the end of a part are no smaller
Completion = Callable[[int, Any], bytes | None]


def ends_of(
    compiled: CompiledConstraint, to_end: TokensToEnd
) -> GuardedEnds | MonitoredEnds | PartsEnds | BoundedParts | None:
    """The search for completions under a compiled constraint; None: the grammar's own are allowed."""
    if compiled.lookahead is None:
        return None
    guard, bound = compiled.lookahead.guard, bound_of(compiled.lookahead.guard)
    if isinstance(guard, RegionsGuard):
        return PartsEnds(to_end, guard)
    if bound is not None and isinstance(guard, Product) and isinstance(guard.first, RegionsGuard):
        return BoundedParts(PartsEnds(to_end, guard.first), guard, bound)
    kind = MonitoredEnds if compiled.lookahead.guard.ending else GuardedEnds
    return kind(to_end, compiled.lookahead)


class PartsEnds:
    """Completions under one compiled constraint with parts.

    Args:
        to_end: That of the compiled constraint.
        guard: Its guard.
    """

    def __init__(self, to_end: TokensToEnd, guard: RegionsGuard) -> None:
        self.to_end = to_end
        self.guard = guard
        self.places = guard.places
        self.regions = cast("Sequence[Any]", guard.places.regions)  # all apart
        self._parts = [self._completion_of(reader.compiled) for reader in self.regions]
        self._around: Shortest = guard.automaton.attempt(self._make_around)
        self._known: tuple[int, dict[int, bytes | None]] = (-1, {})

    def _completion_of(self, compiled: CompiledConstraint) -> Completion:
        """The completions of a part's value."""
        automaton = compiled.automaton
        to_end = automaton.attempt(lambda: TokensToEnd.of(automaton, compiled.rules, automaton.vocabulary))
        ends = ends_of(compiled, to_end)
        return (
            ends.completion if ends is not None else lambda configuration, _: to_end.shortest.completion(configuration)
        )

    def _make_around(self) -> Shortest:
        texts: dict[Any, Text] = {}
        for number, reader in enumerate(self.regions):
            opens, closes = (bracket(number, is_open)[0] for is_open in (True, False))
            texts[opens], texts[closes] = self._inside(number, reader.start()), b""
        return _Around(self.guard.automaton, self.places.rules, texts)

    def end(self, configuration: int, state: Hashable) -> End:
        """The completion of a text that was found, and its number of tokens."""
        return end_of(self.completion(configuration, state), self.to_end)

    def completion(self, configuration: int, state: Any) -> bytes | None:
        """A short completion; None if none was found."""

        def look() -> bytes | None:
            number = self.guard.number_of(state)
            if self._known[0] != self.places.epoch:
                self._known = self.places.epoch, {}
            if number not in self._known[1]:
                self._known[1][number] = next(self._allowed(number), None)
            return self._known[1][number]

        return self.guard.automaton.attempt(look)

    def _allowed(self, number: int) -> Iterator[bytes]:
        """The completions of a state that end a text, the shortest first."""
        found = {text for place in self.places.places(number) if (text := self._of(place)) is not None}
        for text in sorted(found, key=lambda text: (len(text), text)):
            after = self.places.text(number, text)
            if after != NO_STATE and self.places.accepts(after):
                yield text

    def _of(self, place: RegionPlace) -> bytes | None:
        """The completion from one place."""
        if not place.opens:
            return self._around.completion(place.around)
        inside = self._inside(*place.opens[-1])
        after = arena.NONE if inside is None else self.places.behind_region(place)
        outside = None if after == arena.NONE else self._around.completion(after)
        return None if inside is None or outside is None else inside + outside

    def _inside(self, part: int, state: Any) -> bytes | None:
        """The completion of a part's text."""
        reader = self.regions[part]
        if not isinstance(reader, EscapedRegion):
            return self._parts[part](*state)
        begun = reader.escape_from(state)
        if begun is None:
            return None
        text, (_, inner) = begun
        value = self._parts[part](*inner)
        return None if value is None else text + escaped(value)

    def labels(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[V] each: labels of tokens, and how many tokens each of them may add to the completion of a text."""

        def look() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            labels, sure = np.zeros(len(self.guard.tokens), np.int64), np.full(len(self.guard.tokens), OUTER)
            for place in self.places.places(self.guard.number_of(state)):
                for number, inside in place.opens:
                    own = self._labels_inside(self.regions[number], inside)
                    sure[own < EDGE] = SURE
                    labels = np.unique(np.stack([labels, own]), axis=1, return_inverse=True)[1].reshape(-1)
            return labels, sure

        return self.guard.automaton.attempt(look)

    def _labels_inside(self, reader: Any, state: Any) -> NDArray[np.int64]:
        """Labels of tokens inside of a part; each that runs over its end, or has escapes, has its own."""
        size = len(self.guard.tokens)
        row, _ = reader.mask(state)
        inside = np.unpackbits(row.view(np.uint8), bitorder="little")[:size].astype(np.bool_)
        guard, inner = reader.compiled.guard, state[1][1] if isinstance(reader, EscapedRegion) else state[1]
        labels = None if guard is None else guard.labels(inner)
        every = np.arange(size) + EDGE
        if labels is not None:
            return np.where(inside, labels[:size], every)
        return np.where(inside, 0 if guard is None else np.arange(size), every)


class BoundedParts:
    """Completions under one compiled constraint with parts, and a bound of characters.

    Args:
        parts: The completions without the bound.
        guard: The guard of both.
        bound: The bound.
    """

    def __init__(self, parts: PartsEnds, guard: Product, bound: CharacterBound) -> None:
        self.parts, self.guard, self.bound, self.to_end = parts, guard, bound, parts.to_end

    def end(self, configuration: int, state: Any) -> End:
        """The completion of a text that was found, and its number of tokens."""
        return end_of(self.completion(configuration, state), self.to_end)

    def completion(self, configuration: int, state: Any) -> bytes | None:
        """The completion that was found; None if it is too long."""
        text = self.parts.completion(configuration, state[0])
        return None if text is None or self.bound.step(state[1], text) is None else text

    def spare(self, state: Any, text: bytes) -> int:
        """The characters that are left behind a text."""
        return cast(int, state[1]) - count_characters(text)

    def labels(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """`PartsEnds.labels`, of which tokens with different numbers of characters have different ones."""
        labels, sure = self.parts.labels(state[0])
        both = np.stack([labels, self.bound.labels(state[1])[: len(labels)]])
        return np.unique(both, axis=1, return_inverse=True)[1].reshape(-1), sure


class _Around(Shortest):
    """Shortest completions of the grammar around parts. texts: the least texts of parts, by their marks."""

    def __init__(self, automaton: Any, rules: Any, texts: dict[Any, Text]) -> None:
        self.texts = texts
        super().__init__(automaton, rules)

    def lexeme(self, terminal: Terminal) -> Text:
        return self.texts[terminal.node] if terminal.node in self.texts else super().lexeme(terminal)
