"""A cut into tokens where there is no tokenizer: the longest token that fits, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from constrain.languages.vocab.bits import Row, has_bit
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary


class LongestTokens(PerVocabulary):
    """The tokens of a vocabulary by their bytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = vocabulary.tokens
        self.words = vocabulary.words
        self._ids = ids_of(vocabulary.tokens)
        self._longest = max(map(len, self._ids), default=0)
        self._next_same = vocabulary.trie.next_same

    def allowed(self, text: bytes, row: Row) -> int:
        """The longest token of a mask that a text begins with; -1: there is none."""
        for end in range(min(len(text), self._longest), 0, -1):
            token = self._ids.get(text[:end], -1)
            while token >= 0:
                if has_bit(row, token):
                    return token
                token = int(self._next_same[token])
        return -1

    def read(self, matcher: Any, text: bytes) -> Iterator[int]:
        """Read a text with a matcher, at each place the longest token that may come next, and yield these.

        It ends where none may: what is left of a text in the middle of the output may become one with what follows.
        """
        row = np.zeros(self.words, np.uint32)
        while True:
            matcher.fill_mask(row)
            token = self.allowed(text, row)
            if token < 0 or not matcher.advance(token):
                return
            text = text[len(self.tokens[token] or b"") :]
            yield token


def ids_of(tokens: Sequence[bytes | None]) -> dict[bytes, int]:
    """Bytes → the first token that has them."""
    return {token: i for i, token in reversed(list(enumerate(tokens))) if token}


def longest_match(tokens: Sequence[bytes | None]) -> Callable[[bytes], list[int]]:
    """A tokeniser that takes the longest token that fits, again and again, and stops where none does."""
    ids = ids_of(tokens)
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
