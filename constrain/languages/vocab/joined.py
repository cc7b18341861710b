"""JoinedTokens: the bytes of all tokens of a vocabulary behind each other, for tables that numpy makes of them.

PERF: numpy sifts 262,000 tokens in 10 ms; one by one it takes 50 to 100 ms a question.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary


class JoinedTokens(PerVocabulary):
    """The bytes of all tokens. Read-only.

    Attributes:
        text: uint8[n], the bytes of all tokens behind each other; tokens without bytes have none.
        starts: int32[V + 1]; token t is `text[starts[t] : starts[t + 1]]`.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        tokens = [token or b"" for token in vocabulary.tokens]
        self.text = np.frombuffer(b"".join(tokens), np.uint8)
        self.starts = np.zeros(len(tokens) + 1, np.int32)
        np.cumsum(np.fromiter(map(len, tokens), np.int32, len(tokens)), out=self.starts[1:])
        self.starts.flags.writeable = False

    @property
    def lengths(self) -> NDArray[np.int32]:
        """int32[V], the number of bytes of each token."""
        return np.diff(self.starts)

    def first(self) -> NDArray[np.int32]:
        """int32[V], the first byte of each token; 256 where it has none."""
        return self._bytes_at(self.starts[:-1])

    def first_but(self, some: bytes) -> NDArray[np.int32]:
        """int32[V], the first byte of each token that is none of some; 256 where it has none."""
        among = _table(some)
        found = np.full(len(self.starts) - 1, 256, np.int32)
        live = np.flatnonzero(self.lengths)  # tokens that have only some so far
        at = self.starts[live]
        while live.size:
            byte = self.text[at]
            goes_on = among[byte]
            found[live[~goes_on]] = byte[~goes_on]
            at += 1
            goes_on &= at < self.starts[live + 1]
            live, at = live[goes_on], at[goes_on]
        return found

    def _bytes_at(self, places: NDArray[np.int32]) -> NDArray[np.int32]:
        found = np.full(len(self.starts) - 1, 256, np.int32)
        spelled = self.starts[1:] > self.starts[:-1]
        found[spelled] = self.text[places[spelled]]
        return found

    def at(self, places: NDArray[np.int64]) -> list[int]:
        """The tokens that hold the bytes at some places of the text, which ascend; each once."""
        return list(dict.fromkeys((np.searchsorted(self.starts, places, "right") - 1).tolist()))

    def holding(self, some: bytes) -> list[int]:
        """The tokens with at least one of some bytes."""
        return self.at(np.flatnonzero(_table(some)[self.text]))

    def within(self, some: bytes) -> list[int]:
        """The tokens of which every byte is one of some; none without bytes."""
        others = np.zeros(len(self.text) + 1, np.int32)  # how many there are before each byte
        np.cumsum(~_table(some)[self.text], out=others[1:])
        count = others[self.starts]
        return np.flatnonzero((count[1:] == count[:-1]) & (self.lengths > 0)).tolist()


def _table(some: bytes) -> NDArray[np.bool_]:
    """bool[256], whether a byte is one of some."""
    among = np.zeros(256, np.bool_)
    among[list(some)] = True
    return among
