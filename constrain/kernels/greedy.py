"""Token masks under the greedy lexer.

The idea: a configuration is a list of pairs (parser state, lexer state), the longest lexeme in progress first. What
tokens do until a lexeme has ended is said by the lexer states alone (`inside`, kernels/lineups.py). A mask is the
tokens inside, and for each place where a lexeme has ended what the lexer states of the next lexeme say, by the same
means. Few configurations are made on the way, and where a subtree is one node it is simply walked.

    PLACE(node, CONFIG)      of forks     memo: number of the mask that met it last

Cost: a few microseconds and the look-ups of the next lexemes if the insides are known; a walk of the trie for each that
is not. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.arena import (
    CONFIG,
    DEPTH,
    EOS,
    KEY,
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
)
from constrain.kernels.blocks import (
    BASE,
    BLOCK,
    BLOCKS,
    ENDED_AS,
    ENDS,
    FORKS,
    MAX_PAIRS,
    N_BLOCKS,
    PAIR,
    RESTARTS,
    RUNS,
    add_inner,
    set_tokens,
    store_tokens,
)
from constrain.kernels.configurations import (
    accepts,
    peek_configuration,
    push_fresh,
    step_configuration,
    whole,
)
from constrain.kernels.earley import FRESH, LEXER, scan
from constrain.kernels.expressions import step
from constrain.kernels.lineups import hub, inside

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


@kernel("i(arena, i, i)")
def among(A, left, lexer):
    """Whether one of the pairs LEFT is in this lexer state: it decides before any behind it."""
    for k in range(left + KEY + 1, left + KEY + size(A, left), 2):
        if A[k] == lexer:
            return 1
    return 0


@kernel("void(arena, i, i)")
def push_place(S, node, c):
    """A place to go on from: a node, and the configuration there."""
    push(S, node)
    push(S, c)


@kernel("i(arena, arena, arena, i, i, i)")
def add_next(A, H, S, block, c, bitmap):
    """Set the tokens with which a lexeme ends as the block says; push the places where the next lexeme goes on."""
    trie = np.int64(A[TRIE])
    more = A[block + RESTARTS + 1] + A[block + RUNS + 1] + A[block + FORKS + 1]
    if A[block + ENDS + 1] + more == 0:
        return 0
    q = scan(A, H, S, A[c + KEY + 1 + 2 * A[block + PAIR]] >> 1, A[block + ENDED_AS])
    if q == 0:  # as what a terminal excludes
        return 0
    for i in range(A[block + ENDS], A[block + ENDS] + A[block + ENDS + 1]):
        set_tokens(A, S, bitmap, A[trie + 3 * A[i] + 2])
    if more == 0:
        return 0
    f = fresh_as(A, H, S, A[c + KEY], q)
    for i in range(A[block + RESTARTS], A[block + RESTARTS] + A[block + RESTARTS + 1]):
        push_place(S, A[i], f)
    for run in range(A[block + RUNS], A[block + RUNS] + 3 * A[block + RUNS + 1], 3):
        if step(A, H, S, A[q + LEXER], A[run]) == NONE:
            continue
        for i in range(A[run + 2], A[run + 2] + A[run + 1]):
            node = np.int64(A[i])
            set_tokens(A, S, bitmap, A[trie + 3 * node + 2])
            if A[trie + 3 * node + 1] > node + 1:
                push_place(S, node, step_configuration(A, H, S, f, A[run]))
    for fork in range(A[block + FORKS], A[block + FORKS] + 3 * A[block + FORKS + 1], 3):
        node = np.int64(A[fork + 1])
        e = step(A, H, S, A[q + LEXER], A[fork]) if A[trie + 3 * node + 1] > node + 1 else NONE
        if e != NONE and not among(A, A[fork + 2], e):
            d = step_configuration(A, H, S, f, A[fork])
            d = forked(A, H, S, c, A[fork + 2], d)
            place = intern2(A, H, PLACE, node, d)
            if A[place + MET] != A[N_MASKS]:  # forks of forks meet again: of ten backslashes any may be the first
                A[place + MET] = A[N_MASKS]
                push_place(S, node, d)
    return 0


@kernel("void(arena, arena, arena, i, i, i)")
def gather(A, H, S, bottom, bitmap, states):
    """Set the tokens that may be read at the places S[bottom : S[0]], pairs (node, configuration), below each node; of
    the root, but for the hub. Pops them."""
    while S[0] > bottom:
        S[0] -= 2
        node = np.int64(S[S[0]])
        c = np.int64(S[S[0] + 1])
        stop = np.int64(A[A[TRIE] + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
        if stop - node <= SMALL or size(A, c) > 1 + 2 * MAX_PAIRS:
            A[N_WALKS] += 1
            walk(A, H, S, node, c, bitmap, states)
            continue
        c = whole(A, H, S, c)
        head = inside(A, H, S, node, c)
        while head != 0:
            add_inner(A, S, head, bitmap)
            for n in range(A[head + N_BLOCKS]):
                add_next(A, H, S, A[head + BLOCKS] + BLOCK * n, c, bitmap)
            head = np.int64(A[head + BASE])


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
    gather(A, H, S, bottom, bitmap, states)
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
