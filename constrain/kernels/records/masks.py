"""Records of masks, token sets and token tables that both lexers share. Owner: masks/common/, masks/fill.py.

A *token table* says what every token does with the lexemes in progress, whichever parser state waits: the tokens that
stay inside a lexeme, and blocks, which list the nodes of the trie where a lexeme ends as one set of terminals. The
tables of a lexer extend TABLE and BLOCK (dynamic_tables.py, greedy_tables.py).
"""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import Record, Region, end_reader, keys, row_reader, word, words


class TOKENSET(Record, kind=23):
    """A bitmap of tokens; equal sets of many tokens are one."""

    BITS = keys("`mask_words` words, a bit for each token")


class TOKENS(Region):
    """A set of tokens: a list, or a bitmap if that is shorter. Tables begin with it."""

    COUNT = word("number of tokens in the list")
    LIST = word("where they are")
    BITMAP = word("the bitmap, or 0")


class TABLE(Region):
    """A token table: its first words are the TOKENS after which some lexeme is in progress."""

    TOKENS = words(TOKENS.WORDS, "the tokens after which some lexeme is in progress")
    BLOCKS = word("where the blocks begin")
    N_BLOCKS = word("how many")


class BLOCK(Region):
    """The nodes where a lexeme ends as one set of terminals."""

    TAGSET = word("the set; OWN: that of the only terminal of the lexer state")
    ENDS = word("region: nodes where a token ends with the lexeme")
    N_ENDS = word("how many")


class FINDING(Region):
    """A row that a walk pushes; sorted by number, key and node, the rows make the blocks."""

    NUMBER = word("number of the block in this walk")
    KEY = word("the byte of an exit; or what else is found, a number that is no byte")
    NODE = word("the node; or the tagset; or the token")


MARK_EXIT, MARK_ALL = 1, 3  # added to `serial_mark`: a known table's exits at the node no longer count; nothing there


class MASK(Region):
    """The union of its sources and of its own tokens.

    A mask refers to the token lists of tables, which many masks share; its own tokens begin another lexeme.
    """

    N_SOURCES = word("number of sources; bitmaps come first")
    SOURCES = words(0, "a bitmap, or a TOKENS region, negative; then the number of own tokens, and these")


class ROW_COUNTER(Region):
    """int64 words that threads share while they write masks."""

    NEXT = word("the next row that nobody took")
    WRITTEN = word("number of rows that are written")


tokens_end = end_reader(TOKENS.LIST, TOKENS.COUNT)
ends_end = end_reader(BLOCK.ENDS, BLOCK.N_ENDS)
source = row_reader(MASK.SOURCES, 1)


@accessor
def own_start(A, mask):
    """The index of the first own token of a mask; their number is the word before."""
    return mask + MASK.SOURCES + np.int64(A[mask + MASK.N_SOURCES]) + 1


@accessor
def own_end(A, mask):
    """The index behind the last own token of a mask."""
    return own_start(A, mask) + A[own_start(A, mask) - 1]


@accessor
def set_own_count(A, mask, n):
    """Write the number of own tokens."""
    A[own_start(A, mask) - 1] = n
