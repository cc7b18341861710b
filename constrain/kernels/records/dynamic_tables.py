"""Records of masks under the dynamic lexer: token tables of lexer states (TABLE, masks.py). Owner: masks/dynamic/.

A token is *context-independent* if it stays inside the lexeme. The others are *context-dependent*: the lexeme ends at a
node of their path in the trie.
"""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.masks import BLOCK, TABLE
from constrain.kernels.records.schema import Region, end_reader, word, words


class PIECES(Region):
    """The token tables of a lexer state: each token belongs to one of them, by its first byte."""

    COUNT = word("how many")
    PAIRS = words(0, "PIECE words for each")


class PIECE(Region):
    """A token table of a lexer state."""

    TABLE = word("the TABLE region")
    OWN = word("the TAGSET that OWN stands for in its blocks, or 0")


class DYNAMIC_BLOCK(BLOCK):
    """A block, and where the next lexeme may begin."""

    SURVIVORS = words(8, "the bytes with which a lexeme that may end goes on all the same")
    RUNS = word("the exits by byte, an EXIT_RUN each")
    N_RUNS = word("how many")


class EXIT_RUN(Region):
    """Exits with one byte: nodes whose byte the lexeme does not take, so that the next lexeme begins with it."""

    BYTE = word("the byte")
    COUNT = word("number of nodes")
    NODES = word("where they are")


IS_TOKEN, IS_TAGSET, IS_END = -3, -2, -1  # keys of findings that are no bytes, in the order in which rows are sorted


class WALKED(Region):
    """State of a walk at a depth of the trie: the lexer state after the bytes so far."""

    STATE = word("the lexer state, or the untagged expression")
    TAGSET = word("the terminals that may end there")


class COMPARED(Region):
    """State of a walk of two lexer states at a depth of the trie."""

    STATE = word("the lexer state whose table is made")
    KNOWN = word("the one whose table is known")
    TAGSET = word("the terminals that may end in the first")


class FRAME(Region):
    """The states of a token that is cut into lexemes in one way, at a depth of the trie."""

    PARSER = word("parser state before the lexeme in progress")
    LEXER = word("its lexer state")
    NEXT = word("parser state behind the lexeme if it may end here, else 0")
    NEXT_LEXER = word("its lexer state")


@accessor
def pieces_start(pieces):
    """The index of the first of the pieces, PIECE words each."""
    return pieces + PIECES.PAIRS


@accessor
def pieces_end(A, pieces):
    """The index behind the last of the pieces."""
    return pieces + PIECES.PAIRS + PIECE.WORDS * np.int64(A[pieces + PIECES.COUNT])


@accessor
def block_at(A, table, n):
    """The block with number n of a token table."""
    return np.int64(A[table + TABLE.BLOCKS]) + DYNAMIC_BLOCK.WORDS * n


runs_end = end_reader(DYNAMIC_BLOCK.RUNS, DYNAMIC_BLOCK.N_RUNS, EXIT_RUN.WORDS)
run_end = end_reader(EXIT_RUN.NODES, EXIT_RUN.COUNT)


@accessor
def survivor_word(A, block, w):
    """Word w of the set of survivors of a block."""
    return A[block + DYNAMIC_BLOCK.SURVIVORS + w]
