"""Ends that a monitor and a grammar both allow, looked for where one may refuse all that the other leaves.

The idea: a monitor knows which names may stand, and a grammar which keywords. Where only keywords may go on with a
begun word (`yi`), or a sign may still become another one (`=`, `==`), neither knows whether the other takes what is
left: the text is *in doubt*. The search reads both together. A word is a single step; after it one byte that both take
settles the doubt, since lexemes are judged as soon as they are whole.

Cost: some microseconds for each word that may be meant; nothing where no text is in doubt. Answers are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from constrain.languages.vocab.bits import tokens_of
from constrain.monitors.monitor import CLASSES, NAME, WORD
from constrain.monitors.reading import MonitorReading, State

REMEMBERED = 1 << 14  # answers; beyond, all are forgotten
_LIKELY = b" \n(,)'\";.:=%}\t"  # bytes that stand behind most words
_OTHERS = [byte for byte in range(0x80) if CLASSES[byte] != WORD]
BEHIND = [bytes((byte,)) for byte in dict.fromkeys([*_LIKELY, *_OTHERS])]
EVERY = [bytes((byte,)) for byte in dict.fromkeys([*_LIKELY, *range(256)])]


class FollowedGrammar(Protocol):
    """The interface of a grammar, as the engine offers it (`GuardLookahead`). Configurations are numbers."""

    @property
    def epoch(self) -> int:
        """The number that changes when configurations lose their meaning."""

    def follow(self, configuration: int, text: bytes) -> int | None:
        """Give the configuration after a text; None: the grammar does not go on with it."""

    def takes(self, configuration: int, bits: NDArray[np.int32]) -> bool:
        """True if the grammar goes on with one of the bytes of a bitmap, int32[8]."""

    def accepts(self, configuration: int) -> bool:
        """True if a text may end at a configuration."""


class NextBytes(NamedTuple):
    """Bytes that may stand behind a text in doubt: going on with its lexeme, the others, and the bitmap of these."""

    growing: list[bytes]
    others: list[bytes]
    bits: NDArray[np.int32]


class DoubtedEnds:
    """Answers for one grammar under a monitor.

    Args:
        reading: A reading of the monitor, whose states are soon forgotten.
        grammar: The grammar.
        may_end: Tells if a text may end at a state.
        tokens: The bytes of each token.
    """

    def __init__(
        self,
        reading: MonitorReading,
        grammar: FollowedGrammar,
        may_end: Callable[[Hashable], bool],
        tokens: Sequence[bytes | None],
    ) -> None:
        self._reading = reading
        self._grammar = grammar
        self._may_end = may_end
        self._tokens = tokens
        self._epoch = grammar.epoch
        self._known: dict[tuple[int, State], bool] = {}  # of texts in doubt
        self._words: dict[tuple[int, State], bool] = {}  # of texts that end with a whole word
        self._tried: dict[tuple[int, bytes, bool], NextBytes] = {}

    def doubts(self, state: Hashable) -> bool:
        """True if a text is in doubt."""
        return self._reading.in_doubt(cast(State, state))

    def dead(
        self, configuration: int, state: Hashable, row: NDArray[np.uint32], follow: Callable[[int, int], int]
    ) -> list[int]:
        """The tokens of a mask, which the guard has narrowed, behind which no text goes on.

        follow: (configuration, token that the grammar allows) -> the configuration behind it.
        """
        self._forget(everything=True)  # nearly all belongs to one place
        doubtful = cast(State, state).doubtful
        if doubtful is None:  # another thread has needed the room
            doubtful = row
        found, at = [], self._reading.adopted(cast(State, state))
        for token in tokens_of(row[: len(doubtful)] & doubtful).tolist():
            after = self._reading.leap(at, self._tokens[token] or b"")
            if after is None or not self._lives(follow(configuration, token), after):
                found.append(token)
        return found

    def lives(self, configuration: int, state: Hashable) -> bool:
        """True if a text may go on, or end, as far as the doubt reaches."""
        self._forget()
        return self._lives(configuration, self._reading.adopted(cast(State, state)))

    def _forget(self, everything: bool = False) -> None:
        """Forget answers of another epoch, or if they are many."""
        if everything or self._epoch != self._grammar.epoch or len(self._known) >= REMEMBERED:
            self._epoch = self._grammar.epoch
            self._known.clear()
            self._words.clear()

    def _lives(self, configuration: int, state: State) -> bool:
        if not self._reading.in_doubt(state):
            return True
        known = self._known.get((configuration, state))
        if known is None:
            known = self._known[configuration, state] = self._settle(configuration, state)
        return known

    def _settle(self, configuration: int, state: State) -> bool:
        """`lives` of a text in doubt, read on with all words, or signs, that may be meant."""
        if state.kind != NAME:
            return self._goes_on(configuration, state, every=True)
        assert state.names is not None
        lexicon = self._reading.lexicon
        may_be_capital = lexicon.folded(NAME, b"A") == b"a"
        for rest in state.names.rests(lexicon.folded(NAME, state.text)):
            for spelled in dict.fromkeys((rest, rest.upper() if may_be_capital else rest)):
                word = self._reading.leap(state, spelled)
                after = None if word is None else self._grammar.follow(configuration, spelled)
                if word is not None and after is not None and self._is_word(after, word):
                    return True
        return False

    def _is_word(self, configuration: int, state: State) -> bool:
        """True if a text that ends with a whole word may go on with something else, or end. Remembered."""
        known = self._words.get((configuration, state))
        if known is None:
            known = self._goes_on(configuration, state, every=False)
            known = known or (self._grammar.accepts(configuration) and self._may_end(state))
            self._words[configuration, state] = known
        return known

    def _goes_on(self, configuration: int, state: State, every: bool) -> bool:
        """True if a text may go on with a byte. every: with any; else with one that is in no word."""
        behind = self._behind(state, every)
        tried: Iterable[bytes] = behind.growing
        if self._reading.is_whole(state) and self._grammar.takes(configuration, behind.bits):
            tried = chain(behind.others[:2], behind.growing, behind.others[2:])
        for byte in tried:
            after = self._reading.read(state, byte[0])
            reached = None if after is None else self._grammar.follow(configuration, byte)
            if after is not None and reached is not None and self._lives(reached, after):
                return True
        return False

    def _behind(self, state: State, every: bool) -> NextBytes:
        """The bytes that may stand behind a text. Remembered by its begun lexeme."""
        key = state.kind, state.text, every
        found = self._tried.get(key)
        if found is None:
            if len(self._tried) >= REMEMBERED:
                self._tried.clear()
            scan = self._reading.lexicon.scan
            tried = EVERY if every else BEHIND
            growing = [byte for byte in tried if scan(state.kind, state.text, byte[0]) >= 0]
            others = [byte for byte in tried if byte not in growing]
            flags = np.zeros(256, np.bool_)
            flags[[byte[0] for byte in others]] = True
            bits = np.packbits(flags, bitorder="little").view(np.int32)
            found = self._tried[key] = NextBytes(growing, others, bits)
        return found
