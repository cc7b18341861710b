"""VocabularyLayout: a vocabulary as the arena has it: its tables, the marks of its tokens, its slices."""

from __future__ import annotations

from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.expressions import FIRST_SLICE
from constrain.languages.automata.digits import Sequence as Digits
from constrain.languages.automata.lower import spelled
from constrain.languages.automata.marks import mark_ranges
from constrain.languages.automata.store import Store
from constrain.languages.automata.syntax import Ranges, Tokens
from constrain.languages.vocab.marked import Marked, Spans
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.arena_image import arena_image, whole_class


class VocabularyLayout:
    """The tables of a vocabulary, for arenas; the `Alphabet` of the store in that arena.

    Attributes:
        vocabulary: What the trie has; marked if constraints may mention tokens.
        eos_ids: The tokens that end a text.
        size: The number of tokens that matchers know.
        offset: Token t may also be read as `offset + t`, with its mark; 0: no token may (tokenwise.py).
        spans: The ids of the sets of tokens that constraints mention.
        words: The size of the tables.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.eos_ids = vocabulary.eos_ids
        self.size = vocabulary.width if isinstance(vocabulary, Marked) else vocabulary.size
        self.offset = vocabulary.offset if isinstance(vocabulary, Marked) else 0
        self.spans: dict[Tokens, Spans] = {}
        self._slices = [whole_class(piece) for piece in vocabulary.slices]
        self._image = arena_image(vocabulary)
        self.words: int = self._image.words.size

    def copy_into(self, store: Store) -> None:
        """Write the tables into an empty arena."""
        memory, image = store.memory, self._image
        base = memory.region(image.words)
        for word, offset in image.header.items():
            memory.A[word] = base + offset
        for word in image.pointers:
            memory.A[base + word] += base
        memory.A[HEADER.N_NODES], memory.A[HEADER.DEPTH] = image.nodes, image.depth
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
