"""Reads the texts of one part: its grammar, with the lexer that it has, and its guard.

A state is (configuration, state of the guard). Everything is called under the automaton's lock, and configurations
are forgotten when the automaton forgets its own.

Cost: some microseconds for each byte, and a mask of the engine for each new state.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np

from constrain.kernels.masks import fill
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.languages.automata.memory import words_of
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.bits import Row, clear_bits
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled import CompiledConstraint

STATE = advance.STATE


class PartReader(Protocol):
    """The interface of what reads a part."""

    def start(self, kept: Hashable = None) -> Hashable:
        """Give the state before the first byte. kept: What an earlier text has left; None: nothing."""

    def kept(self, state: Any) -> Hashable:
        """Give what a text that may end leaves to the next one; None: nothing, each text is read by itself."""

    def step(self, state: Any, byte: int) -> Hashable | None:
        """Give the state after a byte; None: no text of the part goes on so."""

    def lives(self, state: Any) -> bool:
        """True if some text of the part goes on from a state, as far as its guard can look ahead."""

    def may_end(self, state: Any) -> bool:
        """True if the text of the part may end at a state."""

    def mask(self, state: Any) -> tuple[Row, Row | None]:
        """Give the tokens that may come next inside of the part, and the ones to be read byte by byte.

        Both are uint32[ceil(V / 32)]; None: none. Tokens that run over the end of the part are in neither.
        """


class GrammarReader:
    """A reader of the texts of a constraint.

    Args:
        constraint: The constraint.
        vocabulary: The vocabulary.
        automaton: Holds the states.
    """

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary, automaton: TokenAutomaton) -> None:
        self.compiled = CompiledConstraint(constraint, vocabulary, automaton)
        self.guard: Any = self.compiled.guard
        self.automaton = automaton

    def start(self, kept: Hashable = None) -> tuple[int, Hashable]:
        """Give the state before the first byte. kept: What an earlier text has left; None: nothing."""
        guarded = self.guard.start() if kept is None and self.guard is not None else kept
        return self.compiled.start(), guarded

    def kept(self, state: tuple[int, Hashable]) -> Hashable:
        """Give the guard's state for the next text, if texts share their names; else None."""
        between = self.compiled.constraint.between_texts
        return None if between is None else self.guard.step(state[1], between)

    def step(self, state: tuple[int, Hashable], byte: int) -> tuple[int, Hashable] | None:
        """Give the state after a byte; None: no text of the part goes on so."""
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

    def lives(self, state: tuple[int, Hashable]) -> bool:
        """True if some text of the part goes on from a state, as far as its guard can look ahead."""
        configuration, guarded = state
        lookahead = self.compiled.lookahead
        return lookahead is None or not lookahead.doubts(guarded) or lookahead.lives(lambda: configuration, guarded)

    def may_end(self, state: tuple[int, Hashable]) -> bool:
        """True if the text of the part may end at a state."""
        configuration, guarded = state
        if not self.automaton.memory.call(configurations.accepts, configuration):
            return False
        if self.compiled.ending is not None and not self.compiled.ending.may_end(guarded):
            return False
        return self.compiled.constraint.between_texts is None or self.kept(state) is not None

    def mask(self, state: tuple[int, Hashable]) -> tuple[Row, Row | None]:
        """Give the tokens that may come next inside of the part; none has to be read byte by byte."""
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
        return after is not None and self.lives(after)
