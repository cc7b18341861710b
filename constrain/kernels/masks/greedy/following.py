"""What follows a lexeme that has ended: what tokens do until a lexeme leads to another parser state.

The idea: where lexemes have ended as a block says (blocks.py), the parser state is one, whatever the node. So what its
lexer state says of all these nodes is found in one walk, and remembered: as an inside, and the forks that are alive.

Most lexemes that follow change nothing: after a blank, the parser is where it was, and so it is after the second of two
signs or of two letters. Such tagsets (LOOPS) do not end the walk: the next lexeme begins with the same lexer state. So
a run of a hundred dashes is one place, not a hundred.

    FOLLOWING(CONTENT, lexer state, LOOPS or 0)     memo: inside. Without LOOPS also: forks [n, where in CONTENT...];
                                                    the LOOPS that the latest parser state had there
    LOOPS(TAGSET...)          tagsets after which a parser state is the same; not all need to be there

All pairs of such an inside have the number 0: their parser state is the one that follows the block.

Cost: a walk of the trie, about 20 ns a node that is visited. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import continues, peek, step, tags
from constrain.kernels.masks.greedy.blocks import (
    HEAD,
    MAX_PAIRS,
    N_FORKS,
    N_RESTARTS,
    N_RUNS,
    RESTARTS,
    set_tokens,
    store_inside,
)
from constrain.kernels.masks.greedy.lexer_lists import FRAME, INSIDE, push_end, push_exit, step_lineup
from constrain.kernels.records.arena import (
    DEPTH,
    FOLLOWING,
    KEY,
    N_INSIDE,
    N_TOKENS,
    N_VISITED,
    NO_TAGS,
    NONE,
    SERIAL,
    TRIE,
    intern3,
    push,
    region,
    room,
    size,
)

ALIVE, LATEST = 2, 3  # memo words of FOLLOWING: its forks; the LOOPS that it was asked for last


@kernel("i(arena, i, i, i)")
def in_frame(S, frame, n, lexer):
    """Whether one of the first n pairs of a frame is in this lexer state."""
    for k in range(frame + 4, frame + 4 + 2 * n, 2):
        if S[k] == lexer:
            return 1
    return 0


@kernel("i(arena, i, i)")
def is_loop(A, loops, t):
    """Whether the tagset is one of the LOOPS."""
    if loops != 0:
        for k in range(loops + KEY, loops + KEY + size(A, loops)):
            if A[k] == t:
                return 1
    return 0


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def step_looping(A, H, S, before, after, b, lexer, loops):
    """The frame after byte b, by the rules of `step_greedy`; 1 if a lexeme ended here. Behind one that ended as one of
    the LOOPS a lexeme begins in the lexer state `lexer`."""
    n = 0
    S[after + 2] = NO_TAGS
    for k in range(before + 4, before + 4 + 2 * S[before], 2):
        e = np.int64(peek(A, S[k], b))
        if e == 0:
            e = step(A, H, S, S[k], b)
        if e == NONE or in_frame(S, after, n, e):
            continue
        if continues(A, e):
            S[after + 3 + 2 * n] = 0
            S[after + 4 + 2 * n] = e
            n += 1
        t = tags(A, H, S, e)
        if t != NO_TAGS:
            if n == MAX_PAIRS or not is_loop(A, loops, t):
                S[after + 1] = 0
                S[after + 2] = t
            elif not in_frame(S, after, n, lexer):
                S[after + 3 + 2 * n] = 0
                S[after + 4 + 2 * n] = lexer
                n += 1
            S[after] = n
            return 1
    S[after] = n
    return 0


@kernel("i(arena, arena, arena, i, i, i, i, i, i, i)")
def walk_looping(A, H, S, first, stop, frames, bitmap, lexer, loops, blocks):
    """Walk the nodes first..stop-1, brothers and what is below them; set bits, push rows.

    A lexeme begins with each brother, in the lexer state `lexer`. Returns the number of blocks.
    """
    trie = np.int64(A[TRIE])
    start = frames + FRAME * ((np.int64(A[trie + 3 * first]) >> 8) - 1)
    S[start] = 1
    S[start + 2] = NO_TAGS
    S[start + 4] = lexer
    i = first
    visited = 0
    while i < stop:
        word = np.int64(A[trie + 3 * i])
        after = frames + FRAME * (word >> 8)
        before = after - FRAME
        ended = step_looping(A, H, S, before, after, word & 255, lexer, loops)
        visited += 1
        if not ended and S[before + 2] != NO_TAGS:
            blocks = push_exit(A, H, S, before, after, blocks, i)
        if S[after] > 0:
            set_tokens(A, S, bitmap, A[trie + 3 * i + 2])
            i += 1
            continue
        if ended:
            blocks = push_end(A, S, after, blocks, i)
        i = np.int64(A[trie + 3 * i + 1])
    A[N_VISITED] += visited
    return blocks


@kernel("i(arena, arena, arena, i, i)")
def push_starts(A, H, S, content, lexer):
    """Push (first, behind the last) for the nodes with which the next lexeme may begin, but for forks; where in the
    CONTENT these are."""
    trie = np.int64(A[TRIE])
    at = content + RESTARTS
    for k in range(at, at + A[content + N_RESTARTS]):
        push(S, A[k] + 1)
        push(S, A[trie + 3 * A[k] + 1])
    at += A[content + N_RESTARTS]
    for _ in range(A[content + N_RUNS]):
        if step(A, H, S, lexer, A[at]) != NONE:
            for k in range(at + 2, at + 2 + A[at + 1]):
                push(S, A[k])
                push(S, A[trie + 3 * A[k] + 1])
        at += 2 + A[at + 1]
    return at


@kernel("i(arena, i, i)")
def among(A, left, lexer):
    """Whether one of the pairs LEFT is in this lexer state: it decides before any behind it."""
    for k in range(left + KEY + 1, left + KEY + size(A, left), 2):
        if A[k] == lexer:
            return 1
    return 0


@kernel("i(arena, arena, arena, i, i, i)")
def may_fail(A, H, S, node, left, frames):
    """Whether below a node all pairs of LEFT may come to nothing before one of them ends; else what is behind them
    decides nothing."""
    trie = np.int64(A[TRIE])
    start = frames + FRAME * (np.int64(A[trie + 3 * node]) >> 8)
    S[start] = size(A, left) >> 1
    for w in range(size(A, left)):
        S[start + 3 + w] = A[left + KEY + w]
    i = node + 1
    while i < A[trie + 3 * node + 1]:
        word = np.int64(A[trie + 3 * i])
        after = frames + FRAME * (word >> 8)
        A[N_VISITED] += 1
        if step_lineup(A, H, S, after - FRAME, after, word & 255):
            i = np.int64(A[trie + 3 * i + 1])
        elif S[after] == 0:
            return 1
        else:
            i += 1
    return 0


@kernel("i(arena, arena, arena, i, i, i, i)")
def forks_alive(A, H, S, forks, n, lexer, frames):
    """[n, where...]: of n forks, those below which a lexeme that begins there may decide something."""
    start = np.int64(S[0])
    for fork in range(forks, forks + 3 * n, 3):
        node, left = np.int64(A[fork + 1]), np.int64(A[fork + 2])
        if A[A[TRIE] + 3 * node + 1] > node + 1:
            e = step(A, H, S, lexer, A[fork])
            if e != NONE and not among(A, left, e) and may_fail(A, H, S, node, left, frames):
                push(S, fork)
    count = S[0] - start
    out = region(A, 1 + count)
    A[out] = count
    for k in range(count):
        A[out + 1 + k] = S[start + k]
    S[0] = start
    return out


@kernel("i(arena, arena, arena, i)")
def walk_from(A, H, S, found):
    """Find the inside of a FOLLOWING, and its forks if it has no LOOPS."""
    content, lexer, loops = np.int64(A[found + KEY]), np.int64(A[found + KEY + 1]), np.int64(A[found + KEY + 2])
    A[SERIAL] += 1
    A[N_INSIDE] += 1
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    bitmap = np.int64(S[0])
    frames = bitmap + words
    above = words + FRAME * (A[DEPTH] + 3)
    room(S, above)
    S[0] = bitmap + above
    starts = np.int64(S[0])
    forks = push_starts(A, H, S, content, lexer)
    rows = np.int64(S[0])
    if rows == starts:
        head = region(A, HEAD)
    else:
        S[bitmap : bitmap + words] = 0
        blocks = 0
        for start in range(starts, rows, 2):
            blocks = walk_looping(A, H, S, S[start], S[start + 1], frames, bitmap, lexer, loops, blocks)
        head = store_inside(A, H, S, 0, bitmap, starts, rows, blocks)
    if loops == 0:
        A[found + ALIVE] = forks_alive(A, H, S, forks, A[content + N_FORKS], lexer, frames)
    S[0] = bitmap
    A[found + INSIDE] = head
    return head


@kernel("i(arena, arena, arena, i, i, i)")
def following(A, H, S, content, lexer, loops):
    """The FOLLOWING of a CONTENT and a lexer state, its inside known."""
    found = intern3(A, H, FOLLOWING, content, lexer, loops)
    if A[found + INSIDE] == 0:
        walk_from(A, H, S, found)
    return found
