"""The bits of tokens in a mask: bit i of word i // 32 is token i."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.uint32]


def has_bit(row: Row, token: int) -> bool:
    """True if a mask allows a token."""
    return bool(row[token >> 5] >> (token & 31) & 1)


def has_bits(row: Row, tokens: NDArray[np.integer]) -> NDArray[np.bool_]:
    """True for each of some tokens that a mask allows."""
    return (row[tokens >> 5] >> (tokens & 31).astype(np.uint32) & 1).astype(bool)


def tokens_of(row: Row) -> NDArray[np.int64]:
    """The tokens of a mask, in order."""
    words = np.flatnonzero(row)  # PERF: most words of a long row are 0
    places, bits = np.nonzero(np.unpackbits(row[words].view(np.uint8).reshape(-1, 4), axis=1, bitorder="little"))
    return words[places] * 32 + bits


def set_bits(row: Row, tokens: Iterable[int]) -> None:
    """Allow tokens."""
    for token in tokens:
        row[token >> 5] |= np.uint32(1 << (token & 31))


def clear_bits(row: Row, tokens: Iterable[int]) -> None:
    """Refuse tokens."""
    for token in tokens:
        row[token >> 5] &= ~np.uint32(1 << (token & 31))
