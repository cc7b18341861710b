"""VocabularyLayout: a vocabulary as arenas have it: tries, token bytes and slices (kernels/records/vocabulary.py)."""

from __future__ import annotations

import numpy as np

from constrain import kernels
from constrain.kernels.masks import fill
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.expressions import FIRST_SLICE
from constrain.kernels.records.vocabulary import NODE, SEQUENCE, SLICE, SLICE_POINTERS
from constrain.languages.automata.digits import Sequence as Digits
from constrain.languages.automata.lower import spelled, utf8_sequences
from constrain.languages.automata.marks import mark_ranges
from constrain.languages.automata.memory import Int32
from constrain.languages.automata.store import Alphabet, Store
from constrain.languages.automata.syntax import Ranges, Tokens
from constrain.languages.vocab.joined import JoinedTokens
from constrain.languages.vocab.marked import Marked, Spans
from constrain.languages.vocab.slices import Slice
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.trie import Trie
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import limits_at, look


class VocabularyLayout(PerVocabulary, Alphabet):
    """The tables of a vocabulary, to be copied into an arena at any address; the alphabet of the store in that arena.

    Cost: about 0.1 s and 10 MB for 128k tokens.

    Attributes:
        vocabulary: What the trie has; marked if constraints may mention tokens.
        eos_ids: The tokens that end a text.
        size: The number of tokens that matchers know.
        offset: Token t may also be read as `offset + t`, with its mark; 0: no token may (tokenwise.py).
        spans: The ids of the sets of tokens that constraints mention.
        words: int32[n], the tables.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.eos_ids = vocabulary.eos_ids
        self.size = vocabulary.width if isinstance(vocabulary, Marked) else vocabulary.size
        self.offset = vocabulary.offset if isinstance(vocabulary, Marked) else 0
        self.spans: dict[Tokens, Spans] = {}
        self._slices = [whole_class(piece) for piece in vocabulary.slices]
        self._header: dict[int, int] = {}  # header word -> offset of its table
        self._pointers: list[int] = []  # offsets of words that contain offsets, to be relocated
        with limits_at(lambda: f"the vocabulary of {self.size} tokens"):
            self.words = self._lay_out()

    def _lay_out(self) -> Int32:
        """Lay the tables of the arena out in the image."""
        kernels.load()
        look()
        vocabulary = self.vocabulary
        trie = vocabulary.trie
        joined = JoinedTokens.of(vocabulary)
        next_same = np.full(vocabulary.size, -1, np.int32)
        next_same[: len(trie.next_same)] = trie.next_same
        tables = {
            HEADER.TRIE: _nodes(trie),
            HEADER.NEXT_SAME: next_same,
            HEADER.TOKEN_AT: joined.starts,
            HEADER.TOKEN_BYTES: np.pad(joined.text, (0, -len(joined.text) % 4)).view("<i4").astype(np.int32),
            HEADER.SEEN: np.zeros(vocabulary.size, np.int32),
            HEADER.NODE_SEEN: np.zeros(len(trie), np.int32),
            HEADER.EOS: np.array(vocabulary.eos_ids, np.int32),
            HEADER.SLICES: np.zeros(SLICE.WORDS * len(vocabulary.slices), np.int32),
        }
        at = 0
        for word, table in tables.items():
            self._header[word] = at
            at += table.size
        parts = list(tables.values())
        for j, piece in enumerate(vocabulary.slices):
            look()
            words, block = _slice(tables[HEADER.TRIE], piece, at, vocabulary)
            tables[HEADER.SLICES][SLICE.WORDS * j : SLICE.WORDS * (j + 1)] = words
            start = self._header[HEADER.SLICES] + SLICE.WORDS * j
            self._pointers += [start + word for word in SLICE_POINTERS]
            parts.append(block)
            at += block.size
        look()
        return np.concatenate(parts)

    def copy_into(self, store: Store) -> None:
        """Write the tables into an empty arena."""
        memory, trie = store.memory, self.vocabulary.trie
        base = memory.region(self.words)
        for word, offset in self._header.items():
            memory.A[word] = base + offset
        for word in self._pointers:
            memory.A[base + word] += base
        memory.A[HEADER.N_NODES], memory.A[HEADER.DEPTH] = len(trie), trie.max_depth
        memory.A[HEADER.N_TOKENS], memory.A[HEADER.N_EOS] = self.vocabulary.size, len(self.eos_ids)
        memory.A[HEADER.N_SLICES] = len(self._slices)
        memory.A[HEADER.SPELLED] = memory.region(spelled(store))

    def mention(self, spans: dict[Tokens, Spans]) -> None:
        """Note which tokens the sets of a constraint are, before its grammar is read."""
        self.spans |= spans

    def marks(self, node: Tokens) -> tuple[Digits, ...]:
        """The sequences of byte ranges that stand for the tokens of a set."""
        return mark_ranges(self.spans[node])

    def covered_slices(self, ranges: Ranges) -> int:
        """The flags of the slices whose characters are all in the ranges."""
        flags = 0
        for j, characters in enumerate(self._slices):
            if all(any(a <= low and high <= b for a, b in ranges) for low, high in characters):
                flags |= 1 << (FIRST_SLICE + j)
        return flags


def _nodes(trie: Trie) -> Int32:
    """int32[3 n]: the nodes of a trie."""
    nodes = np.empty((len(trie), NODE.WORDS), np.int32)
    nodes[:, NODE.BYTE_AND_DEPTH] = trie.byte.astype(np.int32) | trie.depth << 8
    nodes[:, NODE.END] = trie.end
    nodes[:, NODE.TOKEN] = trie.token
    return nodes.ravel()


def _slice(whole: Int32, piece: Slice, at: int, vocabulary: Vocabulary) -> tuple[Int32, Int32]:
    """(SLICE words, tables) of a slice whose tables begin at offset `at`."""
    rest = _nodes(piece.rest)
    main = np.zeros(len(piece.rest), np.int32)
    fill.align_trie(whole, rest, np.zeros(piece.rest.max_depth + 2, np.int32), main)
    rows = np.ascontiguousarray(piece.tokens_by_length).view(np.int32)
    sequences = [_sequence(ranges) for low, high in piece.ranges for ranges in utf8_sequences(low, high)]
    tables = [rest, main, rows.ravel(), np.array(sequences, np.int32).ravel()]
    starts = at + np.cumsum([0, *(table.size for table in tables)])
    out = np.zeros(SLICE.WORDS, np.int32)
    out[list(SLICE_POINTERS)] = starts[:4]
    out[SLICE.N_NODES], out[SLICE.LONGEST] = len(piece.rest), piece.longest
    out[SLICE.N_SEQUENCES], out[SLICE.SPACED] = len(sequences), piece.spaced
    members = _bytes_of(whole_class(piece))
    out[SLICE.BYTES : SLICE.BYTES + members.size] = members
    return out, np.concatenate(tables)


def whole_class(piece: Slice) -> Ranges:
    """The characters of a slice's tokens, not sorted."""
    return (*piece.ranges, (0x20, 0x20)) if piece.spaced else piece.ranges


def _sequence(ranges: tuple[tuple[int, int], ...]) -> list[int]:
    """The padded words of a sequence of byte ranges."""
    words = [len(ranges), *(end for pair in ranges for end in pair)]
    return words + [0] * (SEQUENCE.WORDS - len(words))


def _bytes_of(ranges: Ranges) -> Int32:
    """int32[8]: the set of bytes in the UTF-8 of some characters; beyond ASCII a superset."""
    members = np.zeros(256, np.bool_)
    for low, high in ranges:
        members[low : min(high, 127) + 1] = True
        members[128:] |= high > 127
    return np.packbits(members, bitorder="little").view(np.int32)
