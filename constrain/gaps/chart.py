"""The chart of a grammar over some positions: which symbol derives a text from where to where, and what of it is live.

The positions are numbered along the pattern (gaps/kernels/derivations.py).

Where text is fixed, few symbols begin, so most rows of a long text stay empty, and the system gives them no memory.

Limit: LimitError beyond `MOST_BYTES` of rows that are not empty, or beyond `MOST_ADDRESSES` of all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from constrain.errors import LimitError
from constrain.gaps.adjacency import ones
from constrain.gaps.kernels import derivations
from constrain.gaps.kernels.records import AGENDA, Int32
from constrain.kernels.records.schema import pack

if TYPE_CHECKING:
    from constrain.gaps.solution import GapLanguage

MOST_BYTES = 1 << 30
MOST_ADDRESSES = 1 << 34
Rows = NDArray[np.uint32]


class GapChart:
    """The items of a grammar.

    Args:
        language: The grammar.
        positions: Their number. The first one is the beginning of the text.

    Attributes:
        R: The items: row symbol * positions + p has a bit for each q. Lexemes are written by others, then `complete`.
        begins: Row of a symbol: the positions where an item of it begins.

    Raises:
        LimitError: There are too many.
    """

    def __init__(self, language: GapLanguage, positions: int) -> None:
        self.rules, self.before, self.n = language.rules, language.adjacency.before_rows, positions
        self.width, self.rows = (positions + 31) // 32, self.rules.size * positions
        self.bytes = 8 * self.rows * self.width  # of R and of the live ones
        if self.bytes > MOST_ADDRESSES:
            raise self._too_large()
        try:
            self.R: Rows = np.zeros((self.rows, self.width), np.uint32)  # takes memory where it is written
        except MemoryError:
            raise self._too_large() from None
        self.begins: Rows = np.zeros((self.rules.size, self.width), np.uint32)

    def complete(self) -> None:
        """Find the items, once lexemes are written."""
        rules, n = self.rules, self.n
        if not n:
            return
        if self.bytes > MOST_BYTES and self.bytes * self._share() > MOST_BYTES:
            raise self._too_large()
        places = np.arange(n)
        for symbol in rules.nullable:
            self.R[symbol * n + places, places >> 5] |= np.uint32(1) << (places & 31).astype(np.uint32)
        fresh = np.zeros((rules.size + 1, self.width), np.uint32)
        entering = np.zeros((n, self.before.shape[1]), np.uint32)
        derivations.inside(self.R, self.begins, fresh, self.before, entering, rules.table, self._agenda())

    def _agenda(self) -> Int32:
        """Make an empty AGENDA."""
        nothing = np.zeros(self.rules.size, np.int32)
        agenda, _ = pack(
            AGENDA, SYMBOLS=self.rules.size, POSITIONS=self.n, STACK=nothing, WAITS=nothing, BEGINS=nothing
        )
        return agenda

    def _share(self) -> float:
        """The share of terminals' rows that have a bit; among those of all symbols it is about the same."""
        rows = len(self.rules.languages) * self.n
        return float(self.R[:rows].any(axis=1).mean()) if rows else 0.0

    def _too_large(self) -> LimitError:
        return too_large(f"{self.rules.size:,} symbols and {self.n:,} places where a lexeme may end")

    def has(self, symbol: int, begin: int, end: int) -> bool:
        """True if a symbol derives a text that leads from one position to another."""
        return bool(self.R[symbol * self.n + begin, end >> 5] >> np.uint32(end & 31) & np.uint32(1))

    def ends(self, symbol: int, begin: int) -> list[int]:
        """The positions that texts of a symbol lead to from a position."""
        return ones(int.from_bytes(self.R[symbol * self.n + begin].astype("<u4").tobytes(), "little"))

    def live(self, tops: list[int]) -> Rows:
        """The items that are part of a derivation of a whole text that ends at one of `tops`; rows as in `R`."""
        rules = self.rules
        L, begins = np.zeros(self.R.shape, np.uint32), np.zeros_like(self.begins)
        for end in tops:
            L[rules.start * self.n, end >> 5] |= np.uint32(1 << (end & 31))
            begins[rules.start, 0] |= np.uint32(1)
        if tops:
            fresh = np.zeros((rules.size + 2, self.width), np.uint32)
            derivations.outside(self.R, self.begins, L, begins, fresh, rules.table, self._agenda())
        return L


def too_large(what: str) -> LimitError:
    """The error for a text with gaps that is too large."""
    return LimitError(
        f"a text with gaps of this size needs too much memory: {what}",
        fix="shorten the fixed text or the gaps, or simplify the grammar",
    )
