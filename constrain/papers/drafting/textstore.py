"""Texts as token ids, and where any sequence of tokens occurs in them: suffix arrays, bounded, kept in a file.

Not measured by itself: `Retrieval` says what it brings.

The idea: a sorted list of all suffixes (Manber and Myers, "Suffix arrays", SIAM J. Comput. 22, 1993) finds a sequence
by binary search, and what follows it stands together. A store that grows has several: a text that is added is sorted by
itself, and arrays of about the same size become one, so that there are never more than log2(n) of them (Bentley and
Saxe, "Decomposable searching problems", J. Algorithms 1, 1980).

Memory: 12 bytes a token. Cost: sorting a million tokens takes some seconds; each token is sorted log2(n) times.
Arrays never change, so a store is read without a lock.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain import files
from constrain.errors import ConstrainError
from constrain.sampling.core.sampler import check_count

END = -1  # after each text
COMPARED = 64  # tokens by which suffixes are sorted
COUNTED = 256  # occurrences that are counted; of more, as many evenly spread


class SuffixArray(NamedTuple):
    """Texts, one after the other, and their suffixes in order.

    Attributes:
        tokens: int32[n], token ids, END after each text.
        order: int64[n], where suffixes begin, sorted by their first `COMPARED` tokens.
    """

    tokens: NDArray[np.int32]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, tokens: NDArray[np.int32]) -> SuffixArray:
        """Sort the suffixes of texts, by doubling: ranks by 1, 2, 4, … tokens."""
        n = len(tokens)
        rank = np.unique(tokens, return_inverse=True)[1].reshape(-1).astype(np.int64) if n else np.zeros(0, np.int64)
        length = 1
        while True:
            after = np.full(n, -1, np.int64)
            after[: max(0, n - length)] = rank[length:]
            order = np.lexsort((after, rank))
            differs = (np.diff(rank[order]) != 0) | (np.diff(after[order]) != 0)
            length *= 2
            if length >= COMPARED or differs.all():
                return cls(tokens, order)
            rank = np.empty(n, np.int64)
            rank[order] = np.concatenate([[0], np.cumsum(differs)])


class Occurrences(NamedTuple):
    """The suffixes low … high - 1 of an array, which begin with the same `length` tokens."""

    array: SuffixArray
    low: int
    high: int
    length: int


def narrowed(some: Sequence[Occurrences], token: int) -> list[Occurrences]:
    """The occurrences that go on with a token."""
    found = []
    for array, low, high, length in some:

        def following(place: int, array: SuffixArray = array, length: int = length) -> int:
            at = int(array.order[place]) + length
            return int(array.tokens[at]) if at < len(array.tokens) else END

        first = bisect_left(range(high), token, low, key=following)
        last = bisect_right(range(high), token, first, key=following)
        if last > first:
            found.append(Occurrences(array, first, last, length + 1))
    return found


def counts(some: Sequence[Occurrences]) -> list[tuple[int, int]]:
    """(token, occurrences) of what follows, the most frequent first; where there is very much, a sample is counted."""
    found: Counter[int] = Counter()
    for array, low, high, length in some:
        step = max(1, (high - low) // COUNTED)
        at = array.order[low:high:step] + length
        for token, count in Counter(array.tokens[at[at < len(array.tokens)]].tolist()).items():
            found[token] += count * step
    del found[END]
    return found.most_common()


class TextStore:
    """Texts to draft from; see the module `constrain.papers.drafting.textstore`.

    Args:
        texts: Token ids of each text.
        most: Tokens that are kept, at most; the oldest texts go first.

    Raises:
        ConstrainError: `most` is no int of at least 1, or a text is no sequence of token ids.

    Example:
        >>> from constrain.papers import TextStore
        >>> store = TextStore([[5, 6, 7], [5, 6, 8, 9]])
        >>> store.add([2, 6, 8])
        >>> store.following([1, 5, 6])
        [(7, 1), (8, 1)]
        >>> store.following([3, 6])
        [(8, 2), (7, 1)]
    """

    def __init__(self, texts: Iterable[Sequence[int]] = (), *, most: int = 1_000_000) -> None:
        self.most = check_count("most", most)
        self._lock = threading.Lock()
        self._arrays: tuple[SuffixArray, ...] = ()
        self._put([], [_ended(text) for text in texts])

    def add(self, text: Sequence[int]) -> None:
        """Take in one more text.

        Args:
            text: Token ids.

        Raises:
            ConstrainError: it is no sequence of token ids.
        """
        new = _ended(text)
        with self._lock:
            kept, joined = list(self._arrays), [new]
            while kept and len(kept[-1].tokens) <= 2 * sum(map(len, joined)):
                joined.insert(0, kept.pop().tokens)
            self._put(kept, joined)

    def _put(self, kept: list[SuffixArray], joined: list[NDArray[np.int32]]) -> None:
        """Keep some arrays, and one of other texts after them; within the bound."""
        last = np.concatenate([np.zeros(0, np.int32), *joined])
        over = sum(len(array.tokens) for array in kept) + len(last) - self.most
        if over > 0:  # a quarter goes at once, so that this is rare
            whole = np.concatenate([*(array.tokens for array in kept), last])
            ends = np.flatnonzero(whole == END)
            cut = int(np.searchsorted(ends, min(over + self.most // 4, len(whole) - 1) - 1))
            kept, last = [], whole[ends[cut] + 1 :]
        self._arrays = (*kept, SuffixArray.of(last)) if len(last) else tuple(kept)

    def __len__(self) -> int:
        return sum(len(array.tokens) for array in self._arrays)

    def longest(self, tokens: Sequence[int], most: int, least: int = 1) -> list[Occurrences]:
        """The occurrences of the longest ending of `tokens`, of `least` to `most` of them; empty if there are none."""
        arrays = self._arrays
        for length in range(min(most, len(tokens)), least - 1, -1):
            found = [Occurrences(array, 0, len(array.order), 0) for array in arrays]
            for token in tokens[len(tokens) - length :]:
                found = narrowed(found, token)
            if found:
                return found
        return []

    def following(self, tokens: Sequence[int], most: int = 8) -> list[tuple[int, int]]:
        """The tokens that followed the longest ending of a text that occurs in the store.

        Args:
            tokens: Token ids.
            most: The longest ending that is looked up.

        Returns:
            (token, occurrences), the most frequent first.
        """
        return counts(self.longest(tokens, most))

    def save(self, path: str | Path) -> None:
        """Write the texts to a file, in NumPy's format `npz`."""
        tokens = np.concatenate([np.zeros(0, np.int32), *(array.tokens for array in self._arrays)])
        with files.replacing(Path(path), 0o666) as file:
            np.savez_compressed(file, tokens=tokens, most=np.int64(self.most))

    @classmethod
    def load(cls, path: str | Path) -> TextStore:
        """Read a store from a file that `save` wrote; its texts are sorted again. Nothing in it is executed.

        Raises:
            ConstrainError: it is no such file.
        """
        try:
            file = files.read_arrays(path)
            most, tokens = int(file["most"]), np.asarray(file["tokens"], np.int32)
            if tokens.ndim != 1 or tokens.min(initial=0) < END or (len(tokens) and tokens[-1] != END):
                raise ValueError("its tokens are no texts")
            store = cls(most=most)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConstrainError(f"{path} is no file of a TextStore: {error}") from error
        store._put([], [tokens])
        return store


def _ended(text: Sequence[int]) -> NDArray[np.int32]:
    """A text with its END."""
    values = np.asarray(text if len(text) else np.zeros(0, np.int64))
    if values.ndim != 1 or values.dtype.kind not in "iu" or values.min(initial=0) < 0 or values.max(initial=0) >= 2**31:
        raise ConstrainError("a text of a TextStore is a sequence of token ids, ints from 0 to 2**31 - 1")
    return np.append(values, END).astype(np.int32)
