"""Lexemes along a canvas of tokens: a table of arcs for each position, with what the tokens there do to the lexer.

Cells are what arcs lead between: a *seam* or a *node* is a place where a lexeme may end, between two tokens or within
one; a *pair* says that a lexeme is in some state of the lexer at a seam. Arcs are sorted so that each comes after all
arcs to its source. `kind[a]` is
    STAYS   from a pair to one of the next seam: the token is within the lexeme
    ENDS    from a pair to a node: a lexeme of terminal `label[a]` ends there
    HOLDS   from a node to a node: a lexeme of terminal `label[a]`
    STARTS  from a node to a pair of the next seam: a lexeme begins there, and goes on behind the token

The idea is that of lexemes.py: for each pair, a row of bits has all positions where its lexeme began. No arc leads
back, so each row is complete after one pass.

Cost: arcs x positions / 32. Reference: tests/masks/gaps/naive_gaps.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel

STAYS = 0
ENDS = 1
HOLDS = 2
STARTS = 3


@kernel("i(arena, arena, arena, arena)", entry=True)
def trim(source, target, ahead, behind):
    """Mark what lies on a path from the beginning to an end: 1 in `ahead` for a cell that is reached, in `behind` for
    one from which an end is reached. Before, the beginning is marked in `ahead`, the ends in `behind`.

    Returns the number of arcs on such a path.
    """
    for a in range(source.size):
        if ahead[source[a]] == 1:
            ahead[target[a]] = 1
    count = 0
    for a in range(source.size - 1, -1, -1):
        if ahead[source[a]] == 1 and behind[target[a]] == 1:
            behind[source[a]] = 1
            count += 1
    return np.int64(count)


@kernel("i(arena, arena, arena, arena, rows, rows, i)", entry=True)
def lex(source, target, kind, label, begun, R, positions):
    """Fill `begun`, for each pair the positions where its lexeme began, and the lexemes in R: row terminal * positions
    + p has the positions where a lexeme from p ends. source, target: numbers of pairs, and of positions.

    Returns the number of lexemes, those found twice counted twice.
    """
    count = 0
    for a in range(source.size):
        if kind[a] == STAYS:
            for w in range(begun.shape[1]):
                begun[target[a], w] |= begun[source[a], w]
        elif kind[a] == STARTS:
            begun[target[a], source[a] >> 5] |= np.uint32(1) << np.uint32(source[a] & 31)
        elif kind[a] == HOLDS:
            row = label[a] * positions + source[a]
            R[row, target[a] >> 5] |= np.uint32(1) << np.uint32(target[a] & 31)
            count += 1
        else:
            for w in range(begun.shape[1]):
                bits = begun[source[a], w]
                row = label[a] * positions + 32 * w
                while bits != 0:
                    if bits & np.uint32(1) != 0:
                        R[row, target[a] >> 5] |= np.uint32(1) << np.uint32(target[a] & 31)
                        count += 1
                    bits = np.uint32(bits >> np.uint32(1))
                    row += 1
    return np.int64(count)


@kernel("i(arena, arena, arena, arena, rows, rows, rows, arena, i)", entry=True)
def relive(source, target, kind, label, begun, useful, L, live, positions):
    """Fill `useful`, the part of `begun` whose lexeme is in L, the live items; and `live`: 1 for each arc of such a
    lexeme. useful: 0 before. Returns the number of live arcs.
    """
    width = begun.shape[1]
    count = 0
    for a in range(source.size - 1, -1, -1):
        found = False
        if kind[a] == STAYS:
            for w in range(width):
                both = useful[target[a], w] & begun[source[a], w]
                if both != 0:
                    useful[source[a], w] |= np.uint32(both)
                    found = True
        elif kind[a] == STARTS:
            found = (useful[target[a], source[a] >> 5] >> np.uint32(source[a] & 31)) & np.uint32(1) != 0
        elif kind[a] == HOLDS:
            row = label[a] * positions + source[a]
            found = (L[row, target[a] >> 5] >> np.uint32(target[a] & 31)) & np.uint32(1) != 0
        else:
            for w in range(width):
                bits = begun[source[a], w]
                p = 32 * w
                while bits != 0:
                    if bits & np.uint32(1) != 0:
                        row = label[a] * positions + p
                        if (L[row, target[a] >> 5] >> np.uint32(target[a] & 31)) & np.uint32(1) != 0:
                            useful[source[a], w] |= np.uint32(1) << np.uint32(p & 31)
                            found = True
                    bits = np.uint32(bits >> np.uint32(1))
                    p += 1
        live[a] = 1 if found else 0
        count += live[a]
    return np.int64(count)
