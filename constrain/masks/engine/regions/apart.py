"""A region apart: its texts are read by a grammar of its own, with the lexer that it has, and by its guard.

A state is (configuration, state of the guard). Everything is called under the automaton's lock, and configurations
are forgotten when the automaton forgets its own.

Cost: some microseconds for each byte, and a mask of the engine for each new state.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from constrain.kernels.masks import fill
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.languages.automata.memory import words_of
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.escaped import EscapedText
from constrain.languages.guards import Before
from constrain.languages.vocab.bits import Row, clear_bits
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled import CompiledConstraint
from constrain.masks.engine.regions.escapes import EscapedRegion
from constrain.masks.engine.regions.guard import Automata, RegionsGuard
from constrain.masks.engine.regions.places import RegionPlace, TextRegion, with_marks

STATE = advance.STATE


class GrammarRegion(TextRegion):
    """A region whose texts are those of a constraint.

    Args:
        constraint: The constraint.
        vocabulary: The vocabulary.
        automaton: Holds the states.
    """

    apart = True

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary, automaton: TokenAutomaton) -> None:
        self.compiled = CompiledConstraint(constraint, vocabulary, automaton)
        self.guard: Any = self.compiled.guard
        self.automaton = automaton

    def start(self, kept: Hashable = None) -> tuple[int, Hashable]:
        guarded = self.guard.start() if kept is None and self.guard is not None else kept
        return self.compiled.start(), guarded

    def kept(self, state: tuple[int, Hashable]) -> Hashable:
        between = self.compiled.constraint.between_texts
        return None if between is None else self.guard.step(state[1], between)

    def step(self, state: tuple[int, Hashable], byte: int) -> tuple[int, Hashable] | None:
        return self._advance(state, advance.advance_bytes, words_of(bytes((byte,))), bytes((byte,)))

    def _advance(
        self, state: tuple[int, Hashable], kernel: Any, argument: Any, text: bytes
    ) -> tuple[int, Hashable] | None:
        configuration, guarded = state
        after = self.automaton.memory.call(kernel, configuration, argument) & STATE
        if after == arena.NONE:
            return None
        if self.guard is not None:
            guarded = self.guard.step(guarded, text)
            if guarded is None:
                return None
        return after, guarded

    def lives(self, state: tuple[int, Hashable], before: Before | None = None) -> bool:
        """True if some text of the region goes on from a state, as far as its guard can look ahead."""
        configuration, guarded = state
        lookahead = self.compiled.lookahead
        if lookahead is None or not lookahead.doubts(guarded):
            return True
        return lookahead.lives(lambda: configuration, guarded, before)

    def settled(self, state: tuple[int, Hashable], place: RegionPlace, depth: int) -> tuple[int, Hashable] | None:
        return state if self.lives(state) else None

    def may_end(self, state: tuple[int, Hashable]) -> bool:
        configuration, guarded = state
        if not self.automaton.memory.call(configurations.accepts, configuration):
            return False
        if self.compiled.ending is not None and not self.compiled.ending.may_end(guarded):
            return False
        return self.compiled.constraint.between_texts is None or self.kept(state) is not None

    def mask(self, state: tuple[int, Hashable]) -> tuple[Row, Row | None]:
        automaton, (configuration, guarded) = self.automaton, state
        row = np.zeros((automaton.layout.size + 31) // 32, np.uint32)
        flags = automaton.memory.call(automaton.kernels.fill_mask, configuration, row)
        clear_bits(row, automaton.layout.eos_ids)
        lookahead = self.compiled.lookahead
        if lookahead is not None and (flags & fill.IS_WATCHED or self.guard.always):
            lookahead.narrow(
                self.guard,
                guarded,
                guarded,
                row,
                lambda operation: operation(configuration),
                lambda token: self._is_clear(state, token),
            )
        return row, None

    def _is_clear(self, state: tuple[int, Hashable], token: int) -> bool:
        """True if the guard allows a token that the grammar allows, and some text after it."""
        text = self.automaton.vocabulary.tokens[token] or b""
        after = self._advance(state, self.automaton.kernels.step, token, text)
        return after is not None and self.lives(after, Before(*state, text))


def guard_of(constraint: Constraint, vocabulary: Vocabulary) -> RegionsGuard:
    """The guard of a constraint some of whose parts are read apart; equal constraints share it.

    Raises:
        GrammarError: The constraint mentions tokens that have text.
    """

    def make() -> RegionsGuard:
        automaton = Automata.of(vocabulary).at(nesting(constraint))
        parts = [part for part in constraint.members if part.read_apart or part.guarded]
        regions = [_region(part, vocabulary, automaton) for part in parts]
        grammar = with_marks(constraint.to_grammar(), {part: number for number, part in enumerate(parts)})
        beside = "parts that are read apart", repr(constraint)
        return RegionsGuard(constraint, vocabulary, grammar, regions, automaton, beside)

    return Automata.of(vocabulary).guard((constraint, "apart"), make)


def nesting(constraint: Constraint) -> int:
    """The depth of parts in parts of a constraint."""
    return max((1 + nesting(part) for part in constraint.members), default=0)


def _region(part: Constraint, vocabulary: Vocabulary, automaton: TokenAutomaton) -> TextRegion:
    if isinstance(part, EscapedText):
        return EscapedRegion(GrammarRegion(part.inner, vocabulary, automaton), automaton)
    return GrammarRegion(part, vocabulary, automaton)
