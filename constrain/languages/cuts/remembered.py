"""A memory of values by key, which forgets the least used beyond so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Generic, TypeVar

T = TypeVar("T")
EACH = 512  # bytes of a key and of what holds it, estimated


class Remembered(Generic[T]):
    """Values by key, as many as fit into `limit` bytes. Threads may share it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._values: OrderedDict[Any, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Any) -> T | None:
        """The value of a key, if it is known."""
        try:
            self._values.move_to_end(key)
            return self._values[key][0]
        except KeyError:  # or another thread has just dropped it
            return None

    def keep(self, key: Any, value: T, size: int) -> None:
        """Remember a value that takes so many bytes."""
        with self._lock:
            _, before = self._values.get(key, (None, 0))
            self._values[key] = value, size + EACH
            self._values.move_to_end(key)
            total = self.size + size + EACH - before
            while total > self.limit and len(self._values) > 1:
                _, (_, gone) = self._values.popitem(last=False)
                total -= gone
            self.size = total  # once: other threads never read more than the limit
