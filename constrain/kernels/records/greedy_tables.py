"""Records of masks under the greedy lexer: token tables of lists of lexer states. Owner: masks/greedy/.

A token table (TABLE, masks.py) says what tokens do as long as the lexemes in progress are the same. Four things are
left for the parser, by node: *ends* (a token ends with the lexeme), *restarts* (the lexeme has ended and cannot go on,
so that the next one begins below), *exits* (the next lexeme begins with the node's byte) and *forks* (it may, while the
older lexeme is still in progress).
"""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.arena import NO_TAGS, size
from constrain.kernels.records.masks import BLOCK, FINDING, TABLE, TOKENS
from constrain.kernels.records.schema import (
    Record,
    Region,
    end_reader,
    key,
    keys,
    memo,
    row_reader,
    word,
    words,
)

MAX_PAIRS = 6  # lexemes in progress at once; configurations with more are walked byte by byte


class LEFT(Record, kind=22):
    """Lexemes that are in progress at a fork, LEFT_PAIR words each."""

    PAIRS = keys("(number of the pair in its list, lexer state) for each")


class LEFT_PAIR(Region):
    """A lexeme in progress, in a frame or in LEFT."""

    NUMBER = word("number of the pair in the list that the walk began with")
    LEXER = word("its lexer state now")


class CONTENT(Record, kind=28):
    """The nodes at which the next lexeme may begin after a block: restarts, exits by byte, and forks."""

    N_RESTARTS = key("number of restarts")
    N_RUNS = key("number of bytes that have exits")
    N_FORKS = key("number of forks")
    NODES = keys("the nodes of restarts; for each byte the byte, the number of its exits, and these; FORK words each")


class EXITS(Region):
    """The exits with one byte, in CONTENT."""

    BYTE = word("the byte")
    COUNT = word("number of nodes")
    NODES = words(0, "the nodes")


class FORK(Region):
    """A fork, in CONTENT."""

    BYTE = word("the byte of the node")
    NODE = word("the node")
    LEFT = word("the LEFT record of the lexemes that are in progress there")


class FOLLOWING(Record, kind=29):
    """The walk of tokens behind a block, until a lexeme leads to another parser state."""

    CONTENT = key("where the next lexeme begins")
    LEXER = key("the lexer state with which it begins")
    LOOPS = key("the LOOPS that do not end the walk, or 0")
    TABLE = memo("the GREEDY_TABLE region; all pairs of its blocks have the number 0")
    ALIVE = memo("without LOOPS: LIST of the forks, where in CONTENT they are, below which something may be decided")
    LATEST = memo("without LOOPS: the LOOPS that the latest parser state had there")


class LOOPS(Record, kind=30):
    """Tagsets after which a parser state is the same; not all need to be there."""

    TAGSETS = keys("TAGSET records, sorted, distinct")


class BRANCH(Record, kind=27):
    """A place of a mask where a lexeme may begin while others are in progress."""

    NODE = key("the node")
    CONFIG = key("the configuration there")
    MET = memo("number of the mask that met it last")


class GREEDY_TABLE(TABLE):
    """A token table of a list of lexer states."""

    BASE = word("the table of the first lexer state alone, which has the rest; 0: none")


class GREEDY_BLOCK(BLOCK):
    """A block of the pair whose lexeme ends there."""

    PAIR = word("number of the pair in the list")
    CONTENT = word("the CONTENT record, or 0")


class GREEDY_FRAME(Region):
    """State of a walk at a depth of the trie."""

    COUNT = word("number of lexemes in progress")
    ENDED_PAIR = word("number of the pair whose lexeme has ended last")
    ENDED_AS = word("as which TAGSET; NO_TAGS: none has ended")
    PAIRS = words(LEFT_PAIR.WORDS * MAX_PAIRS, "the lexemes in progress, LEFT_PAIR words each")


class UNION_FRAME(Region):
    """The words of a GREEDY_FRAME as a walk of a union and its reference uses them: there is one lexeme."""

    BEFORE = words(GREEDY_FRAME.PAIRS, "COUNT, ENDED_PAIR, ENDED_AS")
    NUMBER = word("0: the number of the only pair")
    STATE = word("the state of the union")
    REFERENCE = word("the state of its reference")
    REFERENCE_ENDED = word("as which TAGSET the reference's lexeme has ended")


