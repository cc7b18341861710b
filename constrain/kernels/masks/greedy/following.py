"""Walks of tokens behind a lexeme that has ended, until a lexeme leads to another parser state (greedy lexer).

The idea: where lexemes have ended as a block says (blocks.py), the parser state is one, whatever the node. So what its
lexer state says of all these nodes is found in one walk, and remembered: as a token table, and the forks that are
alive.

Most lexemes that follow change nothing: after a blank, the parser is where it was, and so it is after the second of two
signs or of two letters. Such tagsets (LOOPS) do not end the walk: the next lexeme begins with the same lexer state. So
a run of a hundred dashes is one place, not a hundred.

Records: records/greedy_tables.py. Cost: a walk of the trie, about 20 ns a node that is visited.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import step
from constrain.kernels.masks.greedy.blocks import store_table
from constrain.kernels.masks.greedy.walk import LOOPING, new_walk, step_list, walk_nodes
from constrain.kernels.records.arena import NO_TAGS, NONE, intern3, note_visits, region
from constrain.kernels.records.grammars import LIST, list_start
from constrain.kernels.records.greedy_tables import (
    CONTENT,
    EXITS,
    FOLLOWING,
    FORK,
    GREEDY_FRAME,
    GREEDY_TABLE,
    START,
    WALK,
    exits_end,
    exits_start,
    frame_at,
    left_count,
    left_lexer,
    left_number,
    restarts_end,
    restarts_start,
    set_frame_lexer,
    set_frame_number,
)
from constrain.kernels.records.stack import push, set_top, top
from constrain.kernels.records.vocabulary import node_depth, node_end, node_word, trie_of, word_byte, word_depth


@kernel("void(arena, i, i)")
def push_start(S, first, end):
    """Push a range START of nodes."""
    push(S, first)
    push(S, end)


@kernel("i(arena, arena, arena, i, i)")
def push_starts(A, H, S, content, lexer):
    """Push the ranges START of nodes with which the next lexeme may begin, but for forks. Returns where in the CONTENT
    these are."""
    trie = trie_of(A)
    for k in range(restarts_start(content), restarts_end(A, content)):
        push_start(S, A[k] + 1, node_end(A, trie, A[k]))
    exits = restarts_end(A, content)
    for _ in range(A[content + CONTENT.N_RUNS]):
        if step(A, H, S, lexer, EXITS.BYTE(A, exits)) != NONE:
            for k in range(exits_start(exits), exits_end(A, exits)):
                push_start(S, A[k], node_end(A, trie, A[k]))
        exits = exits_end(A, exits)
    return exits


# --- forks ------------------------------------------------------------------------------------------------------------


@kernel("i(arena, i, i)")
def among(A, left, lexer):
    """1 if one of the pairs LEFT is in this lexer state, else 0. Such a pair decides before any behind it."""
    for k in range(left_count(A, left)):
        if left_lexer(A, left, k) == lexer:
            return 1
    return 0


@kernel("i(arena, arena, arena, i, i, i)")
def may_fail(A, H, S, walk, node, left):
    """1 if below a node all pairs of LEFT may come to nothing before one of them ends; else 0: the pairs behind them
    decide nothing."""
    trie = trie_of(A)
    start = frame_at(S, walk, node_depth(A, trie, node))
    S[start + GREEDY_FRAME.COUNT] = left_count(A, left)
    for k in range(left_count(A, left)):
        set_frame_number(S, start, k, left_number(A, left, k))
        set_frame_lexer(S, start, k, left_lexer(A, left, k))
    i = node + 1
    while i < node_end(A, trie, node):
        word = node_word(A, trie, i)
        after = frame_at(S, walk, word_depth(word))
        note_visits(A, 1)
        if step_list(A, H, S, after - GREEDY_FRAME.WORDS, after, word_byte(word)):
            i = node_end(A, trie, i)
        elif GREEDY_FRAME.COUNT(S, after) == 0:
            return 1
        else:
            i += 1
    return 0


@kernel("i(arena, arena, arena, i, i, i, i)")
def forks_alive(A, H, S, walk, forks, n, lexer):
    """The LIST of those of n forks below which a lexeme that begins there may decide something."""
    start = top(S)
    for fork in range(forks, forks + FORK.WORDS * n, FORK.WORDS):
        node, left = FORK.NODE(A, fork), FORK.LEFT(A, fork)
        if node_end(A, trie_of(A), node) > node + 1:
            e = step(A, H, S, lexer, FORK.BYTE(A, fork))
            if e != NONE and not among(A, left, e) and may_fail(A, H, S, walk, node, left):
                push(S, fork)
    count = top(S) - start
    out = region(A, LIST.WORDS + count)
    A[out + LIST.COUNT] = count
    for k in range(count):
        A[list_start(out) + k] = S[start + k]
    set_top(S, start)
    return out


# --- tables -----------------------------------------------------------------------------------------------------------


@kernel("void(arena, arena, arena, i, i, i)")
def walk_start(A, H, S, walk, first, stop):
    """Walk the nodes first..stop-1, brothers and what is below them: a lexeme begins with each brother."""
    frame = frame_at(S, walk, node_depth(A, trie_of(A), first) - 1)
    S[frame + GREEDY_FRAME.COUNT] = 1
    S[frame + GREEDY_FRAME.ENDED_AS] = NO_TAGS
    set_frame_lexer(S, frame, 0, S[walk + WALK.LEXER])
    walk_nodes(A, H, S, walk, first, stop)


@kernel("i(arena, arena, arena, i)")
def walk_following(A, H, S, record):
    """Find the token table of a FOLLOWING, and its forks if it has no LOOPS."""
    content = np.int64(A[record + FOLLOWING.CONTENT])
    lexer = np.int64(A[record + FOLLOWING.LEXER])
    loops = np.int64(A[record + FOLLOWING.LOOPS])
    walk = new_walk(A, S, LOOPING)
    S[walk + WALK.LEXER] = lexer
    S[walk + WALK.LOOPS] = loops
    starts = top(S)
    forks = push_starts(A, H, S, content, lexer)
    rows = top(S)
    if rows == starts:
        table = region(A, GREEDY_TABLE.WORDS)
    else:
        for start in range(starts, rows, START.WORDS):
            walk_start(A, H, S, walk, S[start + START.FIRST], S[start + START.END])
        table = store_table(A, H, S, walk, 0, starts, rows)
    if loops == 0:
        A[record + FOLLOWING.ALIVE] = forks_alive(A, H, S, walk, forks, CONTENT.N_FORKS(A, content), lexer)
    set_top(S, S[walk + WALK.BITMAP])
    A[record + FOLLOWING.TABLE] = table
    return table


@kernel("i(arena, arena, arena, i, i, i)")
def following(A, H, S, content, lexer, loops):
    """The FOLLOWING of a CONTENT and a lexer state, its token table known."""
    record = intern3(A, H, FOLLOWING.KIND, content, lexer, loops)
    if FOLLOWING.TABLE(A, record) == 0:
        walk_following(A, H, S, record)
    return record
