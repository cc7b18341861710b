"""The first token of a text that must follow, if its cut does not depend on what comes after it.

The idea: all ways are tried to cut the text into tokens that may stand behind one another. The last token of a way may
go on beyond the text, and what follows is not asked for. If all ways begin with one token, the cut is known so far.

Cost: some 20 steps of a token for a text that is new, a look-up for others; texts of JSON recur in all schemas.
Reference: all sequences of tokens (tests/languages/cuts/test_forced_texts.py).
"""

from __future__ import annotations

import bisect
import weakref
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.languages.cuts.remembered import Remembered

if TYPE_CHECKING:
    from constrain.languages.cuts.canonical import CanonicalTokens, CutState

MEMORY = 8 << 20  # bytes of answers
NO_TOKENS = np.zeros(0, np.int64)
LAST = b"\xff" * 64  # after all continuations of a text, since no byte of UTF-8 is ff


class Firsts(NamedTuple):
    """Tokens with which a text may go on. beyond: int64[n], the ones that are longer than the text."""

    within: list[int]
    beyond: NDArray[np.int64]


class ForcedCuts:
    """The first tokens of texts. Threads may share it.

    Args:
        canonical (CanonicalTokens): The canonical sequences of tokens.

    Example:
        >>> import constrain
        >>> from constrain.languages.cuts import CanonicalTokens
        >>> tokenizer = constrain.reference.load().tokenizer
        >>> canonical = CanonicalTokens.of(tokenizer, constrain.Vocabulary.from_huggingface(tokenizer))
        >>> firsts = canonical.forced.firsts(canonical.start, b"return the")
        >>> [tokenizer.decode(token) for token in firsts.within], len(firsts.beyond)
        (['return'], 0)
    """

    def __init__(self, canonical: CanonicalTokens) -> None:
        self._canonical = weakref.proxy(canonical)  # which has this
        self._tokens = canonical.tokens
        self._known = Remembered[Firsts](MEMORY)
        self._by_byte: dict[int, tuple[list[bytes], NDArray[np.int64]]] = {}

    def firsts(self, state: CutState, text: bytes, *, is_end: bool = False) -> Firsts:
        """The tokens that may come next, in a state of the canonical tokens, where a text of a byte or more follows.

        is_end: nothing follows the text
        """
        known = self._known.get((state, text, is_end))
        if known is None:
            within, beyond = self._beginning(text)
            seen: dict[tuple[int, CutState], bool] = {}
            within = [token for token in within if self._has_cut(state, token, text, 0, is_end, seen)]
            beyond = NO_TOKENS if is_end else np.array(list(self._canonical.among(state, beyond)), np.int64)
            known = Firsts(within, beyond)
            self._known.keep((state, text, is_end), known, 8 * (len(within) + len(beyond)) + len(text))
        return known

    def _has_cut(
        self, state: CutState, token: int, text: bytes, at: int, is_end: bool, seen: dict[tuple[int, CutState], bool]
    ) -> bool:
        """True if the text can be written from `at` on, the token first. seen: the answers so far, without it."""
        state, at = self._canonical.step(state, token), at + len(self._spelled(token))
        if state.pieces == 0 or at == len(text):
            return bool(state.pieces) and (not is_end or self._canonical.may_end(state))
        key = at, state
        if key not in seen:
            within, beyond = self._beginning(text[at:])
            seen[key] = any(self._has_cut(state, next_one, text, at, is_end, seen) for next_one in within)
            if not seen[key] and not is_end:
                seen[key] = any(True for _ in self._canonical.among(state, beyond))
        return seen[key]

    def _beginning(self, text: bytes) -> tuple[list[int], NDArray[np.int64]]:
        """The tokens that a text begins with, the longest first, and the longer ones that begin with it."""
        ordered, ids = self._of_byte(text[0])
        within: list[int] = []
        low, high = 0, len(ordered)
        for length in range(1, len(text) + 1):
            begun = text[:length]
            low = bisect.bisect_left(ordered, begun, low, high)
            while low < high and ordered[low] == begun:
                within.append(int(ids[low]))
                low += 1
            if low < high and not ordered[low].startswith(begun):
                high = low
            if low == high:
                break
            high = bisect.bisect_left(ordered, begun + LAST, low, high)
        return within[::-1], ids[low:high]

    def _of_byte(self, first: int) -> tuple[list[bytes], NDArray[np.int64]]:
        """The texts of the tokens that begin with a byte, in order, and the tokens."""
        known = self._by_byte.get(first)
        if known is None:
            ids = np.flatnonzero(self._canonical.first_bytes == first)
            texts = [self._spelled(token) for token in ids.tolist()]
            order = sorted(range(len(texts)), key=texts.__getitem__)
            known = self._by_byte[first] = [texts[i] for i in order], ids[order]
        return known

    def _spelled(self, token: int) -> bytes:
        return self._tokens[token] or b""
