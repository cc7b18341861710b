"""The guard of a monitored text: tokens whose bytes the monitor refuses.

The idea: most tokens are a word, or a few other bytes and then a word (` name`). All words after the same bytes are
judged at once: where any name may stand none is refused, and where some may stand the words that begin one are
looked up. The other tokens are read along their trie: shared bytes once, and none where all that may follow is allowed.
Steps are remembered.

Each state remembers the tokens that were judged at it, and the masks that came of it. Equal states are one, so a state
that one text has visited is known when another one gets there.

Cost: at a new state the bytes that are read one by one, some microseconds each: a thousand where a string may begin.
At a state and a configuration that were seen before: a copy of the mask, of at most `MAX_KEPT`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from constrain.languages.guards import MaskKey
from constrain.languages.vocab.bits import clear_bits, set_bits
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.trie import Trie
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.monitors.ends import DoubtedEnds, FollowedGrammar
from constrain.monitors.monitor import CLASSES, NAME, WORD, Lexicon, Monitor, Names
from constrain.monitors.offers import rests_of_names
from constrain.monitors.reading import Empty, MonitorReading, State

MAX_ROWS = 1024  # states whose judged tokens are remembered
MAX_KEPT = 4096  # masks that are remembered
MAX_GUARDS = 16  # monitors that are remembered for each vocabulary
GROUP = 64  # words after the same bytes that are judged at once
Row = NDArray[np.uint32]
T = TypeVar("T")
REFUSED, DOUBTFUL = 1, 2  # verdicts on a node
_DIGITS = frozenset(b"0123456789")
_LETTERS = [byte for byte in range(0x80) if CLASSES[byte] == WORD and byte not in _DIGITS]


class MonitorGuard:
    """A `Guard` that has a say in where a text may end.

    Args:
        monitor: The monitor.
        empty: As of `MonitorReading`.
        vocabulary: The vocabulary.

    Attributes:
        always: As of `Guard`.
    """

    always = True

    def __init__(self, monitor: Monitor[Any], empty: Empty, vocabulary: Vocabulary) -> None:
        self.reading = MonitorReading(monitor, empty)
        self._judging = MonitorReading(monitor, empty)  # its states are many, and are soon forgotten
        self.words = Words.of(vocabulary)
        self._remembered: deque[State] = deque()
        self._kept: deque[tuple[State, MaskKey]] = deque()
        # PERF: a tenth of the masks of a text differ; equal ones are one, since copying from memory takes 2 µs
        self._rows: WeakValueDictionary[bytes, Row] = WeakValueDictionary()

    def start(self) -> State:
        """The state before the first byte."""
        return self.reading.start()

    def step(self, state: Hashable, text: bytes) -> State | None:
        """The state after more bytes; None: the monitor refuses them."""
        return self.reading.step(cast(State, state), text)

    def reader(self, state: Hashable) -> None:
        """None: the text is no JSON."""

    def may_end(self, state: Hashable) -> bool:
        """True if the text may end at a state."""
        return self.reading.may_end(cast(State, state))

    def veto(self, state: Hashable, row: Row) -> None:
        """Clear the bits of the tokens that `step` refuses."""
        at = cast(State, state)
        row = row[: self.words.size]
        if at.decided is None:
            if len(self._remembered) >= MAX_ROWS:
                old = _second_chance(self._remembered, lambda state: state)
                old.decided = old.refused = old.doubtful = None
            at.decided, at.refused, at.doubtful = np.zeros((3, self.words.size), np.uint32)
            self._remembered.append(at)
        new = row & ~at.decided
        if new.any():
            refused, doubtful = self._judge_tokens(at, new.copy())
            at.refused |= refused
            at.doubtful |= doubtful
            at.decided |= new
        row &= ~at.refused

    def ends(self, grammar: FollowedGrammar, may_end: Callable[[Hashable], bool] | None = None) -> DoubtedEnds:
        """The ends that the monitor and a grammar allow. may_end: of the text, if that is not the monitor's alone."""
        return DoubtedEnds(self._judging, grammar, may_end or self.may_end)

    def owed(self, state: Hashable) -> list[bytes]:
        """Texts that settle what a text owes, as far as the monitor knows some."""
        return self._judging.owed(cast(State, state))

    def names(self, state: Hashable) -> list[bytes]:
        """The rests of the names that may stand next, the shortest first; none where any may."""
        return rests_of_names(self._judging, cast(State, state))

    def labels(self, state: Hashable) -> NDArray[np.int64]:
        """int64[>= V]: tokens with equal labels leave the same to be completed."""
        at, words = cast(State, state).blank_copy(), self.words
        labels = np.arange(1, 32 * words.size + 1)
        labels[words.bits(words.tokens_within(at.free))] = 0
        for number, group in enumerate(words.groups):
            after = self._judging.step(at, group.before)
            if after is not None and not group.is_digits and self._takes_any_name(after):
                labels[words.bits(group.mask)] = -1 - number
        return labels

    def _takes_any_name(self, state: State) -> bool:
        """True if any word goes on with the text, or may begin."""
        if state.kind == NAME or state.free & WORD:
            return bool(state.free & WORD)
        return self._judging.language(state) is None

    def known_row(self, state: Hashable, key: MaskKey) -> Row | None:
        """The mask that was kept at a state; None: none was."""
        row: Row | None = state.rows.get(key)  # type: ignore[attr-defined]  # PERF: a cast would be a call
        if row is not None:  # a state that is met once is the first to go
            state.met = True  # type: ignore[attr-defined]
        return row

    def keep_row(self, state: Hashable, key: MaskKey, row: Row) -> None:
        """Keep a mask, and forget one where they are many."""
        at = cast(State, state)
        if key not in at.rows:
            text = row.tobytes()
            same = self._rows.get(text)
            if same is None:
                same = self._rows[text] = np.frombuffer(text, np.uint32)
            at.rows[key] = same
            if len(self._kept) >= MAX_KEPT:
                old, old_key = _second_chance(self._kept, itemgetter(0))
                del old.rows[old_key]
            self._kept.append((at, key))

    def _judge_tokens(self, state: State, asked: Row) -> tuple[Row, Row]:
        """uint32[ceil(V / 32)] each: the refused and the doubtful ones of some tokens at a state. Overwrites asked."""
        state = state.blank_copy()
        refused, doubtful = np.zeros_like(asked), np.zeros_like(asked)
        asked &= ~self.words.tokens_within(state.free)
        for group in self.words.groups:
            mine = asked & group.mask
            if mine.any():
                verdict = self._judge(state, group)
                if verdict is not None:
                    refused |= mine & verdict.refused
                    doubtful |= mine & verdict.doubtful
                    asked &= ~mine
        words = self.words
        left = np.flatnonzero(words.bits(asked) & (words.node >= 0))
        nodes = words.node[left]
        verdicts = self._walk(state, nodes)[nodes]
        return refused | words.row(left[verdicts == REFUSED]), doubtful | words.row(left[verdicts == DOUBTFUL])

    def _walk(self, state: State, asked: NDArray[np.int32]) -> NDArray[np.int8]:
        """int8[nodes]: what is known of the nodes of the vocabulary's trie, of those of some tokens and before them.

        A byte is read once for all tokens that begin alike; where one is refused, so are all that go on from there.
        """
        trie, below = self.words.trie, self.words.below
        step, byte, end = self._judging.step, trie.byte, trie.end
        flags = np.zeros(len(trie) + 1, np.int32)
        flags[asked + 1] = 1
        before = np.cumsum(flags)  # asked nodes before each
        verdicts = np.zeros(len(trie), np.int8)
        stack = [(state, 0, len(trie))]
        while stack:
            at, node, last = stack.pop()
            while node < last:
                behind = int(end[node])
                if before[behind] != before[node]:
                    after = step(at, bytes((byte[node],)))
                    if after is None:
                        verdicts[node:behind] = REFUSED
                        node = behind
                        continue
                    if self._judging.in_doubt(after):
                        verdicts[node] = DOUBTFUL
                    if behind > node + 1 and int(below[node]) & ~after.free:
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
            return None if at.names is None else group.judge(self._judging.lexicon, at.names, at.text)
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
        return self.words.clear if names is None else group.judge(self._judging.lexicon, names, b"")


