"""The vocabulary in the arena: the trie, the bytes of tokens, and slices. Owner: engine/arena_image.py."""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.schema import Record, Region, key, memo, row_reader, word, words


class NODE(Region):
    """A node of a trie, in preorder: the children of node i begin at i + 1, and its subtree ends at its END."""

    BYTE_AND_DEPTH = word("the byte that leads to it, and its depth << 8; children of the root have depth 1")
    END = word("the first node behind its subtree")
    TOKEN = word("the first token that ends here, or -1; `next_same` has the others")


class SLICE(Region, size=16):
    """Tokens made of one class of characters, by length, and the trie of all other tokens (vocab/slices.py)."""

    NODES = word("the trie of the other tokens")
    N_NODES = word("number of its nodes")
    MAIN = word("region: the number of each of its nodes in the whole trie")
    LONGEST = word("characters of the longest token of the slice")
    ROWS = word("LONGEST + 1 bitmaps: row r has the tokens of at most r characters")
    SEQUENCES = word("the UTF-8 of the class, a SEQUENCE each")
    N_SEQUENCES = word("how many of them")
    SPACED = word("1 if tokens may begin with one space more")
    BYTES = words(8, "the bytes that occur in characters of the class")


class SEQUENCE(Region):
    """Characters of a class whose bytes are ranges."""

    LENGTH = word("number of bytes")
    RANGES = words(8, "for each byte the lowest and the highest")


class UNIFORM(Record, kind=19):
    """A lexer state before any characters of a slice. Owner: masks/common/slices.py."""

    LEXER = key("the state")
    SLICE = key("number of the slice")
    TARGET = memo("the one successor by every character; NONE: none may come; 1: it depends on the character")
    CLOSED = memo("1 no, 2 yes: any number of characters lead on")


DEPENDS = 1  # UNIFORM.TARGET where the successor depends on the character
SLICE_POINTERS = (SLICE.NODES, SLICE.MAIN, SLICE.ROWS, SLICE.SEQUENCES)


@accessor
def trie_of(A):
    """The trie of all tokens."""
    return np.int64(A[HEADER.TRIE])


node_word = row_reader(NODE.BYTE_AND_DEPTH, NODE.WORDS)


@accessor
def word_byte(word):
    """The byte that leads to a node."""
    return word & 255


@accessor
def word_depth(word):
    """The depth of a node."""
    return word >> 8


@accessor
def node_byte(A, trie, i):
    """The byte that leads to a node."""
    return np.int64(A[trie + NODE.WORDS * i + NODE.BYTE_AND_DEPTH] & 255)


@accessor
def node_depth(A, trie, i):
    """The depth of a node; children of the root have depth 1."""
    return np.int64(A[trie + NODE.WORDS * i + NODE.BYTE_AND_DEPTH] >> 8)


node_end = row_reader(NODE.END, NODE.WORDS)
node_token = row_reader(NODE.TOKEN, NODE.WORDS)


@accessor
def token_end(A, token):
    """The index behind the last byte of a token."""
    return np.int64(A[A[HEADER.TOKEN_AT] + token + 1])


@accessor
def token_byte(A, at):
    """A byte of the text of all tokens."""
    return (A[A[HEADER.TOKEN_BYTES] + (at >> 2)] >> ((at & 3) << 3)) & 255


@accessor
def eos_start(A):
    """The index of the first end-of-sequence token."""
    return np.int64(A[HEADER.EOS])


@accessor
def eos_end(A):
    """The index behind the last end-of-sequence token."""
    return np.int64(A[HEADER.EOS]) + A[HEADER.N_EOS]


@accessor
def mask_words(A):
    """Number of words of a bitmap of tokens."""
    return np.int64((A[HEADER.N_TOKENS] + 31) >> 5)


@accessor
def set_bit(S, bitmap, token):
    """Set the bit of a token."""
    S[bitmap + (token >> 5)] |= np.int32(np.uint32(1) << np.uint32(token & 31))


@accessor
def clear_bit(S, bitmap, token):
    """Clear the bit of a token."""
    S[bitmap + (token >> 5)] &= ~np.int32(np.uint32(1) << np.uint32(token & 31))


@accessor
def has_bit(S, bitmap, token):
    """1 if the bit of a token is set."""
    return (S[bitmap + (token >> 5)] >> (token & 31)) & 1


@accessor
def serial_mark(A):
    """The mark of the present walk in HEADER.NODE_SEEN, whose two lowest bits say more."""
    return (np.int64(A[HEADER.SERIAL]) & 0xFFFFFFF) * 4


@accessor
def mark_node(A, i, mark):
    """Mark a node."""
    A[A[HEADER.NODE_SEEN] + i] = mark


@accessor
def slice_at(A, j):
    """The SLICE with number j."""
    return np.int64(A[HEADER.SLICES]) + SLICE.WORDS * j


@accessor
def sequence_at(A, piece, q):
    """The SEQUENCE with number q of a slice."""
    return np.int64(A[piece + SLICE.SEQUENCES]) + SEQUENCE.WORDS * q


@accessor
def lowest_byte(A, sequence, k):
    """The lowest k-th byte of the characters of a SEQUENCE."""
    return np.int64(A[sequence + SEQUENCE.RANGES + 2 * k])


@accessor
def highest_byte(A, sequence, k):
    """The highest k-th byte of the characters of a SEQUENCE."""
    return np.int64(A[sequence + SEQUENCE.RANGES + 2 * k + 1])
