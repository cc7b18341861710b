"""Rows of tokens by what they do to the pieces of a text: which borders a token settles, from one state.

A tokenizer cuts a text into pieces before it merges within them (`constrain.languages.cuts.pieces`). From a state of
that automaton each token either breaks a piece at a place where no token ends, or leaves the place before the token a
border, no border, or open.

Cost: a few nanoseconds a byte of the vocabulary. Reference: tests/languages/cuts/test_canonical_tokens.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel

BROKEN, BORDER, INSIDE, OPEN = 0, 1, 2, 3
EXPANDED = -1  # `cut_rows`: every state had its next states


@kernel("i(arena, arena, arena, arena, arena, i, i, i)")
def read_token(following, settled, opened, text, places, start, stop, state):
    """The effect of the token text[start:stop] on a state: BROKEN, BORDER, INSIDE or OPEN; -2 - s: expand the state s.

    following, settled: by state and byte, the next state (-1: not known yet) and the borders that the byte settles
    opened: by state, the places that are still open
    places: [token ends that are open, ends that have to be borders], bit k: k bytes before the token
    """
    ends = (np.int64(places[0]) | 1) & 0x7FFFFFFF
    owed = np.int64(places[1])
    before = OPEN
    for i in range(start, stop):
        entry = state * 256 + text[i]
        if following[entry] == -1:
            return -2 - state
        state = np.int64(following[entry])
        if state == 0:
            return BROKEN
        borders = np.int64(settled[entry])
        open_places = np.int64(opened[state])
        ends = ends << 1
        owed = owed << 1
        if i == stop - 1:
            ends |= 1
        if borders & ~ends != 0 or owed & ~(borders | open_places) != 0:
            return BROKEN
        ends &= open_places
        owed &= open_places
        if before == OPEN:
            place = i + 1 - start
            if place > 30 or (open_places >> place) & 1 == 0:
                before = BORDER if place <= 30 and (borders >> place) & 1 else INSIDE
    return before


@kernel("i(arena, arena, arena, arena, arena, arena, i, row)", entry=True)
def cut_rows(following, settled, opened, starts, text, places, state, out):
    """Write three bitmasks, one after the other: the tokens before which is a border, is none, or may be one.

    starts: int32[V + 1], where the tokens begin in the text; those without bytes are in no mask
    returns: EXPANDED, or a state whose next states have to be found first; then nothing that was written counts
    """
    words = out.size // 3
    out[:] = 0
    for token in range(starts.size - 1):
        if starts[token] == starts[token + 1]:
            continue
        kind = read_token(following, settled, opened, text, places, starts[token], starts[token + 1], state)
        if kind < 0:
            return -2 - kind
        if kind != BROKEN:
            out[(kind - 1) * words + (token >> 5)] |= np.uint32(1) << np.uint32(token & 31)
    return EXPANDED
