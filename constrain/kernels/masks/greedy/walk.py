"""The walk of the trie from lexer states, by which token tables of the greedy lexer are found.

The idea: a walk knows, at each depth, the lexemes in progress (GREEDY_FRAME). It sets the bits of tokens after which
some lexeme is in progress, and pushes a row for each node where something is left for the parser: an end, a restart, an
exit or a fork (records/greedy_tables.py). One loop serves all walks; what a node says depends on the mode:

* WHOLE: all lexer states of a list, at every node.
* BASED: of a list, the first state alone is the *base*: what it decides is left to its table.
* TAIL: of a list, all but the first are the *reference* as well, whose table is known: the trie is walked only where
  the first is in progress together with others.
* UNION: of a union, the part that takes nearly every word is the *reference*: its table is taken over, and the trie is
  walked only where the union is in another state than that part.
* LOOPING: behind a lexeme that ended as one of the LOOPS another begins, with the same lexer state.

TAIL and UNION mark the nodes where the reference's rows no longer count.

Records: records/greedy_tables.py. Cost: about 20 ns a node that is visited. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import peek, step
from constrain.kernels.lexer.states import tags
from constrain.kernels.masks.common.blocks import begin_walk, forget
from constrain.kernels.masks.common.tokens import set_tokens
from constrain.kernels.masks.greedy.blocks import block_number, push_row
from constrain.kernels.records.arena import NO_TAGS, NONE, intern_list, key_end, key_start, note_visits
from constrain.kernels.records.expressions import continues
from constrain.kernels.records.greedy_tables import (
    END,
    FORK_KEY,
    GREEDY_FRAME,
    LEFT,
    MAX_PAIRS,
    RESTART,
    UNION_FRAME,
    WALK,
    frame_at,
    frame_lexer,
    frame_number,
    has_ended,
    set_frame_lexer,
    set_frame_number,
)
from constrain.kernels.records.masks import MARK_ALL
from constrain.kernels.records.stack import push, room, set_top, top
from constrain.kernels.records.vocabulary import (
    mark_node,
    mask_words,
    node_byte,
    node_end,
    node_token,
    node_word,
    serial_mark,
    trie_of,
    word_byte,
    word_depth,
)

WHOLE, BASED, TAIL, UNION, LOOPING = 0, 1, 2, 3, 4

# --- steps ------------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i, i)")
def step_list(A, H, S, before, after, b):
    """Write the frame after byte b, by the rules of `step_greedy`; 1 if a lexeme ended here."""
    n = 0
    S[after + GREEDY_FRAME.ENDED_AS] = NO_TAGS
    for k in range(GREEDY_FRAME.COUNT(S, before)):
        e = np.int64(peek(A, frame_lexer(S, before, k), b))
        if e == 0:
            e = step(A, H, S, frame_lexer(S, before, k), b)
        if e == NONE:
            continue
        if continues(A, e):
            set_frame_number(S, after, n, frame_number(S, before, k))
            set_frame_lexer(S, after, n, e)
            n += 1
        t = tags(A, H, S, e)
        if t != NO_TAGS:
            S[after + GREEDY_FRAME.ENDED_PAIR] = frame_number(S, before, k)
            S[after + GREEDY_FRAME.ENDED_AS] = t
            S[after + GREEDY_FRAME.COUNT] = n
            return 1
    S[after + GREEDY_FRAME.COUNT] = n
    return 0


@kernel("i(arena, arena, arena, i, i, i)")
def step_union(A, H, S, before, after, b):
    """Write the frame after byte b of a union and its reference; 1 if a lexeme ended here, -1 if both do the same."""
    e = step(A, H, S, S[before + UNION_FRAME.STATE], b)
    r = step(A, H, S, S[before + UNION_FRAME.REFERENCE], b) if S[before + UNION_FRAME.REFERENCE] != NONE else NONE
    t = tags(A, H, S, e)
    pending = GREEDY_FRAME.ENDED_AS(S, before)
    same = t != NO_TAGS or pending == NO_TAGS
    if pending == S[before + UNION_FRAME.REFERENCE_ENDED] and continues(A, S[before + UNION_FRAME.REFERENCE]):
        same = True  # else the reference has a restart, where it had ended, and no exit here
    if e == r and same:
        return -1
    S[after + GREEDY_FRAME.COUNT] = 1 if continues(A, e) else 0
    S[after + GREEDY_FRAME.ENDED_PAIR] = 0
    S[after + GREEDY_FRAME.ENDED_AS] = t
    S[after + UNION_FRAME.NUMBER] = 0
    S[after + UNION_FRAME.STATE] = e
    S[after + UNION_FRAME.REFERENCE] = r
    S[after + UNION_FRAME.REFERENCE_ENDED] = tags(A, H, S, r)
    return 1 if t != NO_TAGS else 0


@kernel("i(arena, i, i, i)")
def in_frame(S, frame, n, lexer):
    """1 if one of the first n pairs of a frame is in this lexer state, else 0."""
    for k in range(n):
        if frame_lexer(S, frame, k) == lexer:
            return 1
    return 0


@kernel("i(arena, i, i)")
def is_loop(A, loops, t):
    """1 if the tagset is one of the LOOPS, else 0."""
    if loops != 0:
        for k in range(key_start(loops), key_end(A, loops)):
            if A[k] == t:
                return 1
    return 0


@kernel("i(arena, arena, arena, i, i, i, i)")
def step_looping(A, H, S, walk, before, after, b):
    """Write the frame after byte b, by the rules of `step_greedy`; 1 if a lexeme ended here.

    Behind a lexeme that ended as one of the LOOPS another begins in the lexer state LEXER of the walk.
    """
    lexer, loops = np.int64(S[walk + WALK.LEXER]), np.int64(S[walk + WALK.LOOPS])
    n = 0
    S[after + GREEDY_FRAME.ENDED_AS] = NO_TAGS
    for k in range(GREEDY_FRAME.COUNT(S, before)):
        e = np.int64(peek(A, frame_lexer(S, before, k), b))
        if e == 0:
            e = step(A, H, S, frame_lexer(S, before, k), b)
        if e == NONE or in_frame(S, after, n, e):
            continue
        if continues(A, e):
            set_frame_number(S, after, n, 0)
            set_frame_lexer(S, after, n, e)
            n += 1
        t = tags(A, H, S, e)
        if t != NO_TAGS:
            if n == MAX_PAIRS or not is_loop(A, loops, t):
                S[after + GREEDY_FRAME.ENDED_PAIR] = 0
                S[after + GREEDY_FRAME.ENDED_AS] = t
            elif not in_frame(S, after, n, lexer):
                set_frame_number(S, after, n, 0)
                set_frame_lexer(S, after, n, lexer)
                n += 1
            S[after + GREEDY_FRAME.COUNT] = n
            return 1
    S[after + GREEDY_FRAME.COUNT] = n
    return 0


# --- rows -------------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i)")
def left_of(A, H, S, frame, n):
    """The LEFT record of the n pairs of a frame."""
    start = top(S)
    for k in range(n):
        push(S, frame_number(S, frame, k))
        push(S, frame_lexer(S, frame, k))
    return intern_list(A, H, S, LEFT.KIND, start)


@kernel("void(arena, arena, arena, i, i, i, i)")
def push_exit(A, H, S, walk, before, after, i):
    """Push the row of node i, whose byte may be the next lexeme's: one has ended in the frame before it."""
    b = node_byte(A, trie_of(A), i)
    n = GREEDY_FRAME.COUNT(S, after)
    number = block_number(A, S, walk, GREEDY_FRAME.ENDED_PAIR(S, before), GREEDY_FRAME.ENDED_AS(S, before))
    push_row(S, number, b if n == 0 else FORK_KEY + b, i, left_of(A, H, S, after, n) if n > 0 else 0)


