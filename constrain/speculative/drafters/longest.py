"""A cut into tokens where there is no tokenizer: the longest token that fits, again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache


def longest_match(tokens: Sequence[bytes | None]) -> Callable[[bytes], list[int]]:
    """A tokeniser that takes the longest token that fits, again and again, and stops where none does."""
    ids = {token: i for i, token in reversed(list(enumerate(tokens))) if token}
    longest = max(map(len, ids), default=0)

    @lru_cache(maxsize=1024)
    def encode(text: bytes) -> tuple[int, ...]:
        found = []
        start = 0
        while start < len(text):
            end = next((e for e in range(min(len(text), start + longest), start, -1) if text[start:e] in ids), start)
            if end == start:
                break
            found.append(ids[text[start:end]])
            start = end
        return tuple(found)

    return lambda text: list(encode(text))
