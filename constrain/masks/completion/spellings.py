"""The length of a text in tokens: the least number that spell it; or in characters.

    Spellings.of(vocabulary).fewest(b'{"a":1}')

The idea: the ends of a text are counted, the shortest first: each begins with a token, and a shorter end is behind it.

Cost: a few look-ups a byte, for bytes that the text before did not have; 0.2 s for a vocabulary of 128k tokens.
"""

from __future__ import annotations

import re

import numpy as np

from constrain.languages.automata.least import by_characters, count_characters, shortlex
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.completion.writable import NOT_IN_UTF8

NEVER = 1 << 30  # tokens; no tokens spell the text
REMEMBERED = 1 << 14  # parts whose tokens are counted once
PARTS = re.compile(rb"\xff[\x00-\x7f]{3}|[][,:{}]|[^][,:{}\xff]+")  # of JSON: whitespace may stand between them


class Spellings(PerVocabulary):
    """The texts of a vocabulary's tokens, for counting how many tokens spell a text."""

    order = staticmethod(shortlex)

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.texts = {token: i for i, token in enumerate(vocabulary.tokens) if token}
        self.longest = max(map(len, self.texts), default=0)
        self.writes_all = all(bytes([byte]) in self.texts for byte in range(256))
        self.missing = frozenset(byte for byte in range(256) if bytes([byte]) not in self.texts) - NOT_IN_UTF8
        self._lengths: dict[bytes, set[int]] = {}  # of the tokens that begin with two bytes
        for token in self.texts:
            self._lengths.setdefault(token[:2], set()).add(len(token))
        self._known: dict[bytes, int] = {}  # short parts of texts
        self._lines: dict[tuple[int, int], list[int]] = {}
        self._last: tuple[bytes, list[int]] = b"", [0]  # a text, and the counts of its ends

    def fewest(self, text: bytes) -> int:
        """The least number of tokens that spell a text; NEVER if no tokens do."""
        return min(self._counts(text)[-1], NEVER)

    def apart(self, text: bytes) -> int:
        """The least number of tokens of a text of JSON, without the whitespace that it may have."""
        return sum(map(self._part, PARTS.findall(text)))

    def _part(self, text: bytes) -> int:
        if text not in self._known and len(self._known) < REMEMBERED:
            self._known[text] = self.fewest(text)
        return self._known[text] if text in self._known else self.fewest(text)

    def lines(self, indent: int, depth: int) -> list[int]:
        """The most tokens that a line end takes with the indentation of so many levels: tabs, or spaces, or fewer."""
        if (indent, depth) not in self._lines:
            deepest = depth + 1
            spaces, tabs = self._counts(b" " * (indent * deepest)), self._counts(b"\t" * deepest)
            levels = range(deepest + 1)
            self._lines[indent, depth] = [1 + max(*spaces[: indent * n + 1], *tabs[: n + 1], 0) for n in levels]
        return self._lines[indent, depth]

    def first(self, text: bytes) -> int:
        """The first of the fewest tokens that spell a text; the text is not empty, and there are such tokens."""
        counts = self._counts(text)
        ends = range(1, min(len(text), self.longest) + 1)
        return self.texts[text[: next(n for n in ends if text[:n] in self.texts and counts[-1 - n] == counts[-1] - 1)]]

    def _counts(self, text: bytes) -> list[int]:
        """The least number of tokens that spell each end of a text, the shortest first.

        PERF: an end that the text before had, too, is not counted again: completions differ in their beginnings.
        """
        last, known = self._last
        shared, unlike = 0, min(len(text), len(last)) + 1
        while shared + 1 < unlike:
            middle = (shared + unlike) // 2
            shared, unlike = (middle, unlike) if text.endswith(last[len(last) - middle :]) else (shared, middle)
        counts = known[: shared + 1]
        for left in range(shared + 1, len(text) + 1):
            start = len(text) - left
            fewest = counts[-1] if text[start : start + 1] in self.texts else NEVER
            for length in self._lengths.get(text[start : start + 2], ()):
                if length <= left and counts[left - length] < fewest and text[start : start + length] in self.texts:
                    fewest = counts[left - length]
            counts.append(fewest + 1)
        self._last = text, counts
        return counts


class CharacterCounts(PerVocabulary):
    """The lengths of texts in characters.

    Attributes:
        sizes: int32[V], the bytes of each token.
        counts: int32[V], the characters that begin in each token.
    """

    order = staticmethod(by_characters)
    writes_all, missing = True, frozenset[int]()  # a bound of characters does not say what tokens can write
    fewest = apart = staticmethod(count_characters)

    def __init__(self, vocabulary: Vocabulary) -> None:
        texts = [token or b"" for token in vocabulary.tokens]
        self.sizes = np.array([len(text) for text in texts], np.int32)
        self.counts = np.array(list(map(count_characters, texts)), np.int32)
        self.longest = int(self.sizes.max(initial=0))

    def lines(self, indent: int, depth: int) -> list[int]:
        """The characters of a line end with the indentation of so many levels."""
        return [1 + max(indent, 1) * level for level in range(depth + 2)]