@kernel("void(arena, arena, i, i, i)")
def push_end(A, S, walk, after, i):
    """Push the rows of node i, where a lexeme has ended and none goes on."""
    number = block_number(A, S, walk, GREEDY_FRAME.ENDED_PAIR(S, after), GREEDY_FRAME.ENDED_AS(S, after))
    if node_token(A, trie_of(A), i) >= 0:
        push_row(S, number, END, i, 0)
    if node_end(A, trie_of(A), i) > i + 1:
        push_row(S, number, RESTART, i, 0)


# --- nodes -----------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i, i, i, i)")
def go_on(A, S, walk, after, ended, i):
    """Set the tokens of node i if a lexeme is in progress there, else push its end. Returns the next node."""
    if GREEDY_FRAME.COUNT(S, after) > 0:
        set_tokens(A, S, S[walk + WALK.BITMAP], node_token(A, trie_of(A), i))
        return i + 1
    if ended:
        push_end(A, S, walk, after, i)
    return node_end(A, trie_of(A), i)


@kernel("i(arena, i, i)")
def is_of_base(S, after, ended):
    """True if the first lexeme alone decides at a frame, so that its base says all."""
    n = GREEDY_FRAME.COUNT(S, after)
    first = GREEDY_FRAME.ENDED_PAIR(S, after) if n == 0 else frame_number(S, after, 0)
    return first == 0 and (GREEDY_FRAME.ENDED_PAIR(S, after) == 0 if ended else n == 1)


