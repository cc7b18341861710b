"""Records of masks under the dynamic lexer: token tables of lexer states. Owner: masks/dynamic/.

A *token table* says what every token does with the lexeme in progress, whichever parser state waits. A token is
*context-independent* if it stays inside the lexeme. The others are *context-dependent*: the lexeme ends at a node of
their path in the trie. Blocks list these nodes, by the set of terminals as which the lexeme ends.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.expressions import EXPRESSION
from constrain.kernels.records.masks import TOKENS
from constrain.kernels.records.schema import Region, word, words


class PIECES(Region):
    """The token tables of a lexer state: each token belongs to one of them, by its first byte."""

    COUNT = word("how many")
    PAIRS = words(0, "PIECE words for each")


class PIECE(Region):
    """A token table of a lexer state."""

    TABLE = word("the TABLE region")
    OWN = word("the TAGSET that OWN stands for in its blocks, or 0")


class TABLE(Region, size=5):
    """A token table: its first words are the TOKENS that are context-independent."""

    TOKENS = words(TOKENS.WORDS, "the context-independent tokens")
    BLOCKS = word("where the blocks begin, a BLOCK each")
    N_BLOCKS = word("how many")


class BLOCK(Region):
    """Where a lexeme ends as one set of terminals."""

    TAGSET = word("the set; OWN: that of the only terminal of the lexer state")
    ENDS = word("region: nodes where a token ends with the lexeme")
    N_ENDS = word("how many")
    SURVIVORS = words(8, "the bytes with which a lexeme that may end goes on all the same")
    RUNS = word("the exits by byte, an EXIT_RUN each")
    N_RUNS = word("how many")


class EXIT_RUN(Region):
    """Exits with one byte: nodes whose byte the lexeme does not take, so that the next lexeme begins with it."""

    BYTE = word("the byte")
    COUNT = word("number of nodes")
    NODES = word("where they are")


class FINDING(Region):
    """A row that a walk pushes; sorted by number, and then by byte, the rows make the blocks."""

    NUMBER = word("number of the tagset in this walk")
    BYTE = word("the byte of an exit; or IS_TAGSET, IS_END, IS_TOKEN")
    NODE = word("the exit; or the tagset; or the node where a token ends; or the token")


IS_TOKEN, IS_TAGSET, IS_END = -3, -2, -1  # instead of a byte; in the order in which rows of a number are sorted


class WALKED(Region):
    """State of a walk at a depth of the trie: the lexer state after the bytes so far."""

    STATE = word("the lexer state, or the untagged expression")
    TAGSET = word("the terminals that may end there")


class COMPARED(Region):
    """State of a walk of two lexer states at a depth of the trie."""

    STATE = word("the lexer state whose table is made")
    KNOWN = word("the one whose table is known")
    TAGSET = word("the terminals that may end in the first")


MARK_EXIT, MARK_ALL = 1, 3  # added to `serial_mark`: the known table's exit at the node no longer counts; nor its end


class FRAME(Region):
    """Where a token stands that is cut into lexemes in one way, at a depth of the trie."""

    PARSER = word("parser state before the lexeme in progress")
    LEXER = word("its lexer state")
    NEXT = word("parser state behind the lexeme if it may end here, else 0")
    NEXT_LEXER = word("its lexer state")


@accessor
def pieces_of(A, lexer):
    """The PIECES of a lexer state, or 0."""
    return np.int64(A[lexer + EXPRESSION.TABLE])


@accessor
def table_of_expression(A, e):
    """The TABLE of an untagged expression, or 0."""
    return np.int64(A[e + EXPRESSION.TABLE])


@accessor
def first_piece(pieces):
    """The first piece."""
    return pieces + PIECES.PAIRS


@accessor
def piece_count(A, pieces):
    """How many token tables a lexer state has."""
    return np.int64(A[pieces + PIECES.COUNT])


@accessor
def pieces_start(pieces):
    """Where they begin, PIECE words each."""
    return pieces + PIECES.PAIRS


@accessor
def pieces_end(A, pieces):
    """Where they end."""
    return pieces + PIECES.PAIRS + PIECE.WORDS * np.int64(A[pieces + PIECES.COUNT])


@accessor
def piece_table(A, piece):
    """The token table of a piece."""
    return np.int64(A[piece + PIECE.TABLE])


@accessor
def piece_own(A, piece):
    """The tagset that OWN stands for in a piece."""
    return np.int64(A[piece + PIECE.OWN])


@accessor
def block_at(A, table, n):
    """The block with number n of a token table."""
    return np.int64(A[table + TABLE.BLOCKS]) + BLOCK.WORDS * n


@accessor
def block_count(A, table):
    """Number of blocks of a token table."""
    return np.int64(A[table + TABLE.N_BLOCKS])


@accessor
def ends_start(A, block):
    """Where the nodes begin at which a token ends with the lexeme."""
    return np.int64(A[block + BLOCK.ENDS])


@accessor
def ends_end(A, block):
    """Where they end."""
    return np.int64(A[block + BLOCK.ENDS]) + A[block + BLOCK.N_ENDS]


@accessor
def runs_start(A, block):
    """Where the exits of a block begin, an EXIT_RUN for each byte."""
    return np.int64(A[block + BLOCK.RUNS])


@accessor
def runs_end(A, block):
    """Where they end."""
    return np.int64(A[block + BLOCK.RUNS]) + EXIT_RUN.WORDS * np.int64(A[block + BLOCK.N_RUNS])


@accessor
def run_byte(A, run):
    """The byte of exits."""
    return np.int64(A[run + EXIT_RUN.BYTE])


@accessor
def run_start(A, run):
    """Where the nodes of exits with one byte begin."""
    return np.int64(A[run + EXIT_RUN.NODES])


@accessor
def run_end(A, run):
    """Where they end."""
    return np.int64(A[run + EXIT_RUN.NODES]) + A[run + EXIT_RUN.COUNT]


@accessor
def survivor_word(A, block, w):
    """Word w of the set of survivors of a block."""
    return A[block + BLOCK.SURVIVORS + w]
