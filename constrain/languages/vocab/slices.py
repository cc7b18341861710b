"""Slices of a vocabulary: ready masks of the tokens made only of characters of one class, by length.

The idea (llguidance's slicer): inside a string or an identifier nearly every token stays inside, so nearly the whole
trie would be walked. Instead the automaton is asked once for how many characters n of the class it stays inside,
whichever characters they are. One mask then admits all tokens of the slice with at most n characters, and only `rest`,
the trie of the other tokens, is walked. A state that counts (`maxLength`, `{1,40}`) answers with its own n, so counters
cost no more than `*`.

A token belongs to a slice if its bytes are UTF-8, it has at most 32 characters, and each of them is in the class. (The
few longer tokens are runs of spaces and dashes, and share most of their nodes.) A token with an incomplete character is
in no slice. Tokens of the word slices (SPACED) may begin with a space, though a space is not in the class: where a
pattern counts words, a space leads to another state than a letter.

Cost: about 0.15 s for the slices of 131,000 tokens; a slice of that size takes 33 masks of 16 KiB and a trie.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constrain.languages.automata.syntax import MAX_CODE_POINT, SURROGATES, Ranges
from constrain.languages.vocab.trie import Ints, SortedTokens, Trie

Masks = NDArray[np.uint32]

MAX_LENGTH = 32  # characters of a token in a slice

JSON_PLAIN: Ranges = (  # without the line separators U+2028 and U+2029, which `.` of ECMA-262 excludes
    (0x20, 0x21),
    (0x23, 0x5B),
    (0x5D, 0x2027),
    (0x202A, SURROGATES[0] - 1),
    (SURROGATES[1] + 1, MAX_CODE_POINT),
)
NO_SPACE: Ranges = (  # JSON_PLAIN without white space (ECMA-262 section 22.2.2.9, and U+0085, which Unicode adds)
    (0x21, 0x21),
    (0x23, 0x5B),
    (0x5D, 0x84),
    (0x86, 0x9F),
    (0xA1, 0x167F),
    (0x1681, 0x1FFF),
    (0x200B, 0x2027),
    (0x202A, 0x202E),
    (0x2030, 0x205E),
    (0x2060, 0x2FFF),
    (0x3001, SURROGATES[0] - 1),
    (SURROGATES[1] + 1, 0xFEFE),
    (0xFF00, MAX_CODE_POINT),
)
LETTERS: Ranges = ((0x41, 0x5A), (0x61, 0x7A))
# PERF: trie nodes walked in a state that loops on a class: whole trie -> rest of the first slice that the state admits
# (Llama-3, 274,520 nodes; `pytest -k slices_pay -s`). This table is the reason for the classes:
# digits (1,356 nodes in the whole trie) and capitals (5,759) are too few for a slice.
#   [^"\\\x00-\x1F]  267,656 ->  5,149     \w            70,814 -> 1,105     [a-z]       31,286 -> 2,321
#   [ -~]            206,822 ->  6,613     [A-Za-z0-9]   59,312 -> 2,157     [a-z0-9-]   36,355 -> 7,390
#   [A-Za-z0-9_ ]    164,581 -> 16,185
CLASSES: tuple[tuple[str, Ranges], ...] = (  # the most tokens first
    ("json_plain", JSON_PLAIN),  # characters that need no escape in a JSON string (RFC 8259, section 7), on one line
    ("ascii_plain", ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E))),  # the printable ASCII characters among them
    ("words", NO_SPACE),
    ("letters_and_space", ((0x20, 0x20), *LETTERS)),
    ("letter_words", LETTERS),
    ("path", ((0x2D, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0x7E, 0x7E))),  # in the paths of URIs
    ("word", ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))),
    ("letters", LETTERS),
    ("lower", ((0x61, 0x7A),)),
)
SPACED = ("words", "letter_words")  # slices whose tokens may begin with a space that is not in their class


@dataclass(frozen=True, eq=False)
class Slice:
    """The tokens of a vocabulary that are made of one character class.

    Attributes:
        name: For messages.
        ranges: The class, as inclusive code point ranges.
        longest: The number of characters of the longest token in the slice; 0 if the slice is empty.
        tokens_by_length: uint32[longest + 1, W]; row k is the mask of the tokens with at most k characters.
        rest: The trie of all other tokens.
    """

    name: str
    ranges: Ranges
    longest: int
    tokens_by_length: Masks
    rest: Trie

    @property
    def spaced(self) -> bool:
        """True if tokens may begin with one space that is not in the class."""
        return self.name in SPACED

    def __repr__(self) -> str:
        return f"Slice({self.name!r}, longest={self.longest}, rest={self.rest!r})"


def slices_of(tokens: SortedTokens, whole: Trie, classes: Sequence[tuple[str, Ranges]] = CLASSES) -> tuple[Slice, ...]:
    """The slices of a vocabulary, in the order of the classes.

    tokens: all tokens with bytes. whole: their trie, for the links between tokens with equal bytes.
    """
    characters = Characters.of(tokens)
    return tuple(_slice(name, ranges, tokens, characters, whole) for name, ranges in classes)


def _slice(name: str, ranges: Ranges, tokens: SortedTokens, characters: Characters, whole: Trie) -> Slice:
    inside = characters.all_in(ranges, name in SPACED) & (characters.count <= MAX_LENGTH)
    masks = masks_by_length(tokens.ids[inside], characters.count[inside], len(whole.next_same))
    longest = int(characters.count[inside].max(initial=0))
    return Slice(name, ranges, longest, masks, tokens.where(~inside).trie(whole.next_same))


@dataclass(frozen=True, eq=False)
class Characters:
    """The characters of each token.

    Attributes:
        code_points: uint32[m], the code points of all tokens that are UTF-8, concatenated.
        start: int64[T], the index of the first code point of token k.
        count: int64[T], the number of characters of token k; 0 if its bytes are not UTF-8.
    """

    code_points: NDArray[np.uint32]
    start: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, tokens: SortedTokens) -> Characters:
        data = tokens.text.tobytes()
        bounds = tokens.start.tolist()
        texts = [_decoded(data[low:high]) for low, high in itertools.pairwise(bounds)]
        count = np.fromiter(map(len, texts), np.int64, len(texts))
        code_points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
        return cls(code_points, np.cumsum(count) - count, count)

    def all_in(self, ranges: Ranges, spaced: bool = False) -> NDArray[np.bool_]:
        """bool[T]: whether the token is UTF-8 and all its characters are in the class.

        spaced: a space at its beginning is allowed too.
        """
        edges = np.array([edge for low, high in ranges for edge in (low, high + 1)], np.uint32)
        member = np.searchsorted(edges, self.code_points, side="right") % 2 == 1
        if spaced:
            first = self.start[self.count > 0]
            member[first] |= self.code_points[first] == 0x20
        members = np.concatenate([[0], np.cumsum(member)])
        return (self.count > 0) & (members[self.start + self.count] - members[self.start] == self.count)


def _decoded(token: bytes) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:  # an incomplete character, or bytes that are no text
        return ""


def masks_by_length(ids: Ints, lengths: NDArray[np.int64], size: int) -> Masks:
    """uint32[longest + 1, ceil(size / 32)]: row k is the mask of the ids with length at most k."""
    masks = np.zeros((int(lengths.max(initial=0)) + 1, -(-size // 32)), np.uint32)
    bit = np.uint32(1) << (ids & 31).astype(np.uint32)
    np.bitwise_or.at(masks, (lengths, ids >> 5), bit)
    np.bitwise_or.accumulate(masks, axis=0, out=masks)
    masks.flags.writeable = False
    return masks
