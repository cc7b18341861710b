"""The tokens that may not follow a token within a piece: a row of bits for each (papers/kernels/conflicts.py).

The idea: all tokens that may not follow one are a union of runs in the order of a forest of left parts.

Cost: 0.03 s for 128,000 tokens with 280,000 merges, once; a row 2 to 3 µs (p99 5 to 24; after a space 30 to 400).
"""

from __future__ import annotations

import functools

import numpy as np

from constrain.kernels.cuts.tables import MERGE, TOKEN
from constrain.languages.cuts.merges import Merges
from constrain.languages.vocab.bits import Row, has_bit
from constrain.papers.kernels import conflicts
from constrain.papers.kernels.records import RUN, SPINE

ROW_BYTES = 64 << 20  # of all rows that are remembered


class Conflicts:
    """The tokens that merging does not leave side by side.

    Args:
        merges: Of a tokenizer.

    Example:
        >>> import constrain
        >>> from constrain.languages.cuts.merges import Merges
        >>> from constrain.papers.cuts.conflicts import Conflicts
        >>> ranks = {b"a": 0, b"b": 1, b"ab": 2}
        >>> merges = Merges.of_ranks(ranks, constrain.Vocabulary([*ranks, None], eos_ids=[3]))
        >>> bin(Conflicts(merges).row(0)[0])  # "ab" is one token, and the last one has no bytes
        '0b1010'
    """

    def __init__(self, merges: Merges) -> None:
        self._alone = merges.alone()
        self._table, rows, _ = merges.tables
        table = self._table.reshape(-1, TOKEN.WORDS)
        everything = np.zeros(32 * self._alone.size, bool)
        everything[: len(table)] = True
        self._all = np.packbits(everything, bitorder="little").view(np.uint32)
        made = np.sort(merges.by_length)
        parents = made[table[made, TOKEN.LEFT] >= 0]
        left = table[parents, TOKEN.LEFT]
        parents = parents[np.argsort((left.astype(np.int64) << 32) + table[parents, TOKEN.UNTIL_LEFT])]
        spines = np.zeros((len(table) + 1, SPINE.WORDS), np.int32)
        counts = np.bincount(left, minlength=len(spines))
        spines[:, SPINE.PARENTS] = np.cumsum(counts) - counts
        self._spines = spines.reshape(-1)
        self._tokens = np.empty(made.size, np.int32)
        conflicts.find_positions(merges.by_length, parents, self._table, self._spines, self._tokens)
        runs = np.empty(rows.size // MERGE.WORDS * RUN.WORDS, np.int32)
        count = conflicts.sort_runs(rows, self._table, self._spines, runs)
        conflicts.place_runs(self._table, self._spines, parents, runs, count)
        self._runs = runs[: count * RUN.WORDS]
        self.row = functools.lru_cache(max(1, ROW_BYTES // self._alone.nbytes))(self._row)

    def _row(self, a: int) -> Row:
        """A row of bits, not to be changed: the tokens b for which `Merges.together(a, b)` is not so."""
        if not has_bit(self._alone, a):
            return self._all
        row = self._all & ~self._alone
        conflicts.add_conflicts(self._table, self._spines, self._runs, self._tokens, a, row)
        return row
