"""An oracle of masks under monitors: every token id beside the grammar's mask and a reading of the token's bytes.

It walks the bytes of tokens with a reading of its own, and knows nothing of words, groups or remembered masks
(guard.py). Where the mask leaves out a token that grammar and monitor each accept, a search that tries each byte has to
find that no text goes on behind it.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import constrain
from constrain.languages.vocab.bits import tokens_of
from constrain.monitors import monitored
from constrain.monitors.monitor import NAME
from constrain.monitors.reading import MonitorReading, State


class SortedTokens:
    """The tokens of a vocabulary by their bytes.

    Attributes:
        texts: Their bytes, sorted.
        ids: The token of each.
        shared: int[texts]: the number of bytes that each has in common with the one before it.
    """

    def __init__(self, vocabulary: constrain.Vocabulary) -> None:
        pairs = sorted((text, token) for token, text in enumerate(vocabulary.tokens) if text)
        self.texts, self.ids = [text for text, _ in pairs], [token for _, token in pairs]
        before = [b"", *self.texts]
        self.shared = np.array([_shared(*pair) for pair in zip(before, self.texts, strict=False)], np.int64)

    def flags(self, row: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """bool[texts]: whether a mask has each."""
        return np.unpackbits(row.view(np.uint8), bitorder="little")[self.ids] != 0

    def accepted(self, reading: MonitorReading, at: State, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool[texts]: those of some texts that the monitor accepts. After a refused byte none that begins so is."""
        found = np.zeros(len(self.texts), np.bool_)
        indexes = np.flatnonzero(asked)
        if not len(indexes):
            return found
        # of neighbours among the asked ones: the least of what all between them share
        starts = np.concatenate([[0], indexes[:-1] + 1])
        shared = np.minimum.reduceat(self.shared[: indexes[-1] + 1], starts).tolist()
        path, refused = [at], 0  # the places after each beginning of the last text; the length of a refused beginning
        for i, common in zip(indexes.tolist(), shared, strict=True):
            if refused and common >= refused:
                continue
            refused = 0
            del path[common + 1 :]
            text = self.texts[i]
            for n in range(len(path) - 1, len(text)):
                after = reading.read(path[-1], text[n])
                if after is None:
                    refused = n + 1
                    break
                path.append(after)
            else:
                found[i] = True
        return found


def _shared(left: bytes, right: bytes) -> int:
    """The number of equal bytes that two texts begin with."""
    n = 0
    while n < min(len(left), len(right)) and left[n] == right[n]:
        n += 1
    return n


class Verdict(NamedTuple):
    """The verdict on a place, by sorted texts.

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
        tokens: Its tokens, sorted.
    """

    def __init__(self, grammar: Any, monitor: Any, vocabulary: constrain.Vocabulary, tokens: SortedTokens) -> None:
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
