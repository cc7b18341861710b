"""Masks of canonical tokens at a place: by what they do to the pieces of the text, and by the token before.

Cost: a few nanoseconds a byte of the vocabulary. Reference: tests/papers/cuts/test_canonical_rows.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.cuts.steps import read_token
from constrain.kernels.cuts.tables import CUT, GOOD, MISSES
from constrain.papers.kernels.records import AHEAD, FOLLOWED


@kernel("i(arena, arena, arena, row)", entry=True)
def cut_rows(F, P, Q, out):
    """Write three masks, one after the other: the tokens before which is a border, is none, or may be one.

    Q: a question (AHEAD) about no tokens, from the place BEFORE. Tokens without bytes are in no mask.
    Returns GOOD, or MISSES: EXPAND; then nothing that was written counts.
    """
    words = out.size // 3
    out[:] = 0
    for token in range(F[FOLLOWED.TOKENS]):
        if FOLLOWED.STARTS(F, token) == FOLLOWED.STARTS(F, token + 1):
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
