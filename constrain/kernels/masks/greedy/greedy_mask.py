"""Token masks under the greedy lexer.

The idea: a configuration is a list of pairs (parser state, lexer state), the longest lexeme in progress first. What
tokens do until a lexeme has ended is said by the lexer states alone (`inside`, lexer_lists.py). What they do then,
from whatever node on, is said by the lexer state of the parser state that the lexeme leads to (following.py),
until a lexeme leads to another one. A mask is these, and no configuration is made on the way but for forks.

    PLACE(node, CONFIG)      of forks     memo: number of the mask that met it last

Cost: a few microseconds and the look-ups of the next lexemes if the insides are known; a walk of the trie for each that
is not. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.masks.greedy.blocks import (
    BASE,
    BLOCK,
    BLOCKS,
    CONTENT_OF,
    ENDED_AS,
    ENDS,
    INNER_BITS,
    MAX_PAIRS,
    N_BLOCKS,
    N_ENDS,
    N_INNER,
    PAIR,
    add_inner,
    set_tokens,
    store_tokens,
)
from constrain.kernels.masks.greedy.following import ALIVE, LATEST, following, is_loop
from constrain.kernels.masks.greedy.lexer_lists import INSIDE, hub, inside
from constrain.kernels.parser.configurations import (
    accepts,
    peek_configuration,
    push_fresh,
    step_configuration,
    whole,
)
from constrain.kernels.parser.earley import FRESH, LEXER, close, scan
from constrain.kernels.records.arena import (
    CONFIG,
    DEPTH,
    EOS,
    KEY,
    LOOPS,
    N_EOS,
    N_MASKS,
    N_NODES,
    N_TOKENS,
    N_VISITED,
    N_WALKS,
    NONE,
    PLACE,
    TRIE,
    intern2,
    intern_list,
    push,
    region,
    room,
    size,
    sort_groups,
    unique_groups,
)

MET = 1  # memo word of PLACE
SMALL = 2  # nodes of a subtree that is walked with configurations


@kernel("void(arena, arena, arena, i, i, i, i)")
def walk(A, H, S, node, c, bitmap, states):
    """Set the tokens below a node that keep the configuration c alive."""
    trie = np.int64(A[TRIE])
    i = node + 1
    stop = np.int64(A[trie + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    S[states + (np.int64(A[trie + 3 * node]) >> 8 if node >= 0 else 0)] = c
    visited = 0
    while i < stop:
        word = A[trie + 3 * i]
        here = states + (word >> 8)
        d = np.int64(peek_configuration(A, S[here - 1], word & 255))
        if d == 0:
            d = step_configuration(A, H, S, S[here - 1], word & 255)
        visited += 1
        if d == NONE:
            i = np.int64(A[trie + 3 * i + 1])
            continue
        S[here] = d
        set_tokens(A, S, bitmap, A[trie + 3 * i + 2])
        i += 1
    A[N_VISITED] += visited


@kernel("i(arena, arena, arena, i, i)")
def fresh_as(A, H, S, grammar, p):
    """The configuration of a grammar at the beginning of a lexeme in the parser state p."""
    known = np.int64(A[p + FRESH])
    if known == 0 or A[known + KEY] != grammar:
        start = np.int64(S[0])
        push(S, grammar)
        push_fresh(A, H, S, p)
        known = intern_list(A, H, S, CONFIG, start)
        A[p + FRESH] = known
    return known


@kernel("i(arena, arena, arena, i, i, i)")
def forked(A, H, S, c, left, d):
    """The configuration of the pairs LEFT of c, and after them those of d."""
    start = np.int64(S[0])
    push(S, A[c + KEY])
    for k in range(left + KEY, left + KEY + size(A, left), 2):
        push(S, A[c + KEY + 1 + 2 * A[k]] & ~1)
        push(S, A[k + 1])
    for k in range(d + KEY + 1, d + KEY + size(A, d)):
        push(S, A[k])
    return intern_list(A, H, S, CONFIG, start)


@kernel("void(arena, i, i)")
def push_place(S, node, c):
    """A place to go on from: a node, and the configuration there; or a FOLLOWING, negative, and a parser state."""
    push(S, node)
    push(S, c)


@kernel("void(arena, arena, arena, i, i, i)")
def add_forks(A, H, S, found, c, q):
    """Push the places where a lexeme may begin, in the parser state q, beside the pairs of c that are in progress."""
    alive = np.int64(A[found + ALIVE])
    for k in range(alive + 1, alive + 1 + A[alive]):
        fork = np.int64(A[k])
        d = step_configuration(A, H, S, fresh_as(A, H, S, A[c + KEY], q), A[fork])
        d = forked(A, H, S, c, A[fork + 2], d)
        place = intern2(A, H, PLACE, A[fork + 1], d)
        if A[place + MET] != A[N_MASKS]:  # forks of forks meet again: of ten backslashes any may be the first
            A[place + MET] = A[N_MASKS]
            push_place(S, A[fork + 1], d)


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def add_next(A, H, S, block, p, c, grammar, bitmap):
    """Set the tokens with which a lexeme of the parser state p ends as the block says; push what follows.

    c: the configuration that the block is of; 0: the pair (p, its lexer state) alone.
    """
    content = np.int64(A[block + CONTENT_OF])
    if content == 0 and A[block + N_ENDS] == 0:
        return 0
    q = scan(A, H, S, p, A[block + ENDED_AS])
    if q == 0:  # as what a terminal excludes
        return 0
    for i in range(A[block + ENDS], A[block + ENDS] + A[block + N_ENDS]):
        set_tokens(A, S, bitmap, A[A[TRIE] + 3 * A[i] + 2])
    if content == 0 or close(A, H, S, q) == NONE:
        return 0
    found = following(A, H, S, content, A[q + LEXER], 0)
    if A[A[found + ALIVE]] != 0:
        add_forks(A, H, S, found, c if c != 0 else fresh_as(A, H, S, grammar, p), q)
    if A[A[found + INSIDE] + N_INNER] + A[A[found + INSIDE] + INNER_BITS] + A[A[found + INSIDE] + N_BLOCKS] != 0:
        push_place(S, -found, q)
    return 0


@kernel("i(arena, arena, arena, i, i)")
def stays(A, H, S, q, loops):
    """Whether the parser state q is the same after each of the LOOPS."""
    for k in range(loops + KEY, loops + KEY + size(A, loops)):
        if scan(A, H, S, q, A[k]) != q:
            return 0
    return 1


@kernel("i(arena, arena, arena, i, i)")
def inside_with_loops(A, H, S, found, q):
    """The inside of a FOLLOWING without LOOPS, with those of the parser state q that matter there."""
    known = np.int64(A[found + LATEST])
    if known == 0 or not stays(A, H, S, q, known):
        known = 0
    while True:
        head = np.int64(A[following(A, H, S, A[found + KEY], A[found + KEY + 1], known) + INSIDE])
        start = np.int64(S[0])
        for block in range(A[head + BLOCKS], A[head + BLOCKS] + BLOCK * A[head + N_BLOCKS], BLOCK):
            if scan(A, H, S, q, A[block + ENDED_AS]) == q and not is_loop(A, known, A[block + ENDED_AS]):
                push(S, A[block + ENDED_AS])
        if S[0] == start:
            A[found + LATEST] = known
            return head
        if known != 0:
            for k in range(known + KEY, known + KEY + size(A, known)):
                push(S, A[k])
        sort_groups(S, start, S[0], 1)
        S[0] = unique_groups(S, start, S[0], 1)
        known = intern_list(A, H, S, LOOPS, start)


@kernel("void(arena, arena, arena, i, i, i, i)")
def add_place(A, H, S, node, c, bitmap, states):
    """Set the tokens that may be read below a node from the configuration c, as far as its lexemes go; push what
    follows. Of the root, but for the hub."""
    stop = np.int64(A[A[TRIE] + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    if stop - node <= SMALL or size(A, c) > 1 + 2 * MAX_PAIRS:
        A[N_WALKS] += 1
        walk(A, H, S, node, c, bitmap, states)
        return
    c = whole(A, H, S, c)
    head = inside(A, H, S, node, c)
    while head != 0:
        add_inner(A, S, head, bitmap)
        for block in range(A[head + BLOCKS], A[head + BLOCKS] + BLOCK * A[head + N_BLOCKS], BLOCK):
            p = np.int64(A[c + KEY + 1 + 2 * A[block + PAIR]]) >> 1
            add_next(A, H, S, block, p, c, A[c + KEY], bitmap)
        head = np.int64(A[head + BASE])


@kernel("void(arena, arena, arena, i, i, i, i)")
def gather(A, H, S, bottom, grammar, bitmap, states):
    """Set the tokens that may be read at the places S[bottom : S[0]]; pops them."""
    while S[0] > bottom:
        S[0] -= 2
        node = np.int64(S[S[0]])
        if node >= -1:
            add_place(A, H, S, node, S[S[0] + 1], bitmap, states)
            continue
        q = np.int64(S[S[0] + 1])
        head = inside_with_loops(A, H, S, -node, q)
        add_inner(A, S, head, bitmap)
        for block in range(A[head + BLOCKS], A[head + BLOCKS] + BLOCK * A[head + N_BLOCKS], BLOCK):
            add_next(A, H, S, block, q, 0, grammar, bitmap)


@kernel("i(arena, arena, arena, i)")
def greedy_mask(A, H, S, c):
    """The mask record of a configuration under the greedy lexer: [bitmaps, ..., n, tokens...], as in masks.py."""
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    bitmap = np.int64(S[0])
    states = bitmap + words
    room(S, words + A[DEPTH] + 8)
    S[bitmap : bitmap + words] = 0
    S[0] = states + A[DEPTH] + 8
    bottom = np.int64(S[0])
    push_place(S, -1, c)
    space = hub(A)
    if space >= 0:
        d = step_configuration(A, H, S, c, A[A[TRIE] + 3 * space] & 255)
        if d != NONE:
            set_tokens(A, S, bitmap, A[A[TRIE] + 3 * space + 2])
            push_place(S, space, d)
    gather(A, H, S, bottom, A[c + KEY], bitmap, states)
    if accepts(A, H, S, c):
        for i in range(A[EOS], A[EOS] + A[N_EOS]):
            S[bitmap + (A[i] >> 5)] |= np.int32(np.uint32(1) << np.uint32(A[i] & 31))
    found = region(A, 3)
    store_tokens(A, H, S, bitmap, found)
    n = np.int64(A[found])
    if A[found + 2] != 0:
        A[found + 1] = A[found + 2]
        A[found] = 1
        A[found + 2] = 0
    else:
        record = region(A, 2 + n)
        A[record + 1] = n
        for k in range(n):
            A[record + 2 + k] = A[A[found + 1] + k]
        found = record
    S[0] = bitmap
    return found
