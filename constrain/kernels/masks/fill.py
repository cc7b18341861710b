"""Token masks: which tokens keep a configuration alive.

The idea: what a token does with the lexeme in progress does not depend on the parser, and is known for each lexer state
(its token table): the context-independent tokens, which stay inside; and for each set t of terminals that the lexeme
may end as the tokens that end with it, and the *exits*, nodes of the trie where the next lexeme begins.

A mask is then the union of context-independent tokens, plus, for each t, a walk of the few exit subtrees from
`scan(p, t)`. Only when a next lexeme can begin with a byte with which the one before could also go on (*survivors*: two
segmentations within a token) is the whole trie walked with whole configurations. Under the greedy lexer:
greedy/greedy_mask.py.

Records: records/masks.py. Cost: a few microseconds when the lexer states are known, a walk (about 5 ns a node) when
not. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.masks.common.whole import walk_configuration
from constrain.kernels.masks.dynamic.dependent import push_dependent
from constrain.kernels.masks.dynamic.tables import tables_of
from constrain.kernels.masks.greedy.greedy_mask import greedy_mask
from constrain.kernels.parser.configurations import accepts
from constrain.kernels.records.arena import HEADER, is_of_epoch, key_end, publish_word, region
from constrain.kernels.records.configurations import CONFIG, PAIR, config_is_greedy, config_pairs, is_watched
from constrain.kernels.records.dynamic_tables import FRAME, PIECE, pieces_end, pieces_start
from constrain.kernels.records.masks import MASK, TOKENS, own_end, own_start, set_own_count, source, tokens_end
from constrain.kernels.records.stack import push, room, set_top, top
from constrain.kernels.records.vocabulary import (
    eos_end,
    eos_start,
    has_bit,
    mask_words,
    node_depth,
    node_end,
    node_word,
    set_bit,
)

IS_WATCHED, IS_ACCEPTING = 1, 2  # what `fill_mask` says
SEVERAL = -2  # tokens, in the search for a forced one


@kernel("i(arena, arena, i, i)")
def store_mask(A, S, sources, tokens):
    """The MASK region of the union of the sources S[sources:tokens] and the tokens from S[tokens] on."""
    words = mask_words(A)
    stop = top(S)
    out = tokens
    for i in range(tokens, stop):  # drop what a bitmap has
        token = np.int64(S[i])
        is_there = False
        for k in range(sources, tokens):
            is_there = is_there or (S[k] > 0 and has_bit(A, S[k], token) != 0)
        if not is_there:
            S[out] = token
            out += 1
    bitmap = np.int64(0)
    if out - tokens > words:
        bitmap = region(A, words)
        for i in range(tokens, out):
            set_bit(A, bitmap, S[i])
        out = tokens
    n = tokens - sources + (bitmap != 0)
    mask = region(A, MASK.WORDS + n + 1 + out - tokens)
    A[mask + MASK.N_SOURCES] = n
    at = mask + MASK.SOURCES
    if bitmap != 0:
        A[at] = bitmap
        at += 1
    for i in range(sources, tokens):
        A[at] = S[i]
        at += 1
    set_own_count(A, mask, out - tokens)
    at = own_start(A, mask)
    for i in range(tokens, out):
        A[at] = S[i]
        at += 1
    return mask


@kernel("void(arena, arena, arena, i)")
def push_sources(A, H, S, c):
    """Push the context-independent tokens of a configuration: bitmaps, then TOKENS regions with lists, negative."""
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        pieces = tables_of(A, H, S, PAIR.LEXER(A, pair))
        for piece in range(pieces_start(pieces), pieces_end(A, pieces), PIECE.WORDS):
            if TOKENS.BITMAP(A, PIECE.TABLE(A, piece)) != 0:
                push(S, TOKENS.BITMAP(A, PIECE.TABLE(A, piece)))
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        pieces = tables_of(A, H, S, PAIR.LEXER(A, pair))
        for piece in range(pieces_start(pieces), pieces_end(A, pieces), PIECE.WORDS):
            if TOKENS.COUNT(A, PIECE.TABLE(A, piece)) != 0:
                push(S, -PIECE.TABLE(A, piece))


@kernel("i(arena, arena, arena, i)")
def mask(A, H, S, c):
    """The MASK region of a configuration."""
    if CONFIG.MASK(A, c) != 0:
        return CONFIG.MASK(A, c)
    A[HEADER.MASKS_MADE] += 1
    if config_is_greedy(A, c):
        publish_word(A, c + CONFIG.MASK, greedy_mask(A, H, S, c))
        return CONFIG.MASK(A, c)
    bottom = top(S)
    levels = np.int64(A[HEADER.DEPTH]) + 4
    room(S, (FRAME.WORDS + 1) * levels)
    states = bottom + 1
    frames = bottom + levels
    set_top(S, frames + FRAME.WORDS * levels)
    sources = top(S)
    push_sources(A, H, S, c)  # first: walks use the serial number too
    tokens = top(S)
    A[HEADER.SERIAL] += 1
    if not push_dependent(A, H, S, frames, states, c):
        A[HEADER.WHOLE_WALKS] += 1
        A[HEADER.SERIAL] += 1
        tokens = sources
        set_top(S, tokens)
        walk_configuration(A, H, S, states, 0, A[HEADER.N_NODES], c, 0)
    if accepts(A, H, S, c):
        for i in range(eos_start(A), eos_end(A)):
            push(S, A[i])
    publish_word(A, c + CONFIG.MASK, store_mask(A, S, sources, tokens))
    set_top(S, bottom)
    return CONFIG.MASK(A, c)


@kernel("void(arena, i, i, row)")
def set_bits(A, start, stop, row):
    """Set the bits of the tokens A[start:stop]."""
    for i in range(start, stop):
        row[A[i] >> 5] |= np.uint32(1) << np.uint32(A[i] & 31)


@kernel("void(arena, i, row)")
def write_mask(A, mask, row):
    """Write a MASK region into a row of uint32 words; words beyond the vocabulary become 0.

    PERF: `A[first + w]` may be an index from the end, as far as the compiler knows, and such loops are not vectorised:
    2.5 µs for 4,008 words, and 0.1 µs with a slice.
    """
    n = MASK.N_SOURCES(A, mask)
    words = mask_words(A)
    if n == 0 or source(A, mask, 0) < 0:
        row[:] = 0
    else:
        first = A[source(A, mask, 0) : source(A, mask, 0) + words]
        for w in range(first.size):
            row[w] = np.uint32(first[w])
        row[words:] = 0
    for k in range(n):
        tokens = source(A, mask, k)
        if tokens < 0:
            set_bits(A, TOKENS.LIST(A, -tokens), tokens_end(A, -tokens), row)
        elif k > 0:
            other = A[tokens : tokens + words]
            for w in range(other.size):
                row[w] |= np.uint32(other[w])
    set_bits(A, own_start(A, mask), own_end(A, mask), row)


@kernel("i(arena, arena, arena, i, row)", entry=True)
def fill_mask(A, H, S, c, row):
    """Write the mask of a configuration. Returns IS_WATCHED and IS_ACCEPTING, added up, as they apply to it."""
    write_mask(A, mask(A, H, S, c), row)
    return (IS_WATCHED if is_watched(A, c) else 0) + (IS_ACCEPTING if accepts(A, H, S, c) else 0)


@kernel("i(arena, i, i, row)", entry=True, brief=True)
def known_mask(A, epoch, c, row):
    """`fill_mask` if the mask is known, else -1. Needs no lock: c is a configuration of this epoch."""
    if not is_of_epoch(A, epoch) or CONFIG.MASK(A, c) == 0 or A[c + CONFIG.ACCEPTS] == 0:
        return -1
    write_mask(A, CONFIG.MASK(A, c), row)
    return (IS_WATCHED if is_watched(A, c) else 0) + (IS_ACCEPTING if A[c + CONFIG.ACCEPTS] == 2 else 0)


@kernel("i(arena, i, i, i)")
def only_of(A, start, stop, only):
    """The one token among `only` (-1: none) and the tokens A[start:stop]; SEVERAL if there are more."""
    for i in range(start, stop):
        if only != -1 and only != A[i]:
            return SEVERAL
        only = np.int64(A[i])
    return only


@kernel("i(arena, i, i)")
def only_of_bitmap(A, bitmap, only):
    """`only_of`, for the tokens of a bitmap."""
    for w in range(mask_words(A)):
        bits = np.int64(A[bitmap + w]) & 0xFFFFFFFF
        token = w * 32
        while bits != 0:
            if bits & 1:
                if only != -1 and only != token:
                    return SEVERAL
                only = np.int64(token)
            bits >>= 1
            token += 1
    return only


@kernel("i(arena, arena, arena, i)", entry=True)
def forced_token(A, H, S, c):
    """The only token that the mask of c allows, or -1."""
    region_of_mask = mask(A, H, S, c)
    only = only_of(A, own_start(A, region_of_mask), own_end(A, region_of_mask), -1)
    for k in range(MASK.N_SOURCES(A, region_of_mask)):
        tokens = source(A, region_of_mask, k)
        if only != SEVERAL:
            if tokens < 0:
                only = only_of(A, TOKENS.LIST(A, -tokens), tokens_end(A, -tokens), only)
            else:
                only = only_of_bitmap(A, tokens, only)
    return only if only != SEVERAL else -1


@kernel("void(arena, arena, arena, arena)", entry=True)
def align_trie(whole, part, cursor, out):
    """The number in a whole trie of each node of a trie of some of its tokens.

    whole, part: tries     out: int32[nodes of part]
    cursor: int32[deepest level + 2], zero; by depth, where to look for the next sibling
    """
    for i in range(out.size):
        depth = node_depth(part, 0, i)
        j = np.int64(cursor[depth])
        while node_word(whole, 0, j) != node_word(part, 0, i):
            j = node_end(whole, 0, j)
        out[i] = j
        cursor[depth] = node_end(whole, 0, j)
        cursor[depth + 1] = j + 1
