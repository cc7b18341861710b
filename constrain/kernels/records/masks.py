"""Records of masks and token sets that both lexers share. Owner: masks/common/tokens.py, masks/fill.py."""

from __future__ import annotations

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import Record, Region, end_reader, keys, reader, word, words


class TOKENSET(Record, kind=23):
    """A bitmap of tokens; equal sets of many tokens are one."""

    BITS = keys("`mask_words` words, a bit for each token")


class TOKENS(Region):
    """A set of tokens: a list, or a bitmap if that is shorter. Tables begin with it."""

    COUNT = word("number of tokens in the list")
    LIST = word("where they are")
    BITMAP = word("the bitmap, or 0")


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


token_count = reader(TOKENS.COUNT)
tokens_start = reader(TOKENS.LIST)
tokens_end = end_reader(TOKENS.LIST, TOKENS.COUNT)
token_bitmap = reader(TOKENS.BITMAP)
source_count = reader(MASK.N_SOURCES)


@accessor
def source(A, mask, k):
    """The k-th source of a mask: a bitmap, or a TOKENS region, negative."""
    return np.int64(A[mask + MASK.SOURCES + k])


@accessor
def own_start(A, mask):
    """Where the own tokens of a mask begin; their number is the word before."""
    return mask + MASK.SOURCES + np.int64(A[mask + MASK.N_SOURCES]) + 1


@accessor
def own_end(A, mask):
    """Where the own tokens of a mask end."""
    return own_start(A, mask) + A[own_start(A, mask) - 1]


@accessor
def set_own_count(A, mask, n):
    """Write the number of own tokens."""
    A[own_start(A, mask) - 1] = n
