"""The disk cache of tries and slices: one .npz file for each vocabulary, named by a hash of its content.

A lost, stale, damaged or unwritable cache does no harm: a file that cannot be read is built again, a file that cannot
be written is skipped. Files appear complete or not at all (written under another name, then renamed).

The folder is `$CONSTRAIN_CACHE` (empty: no cache), else the system's cache folder: on Linux
`$XDG_CACHE_HOME/constrain` or `~/.cache/constrain`, on other systems that of `platformdirs`.
Cost: about 19 MB and 0.03 s for a vocabulary of 131,000 tokens. Limit: nothing is ever evicted; the folder may be
deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from constrain.languages.vocab.slices import CLASSES, MAX_LENGTH, Slice
from constrain.languages.vocab.trie import Trie

Derived = tuple[Trie, tuple[Slice, ...]]
Arrays = Mapping[str, NDArray[Any]]

WORTHWHILE = 10_000  # tokens; smaller vocabularies are built within 30 ms, and tests make many of them
FORMAT = hashlib.sha256(repr((2, MAX_LENGTH, CLASSES)).encode()).hexdigest()[:8]  # raise the 2 when the format changes
NODE_ARRAYS = {"byte": np.uint8, "depth": np.int32, "end": np.int32, "token": np.int32}

_log = logging.getLogger(__name__)


def folder() -> Path | None:
    """The folder of the cache files; None: no cache."""
    chosen = os.environ.get("CONSTRAIN_CACHE")
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    default = platformdirs.user_cache_path("constrain", appauthor=False)
    return default if default.is_absolute() else None  # "~/.cache" if there is no home


def fetch(key: str, size: int, build: Callable[[], Derived]) -> Derived:
    """The trie and slices of a vocabulary: read from disk, or built and written.

    key: `Vocabulary.key`. size: the number of token ids.
    """
    directory = folder()
    if directory is None:
        return build()
    path = directory / f"vocabulary-{key[:32]}-{FORMAT}.npz"
    derived = read(path, key, size)
    if derived is None:
        derived = build()
        write(path, key, derived)
    return derived


def read(path: Path, key: str, size: int) -> Derived | None:
    """The trie and slices of a file; None if it is absent, damaged, or belongs to another vocabulary."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}  # this verifies the checksums
        return _unpack(arrays, key, size)
    except FileNotFoundError:
        return None
    except Exception as error:  # a damaged file may raise any error: as an archive, a header, an array or a value
        _log.info("ignored the cache file %s: %s", path, error)
        return None


def write(path: Path, key: str, derived: Derived) -> None:
    """Write a file completely or not at all."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, suffix=".part", delete=False) as file:
            temporary = file.name
            np.savez(file, **_pack(key, derived))
        os.replace(temporary, path)
    except OSError as error:
        _log.info("could not write the cache file %s: %s", path, error)
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _pack(key: str, derived: Derived) -> dict[str, Any]:
    whole, slices = derived
    arrays: dict[str, Any] = {"key": np.array(key), "next_same": whole.next_same}
    for name, trie in [("whole", whole), *((piece.name, piece.rest) for piece in slices)]:
        arrays |= {f"{name}.{part}": getattr(trie, part) for part in NODE_ARRAYS}
    for piece in slices:
        arrays |= {f"{piece.name}.masks": piece.tokens_by_length, f"{piece.name}.longest": np.array(piece.longest)}
    return arrays


def _unpack(arrays: Arrays, key: str, size: int) -> Derived:
    if str(arrays["key"]) != key:
        raise ValueError("it belongs to another vocabulary")
    next_same = arrays["next_same"]
    ids = np.arange(size)
    _require(next_same.dtype == np.int32 and next_same.shape == (size,), "next_same: type")
    _require(((next_same == -1) | ((next_same > ids) & (next_same < size))).all(), "next_same: values")
    whole = _trie(arrays, "whole", next_same)
    return whole, tuple(_slice(arrays, name, ranges, next_same) for name, ranges in CLASSES)


def _slice(arrays: Arrays, name: str, ranges: Any, next_same: NDArray[np.int32]) -> Slice:
    masks, longest = arrays[f"{name}.masks"], int(arrays[f"{name}.longest"])
    shape = (longest + 1, -(-len(next_same) // 32))
    _require(masks.dtype == np.uint32 and masks.shape == shape and longest >= 0, f"{name}.masks: type")
    masks.flags.writeable = False
    return Slice(name, ranges, longest, masks, _trie(arrays, name, next_same))


def _trie(arrays: Arrays, name: str, next_same: NDArray[np.int32]) -> Trie:
    """A trie of the file. Kernels walk it without bounds checks, so every index is checked here."""
    byte, depth, end, token = parts = [arrays[f"{name}.{part}"] for part in NODE_ARRAYS]
    for part, (kind, dtype) in zip(parts, NODE_ARRAYS.items(), strict=True):
        _require(part.dtype == dtype and part.shape == byte.shape == (len(byte),), f"{name}.{kind}: type")
    nodes = np.arange(len(byte))
    _require(((end > nodes) & (end <= len(byte))).all(), f"{name}.end: values")
    _require(((depth >= 1) & (depth <= np.concatenate([[0], depth[:-1]]) + 1)).all(), f"{name}.depth: values")
    _require(((token >= -1) & (token < len(next_same))).all(), f"{name}.token: values")
    return Trie(byte, depth, end, token, next_same)


def _require(truth: Any, what: str) -> None:
    if not truth:
        raise ValueError(f"damaged ({what})")
