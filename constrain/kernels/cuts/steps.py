"""Steps of the automaton of canonical tokens: from one place to that behind a token.

A tokenizer cuts a text into pieces before it merges within them (`constrain.languages.cuts.pieces`). From a state of
that automaton each token either breaks a piece at a place where no token ends, or leaves the place before the token a
border, no border, or open.

Records: tables.py. Cost: a few nanoseconds a byte. Reference: tests/languages/cuts/test_canonical_tokens.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.cuts.tables import (
    BORDER,
    BORDERS,
    CUT,
    GOOD,
    INSIDE,
    MISSES,
    OPEN,
    QUESTION,
    REFUSED,
    TOKEN,
    TOKEN_TEXTS,
    UNSURE,
)

SEVERAL_LEFT, NO_TOKEN = -1, -2  # `only_token`


@kernel("i(arena, arena, arena, i, i, i, i)")
def read_token(F, P, Q, before, after, token, joins):
    """Write the place (CUT) Q[after] that a token leads to from Q[before]; joins: 1 if a border has to be between them.

    Returns GOOD, REFUSED where the token breaks a piece at a place where none ends, or MISSES: EXPAND.
    """
    p = np.int64(Q[before + CUT.PIECES])
    ends = np.int64(Q[before + CUT.ENDS]) | 1
    owed = np.int64(Q[before + CUT.OWED]) | joins
    front = OPEN
    borders = np.int64(0)
    start, stop = TOKEN_TEXTS.STARTS(F, token), TOKEN_TEXTS.STARTS(F, token + 1)
    for at in range(start, stop):
        entry = p * 256 + TOKEN_TEXTS.BYTES(F, at)
        p = BORDERS.NEXT(P, entry)
        if p < 0:
            Q[QUESTION.EXPAND] = entry >> 8
            return MISSES
        borders = BORDERS.ENDED(P, entry)
        opened = BORDERS.OPEN(P, p)
        ends = ends << 1 | (1 if at == stop - 1 else 0)
        owed = owed << 1
        if p == 0 or borders & ~ends != 0 or owed & ~(borders | opened) != 0:
            return REFUSED
        ends &= opened
        owed &= opened
        place = at + 1 - start
        if front == OPEN and (place > 30 or (opened >> place) & 1 == 0):
            front = BORDER if place <= 30 and (borders >> place) & 1 else INSIDE
    Q[after + CUT.PIECES] = p
    Q[after + CUT.ENDS] = ends
    Q[after + CUT.OWED] = owed
    Q[after + CUT.LAST] = -1 if borders & 1 else token
    Q[after + CUT.FRONT] = front
    return GOOD


@kernel("i(arena, arena, arena, arena, i, i, i, i)")
def step_cut(P, F, T, Q, before, after, token, joins):
    """Write the place Q[after] that a token leads to from Q[before]. joins: 1 if a border has to be before it, else 0.

    A token that is not what merging makes of its text is written where that is a piece: a border has to be behind it.
    Returns GOOD, REFUSED where no canonical sequence goes on so, UNSURE or MISSES.
    """
    alone = T[token * TOKEN.WORDS + TOKEN.ALONE]
    if alone == 0 and TOKEN_TEXTS.UNKNOWN(F, token) != 0:
        return UNSURE
    kind = read_token(F, P, Q, before, after, token, joins)
    if kind == GOOD and alone == 0 and Q[after + CUT.LAST] >= 0:
        if Q[after + CUT.ENDS] & 1 == 0:
            return REFUSED
        Q[after + CUT.OWED] |= 1
    return kind


@kernel("i(arena, arena, i)")
def may_end(P, Q, at):
    """True if the tokens up to the place Q[at] are canonical when nothing follows."""
    borders = BORDERS.FINISH(P, np.int64(Q[at + CUT.PIECES]))
    ends = np.int64(Q[at + CUT.ENDS])
    return borders & ~(ends | 1) == 0 and np.int64(Q[at + CUT.OWED]) & ~(borders | 1) == 0


@kernel("i(row)", entry=True)
def only_token(row):
    """The token of a mask that has one; SEVERAL_LEFT or NO_TOKEN."""
    only = NO_TOKEN
    for w in range(row.size):
        if row[w] != 0:
            if only != NO_TOKEN or row[w] & (row[w] - np.uint32(1)) != 0:
                return SEVERAL_LEFT
            only = 32 * w
            bits = row[w]
            while bits & np.uint32(1) == 0:
                bits >>= np.uint32(1)
                only += 1
    return only
