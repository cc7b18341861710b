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


class OfByte(NamedTuple):
    """The tokens that begin with one byte, in the order of their texts.

    places: by text, the first place that has it
    """

    texts: list[bytes]
    ids: list[int]
    places: dict[bytes, int]
    longest: int


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
        self._by_byte: dict[int, OfByte] = {}

    def firsts(self, state: CutState, text: bytes, *, is_end: bool = False) -> Firsts:
        """The tokens that may come next, in a state of the canonical tokens, where a text of a byte or more follows.

        is_end: nothing follows the text
        """
        known = self._known.get((state, text, is_end))
        if known is None:
            seen: dict[tuple[int, CutState], bool] = {}
            within = [token for token in self._within(text) if self._has_cut(state, token, text, 0, is_end, seen)]
            longer = NO_TOKENS if is_end else self._beyond(text)
            beyond = np.array([*self._canonical.among(state, longer)], np.int64) if longer.size else longer
            known = Firsts(within, beyond)
            self._known.keep((state, text, is_end), known, 8 * (len(within) + len(beyond)) + len(text))
        return known

    def _has_cut(
        self, state: CutState, token: int, text: bytes, at: int, is_end: bool, seen: dict[tuple[int, CutState], bool]
    ) -> bool:
        """True if the text can be written from `at` on, the token first. seen: the answers so far, without it."""
        state, at = self._canonical.step(state, token), at + len(self._tokens[token] or b"")
        if state.pieces == 0 or at == len(text):
            return bool(state.pieces) and (not is_end or self._canonical.may_end(state))
        key = at, state
        if key not in seen:
            rest = text[at:]
            seen[key] = any(self._has_cut(state, token, text, at, is_end, seen) for token in self._within(rest))
            if not seen[key] and not is_end:
                seen[key] = any(True for _ in self._canonical.among(state, self._beyond(rest)))
        return seen[key]

    def _within(self, text: bytes) -> list[int]:
        """The tokens that a text begins with, the longest first."""
        known = self._of_byte(text[0])
        found = []
        for length in range(min(len(text), known.longest), 0, -1):
            at = known.places.get(text[:length])
            if at is not None:
                found.append(known.ids[at])
                while at + 1 < len(known.texts) and known.texts[at + 1] == known.texts[at]:
                    at += 1
                    found.append(known.ids[at])
        return found

    def _beyond(self, text: bytes) -> NDArray[np.int64]:
        """The tokens that begin with a text and are longer."""
        known = self._of_byte(text[0])
        low = bisect.bisect_right(known.texts, text)
        return np.array(known.ids[low : bisect.bisect_left(known.texts, text + LAST, low)], np.int64)

    def _of_byte(self, first: int) -> OfByte:
        """The tokens that begin with a byte."""
        known = self._by_byte.get(first)
        if known is None:
            ids = np.flatnonzero(self._canonical.first_bytes == first)
            texts = [self._tokens[token] or b"" for token in ids.tolist()]
            order = sorted(range(len(texts)), key=texts.__getitem__)
            texts = [texts[i] for i in order]
            places = dict(zip(reversed(texts), range(len(texts) - 1, -1, -1), strict=True))
            known = OfByte(texts, ids[order].tolist(), places, max(map(len, texts), default=0))
            self._by_byte[first] = known
        return known
