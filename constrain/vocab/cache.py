"""The disk cache of tries and slices: one .npz file for each vocabulary, named by a hash of its content.

A cache may be lost, stale, damaged or unwritable without anybody noticing: whatever cannot be read is built again,
whatever cannot be written is left unwritten. Files appear complete or not at all (written aside, then renamed).

The folder is `$CONSTRAIN_CACHE` (empty: no cache), else the system's for caches: on Linux `$XDG_CACHE_HOME/constrain`
or `~/.cache/constrain`, elsewhere what `platformdirs` says.
Cost: about 19 MB and 0.03 s for a vocabulary of 131,000 tokens. Limit: nothing is ever evicted; delete the folder at
will.
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

from constrain.vocab.slices import CLASSES, MAX_LENGTH, Slice
from constrain.vocab.trie import Trie

Derived = tuple[Trie, tuple[Slice, ...]]
Arrays = Mapping[str, NDArray[Any]]

WORTHWHILE = 10_000  # tokens; smaller ones are built within 30 ms, and there may be many of them (tests, experiments)
FORMAT = hashlib.sha256(repr((2, MAX_LENGTH, CLASSES)).encode()).hexdigest()[:8]  # raise the 2 when they change
NODE_ARRAYS = {"byte": np.uint8, "depth": np.int32, "end": np.int32, "token": np.int32}

log = logging.getLogger(__name__)


def folder() -> Path | None:
    """Where cache files live; None if there is no place for them."""
    named = os.environ.get("CONSTRAIN_CACHE")
    if named is not None:
        return Path(named).expanduser() if named else None
    found = platformdirs.user_cache_path("constrain", appauthor=False)
    return found if found.is_absolute() else None  # "~/.cache" where nobody knows a home


def fetch(key: str, size: int, build: Callable[[], Derived]) -> Derived:
    """What `build` makes of the vocabulary with this key and this many ids; from disk, if it is there."""
    where = folder()
    if where is None:
        return build()
    path = where / f"vocabulary-{key[:32]}-{FORMAT}.npz"
    found = read(path, key, size)
    if found is None:
        found = build()
        write(path, key, found)
    return found


def read(path: Path, key: str, size: int) -> Derived | None:
    """The file's trie and slices; None if it is absent, damaged, or not of this vocabulary."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}  # checks the checksums, too
        return _unpack(arrays, key, size)
    except FileNotFoundError:
        return None
    except Exception as error:  # a damaged file may fail in any way: as an archive, a header, an array, a value
        log.info("ignored the cache file %s: %s", path, error)
        return None


def write(path: Path, key: str, derived: Derived) -> None:
    """Write the file, whole or not at all."""
    aside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, suffix=".part", delete=False) as file:
            aside = file.name
            np.savez(file, **_pack(key, derived))
        os.replace(aside, path)
    except OSError as error:
        log.info("could not write the cache file %s: %s", path, error)
        if aside is not None:
            with contextlib.suppress(OSError):
                os.unlink(aside)


def _pack(key: str, derived: Derived) -> dict[str, Any]:
    whole, slices = derived
    arrays: dict[str, Any] = {"key": np.array(key), "next_same": whole.next_same}
    for name, trie in [("whole", whole), *((each.name, each.rest) for each in slices)]:
        arrays |= {f"{name}.{part}": getattr(trie, part) for part in NODE_ARRAYS}
    for each in slices:
        arrays |= {f"{each.name}.masks": each.tokens_by_length, f"{each.name}.longest": np.array(each.longest)}
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
    """A trie from the file. Kernels walk it without bounds checks, so every index is checked here."""
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
