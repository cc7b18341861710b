"""Rows of tokens by what they do to the pieces of a text: which borders a token settles, from one state.

A tokenizer cuts a text into pieces before it merges within them (`constrain.languages.cuts.pieces`). From a state of
that automaton each token either breaks a piece at a place where no token ends, or leaves the place before the token a
border, no border, or open.

Cost: a few nanoseconds a byte of the vocabulary. Reference: tests/languages/cuts/test_canonical_tokens.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.cuts.tables import (
    AFTER_TOKENS,
    AHEAD,
    BORDER,
    BORDERS,
    CUT,
    GOOD,
    INSIDE,
    MISSES,
    OPEN,
    REFUSED,
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
    start, stop = AFTER_TOKENS.STARTS(F, token), AFTER_TOKENS.STARTS(F, token + 1)
    for at in range(start, stop):
        entry = p * 256 + AFTER_TOKENS.BYTES(F, at)
        p = BORDERS.NEXT(P, entry)
        if p < 0:
            Q[AHEAD.EXPAND] = entry >> 8
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


@kernel("i(arena, arena, arena, row)", entry=True)
def cut_rows(F, P, Q, out):
    """Write three masks, one after the other: the tokens before which is a border, is none, or may be one.

    Q: a question (AHEAD) about no tokens, from the place BEFORE. Tokens without bytes are in no mask.
    Returns GOOD, or MISSES: EXPAND; then nothing that was written counts.
    """
    words = out.size // 3
    out[:] = 0
    for token in range(F[AFTER_TOKENS.TOKENS]):
        if AFTER_TOKENS.STARTS(F, token) == AFTER_TOKENS.STARTS(F, token + 1):
            continue
        kind = read_token(F, P, Q, AHEAD.BEFORE, AHEAD.AFTER, token, 0)
        if kind == MISSES:
            return MISSES
        if kind == GOOD:
            out[(Q[AHEAD.AFTER + CUT.FRONT] - 1) * words + (token >> 5)] |= np.uint32(1) << np.uint32(token & 31)
    return GOOD


@kernel("i(row, row, row, row, row)", entry=True)
def narrow_row(before, conflicts, alone, whole, row):
    """Keep those tokens of a mask that may follow a token. before: three masks, as `cut_rows` writes them.

    conflicts: the tokens that do not stay beside it within a piece. alone: what merging makes of its own text
    whole: tokens that are written only where a piece is their text.
    Returns 1 if some are left before which a border has to come, though that is still open, else 0.
    """
    words = row.size
    some = np.uint32(0)
    for w in range(words):
        opened = before[2 * words + w]
        outside = before[w] | opened
        some |= row[w] & opened & (conflicts[w] & alone[w] | whole[w])
        row[w] &= (before[words + w] & ~conflicts[w] | outside) & alone[w] | outside & whole[w]
    return 1 if some != 0 else 0


@kernel("void(row, arena)", entry=True)
def drop_tokens(row, tokens):
    """Clear the bits of some tokens."""
    for i in range(tokens.size):
        row[tokens[i] >> 5] &= ~(np.uint32(1) << np.uint32(tokens[i] & 31))


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
