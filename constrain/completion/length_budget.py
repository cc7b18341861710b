"""Matchers with a length budget: at least and at most so many tokens, and complete when the last token is written.

    limited = LengthBudget(compiled).matcher(least=0, most=64)

The idea: a token is allowed only if the text can still be completed with the remaining tokens (tokens_to_end.py). So
the last tokens of a budget close brackets instead of opening more. The bound is inductive: if it holds, it holds again
after the next token of the shortest completion. So a text that could be completed at the start is complete at the end.
It is an upper bound on the tokens needed: near the end of a budget a token may be refused although a completion with
more bytes but fewer tokens would fit.

`least`: an EOS is refused before this number of tokens, EOS included, as long as another token is allowed.

Exact for the grammar; if a guard or a check of the finished text objects, the text may still be truncated. Cost: the
engine's mask, plus `TokensToEnd.after` for each new configuration.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.automata.marks import without_marks
from constrain.completion.tokens_to_end import NEVER, Counts, TokensToEnd
from constrain.engine.compiled import CompiledConstraint
from constrain.engine.matcher import Matcher
from constrain.errors import ConstrainError
from constrain.vocab.bits import set_bits


class LengthBudget:
    """The common data of the limited matchers of one compiled constraint.

    Args:
        compiled: The constraint.
        complete: Restrict masks to tokens after which the text can be completed in time; else only `least` applies.

    Raises:
        LimitError: No text of the grammar was found (`Shortest`).
    """

    def __init__(self, compiled: CompiledConstraint, *, complete: bool = True) -> None:
        self.compiled = compiled
        automaton, self.to_end = compiled.automaton, None
        if complete:
            make = lambda: TokensToEnd.of(automaton, compiled.rules, automaton.vocabulary)  # noqa: E731
            self.to_end = automaton.attempt(make)
        self.eos = np.zeros(compiled.vocabulary.words, np.uint32)
        set_bits(self.eos, compiled.vocabulary.eos_ids)

    def matcher(self, least: int = 0, most: int = NEVER) -> LimitedMatcher:
        """A matcher at the beginning of a text of `least` to `most` tokens, EOS included.

        Raises ConstrainError if the shortest text needs more than `most` tokens.
        """
        limited = LimitedMatcher(self, self.compiled.matcher(), least, most)
        need = limited.needs()
        if need > most:
            raise ConstrainError(self._too_small(need, most), fix=self._fix(need))
        return limited

    def _too_small(self, need: int, most: int) -> str:
        if need >= NEVER:
            return "no completion was found that the vocabulary can spell, so the text cannot be closed in time"
        text = self._shortest()
        shown = text if len(text) <= 60 else text[:57] + "..."
        return f"a budget of {most} tokens is too small: the shortest text, {shown!r}, takes {need}, EOS counted"

    def _fix(self, need: int) -> str:
        """A suggestion for a budget that is smaller than `need`, the least number of tokens."""
        alternative = "leave out complete=True"
        return alternative if need >= NEVER else f"set max_tokens to {need} or more, or {alternative}"

    def _shortest(self) -> str:
        def ask() -> bytes:
            assert self.to_end is not None
            return self.to_end.shortest.completion(self.compiled.start()) or b""

        text: bytes = self.compiled.automaton.attempt(ask)
        return without_marks(text).decode()


class LimitedMatcher:
    """A matcher with a length budget; it has the methods of `Matcher` that samplers use.

    Attributes:
        budget: Shared with other matchers of the same constraint.
        inner: The matcher without the budget.
        least: The least number of tokens, EOS included.
        most: The greatest number of tokens, EOS included.
        taken: The number of tokens so far.
    """

    def __init__(self, budget: LengthBudget, inner: Matcher, least: int, most: int) -> None:
        self.budget = budget
        self.inner = inner
        self.least = least
        self.most = most
        self.taken = 0

    @property
    def state(self) -> tuple[Any, int]:
        """A hashable state: equal states allow the same continuations."""
        return self.inner.state, self.taken

    @property
    def left(self) -> int:
        """The number of tokens that may still be written, EOS included."""
        return self.most - self.taken

    def needs(self) -> int:
        """The number of tokens that complete the text, EOS included; 0 with complete=False."""
        to_end = self.budget.to_end
        return 0 if to_end is None else self.inner.locked(to_end.needs)

    def fill_mask(self, row: NDArray[np.uint32]) -> None:
        """See `Matcher.fill_mask`."""
        to_end = self.budget.to_end
        if to_end is None:
            self.inner.fill_mask(row)
        else:
            self.inner.write_mask(row, lambda configuration: self._in_time(to_end.after(configuration)))
        words = row.view(np.uint32)[: len(self.budget.eos)]
        if self.taken + 1 < self.least and (words & ~self.budget.eos).any():
            words &= ~self.budget.eos

    def _in_time(self, counts: Counts) -> NDArray[np.uint32]:
        """uint32[ceil(V / 32)]: the mask of the tokens after which the text can still be completed in time."""
        words = np.zeros(len(self.budget.eos), np.uint32)
        bits = np.packbits(counts < self.left, bitorder="little")
        words.view(np.uint8)[: len(bits)] = bits
        return words

    def allows(self, token_id: int) -> bool:
        """Whether the token may come next."""
        if not self.advance(token_id):
            return False
        self.rollback(1)
        return True

    def advance(self, token_id: int) -> bool:
        """See `Matcher.advance`."""
        ends = token_id in self.budget.compiled.vocabulary.eos_ids
        if (ends and not self.is_accepting()) or not self.inner.advance(token_id):
            return False
        self.taken += 1
        if not ends and self.needs() > self.left:
            self.rollback(1)
            return False
        return True

    def is_accepting(self) -> bool:
        """Whether an EOS may come: the text is a member, and it is long enough or no other token is allowed."""
        return self.inner.is_accepting() and (self.taken + 1 >= self.least or not self._can_go_on())

    def _can_go_on(self) -> bool:
        row = np.zeros(self.budget.compiled.vocabulary.words, np.uint32)
        self.fill_mask(row)
        return bool((row & ~self.budget.eos).any())

    def is_finished(self) -> bool:
        """See `Matcher.is_finished`."""
        return self.inner.is_finished()

    def forced_tokens(self) -> list[int]:
        """See `Matcher.forced_tokens`. Tokens that only the budget forces are not included."""
        return self.inner.forced_tokens()

    def rollback(self, n_tokens: int) -> None:
        """Undo the last n tokens."""
        self.inner.rollback(n_tokens)
        self.taken -= n_tokens

    def fork(self) -> LimitedMatcher:
        """An independent copy at the same place."""
        copy = LimitedMatcher(self.budget, self.inner.fork(), self.least, self.most)
        copy.taken = self.taken
        return copy
