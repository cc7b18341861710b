"""Blocks of token tables: what walks of both lexers do alike.

Records: records/masks.py. Cost: linear in rows. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.masks.common.tokens import clear_tokens
from constrain.kernels.records.arena import HEADER, region
from constrain.kernels.records.masks import BLOCK, FINDING, MARK_ALL
from constrain.kernels.records.stack import room, set_top, top
from constrain.kernels.records.vocabulary import mark_node, mask_words, node_token, serial_mark, trie_of


@kernel("i(arena, arena, i)")
def begin_walk(A, S, width):
    """Begin the walk that makes a token table: push an empty bitmap, and frames of `width` words by depth, all zero.
    Returns where the bitmap is."""
    A[HEADER.SERIAL] += 1
    A[HEADER.TABLES_MADE] += 1
    bitmap = top(S)
    stop = bitmap + mask_words(A) + width * (np.int64(A[HEADER.DEPTH]) + 2)
    room(S, stop - bitmap)
    S[bitmap:stop] = 0
    set_top(S, stop)
    return bitmap


@kernel("i(arena, i, i, i)")
def end_of_key(S, row, stop, width):
    """The first of the sorted findings behind `row`, of `width` words each, that has another number or key."""
    end = row
    while (
        end < stop
        and S[end + FINDING.NUMBER] == S[row + FINDING.NUMBER]
        and S[end + FINDING.KEY] == S[row + FINDING.KEY]
    ):
        end += width
    return end


@kernel("void(arena, arena, i, i, i, i)")
def copy_nodes(A, S, row, stop, width, out):
    """Write the nodes of findings, of `width` words each, to A[out] and on."""
    for at in range(row, stop, width):
        A[out] = S[at + FINDING.NODE]
        out += 1


@kernel("void(arena, arena, i, i, i, i)")
def store_ends(A, S, row, stop, width, block):
    """Store the nodes of findings, of `width` words each, as the ends of a block."""
    n = (stop - row) // width
    A[block + BLOCK.N_ENDS] = n
    A[block + BLOCK.ENDS] = region(A, n)
    copy_nodes(A, S, row, stop, width, BLOCK.ENDS(A, block))


@kernel("void(arena, arena, i, i, i)")
def forget(A, S, first, stop, bitmap):
    """Take the tokens of nodes first..stop-1 out of the bitmap; what a known table has there no longer counts."""
    mark = serial_mark(A) + MARK_ALL
    for i in range(first, stop):
        mark_node(A, i, mark)
        clear_tokens(A, S, bitmap, node_token(A, trie_of(A), i))
