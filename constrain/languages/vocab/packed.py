"""The trie and the slices of a vocabulary as arrays of a cache file (disk_cache.py).

Cost: about 19 MB and 0.06 s for a vocabulary of 131,000 tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.languages.vocab.disk_cache import Arrays, require
from constrain.languages.vocab.slices import CLASSES, MAX_LENGTH, Slice
from constrain.languages.vocab.trie import Ints, Trie

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


def unpack(arrays: Arrays, tokens: Sequence[bytes | None]) -> Derived:
    """The trie and the slices of the arrays of a vocabulary with these tokens. Raises ValueError."""
    next_same, size = arrays["next_same"], len(tokens)
    require(next_same.dtype == np.int32 and next_same.shape == (size,), "next_same: type")
    require(((next_same == -1) | ((next_same > np.arange(size)) & (next_same < size))).all(), "next_same: values")
    for token_id in np.flatnonzero(next_same >= 0).tolist():
        require(tokens[token_id] == tokens[next_same[token_id]], "next_same: other bytes")
    lengths = np.fromiter([len(token) if token else 0 for token in tokens], np.int32, size)
    whole = _trie(arrays, "whole", next_same, lengths)
    return whole, tuple(_slice(arrays, name, ranges, next_same, lengths) for name, ranges in CLASSES)


def _slice(arrays: Arrays, name: str, ranges: Any, next_same: Ints, lengths: Ints) -> Slice:
    masks, longest = arrays[f"{name}.masks"], int(arrays[f"{name}.longest"])
    shape = (longest + 1, -(-len(next_same) // 32))
    require(masks.dtype == np.uint32 and masks.shape == shape and longest >= 0, f"{name}.masks: type")
    masks.flags.writeable = False
    rest = _trie(arrays, name, next_same, lengths)
    sliced = np.unpackbits(masks[-1].astype("<u4").view(np.uint8), bitorder="little")
    others = [sliced[len(lengths) :], sliced[: len(lengths)][lengths == 0], sliced[rest.token[rest.token >= 0]]]
    require(not any(each.any() for each in others), f"{name}.masks: tokens")
    require(not (masks[:-1] & ~masks[1:]).any(), f"{name}.masks: rows")
    return Slice(name, ranges, longest, masks, rest)


def _trie(arrays: Arrays, name: str, next_same: Ints, lengths: Ints) -> Trie:
    """A trie of the file. Kernels walk it without bounds checks, so its shape is checked here: nodes in depth-first
    order, siblings in byte order, each end behind the last child, and tokens as deep as they are long."""
    byte, depth, end, token = parts = [arrays[f"{name}.{part}"] for part in NODE_ARRAYS]
    for part, (kind, dtype) in zip(parts, NODE_ARRAYS.items(), strict=True):
        require(part.dtype == dtype and part.shape == byte.shape == (len(byte),), f"{name}.{kind}: type")
    require(((token >= -1) & (token < len(lengths))).all(), f"{name}.token: values")
    require((lengths[token[token >= 0]] == depth[token >= 0]).all(), f"{name}.token: another length")
    count, level = len(byte), np.append(depth, 0)
    steps = depth - np.append(0, depth[:-1])
    require((depth >= 1).all() and (steps <= 1).all(), f"{name}.depth: values")
    require(((end > np.arange(count)) & (end <= count)).all() and (level[end] <= depth).all(), f"{name}.end: values")
    # No end is before the true one, where a node closes all levels down to its own: it is enough that the sums agree.
    closing = (np.arange(1, count) * (1 - steps[1:])).sum() + count * depth[-1:].sum(dtype=np.int64)
    require(end.sum(dtype=np.int64) == closing, f"{name}.end: sum")
    siblings = level[end] == depth
    require((byte[end[siblings]] > byte[siblings]).all(), f"{name}.byte: order")
    require((token >= 0)[level[1:] <= depth].all(), f"{name}.token: a leaf has none")
    return Trie(byte, depth, end, token, next_same)
