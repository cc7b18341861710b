"""Healing the end of a prompt: its last token is taken back, and the model writes those bytes again.

The problem: `{"name": "` ends in a token that the model would rather have merged with what follows. A text that goes on
from there begins with a cut that the model has hardly seen, which bends its distribution.
The idea: shorten the prompt by its last token, whose bytes are b, and ask for an output that begins with b and then
obeys the constraint: b·L. The first token begins with all of b: it is the token that was taken back, or a longer one.

Target: p given the shorter prompt, conditioned on b·L and on a first token that begins with b — another one than
without healing, and the better one where the prompt's cut was an accident. Shorter first tokens would be cuts of b that
the tokenizer did not choose: greedy decoding, which looks one token ahead, prefers such a stump to the whole.
`tokens`, `logprob` and weights count all tokens; `text` leaves b out.

Cost: for the first token, one step of the matcher for each token of the vocabulary that begins with b, once for each
state. Limit: one token is taken back, none where the prompt has only one, or ends in a special one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from constrain.kernels.parser.forced import NOT_FORCED
from constrain.languages.constraints.refusal import Refusal
from constrain.languages.vocab.bits import set_bits
from constrain.masks.engine.matcher import MAX_FORCED
from constrain.masks.engine.narrowed import Narrowed


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

    def fitting(self, begin: bytes) -> list[tuple[int, bytes]]:
        """(token, its bytes beyond `begin`) of the tokens that begin with it."""
        if begin not in self._fitting:
            self._fitting[begin] = [
                (token_id, token[len(begin) :])
                for token_id, token in enumerate(self.vocabulary.tokens)
                if token and token.startswith(begin)
            ]
        return self._fitting[begin]

    def matcher(self, inner: Any, begin: bytes) -> Any:
        """A matcher of begin · L for one of L."""
        return HealedMatcher(self, inner, begin) if begin else inner


class HealedMatcher(Narrowed):
    """A matcher that wants some bytes before those of the constraint.

    begin: those bytes. steps: for each token read, the steps of the inner matcher; none: they are still to be written
    """

    layer = "healed prompt"

    def __init__(self, healing: Healing, inner: Any, begin: bytes) -> None:
        super().__init__(inner)
        self.healing = healing
        self.begin = begin
        self.steps: list[int] = []

    @property
    def left(self) -> bytes:
        """The bytes that the next token begins with."""
        return b"" if self.steps else self.begin

    @property
    def state(self) -> tuple[bytes, Any]:
        return self.left, self.inner.state

    def at_this_place(self) -> Any:
        return self if self.left else self.inner

    def fill_mask(self, row: np.ndarray) -> None:
        if not self.left:
            self.inner.fill_mask(row)
            return
        known = self.healing.masks.get(self.state)
        if known is None:
            known = np.zeros(self.healing.vocabulary.words, np.uint32)
            fitting = self.healing.fitting(self.left)
            set_bits(known, (token for token, rest in fitting if not rest or self._takes(rest)))
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
        if self.steps:
            if not self.inner.advance(token_id):
                return False
            self.steps.append(1)
            return True
        token = self.healing.vocabulary.tokens[token_id]
        if not token or not token.startswith(self.begin):
            return False
        rest = token[len(self.begin) :]
        if rest and not self.inner.advance_bytes(rest):
            return False
        self.steps.append(int(bool(rest)))
        return True

    def refused_inside(self, token_id: int) -> Refusal | None:
        """The constraint reads what a first token has behind the bytes to begin with."""
        if not self.left:
            return super().refused_inside(token_id)
        from constrain.masks.engine.layers import explained

        token = self.healing.vocabulary.tokens[token_id] or b""
        rest = token[len(self.left) :] if token.startswith(self.left) else b""
        found = explained(self.inner, rest) if rest and not self._takes(rest) else None
        return found and replace(found, message=f"behind the bytes of the prompt {found.message}")

    def because(self, token_id: int) -> str:
        return f"the prompt's last token, {self.begin!r}, was taken back: the first token begins with its bytes"

    def forced_tokens(self) -> list[int]:
        """The forced tokens of `Matcher`; none at the beginning, where several tokens may begin with the bytes."""
        return [] if self.left else super().forced_tokens()

    def forced_end(self, most: int = MAX_FORCED) -> tuple[bytes, bool]:
        """No bytes: a text whose first token overlaps the prompt is cut as the model cuts it."""
        return b"", True

    def forcing(self, *_: Any) -> int:
        """NOT_FORCED: the text of the prompt that is written again is no choice (`forced_end`)."""
        return NOT_FORCED

    def is_accepting(self) -> bool:
        """The bytes were written, and what follows them is a member."""
        return not self.left and super().is_accepting()

    def is_finished(self) -> bool:
        return not self.left and super().is_finished()

    def rollback(self, n_tokens: int) -> None:
        for _ in range(n_tokens):
            self.inner.rollback(self.steps.pop())

    def fork(self) -> HealedMatcher:
        twin = HealedMatcher(self.healing, self.inner.fork(), self.begin)
        twin.steps = list(self.steps)
        return twin
