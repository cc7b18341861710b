"""The file in which kernels are kept that were compiled on this machine.

One file holds all of them. So a reader never meets kernels of two versions, however many processes write: a file
appears complete or not at all (written aside, then renamed), and a checksum tells a damaged one. It is named after all
that the machine code depends on: the sources, numba and LLVM, the interpreter, the processor.
A cache may be lost, damaged or unwritable: then kernels are compiled again. So they are where somebody else may have
written the file, since reading it runs what is in it (`pickle`).

The folder is `$NUMBA_CACHE_DIR` or `$CONSTRAIN_CACHE` (empty: none), else `$XDG_CACHE_HOME/constrain`, else
`~/.cache/constrain`. Limit: the `VERSIONS` versions that were used last stay, some 20 MB each.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: processes that start at once all compile
    fcntl = None  # type: ignore[assignment]

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
        with path.open("rb") as file:
            if not _is_ours(os.fstat(file.fileno())):
                _log.warning("the kernels in %s may be written by others, and are compiled again", path)
                return {}
            content = file.read()
    except OSError:
        return {}
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        _log.warning("the kernels in %s are damaged, and compiled again", path)
        return {}
    with contextlib.suppress(OSError):  # a folder that is only read
        os.utime(path)
    return pickle.loads(content[DIGEST:])


def _is_ours(file: os.stat_result) -> bool:
    """True if nobody but this user and the superuser can have written a file; always true on Windows, which has other
    rules."""
    if not hasattr(os, "geteuid"):
        return True
    return file.st_uid in (os.geteuid(), 0) and not file.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def write(path: Path | None, blobs: Blobs) -> None:
    """Write the file, whole or not at all."""
    if path is None:
        return
    content = pickle.dumps(blobs)
    aside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix="kernels-", suffix=".tmp", delete=False) as file:
            aside = Path(file.name)
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(aside, path)
        for old in sorted(path.parent.glob("kernels-*.bin"), key=_age)[VERSIONS:]:
            _remove(old)
    except OSError as error:
        said = f"the compiled kernels cannot be kept ({error}); CONSTRAIN_CACHE names a folder for them"
        warnings.warn(said, RuntimeWarning, stacklevel=2)  # each start of the program compiles them again
        if aside is not None:
            _remove(aside)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:  # another process removed it
        return 0


@contextlib.contextmanager
def only_one(path: Path | None, waits: Callable[[], None]) -> Iterator[None]:
    """Let one process at a time make this file. A process that ends in any way lets the next one go on.

    waits: called now and then while another process makes it; what it raises ends the waiting.
    """
    with contextlib.ExitStack() as scope:
        if path is not None and fcntl is not None:
            with contextlib.suppress(OSError):  # no place for the file, or no locks there: all compile
                path.parent.mkdir(parents=True, exist_ok=True)
                lock = path.with_suffix(".lock")
                while not _has_locked(scope.enter_context(lock.open("w")).fileno(), lock, waits):
                    pass
                scope.callback(_remove, lock)
        yield


def _has_locked(file: int, lock: Path, waits: Callable[[], None]) -> bool:
    """Wait for the lock of an open file. Returns whether it is still that of the path: who had it removed the file, and
    others may have made a new one."""
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            waits()
            time.sleep(0.1)
    try:
        return os.path.samestat(os.fstat(file), lock.stat())
    except FileNotFoundError:
        return False
