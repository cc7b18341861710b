"""Healing the end of a prompt: its last token is taken back, and the model writes those bytes again.

The problem: `{"name": "` ends in a token that the model would rather have merged with what follows. A text that goes on
from there begins with a cut that the model has hardly seen, which bends its distribution.
The idea: shorten the prompt by its last token, whose bytes are b, and ask for an output that begins with b and then
obeys the constraint: b·L. The first tokens may end inside b, or go beyond it.

Target: p given the shorter prompt, conditioned on b·L — another one than without healing, and the better one where the
prompt's cut was an accident. `tokens`, `logprob` and weights count all tokens; `text` leaves b out.

Cost: for the first few tokens, one step of the matcher for each token of the vocabulary that begins with what is left
of b, once for each state. Limit: one token is taken back, none where the prompt has only one, or ends in a special one.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Healing:
    """The tokens of a vocabulary by what they begin with; shared by the matchers of a request."""

    def __init__(self, vocabulary: Any) -> None:
        self.vocabulary = vocabulary
        self.masks: dict[tuple[bytes, Any], np.ndarray] = {}
        self._fitting: dict[bytes, list[tuple[int, bytes]]] = {}

    def cut(self, prompt: list[int]) -> tuple[list[int], bytes]:
        """(the prompt without its last token, the bytes of that token), or the prompt and b"" where it cannot be."""
        last = self.vocabulary.tokens[prompt[-1]] if prompt[-1] < self.vocabulary.size else None
        return (prompt[:-1], last) if len(prompt) > 1 and last else (prompt, b"")

    def fitting(self, left: bytes) -> list[tuple[int, bytes]]:
        """(token, its bytes beyond `left`) of the tokens that agree with `left` as far as both go."""
        if left not in self._fitting:
            self._fitting[left] = [
                (token_id, token[len(left) :])
                for token_id, token in enumerate(self.vocabulary.tokens)
                if token and (token.startswith(left) or left.startswith(token))
            ]
        return self._fitting[left]

    def matcher(self, inner: Any, begin: bytes) -> Any:
        """A matcher of begin · L for one of L."""
        return HealedMatcher(self, inner, begin) if begin else inner


class HealedMatcher:
    """A matcher that wants some bytes before those of the constraint.

    left: what is still to be written of them. steps: for each token read, (left before it, steps of the inner matcher)
    """

    def __init__(self, healing: Healing, inner: Any, left: bytes) -> None:
        self.healing = healing
        self.inner = inner
        self.left = left
        self.steps: list[tuple[bytes, int]] = []

    @property
    def state(self) -> tuple[bytes, Any]:
        return self.left, self.inner.state

    def fill_mask(self, row: np.ndarray) -> None:
        if not self.left:
            self.inner.fill_mask(row)
            return
        known = self.healing.masks.get(self.state)
        if known is None:
            known = np.zeros(self.healing.vocabulary.words, np.uint32)
            for token, rest in self.healing.fitting(self.left):
                if not rest or self._takes(rest):
                    known[token // 32] |= np.uint32(1 << token % 32)
            self.healing.masks[self.state] = known
        words = row.view(np.uint32)
        words[:] = 0
        words[: len(known)] = known

    def _takes(self, rest: bytes) -> bool:
        """The constraint may begin with these bytes."""
        taken: bool = self.inner.advance_bytes(rest)
        if taken:
            self.inner.rollback(1)
        return taken

    def advance(self, token_id: int) -> bool:
        before = self.left
        if not before:
            taken: bool = self.inner.advance(token_id)
            if taken:
                self.steps.append((before, 1))
            return taken
        token = self.healing.vocabulary.tokens[token_id]
        if not token or not (token.startswith(before) or before.startswith(token)):
            return False
        rest = token[len(before) :]
        if rest and not self.inner.advance_bytes(rest):
            return False
        self.left = before[len(token) :]
        self.steps.append((before, int(bool(rest))))
        return True

    def allows(self, token_id: int) -> bool:
        """True if the token may come next."""
        if not self.advance(token_id):
            return False
        self.rollback(1)
        return True

    def forced_tokens(self) -> list[int]:
        """See `Matcher.forced_tokens`; none while bytes are wanted, which several tokens may begin."""
        return [] if self.left else list(self.inner.forced_tokens())

    def is_accepting(self) -> bool:
        """The bytes were written, and what follows them is a member."""
        return not self.left and bool(self.inner.is_accepting())

    def is_finished(self) -> bool:
        """EOS was read, or nothing but EOS can follow."""
        return not self.left and bool(self.inner.is_finished())

    def rollback(self, n_tokens: int) -> None:
        """Take back the last n tokens."""
        for _ in range(n_tokens):
            self.left, inner_steps = self.steps.pop()
            self.inner.rollback(inner_steps)

    def fork(self) -> HealedMatcher:
        """An independent matcher at the same place."""
        twin = HealedMatcher(self.healing, self.inner.fork(), self.left)
        twin.steps = list(self.steps)
        return twin