class ROW(FINDING):
    """A finding of a walk, with what the blocks of lists have besides. NODE of NAME: the number of the pair."""

    LEFT = word("of a fork: the LEFT record; of NAME: the tagset")


class WALK(Region):
    """The settings of a walk of the trie, and the number of its blocks."""

    MODE = word("WHOLE, BASED, TAIL, UNION or LOOPING (masks/greedy/walk.py)")
    FRAMES = word("where the GREEDY_FRAMEs by depth begin, on the stack")
    BITMAP = word("the bitmap of the tokens after which some lexeme is in progress, on the stack")
    BLOCKS = word("how many blocks have numbers")
    SKIP = word("a node to leave out, with its subtree, or -1")
    TOP_DEPTH = word("the depth of the first nodes")
    LEXER = word("LOOPING: the lexer state with which a lexeme begins")
    LOOPS = word("LOOPING: the LOOPS behind which another one begins, or 0")


class START(Region):
    """A range of nodes that a walk begins with, brothers and what is below them."""

    FIRST = word("the first node")
    END = word("the one behind the last")


class PLACE(Region):
    """A place of a mask that is still to be looked at."""

    NODE = word("a node, -1: the root without the hub; or a FOLLOWING, negative")
    STATE = word("the configuration there; or the parser state behind the block")


RESTART, END, FORK_KEY, NAME = 256, 257, 258, 514  # keys of rows that are no bytes: FORK_KEY + the byte of a fork
KEYS = 515


@accessor
def has_something(A, table):
    """Not 0 if a greedy table has tokens or blocks."""
    return TOKENS.COUNT(A, table) + TOKENS.BITMAP(A, table) + A[table + TABLE.N_BLOCKS]


@accessor
def greedy_block_at(A, table, n):
    """The block with number n."""
    return np.int64(A[table + TABLE.BLOCKS]) + GREEDY_BLOCK.WORDS * n


greedy_blocks_end = end_reader(TABLE.BLOCKS, TABLE.N_BLOCKS, GREEDY_BLOCK.WORDS)


@accessor
def restarts_start(content):
    """The index of the first restart of a CONTENT."""
    return content + CONTENT.NODES


@accessor
def restarts_end(A, content):
    """The index behind the last restart, where the exits by byte begin."""
    return content + CONTENT.NODES + A[content + CONTENT.N_RESTARTS]


@accessor
def exits_start(exits):
    """The index of the first node of exits with one byte."""
    return exits + EXITS.NODES


@accessor
def exits_end(A, exits):
    """The index behind the last node of exits with one byte, where the next exits or the forks begin."""
    return exits + EXITS.NODES + np.int64(A[exits + EXITS.COUNT])


@accessor
def left_count(A, left):
    """Number of lexemes of a LEFT record."""
    return size(A, left) >> 1


left_number = row_reader(LEFT.PAIRS + LEFT_PAIR.NUMBER, LEFT_PAIR.WORDS)
left_lexer = row_reader(LEFT.PAIRS + LEFT_PAIR.LEXER, LEFT_PAIR.WORDS)


@accessor
def frame_at(S, walk, depth):
    """The frame of a depth."""
    return np.int64(S[walk + WALK.FRAMES]) + GREEDY_FRAME.WORDS * depth


@accessor
def has_ended(S, frame):
    """True if a lexeme has ended at a frame."""
    return S[frame + GREEDY_FRAME.ENDED_AS] != NO_TAGS


frame_number = row_reader(GREEDY_FRAME.PAIRS + LEFT_PAIR.NUMBER, LEFT_PAIR.WORDS)
frame_lexer = row_reader(GREEDY_FRAME.PAIRS + LEFT_PAIR.LEXER, LEFT_PAIR.WORDS)


@accessor
def set_frame_number(S, frame, k, number):
    """Write the number of the k-th pair in progress."""
    S[frame + GREEDY_FRAME.PAIRS + LEFT_PAIR.WORDS * k + LEFT_PAIR.NUMBER] = number


@accessor
def set_frame_lexer(S, frame, k, lexer):
    """Write the lexer state of the k-th pair in progress."""
    S[frame + GREEDY_FRAME.PAIRS + LEFT_PAIR.WORDS * k + LEFT_PAIR.LEXER] = lexer
