"""The last results of a function of texts: as many as their texts have room for.

The idea: what is read from a text takes memory in proportion to it, so a bound on the number of results bounds nothing
where clients send texts of a megabyte. The bound is on characters. A text that alone exceeds a share of it is not kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
CHARACTERS = 4_000_000  # of all texts whose results are kept; a result takes some 10 to 50 times as many bytes
SHARE = 16  # no text may take more than a SHARE-th of them


class Recent(Generic[T]):
    """A function of (kind, text, ...) with its last results. Threads may share it; each may compute a new one.

    Args:
        function: The function.
        most: The number of results that are kept at most.
    """

    def __init__(self, function: Callable[..., T], most: int) -> None:
        self.__wrapped__ = function
        self.most = most
        self.characters = 0
        self._results: OrderedDict[tuple[object, ...], T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, kind: str, text: str, *rest: object) -> T:
        """The result for these arguments. Raises what the function raises."""
        key = (kind, text, *rest)
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        result = self.__wrapped__(*key)
        if len(text) * SHARE <= CHARACTERS:
            with self._lock:
                if key not in self._results:
                    self._results[key] = result
                    self.characters += len(text)
                while len(self._results) > self.most or self.characters > CHARACTERS:
                    oldest, _ = self._results.popitem(last=False)
                    self.characters -= len(str(oldest[1]))
        return result

    def __len__(self) -> int:
        return len(self._results)

    def clear(self) -> None:
        """Forget all results."""
        with self._lock:
            self._results.clear()
            self.characters = 0
