"""The disk cache: what is computed once for a tokenizer or a vocabulary, in .npz files named by a hash of their source.

A lost, stale, damaged or unwritable cache does no harm, nor one that somebody else may have written: a file that cannot
be read is built again, a file that cannot be written is skipped. How files are opened and written: constrain/files.py.

The folder is `$CONSTRAIN_CACHE` (empty: no cache), else the system's cache folder: on Linux
`$XDG_CACHE_HOME/constrain` or `~/.cache/constrain`, on other systems that of `platformdirs`.
Cost: see where files are made (packed.py, huggingface.py, languages/cuts/merges.py). Limit: nothing is ever evicted;
the folder may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import platformdirs
from numpy.typing import NDArray

from constrain import files

Arrays = Mapping[str, NDArray[Any]]
Made = TypeVar("Made")

WORTHWHILE = 10_000  # tokens; what belongs to smaller vocabularies is made within 30 ms, and tests make many of them

_log = logging.getLogger(__name__)


def folder() -> Path | None:
    """The folder of the cache files; None: no cache."""
    chosen = os.environ.get("CONSTRAIN_CACHE")
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    default = platformdirs.user_cache_path("constrain", appauthor=False)
    return default if default.is_absolute() else None  # "~/.cache" if there is no home


def kind_of(name: str, *files: str) -> str | None:
    """The kind of what some source files make: another one when they change. None: they cannot be read."""
    try:
        sources = b"".join(Path(file).read_bytes() for file in files)
    except OSError:  # it is installed without its sources
        return None
    return f"{name}-{hashlib.sha256(sources).hexdigest()[:8]}"


def fetch(
    kind: str | None,
    key: str,
    build: Callable[[], Made],
    pack: Callable[[Made], Arrays],
    unpack: Callable[[Arrays], Made],
) -> Made:
    """Read from disk what belongs to a key, or build and write it.

    kind: begins the file's name; it tells versions of a format apart. None: there is none.
    key: a hash of all that it is built from. unpack: raises where the arrays are not what `pack` makes.
    """
    directory = folder()
    if directory is None or kind is None:
        return build()
    path = directory / f"{kind}-{key[:32]}.npz"
    made = read(path, key, unpack)
    if made is None:
        made = build()
        write(path, {"key": np.array(key), **pack(made)})
    return made


def read(path: Path, key: str, unpack: Callable[[Arrays], Made]) -> Made | None:
    """The content of a file; None if it is absent, damaged, of somebody else, or belongs to another key."""
    try:
        with open(files.open_own(path), "rb") as file:
            arrays = files.read_arrays(file)
        require(str(arrays["key"]) == key, "another key")
        return unpack(arrays)
    except FileNotFoundError:
        return None
    except Exception as error:  # arrays of a damaged file may have any shape and any value
        _log.info("ignored the cache file %s: %s", path, error)
        return None


def write(path: Path, arrays: Arrays) -> None:
    """Write a file completely or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        _log.info("could not write the cache file %s: %s", path, error)


def require(truth: Any, what: str) -> None:
    """Refuse the arrays of a damaged file. what: is wrong"""
    if not truth:
        raise ValueError(f"damaged ({what})")
