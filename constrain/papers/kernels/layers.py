"""Lexemes along a canvas of tokens: a table of arcs for each position, with what the tokens there do to the lexer.

Cells are what arcs lead between: a *seam* or a *node* is a place where a lexeme may end, between two tokens or within
one; a *pair* says that a lexeme is in some state of the lexer at a seam. Arcs are sorted so that each comes after all
arcs to its source (T: ARCS). Their kinds are
    STAYS   from a pair to one of the next seam: the token is within the lexeme
    ENDS    from a pair to a node: a lexeme of terminal LABEL ends there
    HOLDS   from a node to a node: a lexeme of terminal LABEL
    STARTS  from a node to a pair of the next seam: a lexeme begins there, and goes on behind the token

The idea is that of gaps/kernels/lexemes.py: for each pair, a row of bits has all positions where its lexeme began. No
arc leads back, so each row is complete after one pass.

Records: records.py. Cost: arcs x positions / 32. Reference: tests/gaps/naive_gaps.py.
"""

import numpy as np

from constrain.gaps.kernels.records import has_bit_of, set_bit_of
from constrain.kernels import kernel
from constrain.papers.kernels.records import ARCS

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


@kernel("i(arena, rows, rows, i)")
def end_lexemes(T, begun, R, a):
    """Write the lexemes that arc a ends. Returns their number."""
    positions = np.int64(T[ARCS.POSITIONS])
    count = 0
    for w in range(begun.shape[1]):
        bits = begun[ARCS.SOURCE(T, a), w]
        row = ARCS.LABEL(T, a) * positions + 32 * w
        while bits != 0:
            if bits & np.uint32(1) != 0:
                set_bit_of(R, row, ARCS.TARGET(T, a))
                count += 1
            bits = np.uint32(bits >> np.uint32(1))
            row += 1
    return np.int64(count)


@kernel("i(arena, rows, rows)", entry=True)
def lex(T, begun, R):
    """Fill `begun`, for each pair the positions where its lexeme began, and the lexemes in R: row terminal * positions
    + p has the positions where a lexeme from p ends.

    Returns the number of lexemes, those found twice counted twice.
    """
    count = 0
    for a in range(T[ARCS.COUNT]):
        kind, source, target = ARCS.KIND(T, a), ARCS.SOURCE(T, a), ARCS.TARGET(T, a)
        if kind == STAYS:
            for w in range(begun.shape[1]):
                begun[target, w] |= begun[source, w]
        elif kind == STARTS:
            set_bit_of(begun, target, source)
        elif kind == HOLDS:
            set_bit_of(R, ARCS.LABEL(T, a) * T[ARCS.POSITIONS] + source, target)
            count += 1
        else:
            count += end_lexemes(T, begun, R, a)
    return np.int64(count)


@kernel("i(arena, rows, rows, i)")
def relive_within(T, begun, useful, a):
    """Make useful, before arc a within a lexeme, what is useful behind it. Returns 1 if anything is."""
    source, target = ARCS.SOURCE(T, a), ARCS.TARGET(T, a)
    found = np.int64(0)
    for w in range(begun.shape[1]):
        both = useful[target, w] & begun[source, w]
        if both != 0:
            useful[source, w] |= np.uint32(both)
            found = np.int64(1)
    return found


@kernel("i(arena, rows, rows, rows, i)")
def relive_ends(T, begun, useful, L, a):
    """Make useful the beginnings of live lexemes that arc a ends. Returns 1 if there are any."""
    positions = np.int64(T[ARCS.POSITIONS])
    found = np.int64(0)
    for w in range(begun.shape[1]):
        bits = begun[ARCS.SOURCE(T, a), w]
        p = 32 * w
        while bits != 0:
            if bits & np.uint32(1) != 0 and has_bit_of(L, ARCS.LABEL(T, a) * positions + p, ARCS.TARGET(T, a)):
                set_bit_of(useful, ARCS.SOURCE(T, a), p)
                found = np.int64(1)
            bits = np.uint32(bits >> np.uint32(1))
            p += 1
    return found


@kernel("i(arena, rows, rows, rows, arena)", entry=True)
def relive(T, begun, useful, L, live):
    """Fill `useful`, the part of `begun` whose lexeme is in L, the live items; and `live`: 1 for each arc of such a
    lexeme. useful: 0 before. Returns the number of live arcs.
    """
    count = 0
    for a in range(T[ARCS.COUNT] - 1, -1, -1):
        kind = ARCS.KIND(T, a)
        if kind == STAYS:
            live[a] = relive_within(T, begun, useful, a)
        elif kind == STARTS:
            live[a] = 1 if has_bit_of(useful, ARCS.TARGET(T, a), ARCS.SOURCE(T, a)) else 0
        elif kind == HOLDS:
            row = ARCS.LABEL(T, a) * T[ARCS.POSITIONS] + ARCS.SOURCE(T, a)
            live[a] = 1 if has_bit_of(L, row, ARCS.TARGET(T, a)) else 0
        else:
            live[a] = relive_ends(T, begun, useful, L, a)
        count += live[a]
    return np.int64(count)
