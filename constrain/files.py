"""The one door to files of the library's own: caches, locks, and the answers that `map` keeps.

A cache is opened only where nobody else can have written it: a regular file of this user or of the superuser, that no
other may write, and no link. A file is written whole or not at all: aside, then renamed. Lines are appended by one
process at a time, and what stands in a file is changed by no more than that.

Limit: Windows has no owners as meant here, and nobody waits for another process there; files of lines are locked.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:
    msvcrt = None  # type: ignore[assignment]

SAFE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
PRIVATE = 0o600
BEHIND = 2**31 - 2
"""The byte that is locked on Windows, where locks are of bytes: nobody reads or writes there."""


class ForeignFile(OSError):
    """A file that others may have written, or that is none."""


def open_own(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a file that nobody but this user, or the superuser, can have written: its descriptor.

    Raises ForeignFile, or another OSError.
    """
    return _checked(os.open(path, flags | SAFE | NO_LINK, PRIVATE), path, _is_own)


def _checked(file: int, path: Path, holds: Callable[[os.stat_result], bool]) -> int:
    """An open file of which something holds. Raises ForeignFile."""
    status = os.fstat(file)
    if stat.S_ISREG(status.st_mode) and holds(status):
        return file
    os.close(file)
    said = "may be written by others" if stat.S_ISREG(status.st_mode) else "is no regular file"
    raise ForeignFile(f"{path} {said}")


def _is_own(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read_own(path: Path) -> bytes:
    """The content of a file of our own. Raises ForeignFile, or another OSError."""
    with open(open_own(path), "rb") as file:
        return file.read()


def map_own(path: Path) -> memoryview:
    """The content of a file of our own, mapped: processes share its pages. It can only be read.

    Files of caches are replaced and never shortened (`replacing`): who mapped one keeps what it was.
    Raises ForeignFile, another OSError, or ValueError: it is empty.
    """
    file = open_own(path)
    try:
        return memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(file)


def read_arrays(file: BinaryIO | str | os.PathLike[str]) -> dict[str, Any]:
    """The arrays of a file of NumPy, format npz; nothing in it is executed. file: open, or a path that a user names.

    Raises ValueError: it is no such file, or damaged; OSError: it cannot be opened.
    """
    import numpy as np

    if isinstance(file, (str, os.PathLike)):
        path = Path(file)
        with open(_checked(os.open(path, os.O_RDONLY | SAFE), path, lambda _: True), "rb") as opened:
            return read_arrays(opened)
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}  # this verifies the checksums
    except Exception as error:  # a damaged file raises errors of any kind: as an archive, a header or an array
        raise ValueError(f"damaged: {error}") from error


@contextlib.contextmanager
def replacing(path: Path, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """A new file, which takes the place of another when the block ends; an exception leaves the old one as it was.

    mode: of a new one; one that is not private has the mode of the file that it replaces, and links stay links.
    """
    if mode != PRIVATE:
        path = Path(os.path.realpath(path))
    aside = path.with_name(f"{path.name}.{os.urandom(4).hex()}.part")
    try:
        with open(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFE | NO_LINK, mode), "r+b") as file:
            if mode != PRIVATE and path.exists():
                aside.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        remove(aside)
        raise


def remove(path: Path) -> None:
    """Delete a file, if it is there and may be deleted."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def only_one(path: Path | None, waits: Callable[[], None]) -> Iterator[None]:
    """Let one process at a time into the block, by a lock file. A process that ends in any way lets the next one go on.

    path: of the lock file; None, or no place for it, or one of others: nobody waits.
    waits: called now and then while another process is inside; what it raises ends the waiting.
    """
    with contextlib.ExitStack() as scope:
        if path is not None and fcntl is not None:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                file = _locked(path, lambda: open_own(path, os.O_RDWR | os.O_CREAT), waits)
                scope.callback(os.close, file)
                scope.callback(remove, path)
        yield


def _locked(path: Path, opened: Callable[[], int], waits: Callable[[], None] | None) -> int:
    """The descriptor of a file that is opened and locked, and still that of the path: who had the lock may have removed
    or replaced it. Raises BlockingIOError: another process has it, and nobody waits."""
    while True:
        file = opened()
        try:
            while not _has_lock(file):
                if waits is None:
                    raise BlockingIOError(f"{path} is locked")
                waits()
                time.sleep(0.1)
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _has_lock(file: int) -> bool:
    """Try to lock an open file. A file system without locks keeps nobody out."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
    elif msvcrt is not None:
        at = os.lseek(file, 0, os.SEEK_CUR)
        os.lseek(file, BEHIND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        except OSError:
            pass
        finally:
            os.lseek(file, at, os.SEEK_SET)
    return True


class Lines:
    """A file of lines, to which one process at a time appends. What is in it is changed only where lines are dropped,
    and then it is written aside.

    Attributes:
        path: As given.
        lines: What it had when it was opened, without the ends of lines.
        whole: Whether the last of them has an end.
    """

    def __init__(self, path: Path) -> None:
        """Raises BlockingIOError: another process has it; ForeignFile, or another OSError."""
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | SAFE
        self._file = _locked(path, lambda: _checked(os.open(path, flags, 0o666), path, lambda _: True), None)
        with open(self._file, "rb", closefd=False) as file:
            content = file.read()
        self.lines = content.split(b"\n")
        self.whole = not self.lines[-1]
        if self.whole:
            self.lines.pop()
        self._size = self._kept = len(content)

    def keep(self, number: int) -> None:
        """Drop all lines but so many: they go when the next line is written."""
        self._kept = min(sum(len(line) + 1 for line in self.lines[:number]), self._size)

    def append(self, line: bytes) -> None:
        """Write a line, whole or not at all. Raises OSError; ForeignFile: somebody else wrote or replaced the file."""
        if os.fstat(self._file).st_size != self._size or not self._is_there():
            raise ForeignFile(f"{self.path} was changed by another program meanwhile")
        os.lseek(self._file, max(self._kept - 1, 0), os.SEEK_SET)
        has_end = not self._kept or os.read(self._file, 1) == b"\n"
        new = (b"" if has_end else b"\n") + line + b"\n"
        if self._kept < self._size:
            self._rewrite(new)
        else:
            os.lseek(self._file, self._size, os.SEEK_SET)
            try:
                _write_all(self._file, new)
                os.fsync(self._file)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
                raise
        self._size = self._kept = self._kept + len(new)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _rewrite(self, new: bytes) -> None:
        """Write what is kept, and a line, in place of the file. The lock goes over to the new one."""
        with open(self._file, "rb", closefd=False) as old:
            old.seek(0)
            kept = old.read(self._kept)
        with replacing(self.path, 0o666) as file:
            _has_lock(file.fileno())
            _write_all(file.fileno(), kept + new)
            taken = os.dup(file.fileno())
        os.close(self._file)
        self._file = taken

    def close(self) -> None:
        """Let other processes write."""
        os.close(self._file)


def _write_all(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]
