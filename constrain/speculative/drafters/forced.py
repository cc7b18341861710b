"""Drafts the bytes that the constraint forces, tokenised.

A token that alone is allowed is certain, and the builder adds it at every place of a tree by itself. Bytes that alone
are allowed are less: `":` must follow a key, but whether as one token or two is for the model to say. So the bytes are
tokenised as a prompt would be, and the guess is verified. The last token of the run is the least sure: the model may
join it with what follows.

Cost: a look-up a byte. Limit: without a tokenizer the guess is the longest token that fits, again and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from constrain.speculative.drafter import Context, DraftBudget, Drafter
from constrain.speculative.tree import EMPTY, DraftTree, given_chain

INNER, LAST = math.log(0.9), math.log(0.5)  # estimates of acceptance: inside a run of forced bytes, and at its end


class Forced(Drafter):
    """Drafts the bytes that the constraint forces, as tokens; see the module `constrain.speculative.drafters.forced`.

    Example:
        >>> from constrain.speculative import Forced
        >>> Forced().name
        'forced'
    """

    name = "forced"

    def __init__(self) -> None:
        self._known: tuple[object, Callable[[bytes], list[int]]] | None = None  # (token_bytes, longest match)

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The guess at the bytes that must follow; what is certain as a token is in the text already."""
        forced_bytes = getattr(context.matcher, "forced_bytes", None)
        run: bytes = b"" if forced_bytes is None else forced_bytes()
        guess = list(self._encode(context, run))[: budget.depth] if run else []
        return given_chain(guess, [INNER] * (len(guess) - 1) + [LAST]) if guess else EMPTY

    def _encode(self, context: Context, text: bytes) -> Sequence[int]:
        if context.setting.encode is not None:
            return context.setting.encode(text)
        tokens = context.setting.token_bytes
        if self._known is None or self._known[0] is not tokens:
            self._known = (tokens, longest_match(tokens))
        return self._known[1](text)


def longest_match(tokens: Sequence[bytes | None]) -> Callable[[bytes], list[int]]:
    """A tokeniser that takes the longest token that fits, again and again, and stops where none does."""
    ids = {token: i for i, token in reversed(list(enumerate(tokens))) if token}
    longest = max(map(len, ids), default=0)

    @lru_cache(maxsize=1024)
    def encode(text: bytes) -> tuple[int, ...]:
        found = []
        start = 0
        while start < len(text):
            end = next((e for e in range(min(len(text), start + longest), start, -1) if text[start:e] in ids), start)
            if end == start:
                break
            found.append(ids[text[start:end]])
            start = end
        return tuple(found)

    return lambda text: list(encode(text))
