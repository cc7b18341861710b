"""An oracle of masks under monitors: every token id beside the grammar's mask and a reading of the token's bytes.

It walks the bytes of tokens with a reading of its own, and knows nothing of words, groups or remembered masks
(guard.py). Where the mask leaves out a token that grammar and monitor each accept, a search that tries each byte has to
find that no text goes on behind it.
"""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import constrain
from constrain.languages.vocab.bits import tokens_of
from constrain.monitors import monitored
from constrain.monitors.monitor import COMMENT, NAME, STRING
from constrain.monitors.reading import MonitorReading, State

LARGE = 64  # nodes below one: PERF: fewer are read byte by byte
PLAIN = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") | frozenset(range(0x80, 0x100))


class TokenTexts:
    """The tokens of a vocabulary by the nodes of its trie.

    Attributes:
        texts: The bytes of each token.
    """

    def __init__(self, vocabulary: constrain.Vocabulary) -> None:
        trie = vocabulary.trie
        self.texts, self._size = vocabulary.tokens, vocabulary.size
        self._node = trie.nodes_of_tokens(vocabulary.size)
        self._byte, self._bytes, self._end, self._depth = trie.byte, trie.byte.tolist(), trie.end.tolist(), trie.depth
        ends = np.flatnonzero(trie.token >= 0)
        self._below = trie.token[ends[np.searchsorted(ends, np.arange(len(trie)))]]  # a token of each node's subtree

    def flags(self, row: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """bool[V]: the tokens of a mask that have bytes."""
        flags = np.unpackbits(row.view(np.uint8), bitorder="little")[: self._size] != 0
        return flags & (self._node >= 0)

    def accepted(self, reading: MonitorReading, at: State, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool[V]: those of some tokens that the monitor accepts. After a refused byte none that begins so is.

        PERF: where a lexeme has begun that may have any text, plain bytes that go on with it are not read.
        """
        many = np.zeros(len(self._bytes) + 1, np.int64)
        np.add.at(many, self._node[asked] + 1, 1)
        before = np.cumsum(many).tolist()  # the asked tokens of all nodes before each
        found, stack = np.zeros(len(self._bytes), np.bool_), [(at, 0, len(self._bytes))]
        while stack:
            at, first, last = stack.pop()
            plain = _plain(reading, at) if last - first >= LARGE else None
            for node, text in self._children(first, last) if plain is None else self._behind(plain, first, last, found):
                end = self._end[node]
                after = reading.step(at, text) if before[end] > before[node] else None
                found[node:end] = False
                if after is not None:
                    found[node] = True
                    stack.append((after, node + 1, end))
        return asked & found[self._node]

    def _children(self, node: int, last: int) -> Iterator[tuple[int, bytes]]:
        """The nodes below one, without those below them, and their bytes."""
        while node < last:
            yield node, bytes((self._bytes[node],))
            node = self._end[node]

    def _behind(
        self, plain: NDArray[np.bool_], first: int, last: int, found: NDArray[np.bool_]
    ) -> Iterator[tuple[int, bytes]]:
        """The first nodes below one whose byte is not plain, and the bytes up to each. Those before are found."""
        found[first:last] = True
        above, node = int(self._depth[first]) - 1, first
        for other in (np.flatnonzero(~plain[self._byte[first:last]]) + first).tolist():
            if other >= node:
                yield other, self.texts[self._below[other]][above : self._depth[other]]
                node = self._end[other]


def _plain(reading: MonitorReading, at: State) -> NDArray[np.bool_] | None:
    """bool[256]: letters and digits, if the begun lexeme may have any text and they go on with it; else None."""
    if at.kind not in (NAME, STRING, COMMENT) or at.names is not None:
        return None
    if any(reading.lexicon.scan(at.kind, at.text, byte) != at.kind for byte in PLAIN):
        return None
    plain = np.zeros(256, np.bool_)
    plain[[*PLAIN]] = True
    return plain


class Verdict(NamedTuple):
    """The verdict on a place: flags of tokens.

    Attributes:
        asked: The tokens in the grammar's mask.
        known: Those of them that the monitor accepts.
        allowed: Those in the mask of both.
    """

    asked: NDArray[np.bool_]
    known: NDArray[np.bool_]
    allowed: NDArray[np.bool_]

    @property
    def refused(self) -> int:
        """The number of tokens that the grammar allows and the mask refuses."""
        return int((self.asked & ~self.allowed).sum())

    @property
    def apart(self) -> int:
        """The number of tokens that both accept and the mask refuses: behind them they have nothing in common."""
        return int((self.known & ~self.allowed).sum())


class MaskOracle:
    """The oracle of one monitor, grammar and vocabulary.

    Args:
        grammar: The constraint.
        monitor: The monitor.
        vocabulary: The vocabulary.
        tokens: Its tokens.
    """

    def __init__(self, grammar: Any, monitor: Any, vocabulary: constrain.Vocabulary, tokens: TokenTexts) -> None:
        code: Any = monitored(grammar, monitor)
        self.monitor = code.monitor  # that of the grammar's dialect
        self.tokens = tokens
        self.compiled = constrain.compile(code, vocabulary)
        self._free = constrain.compile(grammar, vocabulary)
        self._bytewise = constrain.compile(grammar, constrain.Vocabulary.of_bytes())
        self._rows = np.zeros((2, vocabulary.words), np.uint32)

    def check(self, matcher: Any, rng: Random, sampled: int) -> Verdict:
        """Check the mask at a matcher's place. sampled: of the allowed tokens so many must go on, by a search."""
        begin, loose = bytes(matcher.text), self._free.matcher()
        assert loose.advance_bytes(begin), begin
        matcher.fill_mask(self._rows[0])
        loose.fill_mask(self._rows[1])
        allowed, asked = map(self.tokens.flags, self._rows)
        assert not (allowed & ~asked).any(), begin
        reading = MonitorReading(self.monitor)
        at = reading.step(reading.start(), begin)
        assert at is not None, begin
        known = self.tokens.accepted(reading, at, asked)
        wrong = np.flatnonzero(allowed & ~known)
        assert not len(wrong), (begin, [self.tokens.texts[i] for i in wrong[:5]])
        for i in np.flatnonzero(known & ~allowed):
            assert not self._goes_on(reading, at, begin, self.tokens.texts[i]), (begin, self.tokens.texts[i])
        for i in rng.sample(np.flatnonzero(allowed).tolist(), min(int(allowed.sum()), sampled)):
            assert self._goes_on(reading, at, begin, self.tokens.texts[i]), (begin, self.tokens.texts[i])
        reading.forget()  # PERF: its states refer to each other
        return Verdict(asked, known, allowed)

    def _goes_on(self, reading: MonitorReading, at: State, begin: bytes, token: bytes) -> bool:
        return goes_on(self._bytewise, reading, reading.step(at, token), begin + token)


def goes_on(grammar: Any, reading: MonitorReading, at: State | None, text: bytes) -> bool:
    """True if bytes may follow a text until its last lexeme is over, under the grammar and the monitor: a search that
    tries each byte. at: the state after the text."""
    if at is None:
        return False
    if (at.kind != NAME or at.names is None) and reading.lexicon.is_decided(at.kind, at.text):
        return True
    matcher = grammar.matcher()
    return matcher.advance_bytes(text) and any(
        goes_on(grammar, reading, reading.read(at, byte), text + bytes([byte]))
        for byte in tokens_of(matcher.mask()).tolist()
        if byte < 256
    )
