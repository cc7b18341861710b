"""Matchers that end in time: at least so many tokens, at most so many, and complete when the last one is written.

    limited = LengthBudget(compiled).matcher(least=0, most=64)

The idea: a token is allowed only if the text can still be completed with the tokens that are left (tokens_to_end.py),
so the last tokens of a budget close brackets instead of opening more. The bound that is used can be kept: as long as it
is met, the next token of the shortest completion meets it again, so a text that could be closed at the start is closed
at the end. It is an upper bound on the tokens needed, so near the end of a budget a token may be refused that a
completion of more bytes but fewer tokens would have allowed.

`least`: an EOS is refused before so many tokens, EOS counted, as long as another token is allowed.

Exact as the grammar; where a guard or a check of the finished text objects, the text may still be cut. Cost: a mask is
the engine's, plus what `TokensToEnd.after` costs for a configuration that was not met before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.completion.tokens_to_end import NEVER, Counts, TokensToEnd
from constrain.engine.compiled import CompiledConstraint
from constrain.engine.matcher import Matcher
from constrain.errors import ConstrainError


class LengthBudget:
    """What the limited matchers of one compiled constraint share.

    complete: also restrict masks to what can be completed in time; else only `least` counts.
    """

    def __init__(self, compiled: CompiledConstraint, *, complete: bool = True) -> None:
        """Raises LimitError if no text is found in the grammar (`Shortest`)."""
        self.compiled = compiled
        automaton, self.to_end = compiled.automaton, None
        if complete:
            make = lambda: TokensToEnd.of(automaton, compiled.rules, compiled.vocabulary)  # noqa: E731
            self.to_end = automaton.attempt(make)
        self.eos = np.zeros(compiled.vocabulary.words, np.uint32)
        for token in compiled.vocabulary.eos_ids:
            self.eos[token >> 5] |= np.uint32(1 << (token & 31))

    def matcher(self, least: int = 0, most: int = NEVER) -> LimitedMatcher:
        """A matcher at the beginning of a text of `least` to `most` tokens, EOS counted.

        Raises ConstrainError if the shortest text needs more.
        """
        limited = LimitedMatcher(self, self.compiled.matcher(), least, most)
        need = limited.needs()
        if need > most:
            raise ConstrainError(self._too_small(need, most), fix=self._way_out(need))
        return limited

    def _too_small(self, need: int, most: int) -> str:
        if need >= NEVER:
            return "no completion was found that the vocabulary can spell, so the text cannot be closed in time"
        text = self._shortest()
        shown = text if len(text) <= 60 else text[:57] + "..."
        return f"a budget of {most} tokens is too small: the shortest text, {shown!r}, takes {need}, EOS counted"

    def _way_out(self, need: int) -> str:
        """What to do where the least number of tokens, `need`, is more than there may be."""
        alternative = "leave out complete=True"
        return alternative if need >= NEVER else f"set max_tokens to {need} or more, or {alternative}"

    def _shortest(self) -> str:
        def ask() -> bytes:
            assert self.to_end is not None
            return self.to_end.shortest.completion(self.compiled.start()) or b""

        text: bytes = self.compiled.automaton.attempt(ask)
        return text.decode()


class LimitedMatcher:
    """A matcher with a budget; like `Matcher`, as far as samplers use it."""

    def __init__(self, budget: LengthBudget, inner: Matcher, least: int, most: int) -> None:
        self.budget = budget
        self.inner = inner
        self.least = least
        self.most = most
        self.taken = 0

    @property
    def state(self) -> tuple[Any, int]:
        """Equal states allow the same texts."""
        return self.inner.state, self.taken

    @property
    def left(self) -> int:
        """Tokens that may still be written, EOS counted."""
        return self.most - self.taken

    def needs(self) -> int:
        """Tokens that complete the text, EOS counted; 0 where nobody asks."""
        to_end = self.budget.to_end
        return 0 if to_end is None else self._ask(to_end.needs)

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
        """The mask of the tokens after which the text can still be completed. uint32[ceil(V / 32)]"""
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
        """Whether an EOS may come: the text is a member, and long enough or unable to go on."""
        return self.inner.is_accepting() and (self.taken + 1 >= self.least or not self._can_go_on())

    def _can_go_on(self) -> bool:
        row = np.zeros(self.budget.compiled.vocabulary.words, np.uint32)
        self.fill_mask(row)
        return bool((row & ~self.budget.eos).any())

    def is_finished(self) -> bool:
        """See `Matcher.is_finished`."""
        return self.inner.is_finished()

    def forced_tokens(self) -> list[int]:
        """Tokens that must follow; those that only the budget forces are not among them."""
        return self.inner.forced_tokens()

    def rollback(self, n_tokens: int) -> None:
        """Take back the last n tokens."""
        self.inner.rollback(n_tokens)
        self.taken -= n_tokens

    def fork(self) -> LimitedMatcher:
        """An independent matcher at the same place."""
        twin = LimitedMatcher(self.budget, self.inner.fork(), self.least, self.most)
        twin.taken = self.taken
        return twin

    def _ask(self, question: Any) -> Any:
        """Ask something of the present configuration, under the automaton's lock."""

        def operation() -> Any:
            self.inner._follow()
            return question(self.inner._states[-1])

        return self.inner._automaton.attempt(operation)