@kernel("i(arena, arena, arena, i, i, i, i)")
def visit_tail(A, H, S, walk, before, after, i):
    """Read node i in the mode TAIL. Returns the next node."""
    mark = serial_mark(A) + MARK_ALL
    end = node_end(A, trie_of(A), i)
    ended = step_list(A, H, S, before, after, node_byte(A, trie_of(A), i))
    if ended and GREEDY_FRAME.ENDED_PAIR(S, after) == 0:
        forget(A, S, i, end, S[walk + WALK.BITMAP])  # the first lexeme has ended, which drops the others: see the base
        return end
    if not ended and has_ended(S, before):
        push_exit(A, H, S, walk, before, after, i)
        mark_node(A, i, mark)
    n = GREEDY_FRAME.COUNT(S, after)
    if n == 0 or frame_number(S, after, 0) != 0:  # the first lexeme cannot go on: the reference says all
        return end
    mark_node(A, i, mark)
    if n == 1 and not ended:  # it is alone: the base says all
        return end
    return go_on(A, S, walk, after, ended, i)


@kernel("i(arena, arena, arena, i, i, i, i)")
def visit_union(A, H, S, walk, before, after, i):
    """Read node i in the mode UNION. Returns the next node."""
    ended = step_union(A, H, S, before, after, node_byte(A, trie_of(A), i))
    if ended < 0:
        return node_end(A, trie_of(A), i)
    mark_node(A, i, serial_mark(A) + MARK_ALL)
    if not ended and has_ended(S, before):
        push_exit(A, H, S, walk, before, after, i)
    return go_on(A, S, walk, after, ended, i)


@kernel("void(arena, arena, arena, i, i, i)")
def walk_nodes(A, H, S, walk, first, stop):
    """Walk the nodes first..stop-1, brothers and what is below them, from the frame above them; set bits, push rows."""
    trie = trie_of(A)
    mode = np.int64(S[walk + WALK.MODE])
    skip = np.int64(S[walk + WALK.SKIP])
    visited = 0
    i = first
    while i < stop:
        if i == skip:
            i = node_end(A, trie, i)
            continue
        visited += 1
        word = node_word(A, trie, i)
        after = frame_at(S, walk, word_depth(word))
        before = after - GREEDY_FRAME.WORDS
        if mode == TAIL:
            i = visit_tail(A, H, S, walk, before, after, i)
            continue
        if mode == UNION:
            i = visit_union(A, H, S, walk, before, after, i)
            continue
        if mode == LOOPING:
            ended = step_looping(A, H, S, walk, before, after, word_byte(word))
        else:
            ended = step_list(A, H, S, before, after, word_byte(word))
        if not ended and has_ended(S, before):
            push_exit(A, H, S, walk, before, after, i)
        if mode == BASED and word_depth(word) == S[walk + WALK.TOP_DEPTH] and is_of_base(S, after, ended):
            i = node_end(A, trie, i)
        else:
            i = go_on(A, S, walk, after, ended, i)
    note_visits(A, visited)


@kernel("i(arena, arena, i)")
def new_walk(A, S, mode):
    """Begin a walk: push an empty bitmap, frames and a WALK, whose other words are the caller's. Pop them at BITMAP."""
    bitmap = begin_walk(A, S, GREEDY_FRAME.WORDS)
    walk = top(S)
    room(S, WALK.WORDS)
    S[walk : walk + WALK.WORDS] = 0
    set_top(S, walk + WALK.WORDS)
    S[walk + WALK.MODE] = mode
    S[walk + WALK.SKIP] = -1
    S[walk + WALK.BITMAP] = bitmap
    S[walk + WALK.FRAMES] = bitmap + mask_words(A)
    return walk
