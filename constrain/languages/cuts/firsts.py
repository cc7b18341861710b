"""The first token of a text that must follow, if its cut does not depend on what comes after it.

The idea: all ways are tried to cut the text into tokens that may stand behind one another. The last token of a way may
go on beyond the text, and what follows is not asked for. If all ways begin with one token, the cut is known so far.
A kernel searches; where its tables do not say enough (characters in bytes, tokens that are taken out of texts), the
same search is made in Python.

Cost: some microseconds for a text that is new, a look-up for others; texts of JSON recur in all schemas.
Reference: all sequences of tokens (tests/languages/cuts/test_forced_texts.py).
"""

from __future__ import annotations

import bisect
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.cuts.firsts import first_tokens
from constrain.kernels.cuts.tables import CUT, FIRSTS, GOOD, LEVEL, MISSES
from constrain.lazily import EACH, Remembered

if TYPE_CHECKING:
    from constrain.languages.cuts.canonical import CanonicalTokens, CutState
    from constrain.languages.vocab.trie import Trie

MEMORY = 8 << 20  # bytes of answers
NO_TOKENS = np.zeros(0, np.int64)
LAST = b"\xff" * 64  # after all continuations of a text, since no byte of UTF-8 is ff


class Firsts(NamedTuple):
    """Tokens with which a text may go on. beyond: int64[n], the ones that are longer than the text."""

    within: list[int]
    beyond: NDArray[np.int64]


class FirstTokens:
    """The first tokens of texts. Threads may share it.

    Args:
        canonical (CanonicalTokens): The canonical sequences of tokens.
        trie (Trie): That of their vocabulary.

    Example:
        >>> import constrain
        >>> from constrain.languages.cuts import CanonicalTokens
        >>> tokenizer = constrain.reference.load().tokenizer
        >>> canonical = CanonicalTokens.of(tokenizer, constrain.Vocabulary.from_huggingface(tokenizer))
        >>> firsts = canonical.firsts.of(canonical.start, b"return the")
        >>> [tokenizer.decode(token) for token in firsts.within], len(firsts.beyond)
        (['return'], 0)
    """

    def __init__(self, canonical: CanonicalTokens, trie: Trie) -> None:
        self._canonical = weakref.proxy(canonical)  # which has this
        self._trie = trie
        self._known: Remembered[tuple[CutState, bytes, bool], Firsts] = Remembered(
            MEMORY, lambda key, found: EACH + 8 * (len(found.within) + len(found.beyond)) + len(key[1])
        )

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.int32], int]:
        """The tokens with bytes, in the order of these; the most tokens that have the same bytes."""
        nodes = self._trie.nodes_of_tokens(len(self._trie.next_same))
        order = np.argsort(nodes, kind="stable")[np.count_nonzero(nodes < 0) :].astype(np.int32)
        return order, int(np.bincount(nodes[nodes >= 0]).max(initial=1))

    def of(self, state: CutState, text: bytes, *, is_end: bool = False) -> Firsts:
        """The tokens that may come next, in a state of the canonical tokens, where a text of a byte or more follows.

        is_end: nothing follows the text
        """
        known = self._known.get((state, text, is_end))
        if known is None:
            known = self._searched(state, text, is_end) or self._plain(state, text, is_end)
            self._known.keep((state, text, is_end), known)
        return known

    def _searched(self, state: CutState, text: bytes, is_end: bool) -> Firsts | None:
        """The answer of the kernel; None where its tables do not say enough."""
        canonical = self._canonical
        place = canonical.place(state)
        if place is None or canonical.is_unknown(state.last):
            return None
        (order, same), length, verdict = self._ordered, len(text), MISSES
        found = np.empty(len(order), np.int32)
        while verdict == MISSES:
            stack = FIRSTS.WORDS + length + (length + 2) * LEVEL.WORDS
            question = np.zeros(stack + same * length * (length + 1) // 2, np.int32)
            question[FIRSTS.LENGTH], question[FIRSTS.IS_END], question[FIRSTS.TOP] = length, is_end, stack
            question[FIRSTS.TEXT : FIRSTS.TEXT + length] = np.frombuffer(text, np.uint8)
            first = FIRSTS.LEVELS + length + LEVEL.CUT
            question[first + CUT.PIECES : first + CUT.OWED + 1], question[first + CUT.LAST] = place, state.last
            arrays = *canonical.tables(), order, question, found
            verdict = first_tokens(*arrays)
            if verdict == MISSES:
                canonical.pieces.expand(int(question[FIRSTS.EXPAND]))
        if verdict != GOOD:
            return None
        within = int(question[FIRSTS.WITHIN])
        return Firsts(found[:within].tolist(), found[within : within + question[FIRSTS.BEYOND]].astype(np.int64))

    # --- the same in Python -------------------------------------------------------------------------------------------

    def _plain(self, state: CutState, text: bytes, is_end: bool) -> Firsts:
        seen: dict[tuple[int, CutState], bool] = {}
        within = [token for token in self._within(text) if self._has_cut(state, token, text, 0, is_end, seen)]
        longer = NO_TOKENS if is_end else self._beyond(text)
        return Firsts(within, np.array([*self._canonical.among(state, longer)], np.int64) if longer.size else longer)

    def _has_cut(
        self, state: CutState, token: int, text: bytes, at: int, is_end: bool, seen: dict[tuple[int, CutState], bool]
    ) -> bool:
        """True if the text can be written from `at` on, the token first. seen: the answers so far, without it."""
        state, at = self._canonical.step(state, token), at + len(self._text(token))
        if state.pieces == 0 or at == len(text):
            return bool(state.pieces) and (not is_end or self._canonical.may_end(state))
        key = at, state
        if key not in seen:
            rest = text[at:]
            seen[key] = any(self._has_cut(state, token, text, at, is_end, seen) for token in self._within(rest))
            if not seen[key] and not is_end:
                seen[key] = any(True for _ in self._canonical.among(state, self._beyond(rest)))
        return seen[key]

    def _text(self, token: int) -> bytes:
        return self._canonical.tokens[token] or b""

    def _within(self, text: bytes) -> list[int]:
        """The tokens that a text begins with, the longest first."""
        order, found = self._ordered[0], list[int]()
        for length in range(len(text), 0, -1):
            low = bisect.bisect_left(order, text[:length], key=self._text)
            found += order[low : bisect.bisect_right(order, text[:length], low, key=self._text)].tolist()
        return found

    def _beyond(self, text: bytes) -> NDArray[np.int64]:
        """The tokens that begin with a text and are longer."""
        order = self._ordered[0]
        low = bisect.bisect_right(order, text, key=self._text)
        return order[low : bisect.bisect_left(order, text + LAST, low, key=self._text)].astype(np.int64)
