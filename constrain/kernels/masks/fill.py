"""Token masks: which tokens keep a configuration alive.

The idea: what a token does with the lexeme in progress does not depend on the parser, and is known for each lexer state
(`inside`, tables.py): the tokens that stay inside, and for each set t of terminals that the lexeme may end as
the tokens that end with it, and the *exits*, nodes of the trie where the next lexeme begins.

A mask is then the union of inside sets, plus, for each t, a walk of the few exit subtrees from `scan(p, t)`. Only when
a next lexeme can begin with a byte with which the one before could also go on (*survivors*: two segmentations within a
token) is the whole trie walked with whole configurations.

    mask     [n, sources..., m, tokens...]     a source > 0 is a bitmap, < 0 the list of an inside; bitmaps come first

A mask refers to the lists of insides, which many masks share; its own tokens are those that begin another lexeme.

Cost: a few microseconds when the lexer states are known, a walk (about 5 ns a node) when not.
Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.masks.dynamic.dependent import FRAME, cross, walk_configuration
from constrain.kernels.masks.dynamic.tables import inside
from constrain.kernels.masks.dynamic.walks import BITMAP, TOKENS
from constrain.kernels.masks.greedy.greedy_mask import greedy_mask
from constrain.kernels.parser.configurations import ACCEPTING, MASK_OF, WATCHING, accepts
from constrain.kernels.parser.earley import GREEDY
from constrain.kernels.records.arena import (
    DEPTH,
    EOS,
    KEY,
    N_EOS,
    N_MASKS,
    N_NODES,
    N_TOKENS,
    N_WALKS,
    SERIAL,
    push,
    region,
    room,
    size,
)

IS_WATCHED, IS_ACCEPTING = 1, 2  # what `fill_mask` says
SEVERAL = -2  # tokens, in the search for a forced one


@kernel("i(arena, arena, i, i)")
def store_mask(A, S, sources, tokens):
    """The mask record of the union of the sources S[sources:tokens] and the tokens S[tokens : S[0]]."""
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    stop = np.int64(S[0])
    out = tokens
    for i in range(tokens, stop):  # drop what a bitmap has
        token = np.int64(S[i])
        found = False
        for k in range(sources, tokens):
            found = found or (S[k] > 0 and (A[S[k] + (token >> 5)] >> (token & 31)) & 1 != 0)
        if not found:
            S[out] = token
            out += 1
    bitmap = np.int64(0)
    if out - tokens > words:
        bitmap = region(A, words)
        for i in range(tokens, out):
            A[bitmap + (S[i] >> 5)] |= np.int32(np.uint32(1) << np.uint32(S[i] & 31))
        out = tokens
    record = region(A, 2 + (bitmap != 0) + out - sources)
    A[record] = tokens - sources + (bitmap != 0)
    at = record + 1
    if bitmap != 0:
        A[at] = bitmap
        at += 1
    for i in range(sources, tokens):
        A[at] = S[i]
        at += 1
    A[at] = out - tokens
    for i in range(tokens, out):
        at += 1
        A[at] = S[i]
    return record


@kernel("void(arena, arena, arena, i)")
def push_sources(A, H, S, c):
    """Push the bitmaps of the insides of a configuration, then their lists, negative."""
    for i in range(c + KEY + 2, c + KEY + size(A, c), 2):
        pieces = inside(A, H, S, A[i])
        for k in range(pieces + 1, pieces + 1 + 2 * A[pieces], 2):
            if A[A[k] + BITMAP] != 0:
                push(S, A[A[k] + BITMAP])
    for i in range(c + KEY + 2, c + KEY + size(A, c), 2):
        pieces = inside(A, H, S, A[i])
        for k in range(pieces + 1, pieces + 1 + 2 * A[pieces], 2):
            if A[A[k]] != 0:
                push(S, -A[k])


@kernel("i(arena, arena, arena, i, i, i)")
def push_crossing(A, H, S, frames, states, c):
    """Push the tokens that end a lexeme of c, and may begin others; 0 if the whole trie must be walked."""
    for i in range(c + KEY + 1, c + KEY + size(A, c), 2):
        pieces = inside(A, H, S, A[i + 1])
        for k in range(pieces + 1, pieces + 1 + 2 * A[pieces], 2):
            if not cross(A, H, S, frames, states, A[i] >> 1, A[k], A[k + 1]):
                return 0
    return 1


@kernel("i(arena, arena, arena, i)")
def mask(A, H, S, c):
    """The mask record of a configuration."""
    if A[c + MASK_OF] != 0:
        return np.int64(A[c + MASK_OF])
    A[N_MASKS] += 1
    if A[A[c + KEY] + GREEDY]:
        A[c + MASK_OF] = greedy_mask(A, H, S, c)
        return np.int64(A[c + MASK_OF])
    bottom = np.int64(S[0])
    room(S, (FRAME + 1) * (A[DEPTH] + 4))
    states = bottom + 1
    frames = bottom + A[DEPTH] + 4
    S[0] = frames + FRAME * (A[DEPTH] + 4)
    sources = np.int64(S[0])
    push_sources(A, H, S, c)  # first: walks use the serial number too
    tokens = np.int64(S[0])
    A[SERIAL] += 1
    if not push_crossing(A, H, S, frames, states, c):
        A[N_WALKS] += 1
        A[SERIAL] += 1
        tokens = sources
        S[0] = tokens
        walk_configuration(A, H, S, states, 0, A[N_NODES], c)
    if accepts(A, H, S, c):
        for i in range(A[EOS], A[EOS] + A[N_EOS]):
            push(S, A[i])
    record = store_mask(A, S, sources, tokens)
    S[0] = bottom
    A[c + MASK_OF] = record
    return record


@kernel("void(arena, i, i, row)")
def set_bits(A, tokens, n, row):
    """Set the bits of the n tokens at A[tokens ...]."""
    for i in range(tokens, tokens + n):
        row[A[i] >> 5] |= np.uint32(1) << np.uint32(A[i] & 31)


@kernel("void(arena, i, row)")
def write_mask(A, record, row):
    """Write a mask record into a row of uint32 words; words beyond the vocabulary become 0.

    PERF: `A[first + w]` may be an index from the end, as far as the compiler knows, and such loops are not vectorised:
    2.5 µs for 4,008 words, and 0.1 µs with a slice.
    """
    n = np.int64(A[record])
    words = (A[N_TOKENS] + 31) >> 5
    if n == 0 or A[record + 1] < 0:
        row[:] = 0
    else:
        first = A[A[record + 1] : A[record + 1] + words]
        for w in range(first.size):
            row[w] = np.uint32(first[w])
        row[words:] = 0
    for k in range(n):
        source = np.int64(A[record + 1 + k])
        if source < 0:
            set_bits(A, A[TOKENS - source], A[-source], row)
        elif k > 0:
            other = A[source : source + words]
            for w in range(other.size):
                row[w] |= np.uint32(other[w])
    set_bits(A, record + 2 + n, A[record + 1 + n], row)


@kernel("i(arena, arena, arena, i, row)", entry=True)
def fill_mask(A, H, S, c, row):
    """Write the mask of a configuration; IS_WATCHED and IS_ACCEPTING, added up, as they apply to it."""
    write_mask(A, mask(A, H, S, c), row)
    return (IS_WATCHED if A[c + WATCHING] == 2 else 0) + (IS_ACCEPTING if accepts(A, H, S, c) else 0)


@kernel("i(arena, i, row)", entry=True, brief=True)
def known_mask(A, c, row):
    """`fill_mask` if the mask is known, else -1."""
    if A[c + MASK_OF] == 0 or A[c + ACCEPTING] == 0:
        return -1
    write_mask(A, A[c + MASK_OF], row)
    return (IS_WATCHED if A[c + WATCHING] == 2 else 0) + (IS_ACCEPTING if A[c + ACCEPTING] == 2 else 0)


@kernel("i(arena, i, i, i)")
def only_of(A, tokens, n, found):
    """The one token among `found` (-1: none) and the n tokens at A[tokens ...]; SEVERAL if there are more."""
    for i in range(tokens, tokens + n):
        if found != -1 and found != A[i]:
            return SEVERAL
        found = np.int64(A[i])
    return found


@kernel("i(arena, i, i)")
def only_of_bitmap(A, bitmap, found):
    """`only_of`, for the tokens of a bitmap."""
    for w in range((A[N_TOKENS] + 31) >> 5):
        bits = np.int64(A[bitmap + w]) & 0xFFFFFFFF
        token = w * 32
        while bits != 0:
            if bits & 1:
                if found != -1 and found != token:
                    return SEVERAL
                found = np.int64(token)
            bits >>= 1
            token += 1
    return found


@kernel("i(arena, arena, arena, i)", entry=True)
def forced_token(A, H, S, c):
    """The only token that the mask of c allows, or -1."""
    record = mask(A, H, S, c)
    n = np.int64(A[record])
    found = only_of(A, record + 2 + n, A[record + 1 + n], -1)
    for k in range(n):
        source = np.int64(A[record + 1 + k])
        if found != SEVERAL:
            if source < 0:
                found = only_of(A, A[TOKENS - source], A[-source], found)
            else:
                found = only_of_bitmap(A, source, found)
    return found if found != SEVERAL else -1


@kernel("void(arena, arena, arena, arena)", entry=True)
def align_trie(whole, part, cursor, out):
    """The number in a whole trie of each node of a trie of some of its tokens.

    whole, part: nodes as rows of three words     out: int32[nodes of part]
    cursor: int32[deepest level + 2], zero; by depth, where to look for the next sibling
    """
    for i in range(out.size):
        depth = part[3 * i] >> 8
        j = np.int64(cursor[depth])
        while whole[3 * j] != part[3 * i]:
            j = np.int64(whole[3 * j + 1])
        out[i] = j
        cursor[depth] = whole[3 * j + 1]
        cursor[depth + 1] = j + 1
