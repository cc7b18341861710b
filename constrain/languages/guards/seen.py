"""A persistent set of the values seen so far in one container.

The idea: a version is (log, length). Adding to the newest version appends to the shared log, so n values cost O(n).
Adding to an older version (after a rollback, or in a fork) copies its values, unless the log continues with the same
value. Versions that share a log may belong to matchers of several threads, so one lock guards all additions. The
content of a version never changes, so reading needs no lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterator

_adding = threading.Lock()


def _after_fork() -> None:
    global _adding
    _adding = threading.Lock()


if hasattr(os, "register_at_fork"):  # the thread that holds it may be the parent's only
    os.register_at_fork(after_in_child=_after_fork)


class Seen:
    """An immutable set that keeps the order of insertion. Equal to those with the same values in the same order."""

    __slots__ = ("_hash", "_index", "_log", "_size")

    def __init__(self) -> None:
        self._log: list[Hashable] = []
        self._index: dict[Hashable, int] = {}
        self._size = self._hash = 0

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Seen) or self._hash != other._hash or self._size != other._size:
            return False
        return self._log is other._log or self._log[: self._size] == other._log[: other._size]

    def __contains__(self, value: Hashable) -> bool:
        at = self._index.get(value)  # of an addition that was interrupted if it is not in the log
        return at is not None and at < self._size and self._log[at] == value

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._log[: self._size])

    def add(self, value: Hashable) -> Seen:
        """The set with one more value, which it does not contain yet."""
        with _adding:
            return self._added(value)

    def _added(self, value: Hashable) -> Seen:
        more = Seen.__new__(Seen)
        more._size, more._hash = self._size + 1, hash((self._hash, value))
        if len(self._log) == self._size:
            self._index[value] = self._size
            self._log.append(value)
        elif self._log[self._size] != value:  # another fork has added another value
            more._log = [*self._log[: self._size], value]
            more._index = {item: i for i, item in enumerate(more._log)}
            return more
        more._log, more._index = self._log, self._index
        return more
