"""Tokens that end the lexeme in progress and begin another: walks of the exits of an inside.

The idea: below an exit a token goes on with the next lexeme, and often with the one after that. Seldom is there more
than one way to cut it into lexemes, so there a node needs no configuration, only a *frame* on the stack: the parser
state and lexer state of the one lexeme in progress, and those of the next lexeme if one may begin here. Only where a
byte may go on with the lexeme or begin the next is the subtree walked with configurations, which are kept.

    frame    [p, its lexer state, parser state after the lexeme if it may end here (else 0), its lexer state]

Cost: some 10 ns a node, and the parser states that are met for the first time. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import TAGS, continues, peek, step, tags
from constrain.kernels.masks.dynamic.walks import (
    BLOCK,
    BLOCKS,
    ENDS,
    N_BLOCKS,
    N_ENDS,
    N_RUNS,
    RUNS,
    SURVIVORS,
    T,
)
from constrain.kernels.parser.configurations import configuration_of, peek_configuration, step_configuration
from constrain.kernels.parser.earley import close, scan
from constrain.kernels.records.arena import (
    N_VISITED,
    NEXT_SAME,
    NO_TAGS,
    NONE,
    OWN,
    SEEN,
    SERIAL,
    TRIE,
    push,
)

FRAME = 4
STATE, LEXER, NEXT, NEXT_LEXER = 0, 1, 2, 3  # words of a frame


@kernel("void(arena, arena, i)")
def push_tokens(A, S, token):
    """Push a token and those with the same bytes, each once a mask."""
    while token >= 0:
        if A[A[SEEN] + token] != A[SERIAL]:
            A[A[SEEN] + token] = A[SERIAL]
            push(S, token)
        token = np.int64(A[A[NEXT_SAME] + token])


@kernel("void(arena, arena, arena, i, i, i, i)")
def walk_configuration(A, H, S, states, first, stop, c):
    """Push the tokens of nodes first..stop-1, a subtree's children (or the whole trie), that keep c alive.

    states: a stack of configurations by depth.
    """
    trie = np.int64(A[TRIE])
    visited = 0
    i = first
    if i < stop:
        S[states + (A[trie + 3 * i] >> 8) - 1] = c
    while i < stop:
        word = A[trie + 3 * i]
        here = states + (word >> 8)
        d = peek_configuration(A, S[here - 1], word & 255)
        if d == 0:
            d = step_configuration(A, H, S, S[here - 1], word & 255)
        visited += 1
        if d == NONE:
            i = np.int64(A[trie + 3 * i + 1])
            continue
        S[here] = d
        if A[trie + 3 * i + 2] >= 0:
            push_tokens(A, S, A[trie + 3 * i + 2])
        i += 1
    A[N_VISITED] += visited


@kernel("i(arena, arena, arena, i, i)")
def lives(A, H, S, p, e):
    """Whether a lexeme of the parser state p whose lexer is in e may go on, or may have ended."""
    if continues(A, e):
        return 1
    t = tags(A, H, S, e)
    return t != NO_TAGS and scan(A, H, S, p, t) != 0


@kernel("void(arena, arena, arena, i, i, i)")
def set_frame(A, H, S, frame, p, e):
    """Write the frame of a lexeme of the parser state p whose lexer is in e."""
    t = tags(A, H, S, e)
    q = scan(A, H, S, p, t) if t != NO_TAGS else 0
    S[frame + STATE], S[frame + LEXER], S[frame + NEXT] = p, e, q
    S[frame + NEXT_LEXER] = close(A, H, S, q) if q != 0 else NONE


@kernel("void(arena, arena, arena, i, i, i, i)")
def walk_frames(A, H, S, frames, states, first, stop):
    """Push the tokens of nodes first..stop-1, a subtree's children, that keep the frame of the node above alive.

    frames, states: stacks by depth.
    """
    trie = np.int64(A[TRIE])
    visited = 0
    i = first
    while i < stop:
        word = A[trie + 3 * i]
        b = word & 255
        here = frames + FRAME * (word >> 8)
        above = here - FRAME
        end = np.int64(A[trie + 3 * i + 1])
        visited += 1
        p = np.int64(S[above + STATE])
        e = np.int64(peek(A, S[above + LEXER], b))
        if e == 0:
            e = step(A, H, S, S[above + LEXER], b)
        if S[above + NEXT] != 0:
            next_e = np.int64(peek(A, S[above + NEXT_LEXER], b))
            if next_e == 0:
                next_e = step(A, H, S, S[above + NEXT_LEXER], b)
            if next_e != NONE and e != NONE:  # two ways to cut the token
                c = configuration_of(
                    A, H, S, S[above + STATE], S[above + LEXER], S[above + NEXT], S[above + NEXT_LEXER]
                )
                d = step_configuration(A, H, S, c, b)
                if d != NONE:
                    push_tokens(A, S, A[trie + 3 * i + 2])
                    walk_configuration(A, H, S, states, i + 1, end, d)
                i = end
                continue
            if next_e != NONE:
                p = np.int64(S[above + NEXT])
                e = next_e
        is_same = p == S[above + STATE] and e == S[above + LEXER]  # PERF: as behind letters that are lexemes
        if e == NONE or (not is_same and not lives(A, H, S, p, e)):
            i = end
            continue
        push_tokens(A, S, A[trie + 3 * i + 2])
        if end > i + 1:
            if is_same:
                for w in range(FRAME):
                    S[here + w] = S[above + w]
            elif A[e + TAGS] == NO_TAGS:  # PERF: as in most cases; what is next is not read then
                S[here + STATE], S[here + LEXER], S[here + NEXT] = p, e, 0
            else:
                set_frame(A, H, S, here, p, e)
        i += 1
    A[N_VISITED] += visited


@kernel("i(arena, arena, arena, i, i, i)")
def meets_survivors(A, H, S, q, lexer, block):
    """Whether a lexeme of q, which begins in the lexer state, can begin with a byte with which the lexeme of the block
    could also go on."""
    for w in range(8):
        bits = np.int64(A[block + SURVIVORS + w]) & 0xFFFFFFFF
        b = w * 32
        while bits != 0:
            if bits & 1:
                e = step(A, H, S, lexer, b)
                if e != NONE and lives(A, H, S, q, e):
                    return 1
            bits >>= 1
            b += 1
    return 0


@kernel("void(arena, arena, arena, i, i, i, i, i)")
def walk_exits(A, H, S, frames, states, q, lexer, block):
    """Push the tokens that go on below the exits of a block with a lexeme of q, which begins in the lexer state."""
    trie = np.int64(A[TRIE])
    for run in range(A[block + RUNS], A[block + RUNS] + 3 * A[block + N_RUNS], 3):
        e = step(A, H, S, lexer, A[run])
        if e == NONE or not lives(A, H, S, q, e):
            continue
        is_set = False
        for i in range(A[run + 2], A[run + 2] + A[run + 1]):
            node = np.int64(A[i])
            push_tokens(A, S, A[trie + 3 * node + 2])
            if A[trie + 3 * node + 1] > node + 1:
                if not is_set:  # no node has depth 0
                    set_frame(A, H, S, frames, q, e)
                    is_set = True
                here = frames + FRAME * (A[trie + 3 * node] >> 8)
                for w in range(FRAME):
                    S[here + w] = S[frames + w]
                walk_frames(A, H, S, frames, states, node + 1, A[trie + 3 * node + 1])


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def cross(A, H, S, frames, states, p, head, own):
    """Push the tokens that end the lexeme of the inside set `head` and go on from p; 0 if the whole trie must be
    walked. own: the tagset that OWN stands for."""
    for n in range(A[head + N_BLOCKS]):
        block = A[head + BLOCKS] + BLOCK * n
        q = scan(A, H, S, p, A[block + T] if A[block + T] != OWN else own)
        if q == 0:
            continue
        for i in range(A[block + ENDS], A[block + ENDS] + A[block + N_ENDS]):
            push_tokens(A, S, A[A[TRIE] + 3 * A[i] + 2])
        goes_on = np.int64(A[block + N_RUNS])
        for w in range(8):
            goes_on |= A[block + SURVIVORS + w]
        if goes_on != 0:
            lexer = close(A, H, S, q)
            if meets_survivors(A, H, S, q, lexer, block):
                return 0
            walk_exits(A, H, S, frames, states, q, lexer, block)
    return 1
