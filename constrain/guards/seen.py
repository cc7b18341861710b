"""A set that grows, shared between its versions: what was seen so far in one container.

The idea: a version is (log, length). Adding to the newest version appends to the shared log, so a sequence of n values
costs n; adding to an older one (after a rollback, or in a fork) copies what that version holds, unless the log goes on
in the same way. Versions that share a log may belong to matchers of several threads: one lock guards all logs, for the
moment of adding; what a version holds never changes, so reading needs none.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator

_adding = threading.Lock()


class Seen:
    """An immutable set with its order of insertion; equal to itself only."""

    __slots__ = ("_index", "_log", "_size")

    def __init__(self) -> None:
        self._log: list[Hashable] = []
        self._index: dict[Hashable, int] = {}
        self._size = 0

    def __contains__(self, value: Hashable) -> bool:
        at = self._index.get(value)
        return at is not None and at < self._size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._log[: self._size])

    def add(self, value: Hashable) -> Seen:
        """The set with one more value, which it does not hold yet."""
        with _adding:
            return self._added(value)

    def _added(self, value: Hashable) -> Seen:
        more = Seen.__new__(Seen)
        more._size = self._size + 1
        if len(self._log) == self._size:
            self._log.append(value)
            self._index[value] = self._size
        elif self._log[self._size] != value:  # another fork went another way
            more._log = [*self._log[: self._size], value]
            more._index = {each: i for i, each in enumerate(more._log)}
            return more
        more._log, more._index = self._log, self._index
        return more
