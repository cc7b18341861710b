"""The bits of tokens in a mask: bit i of word i // 32 is token i."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.uint32]


def has_bit(row: Row, token: int) -> bool:
    """True if a mask allows a token."""
    return bool(row[token >> 5] >> (token & 31) & 1)


def set_bits(row: Row, tokens: Iterable[int]) -> None:
    """Allow tokens."""
    for token in tokens:
        row[token >> 5] |= np.uint32(1 << (token & 31))


def clear_bits(row: Row, tokens: Iterable[int]) -> None:
    """Refuse tokens."""
    for token in tokens:
        row[token >> 5] &= ~np.uint32(1 << (token & 31))
