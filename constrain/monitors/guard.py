"""The guard of a monitored text: tokens whose bytes the monitor refuses.

The idea: most tokens are a word, or a few other bytes and then a word (` name`). All words after the same bytes are
judged at once (words.py): where any name may stand none is refused, and where some may stand the words that begin one
are looked up. The other tokens are read along their trie: shared bytes once, and none where all that may follow is
allowed. The states on the way are dropped when the next place is judged: kept, they would be most of the objects that
the garbage collector goes through.

Each state remembers the tokens that were judged at it, and the masks that came of it. Equal states are one, so a state
that one text has visited is known when another one gets there.

Cost: at a new state the bytes that are read one by one, some microseconds each: a thousand where a string may begin.
At a state and a configuration that were seen before: a copy of the mask, of at most `MAX_KEPT`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from constrain.languages.guards import Guard, MaskKey
from constrain.languages.vocab.bits import Row, tokens_of
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.monitors.ends import DoubtedEnds, FollowedGrammar
from constrain.monitors.monitor import CLASSES, NAME, SIGN, SPACE, WORD, Monitor
from constrain.monitors.offers import rests_of_names
from constrain.monitors.reading import Empty, MonitorReading, State
from constrain.monitors.small import SmallEnds
from constrain.monitors.words import DIGITS, Group, Judgement, TriePart, Words

MAX_ROWS = 1024  # states whose judged tokens are remembered
MAX_KEPT = 4096  # masks that are remembered
MAX_GUARDS = 16  # monitors that are remembered for each vocabulary
T = TypeVar("T")
_ASK: Any = object()  # not known yet
REFUSED, DOUBTFUL = 1, 2  # verdicts on a node
DOUBTED = frozenset({NAME, SIGN, SPACE})  # lexemes that may be in doubt
_LETTERS = [byte for byte in range(0x80) if CLASSES[byte] == WORD and byte not in DIGITS]


class MonitorGuard(Guard):
    """The guard of a text under a monitor.

    Args:
        monitor: The monitor.
        empty: As of `MonitorReading`.
        vocabulary: The vocabulary.
        doubting: As of `MonitorReading`.
    """

    always = ending = remembers = True
    layer = "monitor", "the monitor knows no such name here, or refuses what goes on so"

    def __init__(self, monitor: Monitor[Any], empty: Empty, vocabulary: Vocabulary, doubting: bool = False) -> None:
        self.reading = MonitorReading(monitor, empty, doubting)
        self._judging = MonitorReading(monitor, empty, doubting)  # its states are many, and are dropped
        self.words = Words.of(vocabulary)
        self._remembered: deque[State] = deque()
        self._kept: deque[tuple[State, MaskKey]] = deque()
        # PERF: a tenth of the masks of a text differ; equal ones are one, since copying from memory takes 2 µs
        self._rows: WeakValueDictionary[bytes, Row] = WeakValueDictionary()

    def start(self) -> State:
        return self.reading.start()

    def step(self, state: State, text: bytes) -> State | None:
        return self.reading.step(state, text)

    def may_end(self, state: State) -> bool:
        return self.reading.may_end(state)

    def veto(self, state: State, row: Row) -> None:
        row = row[: self.words.size]
        if state.decided is None:
            if len(self._remembered) >= MAX_ROWS:
                old = _second_chance(self._remembered, lambda each: each)
                old.decided = old.refused = old.doubtful = None
            state.decided, state.refused, state.doubtful = np.zeros((3, self.words.size), np.uint32)
            self._remembered.append(state)
        new = row & ~state.decided
        if new.any():
            refused, doubtful = self._judge_tokens(state, new.copy())
            state.refused |= refused
            state.doubtful |= doubtful
            state.decided |= new
        row &= ~state.refused

    def ends(self, grammar: FollowedGrammar, may_end: Callable[[Any], bool] | None = None) -> DoubtedEnds | SmallEnds:
        """The ends that the monitor and a grammar allow. may_end: of the text, if that is not the monitor's alone."""
        if self.reading.doubting and self.reading.empty != "error":  # else the error comes where a text gets there
            return SmallEnds(self._judging, grammar, may_end or self.may_end, self.labels)
        return DoubtedEnds(self._judging, grammar, may_end or self.may_end, self.words.tokens)

    def owed(self, state: State) -> list[bytes]:
        return self._judging.owed(self._judging.adopted(state))

    def names(self, state: State) -> list[bytes]:
        return rests_of_names(self._judging, self._judging.adopted(state))

    def labels(self, state: State) -> NDArray[np.int64]:
        at, words = self._judging.adopted(state), self.words
        labels = np.arange(1, 32 * words.size + 1)
        labels[tokens_of(words.tokens_within(at.free))] = 0
        for number, group in enumerate(words.groups):
            after = self._judging.step(at, group.before)
            if after is not None and not group.is_digits and self._takes_any_name(after):
                labels[group.tokens] = -1 - number
        return labels

    def _takes_any_name(self, state: State) -> bool:
        """True if any word goes on with the text, or may begin."""
        if state.kind == NAME or state.free & WORD:
            return bool(state.free & WORD)
        return self._judging.language(state) is None

    def known_row(self, state: State, key: MaskKey) -> Row | None:
        rows = state.rows
        row: Row | None = None if rows is None else rows.get(key)
        if row is not None:  # a state that is met once is the first to go
            state.met = True
        return row

    def keep_row(self, state: State, key: MaskKey, row: Row) -> None:
        if state.rows is None:
            state.rows = {}
        if key not in state.rows:
            text = row.tobytes()
            same = self._rows.get(text)
            if same is None:
                same = self._rows[text] = np.frombuffer(text, np.uint32)
            state.rows[key] = same
            if len(self._kept) >= MAX_KEPT:
                old, old_key = _second_chance(self._kept, itemgetter(0))
                del old.rows[old_key]
            self._kept.append((state, key))

    def _judge_tokens(self, state: State, asked: Row) -> tuple[Row, Row]:
        """uint32[ceil(V / 32)] each: the refused and the doubtful ones of some tokens at a state. Overwrites asked."""
        self._judging.forget()
        state, words = self._judging.adopted(state), self.words
        refused, doubtful = np.zeros_like(asked), np.zeros_like(asked)
        asked &= ~words.tokens_within(state.free)
        for group in words.groups:
            mine = asked & group.mask
            if mine.any():
                verdict = self._judge(state, group)
                if verdict is not None:
                    refused |= mine & verdict.refused
                    doubtful |= mine & verdict.doubtful
                    asked &= ~mine
        part = words.part(asked)
        verdicts = self._walk(state, part)[part.place]
        refused |= words.row(part.tokens[verdicts == REFUSED])
        doubtful |= words.row(part.tokens[verdicts == DOUBTFUL])
        return refused, doubtful

    def _walk(self, state: State, part: TriePart) -> NDArray[np.int8]:
        """int8[nodes]: what is known of the nodes of a part of the vocabulary's trie.

        A byte is read once for all tokens that begin alike; where one is refused, so are all that go on from there.
        """
        read, in_doubt = self._judging.read, self._judging.in_doubt
        byte, end, below = part.byte, part.end, part.below
        verdicts = np.zeros(len(byte), np.int8)
        stack = [(state, 0, len(byte))]
        while stack:
            at, node, last = stack.pop()
            while node < last:
                behind = end[node]
                after = at.steps.get(byte[node], _ASK)  # PERF: before a call, as half of the steps are known
                if after is _ASK:
                    after = read(at, byte[node])
                if after is None:
                    verdicts[node:behind] = REFUSED
                else:
                    if after.kind in DOUBTED and (after.names is not None or after.kind != NAME) and in_doubt(after):
                        verdicts[node] = DOUBTFUL
                    if behind > node + 1 and below[node] & ~after.free:
                        stack.append((after, node + 1, behind))
                node = behind
        return verdicts

    def _judge(self, state: State, group: Group) -> Judgement | None:
        """The verdict on the tokens of a group; None: they have to be read one by one."""
        at = self._judging.step(state, group.before)
        if at is None:
            return Judgement(group.mask, self.words.none)
        if at.free & WORD:
            return self.words.clear
        if at.kind == NAME:
            return None if at.names is None else self.words.verdict(group, self._judging.lexicon, at.names, at.text)
        scan = self._judging.lexicon.scan
        if any(scan(at.kind, at.text, byte) >= 0 for byte in (b"0" if group.is_digits else _LETTERS)):
            return None
        if group.is_digits:
            begun = self._judging.step(at, b"0")
            if begun is None:
                return Judgement(group.mask, self.words.none)
            return self.words.clear if begun.free & WORD else None
        names = self._judging.language(at)
        if names is False:
            return Judgement(group.mask, self.words.none)
        return self.words.clear if names is None else self.words.verdict(group, self._judging.lexicon, names, b"")


def _second_chance(queue: deque[T], state_of: Callable[[T], State]) -> T:
    """Take the entry out of a queue whose state was not met for about the longest (the clock algorithm): one that was
    met goes to the end once."""
    while state_of(queue[0]).met:
        state_of(queue[0]).met = False
        queue.rotate(-1)
    return queue.popleft()


class Guards(PerVocabulary):
    """The guards of monitors of a vocabulary: equal constraints share their states and masks."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.known: dict[tuple[Monitor[Any], Empty, bool], MonitorGuard] = {}

    @classmethod
    def guard(cls, monitor: Monitor[Any], empty: Empty, vocabulary: Vocabulary, doubting: bool) -> MonitorGuard:
        """The guard of a monitor."""
        known = cls.of(vocabulary).known
        guard = known.get((monitor, empty, doubting))
        if guard is None:
            if len(known) >= MAX_GUARDS:
                known.clear()
            guard = known[monitor, empty, doubting] = MonitorGuard(monitor, empty, vocabulary, doubting)
        return guard
