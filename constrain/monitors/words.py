"""The tokens of a vocabulary by their words, so that all words that may begin a name are found at once.

The idea: most tokens are some bytes and then a word (` name`). A *group* has all with the same bytes before the word.
Words are numbered once for each language, and for each name its beginnings among them, so the words that may stand are
a union of lists for the names that may. Sets of names that differ by a binding share the lists.

The other tokens are read along the part of the vocabulary's trie that leads to them (`TriePart`).

Cost: 0.1 s for each language and 128,000 tokens; then 0.1 ms for a set of names and group. A part: 0.5 ms.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.languages.vocab.bits import Row, tokens_of
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.trie import Trie
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.monitors.monitor import CLASSES, NAME, WORD, Lexicon, Names

GROUP = 64  # words after the same bytes that are judged at once
MAX_WORDS = 64  # sets of names whose words are remembered
MAX_STRINGS = 1 << 16  # names whose beginnings are remembered
MAX_PARTS = 64  # parts of the trie that are remembered
DIGITS = frozenset(b"0123456789")


class Judgement(NamedTuple):
    """Rows of tokens: the refused ones, and those after which only the grammar knows whether the text goes on."""

    refused: Row
    doubtful: Row


class Group(NamedTuple):
    """Tokens that are the same bytes and then a word.

    Attributes:
        before: These bytes; the last one belongs to no word.
        is_digits: The words begin with a digit.
        words: The words.
        tokens: int32[words]: the token of each.
        mask: uint32[ceil(V / 32)]: the tokens.
        numbers: Lexicon -> int32[words]: the number of each word (`WordNumbers`).
        verdicts: (names, begun text) -> the verdict on the tokens: those that begin no rest of a name are refused.
    """

    before: bytes
    is_digits: bool
    words: list[bytes]
    tokens: NDArray[np.int32]
    mask: Row
    numbers: dict[Lexicon, NDArray[np.int32]]
    verdicts: dict[tuple[Names, bytes], Judgement]


class WordNumbers:
    """The words of a vocabulary's tokens, folded and numbered.

    Args:
        lexicon: Folds words.
        groups: All groups of tokens; they keep the numbers of their words.
    """

    def __init__(self, lexicon: Lexicon, groups: list[Group]) -> None:
        self._numbers: dict[bytes, int] = {}
        for group in groups:  # PERF: all words of a group at once, as bytes are folded one by one
            folded = lexicon.folded(NAME, b" ".join(group.words)).split(b" ")
            new = [word for word in dict.fromkeys(folded) if word not in self._numbers]
            self._numbers.update(zip(new, count(len(self._numbers))))
            group.numbers[lexicon] = np.fromiter(map(self._numbers.__getitem__, folded), np.int32, len(folded))
        self._beginning: dict[bytes, NDArray[np.int32]] = {}
        self._open: dict[bytes, NDArray[np.int32]] = {}
        self._known: dict[tuple[Names, bytes], tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    def of(self, names: Names, begun: bytes) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """bool[words] each: the words that go on with a name that begins with a text, and those of them that only
        keywords begin with."""
        known = self._known.get((names, begun))
        if known is None:
            certain = self._marks(names.rests(begun, certain=True), names.prefixes, begun)
            any_ = certain | self._marks(names.rests(begun), (), begun)
            if len(self._known) >= MAX_WORDS:
                self._known.clear()
            known = self._known[names, begun] = any_, any_ & ~certain
        return known

    def _marks(self, rests: list[bytes], prefixes: tuple[bytes, ...], begun: bytes) -> NDArray[np.bool_]:
        """bool[words]: the words that begin one of some rests, or become a name with one of some prefixes."""
        marks = np.zeros(len(self._numbers), np.bool_)
        if rests:
            marks[np.concatenate([self._beginnings(rest) for rest in rests])] = True
        for prefix in prefixes:
            if begun.startswith(prefix):
                marks[:] = True
            elif prefix.startswith(begun):
                marks[self._opening(prefix[len(begun) :])] = True
        return marks

    def _beginnings(self, rest: bytes) -> NDArray[np.int32]:
        """The numbers of the words that a text begins with."""
        found = self._beginning.get(rest)
        if found is None:
            if len(self._beginning) >= MAX_STRINGS:
                self._beginning.clear()
            numbers = (self._numbers.get(rest[:n], -1) for n in range(1, len(rest) + 1))
            found = self._beginning[rest] = np.array([number for number in numbers if number >= 0], np.int32)
        return found

    def _opening(self, rest: bytes) -> NDArray[np.int32]:
        """The numbers of the words that a text begins with, or that begin with it."""
        found = self._open.get(rest)
        if found is None:
            numbers = [number for word, number in self._numbers.items() if word.startswith(rest)]
            found = self._open[rest] = np.concatenate([self._beginnings(rest), np.array(numbers, np.int32)])
        return found


class TriePart(NamedTuple):
    """The nodes of a vocabulary's trie where some tokens end, and those before them, depth first.

    Attributes:
        byte: The byte of each node.
        end: The index after a node's subtree.
        below: The classes of the bytes beneath a node in the whole trie.
        tokens: The tokens.
        place: The index of the node where each token ends.
    """

    byte: list[int]
    end: list[int]
    below: list[int]
    tokens: NDArray[np.int64]
    place: NDArray[np.int64]


class Words(PerVocabulary):
    """The tokens of a vocabulary by their words.

    Attributes:
        size: The number of words of a row.
        none: A row without tokens.
        clear: The verdict that none is refused or doubtful.
        tokens: The bytes of each token.
        groups: Tokens that end with a word, by the bytes before it, where these are many.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.size = -(-vocabulary.size // 32)
        self.tokens = vocabulary.tokens
        self.none = np.zeros(self.size, np.uint32)
        self.clear = Judgement(self.none, self.none)
        self._trie = trie = vocabulary.trie
        self._node = trie.nodes_of_tokens(32 * self.size)
        self._parent = _parents(trie)
        self._below = _classes_below(trie, self._parent, np.array(CLASSES, np.uint8))
        self._parts: dict[bytes, TriePart] = {}
        self._numbered: dict[Lexicon, WordNumbers] = {}
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
                is_digit = text[before] in DIGITS
                by_start.setdefault((text[:before], is_digit), []).append((text[before:], token))
        self.groups = []
        for (before_word, is_digit), words in by_start.items():
            if len(words) >= GROUP:
                texts, tokens = [word for word, _ in words], np.array([token for _, token in words], np.int32)
                self.groups.append(Group(before_word, is_digit, texts, tokens, self.row(tokens), {}, {}))

    def numbered(self, lexicon: Lexicon) -> WordNumbers:
        """The words as a language folds them, with numbers."""
        numbered = self._numbered.get(lexicon)
        if numbered is None:
            numbered = self._numbered[lexicon] = WordNumbers(lexicon, self.groups)
        return numbered

    def part(self, row: Row) -> TriePart:
        """The part of the trie with some tokens. Remembered: many places ask for the same ones."""
        key = row.tobytes()
        part = self._parts.get(key)
        if part is None:
            if len(self._parts) >= MAX_PARTS:
                self._parts.clear()
            part = self._parts[key] = self._make_part(row)
        return part

    def _make_part(self, row: Row) -> TriePart:
        tokens = tokens_of(row)
        asked = self._node[tokens]
        tokens, asked = tokens[asked >= 0], asked[asked >= 0]
        marks, new = np.zeros(len(self._trie), np.bool_), asked
        while len(new):
            marks[new] = True
            new = self._parent[new]
            new = new[new >= 0]
            new = new[~marks[new]]
        nodes = np.flatnonzero(marks)
        return TriePart(
            self._trie.byte[nodes].tolist(),
            np.searchsorted(nodes, self._trie.end[nodes]).tolist(),
            self._below[nodes].tolist(),
            tokens,
            np.searchsorted(nodes, asked),
        )

    def verdict(self, group: Group, lexicon: Lexicon, names: Names, begun: bytes) -> Judgement:
        """The verdict on the tokens of a group, whose words go on with a name that begins with a text."""
        verdict = group.verdicts.get((names, begun))
        if verdict is None:
            allowed, doubtful = self.numbered(lexicon).of(names, lexicon.folded(NAME, begun))
            number = group.numbers[lexicon]
            if len(group.verdicts) >= MAX_WORDS:
                group.verdicts.clear()
            refused = group.mask & ~self.row(group.tokens[allowed[number]])  # PERF: few are allowed
            verdict = Judgement(refused, self.row(group.tokens[doubtful[number]]))
            group.verdicts[names, begun] = verdict
        return verdict

    def row(self, tokens: NDArray[np.integer]) -> Row:
        """uint32[ceil(V / 32)]: some tokens."""
        row = np.zeros(self.size, np.uint32)
        np.bitwise_or.at(row, tokens >> 5, np.uint32(1) << (tokens & 31).astype(np.uint32))
        return row

    def tokens_within(self, classes: int) -> Row:
        """The tokens all of whose bytes are of some classes."""
        row = self._within.get(classes)
        if row is None:
            inside = (self._classes & ~np.uint8(classes)) == 0
            row = self._within[classes] = np.packbits(inside, bitorder="little").view(np.uint32)
        return row


def _parents(trie: Trie) -> NDArray[np.int32]:
    """int32[nodes]: the node above each; -1: none is."""
    parents = np.full(len(trie), -1, np.int32)
    for depth in range(trie.max_depth, 1, -1):
        nodes, above = (np.flatnonzero(trie.depth == n) for n in (depth, depth - 1))
        parents[nodes] = above[np.searchsorted(above, nodes) - 1]
    return parents


def _classes_below(trie: Trie, parents: NDArray[np.int32], classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8[nodes]: the classes of all bytes beneath each node. classes: of each byte."""
    beneath = np.zeros(len(trie), np.uint8)
    for depth in range(trie.max_depth, 1, -1):
        nodes = np.flatnonzero(trie.depth == depth)
        np.bitwise_or.at(beneath, parents[nodes], classes[trie.byte[nodes]] | beneath[nodes])
    return beneath
