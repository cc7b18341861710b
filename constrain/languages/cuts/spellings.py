"""The tokens that spell added ones: which they may be, behind the end of a text.

The idea: a token that takes part of an added text is never the tokenizer's own, which writes that text as one token: it
completes one that was begun before it or in it, or it ends with the beginning of one that then follows. Which tokens
could do so depends on what the text ends with alone; where one does, a kernel asks the constraint
(kernels/parser/spelling.py).

Cost: made once for each end of a text; 0.3 ms where nothing was begun (Qwen 3), 5 to 30 ms behind a beginning.
Reference: all texts of small languages (tests/masks/derived/test_forced_cuts.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.parser.spelling import COMPLETES
from constrain.kernels.records.configurations import SPELLINGS
from constrain.kernels.records.schema import pack
from constrain.languages.cuts.added import AddedTexts, AddedTokens, Begun, begin_as
from constrain.languages.vocab.joined import JoinedTokens
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import Remembered

MANY = 256  # ends of texts that are remembered


class Spelling(NamedTuple):
    """Tokens that may spell an added text, for kernels.

    rows: SPELLINGS. tokens: by node, the ones that spell one if it does
    """

    rows: NDArray[np.int32]
    tokens: list[list[int]]


class AddedSpellings:
    """The tokens of a vocabulary that may spell added ones, by what a text ends with. Threads may share it.

    Attributes:
        begin: The tokens after which a text may end with the beginning of an added one.
    """

    def __init__(self, vocabulary: Vocabulary, added: AddedTokens) -> None:
        self.added = added
        texts = added.texts
        self.begin = {*added.begun, *(token for text, token in texts.tokens.items() if text in texts.beginnings)}
        self._tokens, self._joined = vocabulary.tokens, JoinedTokens.of(vocabulary)
        self._known: Remembered[Begun, Spelling] = Remembered(MANY)

    def behind(self, begun: Begun) -> Spelling:
        """The tokens that spell added texts behind a text that ends with some beginnings of them."""
        known = self._known.get(begun)
        return known or self._known.keep(begun, self._made(begun))

    def _made(self, begun: Begun) -> Spelling:
        texts, found = self.added.texts, defaultdict[tuple[bytes, int], list[int]](list)
        for token in {*self.added.begun, *self.added.inside, *self._going_on(begun)}:
            text = self._tokens[token] or b""
            starts = [(part + text, len(part)) for part in begun]
            if texts.tokens.get(text) != token:
                starts += [(text[start:], -start) for start in range(len(text))]
            for whole, before in starts:
                for length, end in _ends(texts, whole, before):
                    found[text[:length], end].append(token)
        return _packed(found)

    def _going_on(self, begun: Begun) -> Iterator[int]:
        """Tokens that may go on with one of some beginnings, with what they share with such: the first two bytes."""
        text, starts = self._joined.text, self._joined.starts
        tokens = np.flatnonzero(self._joined.lengths)
        byte, second = text[starts[tokens]], text[np.minimum(starts[tokens] + 1, len(text) - 1)]
        is_last = self._joined.lengths[tokens] == 1
        for part in begun:
            rests = [one[len(part) :] for one in self.added.texts.tokens if one.startswith(part) and one != part]
            yield from tokens[begin_as(rests, byte, second, is_last)].tolist()


def _ends(texts: AddedTexts, whole: bytes, before: int) -> Iterator[tuple[int, int]]:
    """The places where a token takes part of an added text that a text may begin with.

    (bytes of the token, COMPLETES) where that ends, (all of them, its beginning) where it goes on. before: the bytes in
    front of the token
    """
    for end in range(1, len(whole) + 1):
        if end > before and whole[:end] in texts.tokens:
            yield end - before, COMPLETES
        if whole[:end] not in texts.beginnings:
            return
    yield len(whole) - before, texts.rows[0][whole]


def _packed(found: dict[tuple[bytes, int], list[int]]) -> Spelling:
    """The trie of what tokens begin with, up to where they take part of an added text. Where they take part of several,
    there are several nodes: the last one has those below it, and is the one that completes a text."""
    ends = defaultdict[bytes, list[int]](list)
    for text, end in sorted(found, reverse=True):
        ends[text].append(end)
    texts = sorted({text[:length] for text in ends for length in range(1, len(text) + 1)})
    nodes = [(text, end) for text in texts for end in ends.get(text, [0])]
    nexts = [0] * len(nodes)
    for n in reversed(range(len(nodes))):
        after = n + 1
        while after < len(nodes) and nodes[after][0].startswith(nodes[n][0]):
            after = nexts[after]
        nexts[n] = after
    columns = {
        "BYTE": [text[-1] for text, _ in nodes],
        "DEPTH": [len(text) - 1 for text, _ in nodes],
        "NEXT": nexts,
        "ENDS": [end for _, end in nodes],
    }
    arrays: dict[str, Any] = {name: np.array(column, np.int32) for name, column in columns.items()}
    rows, _ = pack(SPELLINGS, COUNT=len(nodes), DEEPEST=max(map(len, texts), default=0), **arrays)
    return Spelling(rows, [found.get(node, []) for node in nodes])
