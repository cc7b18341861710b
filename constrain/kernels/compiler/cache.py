"""The file in which kernels are kept that were compiled on this machine.

One file holds all of them. So a reader never meets kernels of two versions, however many processes write: a file
appears complete or not at all (written aside, then renamed), and a checksum tells a damaged one. It is named after all
that the machine code depends on: the sources, numba and LLVM, the interpreter, the processor.
A cache may be lost, damaged or unwritable: then kernels are compiled again. So they are where somebody else may have
written the file (constrain/files.py), since reading it runs what is in it (`pickle`).

The folder is `$NUMBA_CACHE_DIR` or `$CONSTRAIN_CACHE` (empty: none), else `$XDG_CACHE_HOME/constrain`, else
`~/.cache/constrain`. Limit: the `VERSIONS` versions that were used last stay, some 20 MB each.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from constrain import files

Blobs = dict[str, bytes]  # of each kernel by its name, as numba writes it

VERSIONS = 4
DIGEST = 32  # bytes of a checksum
_log = logging.getLogger(__name__)


def folder() -> Path | None:
    """The folder of the file; None if there is no place for it."""
    for name in ("NUMBA_CACHE_DIR", "CONSTRAIN_CACHE"):
        named = os.environ.get(name)
        if named is not None:
            return Path(named).expanduser() if named else None
    if above := os.environ.get("XDG_CACHE_HOME"):
        return Path(above) / "constrain"
    try:
        return Path.home() / ".cache" / "constrain"
    except RuntimeError:  # no home
        return None


def path_of(parts: object) -> Path | None:
    """The file of machine code that depends on these parts."""
    where = folder()
    return where / f"kernels-{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}.bin" if where else None


def read(path: Path | None) -> Blobs:
    """The contents of the file; nothing if it is absent or damaged."""
    if path is None:
        return {}
    try:
        content = files.read_own(path)
    except files.ForeignFile as error:
        _log.warning("kernels are compiled again: %s", error)
        return {}
    except OSError:
        return {}
    if hashlib.sha256(content[DIGEST:]).digest() == content[:DIGEST]:
        with contextlib.suppress(OSError):  # a folder that is only read
            os.utime(path)
        with contextlib.suppress(Exception):  # a pickle of another kind
            return dict(pickle.loads(content[DIGEST:]))
    _log.warning("the kernels in %s are damaged, and compiled again", path)
    return {}


def write(path: Path | None, blobs: Blobs) -> None:
    """Write the file, whole or not at all."""
    if path is None:
        return
    content = pickle.dumps(blobs)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(path) as file:
            file.write(hashlib.sha256(content).digest() + content)
        for old in sorted(path.parent.glob("kernels-*.bin"), key=_age)[VERSIONS:]:
            files.remove(old)
    except OSError as error:
        said = f"the compiled kernels cannot be kept ({error}); CONSTRAIN_CACHE names a folder for them"
        warnings.warn(said, RuntimeWarning, stacklevel=2)  # each start of the program compiles them again


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:  # another process removed it
        return 0


def only_one(path: Path | None, waits: Callable[[], None]) -> AbstractContextManager[None]:
    """Let one process at a time make this file. waits: called now and then while another one makes it."""
    return files.only_one(None if path is None else path.with_suffix(".lock"), waits)
