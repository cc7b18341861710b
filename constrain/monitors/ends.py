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
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from constrain.languages.guards import Before
from constrain.languages.vocab.bits import tokens_of
from constrain.monitors.monitor import CLASSES, NAME, SPACE, WORD, Names
from constrain.monitors.reading import WORDS, Inner, MonitorReading, State

REMEMBERED = 1 << 14  # answers; beyond, all are forgotten
_ASK: Any = object()  # not known yet
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
        may_end: Callable[[Any], bool],
        tokens: Sequence[bytes | None],
    ) -> None:
        self._reading = reading
        self._grammar = grammar
        self._may_end = may_end
        self._tokens = tokens
        self._epoch = grammar.epoch
        self._may_be_capital = reading.lexicon.folded(NAME, b"A") == b"a"
        self._known: dict[tuple[int, State], bool] = {}  # of texts that end with a sign in doubt
        self._words: dict[tuple[int, Inner, bytes], bool] = {}  # of texts that end with a whole word
        self._rests: dict[tuple[Names, bytes], list[bytes] | None] = {}  # of keywords; None: it is no keyword
        self._followed: dict[tuple[int, bytes], int | None] = {}  # configurations behind words
        self._tried: dict[tuple[int, bytes, bool], NextBytes] = {}

    def doubts(self, state: Hashable) -> bool:
        """True if a text is in doubt."""
        return self._reading.in_doubt(cast(State, state))

    def dead(self, configuration: int, state: Hashable, row: NDArray[np.uint32]) -> list[int]:
        """The tokens of a mask, which the guard has narrowed, behind which no text goes on."""
        self._forget(everything=not self._reading.doubting)  # nearly all belongs to one place, in a large grammar
        doubtful = cast(State, state).doubtful
        if doubtful is None:  # another thread has needed the room
            doubtful = row
        found, at = [], self._reading.adopted(cast(State, state))
        heads: dict[bytes, tuple[int | None, State | None]] = {}  # PERF: many tokens differ by their word alone
        for token in tokens_of(row[: len(doubtful)] & doubtful).tolist():
            text = self._tokens[token] or b""
            head = text.rstrip(WORDS)
            if head not in heads:
                heads[head] = self._grammar.follow(configuration, head), self._reading.step(at, head)
            before, behind = heads[head]
            if before is None or behind is None or not self._lives_after(before, behind, text[len(head) :]):
                found.append(token)
        return found

    def lives(self, configuration: int, state: Hashable, before: Before | None = None) -> bool:
        """True if a text may go on, or end, as far as the doubt reaches: the same whatever is before."""
        self._forget()
        return self._lives(configuration, self._reading.adopted(cast(State, state)))

    def _forget(self, everything: bool = False) -> None:
        """Forget answers of another epoch, or if they are many."""
        if everything or self._epoch != self._grammar.epoch or len(self._known) + len(self._followed) >= REMEMBERED:
            self._epoch = self._grammar.epoch
            self._known.clear()
            self._words.clear()
            self._followed.clear()
            if len(self._rests) >= REMEMBERED:
                self._rests.clear()

    def _lives_after(self, configuration: int, state: State, word: bytes) -> bool:
        """`_lives` after a word more, with the configuration and the state before it."""
        begun = self._reading.read(state, word[0]) if word else state
        if word and begun is not None and begun.kind == NAME:
            return self._has_word(configuration, begun, begun.text + word[1:], word)
        after = self._reading.step(state, word)
        reached = None if after is None else self._grammar.follow(configuration, word)
        return after is not None and reached is not None and self._lives(reached, after)

    def _lives(self, configuration: int, state: State) -> bool:
        if not self._reading.in_doubt(state):
            return True
        if state.kind == NAME:
            return self._has_word(configuration, state, state.text, b"")
        known = self._known.get((configuration, state))
        if known is None:
            self._known[configuration, state] = False  # while it is looked for: more of the same spaces do not count
            known = self._goes_on(configuration, state, every=True)
            if state.kind == SPACE:
                known = known or (self._grammar.accepts(configuration) and self._may_end(state))
            self._known[configuration, state] = known
        return known

    def _has_word(self, configuration: int, state: State, text: bytes, read: bytes) -> bool:
        """True if a name that has begun is no keyword, or one of the keywords that it may become may stand.

        state: A state in the name. text: What has been read of it. read: The end of that, behind the configuration.
        """
        folded, names = self._reading.lexicon.folded(NAME, text), state.names
        if names is None:
            return True
        rests = self._rests.get((names, folded), _ASK)
        if rests is _ASK:
            rests = self._rests[names, folded] = names.rests(folded) if names.begins_keyword(folded) else None
        if rests is None:
            return True
        for rest in rests:
            for spelled in (rest, rest.upper()) if self._may_be_capital else (rest,):
                key = configuration, read + spelled
                after = self._followed.get(key, _ASK)
                if after is _ASK:
                    after = self._followed[key] = self._grammar.follow(*key)
                if after is not None and self._is_word(after, state, text + spelled, folded + rest):
                    return True
        return False

    def _is_word(self, configuration: int, state: State, text: bytes, folded: bytes) -> bool:
        """True if a text may go on with something else, or end, where a name is whole. Remembered: monitors read it
        folded.

        state: A state in the name. text: The name.
        """
        key = configuration, state.inner, folded
        known = self._words.get(key)
        if known is None:
            whole = self._reading.in_name(state, text)
            known = whole is not None and (
                self._goes_on(configuration, whole, every=False)
                or (self._grammar.accepts(configuration) and self._may_end(whole))
            )
            self._words[key] = known
        return known

    def _goes_on(self, configuration: int, state: State, every: bool) -> bool:
        """True if a text may go on with a byte. every: with any; else with one that is in no word."""
        behind = self._behind(state, every)
        tried: Iterable[bytes] = behind.growing
        if self._reading.is_whole(state) and self._grammar.takes(configuration, behind.bits):
            tried = chain(behind.others[:2], behind.growing, behind.others[2:])
        for byte in tried:
            reached = self._grammar.follow(configuration, byte)
            after = None if reached is None else self._reading.read(state, byte[0])
            if after is not None and reached is not None and self._lives(reached, after):
                return True
        return False

    def _behind(self, state: State, every: bool) -> NextBytes:
        """The bytes that may stand behind a text. Remembered by its begun lexeme."""
        is_plain = state.kind == NAME and self._reading.lexicon.free(NAME, state.text) & WORD
        key = state.kind, b"" if is_plain else state.text, every
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
