"""A cut into tokens where there is no tokenizer: the longest token that fits, again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary


class LongestTokens(PerVocabulary):
    """The tokens of a vocabulary by their bytes.

    Attributes:
        ids: Bytes → the first token that has them.
        longest: The bytes of the longest token.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.ids = ids_of(vocabulary.tokens)
        self.longest = max(map(len, self.ids), default=0)


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
