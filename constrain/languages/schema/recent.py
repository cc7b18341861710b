"""The last results of a function of texts: as many as their texts have room for.

The idea: what is read from a text takes memory in proportion to it, so a bound on the number of results bounds nothing
where clients send texts of a megabyte. The bound is on characters. A text that alone exceeds a share of it is not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from constrain.lazily import Remembered

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
        self.results: Remembered[tuple[object, ...], T] = Remembered(
            CHARACTERS, lambda key, _: max(len(str(key[1])), CHARACTERS // most)
        )

    def __call__(self, kind: str, text: str, *rest: object) -> T:
        """The result for these arguments. Raises what the function raises."""
        key = (kind, text, *rest)
        try:
            result = self.results[key]
        except KeyError:  # or another thread has just dropped it
            result = self.__wrapped__(*key)
        return self.results.keep(key, result) if len(text) * SHARE <= CHARACTERS else result