def _second_chance(queue: deque[T], state_of: Callable[[T], State]) -> T:
    """Take the entry out of a queue whose state was not met for about the longest (the clock algorithm): one that was
    met goes to the end once."""
    while state_of(queue[0]).met:
        state_of(queue[0]).met = False
        queue.rotate(-1)
    return queue.popleft()


class Judgement(NamedTuple):
    """Rows of tokens: the refused ones, and those after which only the grammar knows whether the text goes on."""

    refused: Row
    doubtful: Row


class Group(NamedTuple):
    """Tokens that are the same bytes and then a word.

    Attributes:
        before: These bytes; the last one belongs to no word.
        is_digits: The words begin with a digit.
        words: (word, token id).
        mask: uint32[ceil(V / 32)]: the tokens.
        folded: Lexicon -> folded word -> token ids.
        verdicts: (names, begun text) -> the verdict on the tokens: those that begin no rest of a name are refused.
    """

    before: bytes
    is_digits: bool
    words: list[tuple[bytes, int]]
    mask: Row
    folded: dict[Lexicon, dict[bytes, list[int]]]
    verdicts: dict[tuple[Names, bytes], Judgement]

    def judge(self, lexicon: Lexicon, names: Names, begun: bytes) -> Judgement:
        """The verdict on the tokens, whose words go on with a name that begins with a text."""
        verdict = self.verdicts.get((names, begun))
        if verdict is None:
            if lexicon not in self.folded:
                table = self.folded[lexicon] = {}
                for word, token in self.words:
                    table.setdefault(lexicon.folded(NAME, word), []).append(token)
            table = self.folded[lexicon]
            refused, doubtful = self.mask.copy(), np.zeros_like(self.mask)
            text = lexicon.folded(NAME, begun)
            for rest in names.rests(text):
                for n in range(1, len(rest) + 1):
                    tokens = table.get(rest[:n], ())
                    clear_bits(refused, tokens)
                    if tokens and names.begins_keyword(text + rest[:n]):
                        set_bits(doubtful, tokens)
            for prefix in names.prefixes:
                self._clear_open(refused, table, text, prefix)
            if len(self.verdicts) >= MAX_ROWS:
                self.verdicts.clear()
            verdict = self.verdicts[names, begun] = Judgement(refused, doubtful)
        return verdict

    @staticmethod
    def _clear_open(verdict: Row, table: dict[bytes, list[int]], begun: bytes, prefix: bytes) -> None:
        """Clear the tokens after which a text begins with a prefix, or may become one."""
        if begun.startswith(prefix):
            verdict[:] = 0
        elif prefix.startswith(begun):
            rest = prefix[len(begun) :]
            for n in range(1, len(rest)):
                clear_bits(verdict, table.get(rest[:n], ()))
            for word in table:
                if word.startswith(rest):
                    clear_bits(verdict, table[word])


