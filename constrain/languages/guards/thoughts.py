"""The guard of an answer after thoughts: it counts the tokens of the thoughts, and makes them end in time.

The idea: the thoughts end at the first close, a text or a token. While fewer tokens than the budget began in them,
nothing is vetoed. Then only the tokens that spell the close are left: of a close that has already begun, the rest of
it. After the close another guard reads the answer.

A budget must not end inside a character. So a token that leaves a character open is vetoed if the tokens that are left
are fewer than the bytes that it needs. That is exact where the vocabulary has a token for each of these bytes.

Cost: a search for the close, some microseconds a token. A mask changes only near the end of a budget.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.languages.guards import Guard
from constrain.languages.guards.repeats import GuardedText
from constrain.languages.vocab.bits import clear_bits, has_bit, set_bits
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.utf8 import FOLLOWING, missing_bytes
from constrain.languages.vocab.vocabulary import Vocabulary

BEFORE, INSIDE, CLOSING, AFTER = range(4)
Row = NDArray[np.uint32]


class ThoughtState(NamedTuple):
    """The state of the guard.

    Attributes:
        mode: BEFORE: in what begins the thoughts. INSIDE: in them. CLOSING: the budget is spent. AFTER: behind them.
        tail: BEFORE: the text so far. INSIDE: its end, which may begin the close.
        taken: The number of tokens that began in the thoughts; None: they are not counted.
        need: INSIDE: the bytes that the last character still needs.
        rests: CLOSING: the texts of which one must follow.
        inner: AFTER: the state of the other guard.
    """

    mode: int
    tail: bytes = b""
    taken: int | None = None
    need: int = 0
    rests: tuple[bytes, ...] = ()
    inner: Hashable = None


class Thoughts(Guard):
    """The guard of thoughts, and of the answer after them.

    Args:
        begin: What begins the thoughts: a text, or the ids of tokens; b"": the text begins in the thoughts.
        close: What ends them: a text, or the ids of tokens.
        most: The greatest number of tokens that begin in the thoughts; None: no bound.
        inner: The guard of the text after them; None if it has none.
        vocabulary: The vocabulary.

    Attributes:
        always: See `Guard`.
    """

    by_token = True

    layer = "region", "the tokens of the thoughts are spent, or what stands behind them refuses it"

    def __init__(
        self,
        begin: bytes | frozenset[int],
        close: bytes | frozenset[int],
        most: int | None,
        inner: Guard | None,
        vocabulary: Vocabulary,
    ) -> None:
        self.begin, self.close, self.most, self.inner = begin, close, most, inner
        self.always = inner is not None and inner.always
        self.ending = inner is not None and inner.ending
        self.tokens = vocabulary.tokens
        self.spellings = TokensByText.of(vocabulary)
        self.masks: dict[tuple[bytes, ...], Row] = {}

    def start(self) -> ThoughtState:
        return ThoughtState(BEFORE) if self.begin else self._enter_thoughts(b"")

    def step(self, state: ThoughtState, text: bytes) -> ThoughtState | None:
        """Read text as one token."""
        return self.step_token(state, -1, text)

    def step_token(self, state: ThoughtState, token: int, text: bytes) -> ThoughtState | None:
        if state.mode == AFTER:
            return self._answered(state, text, token)
        if state.mode == BEFORE:
            return self._beginning(state, text, token)
        if state.mode == CLOSING:
            return self._closing(state, text, token)
        return self._read_thoughts(state, text, token)

    def _answered(self, state: ThoughtState, text: bytes, token: int = -1) -> ThoughtState | None:
        """The state after text behind the thoughts. token: whose text it is; -1: not that of a whole token."""
        if self.inner is None:
            return state
        guard = self.inner
        inner = guard.step_token(state.inner, token, text) if token >= 0 else guard.step(state.inner, text)
        return None if inner is None else state._replace(inner=inner)

    def _enter_answer(self, text: bytes, token: int = -1) -> ThoughtState | None:
        """The state after the close and some text."""
        return self._answered(ThoughtState(AFTER, inner=self.inner.start() if self.inner else None), text, token)

    def _beginning(self, state: ThoughtState, text: bytes, token: int) -> ThoughtState | None:
        """The state after text at the beginning; a text that begins otherwise has no thoughts."""
        if isinstance(self.begin, frozenset):
            return self._enter_thoughts(b"") if token in self.begin else self._enter_answer(text, token)
        if token >= 0 and not text:  # a special token: the text begins otherwise
            after = self._enter_answer(state.tail)
            return None if after is None else self._answered(after, text, token)
        text = state.tail + text
        if text.startswith(self.begin):
            begun = self._enter_thoughts(b"")
            rest = text[len(self.begin) :]
            # a token that begins before the thoughts is none of them
            return begun if not rest else self._read_thoughts(begun, rest, -1, counts=False)
        return state._replace(tail=text) if self.begin.startswith(text) else self._enter_answer(text)

    def _enter_thoughts(self, tail: bytes) -> ThoughtState:
        """The state at the beginning of the thoughts."""
        state = ThoughtState(INSIDE, tail, None if self.most is None else 0)
        return self._closed_if_spent(state)

    def _read_thoughts(self, state: ThoughtState, text: bytes, token: int, counts: bool = True) -> ThoughtState | None:
        """The state after text in the thoughts."""
        count = state.taken + int(counts) if state.taken is not None else None
        if isinstance(self.close, frozenset):
            if token in self.close:
                return self._enter_answer(b"")
            tail = b""
        else:
            whole = state.tail + text
            end = whole.find(self.close)
            if end >= 0:
                return self._enter_answer(whole[end + len(self.close) :])
            tail = whole[max(0, len(whole) - len(self.close) + 1) :]
        need = missing_bytes(state.need, text)
        if self.most is not None and count is not None and need > self.most - count:
            return None
        return self._closed_if_spent(ThoughtState(INSIDE, tail, count, need))

    def _closed_if_spent(self, state: ThoughtState) -> ThoughtState:
        """The state, or CLOSING if the budget is spent."""
        if state.taken is None or state.taken != self.most:
            return state
        if isinstance(self.close, frozenset):
            return ThoughtState(CLOSING)
        close = self.close
        begun = [n for n in range(len(close)) if state.tail.endswith(close[:n])]
        return ThoughtState(CLOSING, rests=tuple(close[n:] for n in begun))

    def _closing(self, state: ThoughtState, text: bytes, token: int) -> ThoughtState | None:
        """The state after text of the close."""
        if isinstance(self.close, frozenset):
            return self._enter_answer(b"") if token in self.close else None
        if not text:
            return state if token < 0 else None
        for rest in reversed(state.rests):  # the shortest first: the first close that is complete counts
            if text.startswith(rest):
                return self._enter_answer(text[len(rest) :])
        rests = tuple(rest[len(text) :] for rest in state.rests if rest.startswith(text))
        return state._replace(rests=rests) if rests else None

    def veto(self, state: ThoughtState, row: Row) -> None:
        if state.mode == AFTER:
            if self.inner is not None:
                self.inner.veto(state.inner, row)
        elif state.mode == CLOSING:
            words = self._closing_mask(state.rests)
            row[: len(words)] &= words
        elif self.most is not None:
            budget = self.most - state.taken - 1 if state.mode == INSIDE and state.taken is not None else self.most
            if budget < FOLLOWING:
                self._veto_open(state, budget, row)

    def reader(self, state: ThoughtState) -> GuardedText | None:
        return self.inner.reader(state.inner) if state.mode == AFTER and self.inner is not None else None

    def may_end(self, state: ThoughtState) -> bool:
        return self.inner.may_end(state.inner) if state.mode == AFTER and self.inner is not None else True

    def _veto_open(self, state: ThoughtState, left: int, row: Row) -> None:
        """Clear the tokens that leave a character open which the tokens that are left cannot complete."""
        tokens = self.spellings.open_within(state.need, left, row)
        clear_bits(row, (token for token in tokens if self.step_token(state, token, self.tokens[token] or b"") is None))

    def _closing_mask(self, rests: tuple[bytes, ...]) -> Row:
        """uint32[ceil(V / 32)]: the tokens of the close, or that spell one of the texts or its beginning."""
        if rests not in self.masks:
            ids: Iterable[int] = self.close if isinstance(self.close, frozenset) else self.spellings.of_texts(rests)
            words = np.zeros((len(self.tokens) + 31) // 32, np.uint32)
            set_bits(words, ids)
            self.masks[rests] = words
        return self.masks[rests]


class TokensByText(PerVocabulary):
    """The tokens of a vocabulary by their texts."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        spelled = sorted((text, token) for token, text in enumerate(vocabulary.tokens) if text)
        self.texts = [text for text, _ in spelled]
        self.ids = [token for _, token in spelled]
        self._open: dict[int, list[tuple[int, int]]] = {}

    def of_texts(self, texts: Iterable[bytes]) -> set[int]:
        """The tokens that begin one of the texts, or begin with it."""
        tokens: set[int] = set()
        for text in texts:
            starts = [*(text[:n] for n in range(1, len(text))), text]
            for start in starts:
                i = bisect_left(self.texts, start)
                while i < len(self.texts) and (
                    self.texts[i] == start or (start == text and self.texts[i].startswith(text))
                ):
                    tokens.add(self.ids[i])
                    i += 1
        return tokens

    def open_within(self, need: int, left: int, row: Row) -> list[int]:
        """The tokens of a mask after which a character needs more than `left` bytes, if it needs `need` before."""
        if need not in self._open:
            needs = ((token, missing_bytes(need, text)) for text, token in zip(self.texts, self.ids, strict=True))
            self._open[need] = [(token, after) for token, after in needs if after]
        return [token for token, after in self._open[need] if after > left and has_bit(row, token)]
