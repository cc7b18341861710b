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

    def last(self) -> NDArray[np.int32]:
        """int32[V], the last byte of each token; 256 where it has none."""
        return self._bytes_at(self.starts[1:] - 1)

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
        among = np.zeros(256, np.bool_)
        among[list(some)] = True
        return self.at(np.flatnonzero(among[self.text]))