class Words(PerVocabulary):
    """The tokens of a vocabulary by their words.

    Attributes:
        size: The number of words of a row.
        none: A row without tokens.
        clear: The verdict that none is refused or doubtful.
        trie: The trie of the tokens.
        node: int32[32 size]: the node where a token ends; -1: it has no bytes.
        below: uint8[nodes]: the classes of the bytes beneath a node.
        groups: Tokens that end with a word, by the bytes before it, where these are many.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.size = -(-vocabulary.size // 32)
        self.none = np.zeros(self.size, np.uint32)
        self.clear = Judgement(self.none, self.none)
        self.trie = trie = vocabulary.trie
        self.node = trie.nodes_of_tokens(32 * self.size)
        self.below = _classes_below(trie, np.array(CLASSES, np.uint8))
        self._classes = np.zeros(32 * self.size, np.uint8)  # of all bytes of each token
        self._within: dict[int, Row] = {}
        table = bytes(CLASSES)
        by_start: dict[tuple[bytes, bool], list[tuple[bytes, int]]] = {}
        for token, text in enumerate(vocabulary.tokens):
            if not text:
                self._classes[token] = 0xFF
                continue
            classes = text.translate(table)
            self._classes[token] = sum(set(classes))  # different flags
            word = len(classes) - len(classes.rstrip(bytes((WORD,))))
            before = len(text) - word
            if word and WORD not in classes[:before]:
                is_digit = text[before] in _DIGITS
                by_start.setdefault((text[:before], is_digit), []).append((text[before:], token))
        self.groups = []
        for (before_word, is_digit), words in by_start.items():
            if len(words) >= GROUP:
                mask = self.row(np.array([token for _, token in words]))
                self.groups.append(Group(before_word, is_digit, words, mask, {}, {}))

    def bits(self, row: Row) -> NDArray[np.bool_]:
        """bool[32 size]: the tokens of a row."""
        return np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)

    def row(self, tokens: NDArray[np.int64]) -> Row:
        """uint32[ceil(V / 32)]: some tokens."""
        flags = np.zeros(32 * self.size, np.bool_)
        flags[tokens] = True
        return np.packbits(flags, bitorder="little").view(np.uint32)

    def tokens_within(self, classes: int) -> Row:
        """The tokens all of whose bytes are of some classes."""
        row = self._within.get(classes)
        if row is None:
            inside = (self._classes & ~np.uint8(classes)) == 0
            row = self._within[classes] = np.packbits(inside, bitorder="little").view(np.uint32)
        return row


def _classes_below(trie: Trie, classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8[nodes]: the classes of all bytes beneath each node. classes: of each byte."""
    beneath = np.zeros(len(trie), np.uint8)
    for depth in range(trie.max_depth, 1, -1):
        nodes, above = (np.flatnonzero(trie.depth == n) for n in (depth, depth - 1))
        parent = above[np.searchsorted(above, nodes) - 1]
        np.bitwise_or.at(beneath, parent, classes[trie.byte[nodes]] | beneath[nodes])
    return beneath


class Guards(PerVocabulary):
    """The guards of monitors of a vocabulary: equal constraints share their states and masks."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.known: dict[tuple[Monitor[Any], Empty], MonitorGuard] = {}

    @classmethod
    def guard(cls, monitor: Monitor[Any], empty: Empty, vocabulary: Vocabulary) -> MonitorGuard:
        """The guard of a monitor."""
        known = cls.of(vocabulary).known
        guard = known.get((monitor, empty))
        if guard is None:
            if len(known) >= MAX_GUARDS:
                known.clear()
            guard = known[monitor, empty] = MonitorGuard(monitor, empty, vocabulary)
        return guard
