"""Compiled constraints whose masks allow a token only if tokens can complete the text after it.

The idea: a vocabulary that writes a character in some places only (a token `\\xc3` and none `\\xa9`; an "é" in longer
tokens) cannot complete every text that begins a member. So the grammar is watched throughout, and the matcher
removes the tokens after which no sequence of tokens reaches the end (tokens_to_end.py).

Exact, but where the search gives up, for what guards veto and for what is checked on the finished text: there a token
stays. Cost: `TokensToEnd.after` for each new configuration. Vocabularies that write every byte, or each of their
characters, as a token need none of this, nor do constraints that name none of the characters that a byte-level
vocabulary lacks (`Writable.asks_tokens`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from constrain.errors import UnsatisfiableError
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.bits import set_bits
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.completion.spellings import NEVER
from constrain.masks.completion.tokens_to_end import TokensToEnd
from constrain.masks.completion.writable import UNWRITABLE_FIX, Writable
from constrain.masks.engine import CompiledConstraint, Matcher, compile_bytewise
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.rows import Row


class SpelledConstraint(CompiledConstraint):
    """A constraint compiled for a vocabulary that cannot complete every text. Made by `spelled`.

    Its `rules` are not those of equal constraints, which are not watched.

    Attributes:
        to_end: The number of tokens to the end of a text; the others are those of the base class.

    Raises:
        UnsatisfiableError: The tokens can write no text of the constraint.
        LimitError: A stated limit was reached.
    """

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary, automaton: TokenAutomaton) -> None:
        super().__init__(constraint, vocabulary, automaton)
        self.rules = CompiledRules(replace(self.rules.grammar, watched=True), -1)
        self.known_start = (-1, 0)
        if self.lookahead is not None:
            self.lookahead.rules = self.rules
        self.to_end = automaton.attempt(lambda: TokensToEnd.of(automaton, self.rules, automaton.vocabulary))
        if automaton.attempt(lambda: self.to_end.needs(self.start())) >= NEVER:
            raise UnsatisfiableError(
                "the tokens of the vocabulary can write no text of this constraint",
                place=repr(constraint),
                fix=UNWRITABLE_FIX,
            )

    def make_matcher(self, eos_ids: tuple[int, ...] | None = None) -> Matcher:
        return SpelledMatcher(self, eos_ids)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.constraint, self.vocabulary)


class SpelledMatcher(Matcher):
    """A matcher that allows a token only if tokens can complete the text after it."""

    __slots__ = ()

    compiled: SpelledConstraint

    def __init__(self, compiled: CompiledConstraint, eos_ids: tuple[int, ...] | None = None) -> None:
        super().__init__(compiled, eos_ids)
        self._always_narrowed = True

    def is_clear(self, step: int | bytes, keep: bool = False) -> bool:
        """True if the guard allows a step that the grammar allows, and some text of tokens after it."""
        if not isinstance(step, bytes):  # bytes may end inside of a token
            to_end = self.compiled.to_end
            if self.locked(lambda configuration: int(to_end.after(configuration)[step])) >= NEVER:
                return False
        return super().is_clear(step, keep)

    def narrow(self, row: Row, flags: int) -> None:
        """Remove the tokens after which the text cannot be completed, and what the guard and the check remove."""
        to_end = self.compiled.to_end
        ends = self.locked(lambda configuration: to_end.after(configuration) < NEVER)
        packed = np.packbits(ends, bitorder="little")
        words = np.zeros(self.compiled.vocabulary.words, np.uint32)
        words.view(np.uint8)[: len(packed)] = packed
        set_bits(words, (*self._automaton.layout.eos_ids, *self._eos_ids))
        row.view(np.uint32)[: len(words)] &= words
        super().narrow(row, flags)


def spelled(compiled: CompiledConstraint, text: str | None = None) -> CompiledConstraint:
    """A compiled constraint whose masks are exact in tokens: itself, where its vocabulary can complete every text.

    Args:
        compiled: Of `compile_bytewise`.
        text: The JSON that the constraint was read from, if it is at hand.

    Raises:
        UnsatisfiableError: The tokens can write no text of the constraint.
        LimitError: A stated limit was reached.

    Example:
        >>> import constrain
        >>> from constrain.masks.completion.spelled import spelled
        >>> from constrain.masks.engine import compile_bytewise
        >>> tokens = constrain.Vocabulary([b"\\xc3", b"\\xc3\\xa9", b"a", None], eos_ids=[3])
        >>> compiled = compile_bytewise(constrain.regex("é|a"), tokens)
        >>> [[made.matcher().allows(token) for token in range(3)] for made in (compiled, spelled(compiled))]
        [[True, True, True], [False, True, True]]
    """
    if not Writable.of(compiled.vocabulary).asks_tokens(compiled.constraint, text):
        return compiled
    return SpelledConstraint(compiled.constraint, compiled.vocabulary, compiled.automaton)


def _made(constraint: Constraint, vocabulary: Vocabulary) -> CompiledConstraint:
    return spelled(compile_bytewise(constraint, vocabulary))
