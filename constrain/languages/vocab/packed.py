"""The trie and the slices of a vocabulary as arrays of a cache file (disk_cache.py).

Cost: about 19 MB and 0.03 s for a vocabulary of 131,000 tokens.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.languages.vocab.disk_cache import Arrays, require
from constrain.languages.vocab.slices import CLASSES, MAX_LENGTH, Slice
from constrain.languages.vocab.trie import Trie

Derived = tuple[Trie, tuple[Slice, ...]]

FORMAT = hashlib.sha256(repr((3, MAX_LENGTH, CLASSES)).encode()).hexdigest()[:8]  # raise the 3 when the format changes
KIND = f"vocabulary-{FORMAT}"
NODE_ARRAYS = {"byte": np.uint8, "depth": np.int32, "end": np.int32, "token": np.int32}


def pack(derived: Derived) -> dict[str, NDArray[Any]]:
    """The arrays of a trie and its slices."""
    whole, slices = derived
    arrays: dict[str, NDArray[Any]] = {"next_same": whole.next_same}
    for name, trie in [("whole", whole), *((piece.name, piece.rest) for piece in slices)]:
        arrays |= {f"{name}.{part}": getattr(trie, part) for part in NODE_ARRAYS}
    for piece in slices:
        arrays |= {f"{piece.name}.masks": piece.tokens_by_length, f"{piece.name}.longest": np.array(piece.longest)}
    return arrays


def unpack(arrays: Arrays, size: int) -> Derived:
    """The trie and the slices of arrays. size: the number of token ids. Raises ValueError."""
    next_same = arrays["next_same"]
    ids = np.arange(size)
    require(next_same.dtype == np.int32 and next_same.shape == (size,), "next_same: type")
    require(((next_same == -1) | ((next_same > ids) & (next_same < size))).all(), "next_same: values")
    whole = _trie(arrays, "whole", next_same)
    return whole, tuple(_slice(arrays, name, ranges, next_same) for name, ranges in CLASSES)


def _slice(arrays: Arrays, name: str, ranges: Any, next_same: NDArray[np.int32]) -> Slice:
    masks, longest = arrays[f"{name}.masks"], int(arrays[f"{name}.longest"])
    shape = (longest + 1, -(-len(next_same) // 32))
    require(masks.dtype == np.uint32 and masks.shape == shape and longest >= 0, f"{name}.masks: type")
    masks.flags.writeable = False
    return Slice(name, ranges, longest, masks, _trie(arrays, name, next_same))


def _trie(arrays: Arrays, name: str, next_same: NDArray[np.int32]) -> Trie:
    """A trie of the file. Kernels walk it without bounds checks, so every index is checked here."""
    byte, depth, end, token = parts = [arrays[f"{name}.{part}"] for part in NODE_ARRAYS]
    for part, (kind, dtype) in zip(parts, NODE_ARRAYS.items(), strict=True):
        require(part.dtype == dtype and part.shape == byte.shape == (len(byte),), f"{name}.{kind}: type")
    nodes = np.arange(len(byte))
    require(((end > nodes) & (end <= len(byte))).all(), f"{name}.end: values")
    require(((depth >= 1) & (depth <= np.concatenate([[0], depth[:-1]]) + 1)).all(), f"{name}.depth: values")
    require(((token >= -1) & (token < len(next_same))).all(), f"{name}.token: values")
    return Trie(byte, depth, end, token, next_same)
