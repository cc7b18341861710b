"""Token tables of lists of lexer states: what tokens do as long as the lexemes in progress are the same (greedy lexer).

The idea: which tokens can be read from a list of lexer states (a LEXER_LIST; a Pike machine has thread lists), and
where a lexeme ends on the way, does not depend on the parser. `table_of_list(node, configuration)` walks the trie below
a node once for a list, and is remembered:

* the tokens after which some lexeme is in progress;
* for each pair i and set t of terminals that its lexeme may end as: the *ends*, nodes of tokens that end with it; the
  *restarts*, nodes where it has ended and cannot go on, so that the next lexeme begins below; the *exits*, nodes whose
  byte the lexeme does not take, so that the next lexeme begins with it; and the *forks*, nodes whose byte the lexeme
  does take without ending again, so that it may be the next lexeme's after all (LEFT: the pairs in progress there).

A longer match drops what began after a shorter one: there nothing is to be asked.

Of the trie's root the child with the largest subtree (a space, in most vocabularies) is a start of its own (`hub`):
what follows a space hardly depends on what was before it.

Lexer states differ in operators and keywords, and have the names in common. So three walks visit fewer nodes:

* BASED: of a list, the first state alone is the *base*: what it decides is left to its table.
* TAIL: of a list, all but the first are the *reference* as well, whose table is known: the trie is walked only where
  the first is in progress together with others.
* UNION: of a union, the part that takes nearly every word is the *reference*: its table is taken over, and the trie is
  walked only where the union is in another state than that part.

Records: records/greedy_tables.py. Cost: a walk of the trie, about 20 ns a node that is visited.
Reference: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import peek, step
from constrain.kernels.lexer.states import tags
from constrain.kernels.lexer.unions import alt
from constrain.kernels.masks.common.slices import MIN_ALIKE, alike
from constrain.kernels.masks.common.tokens import add_tokens, clear_tokens, set_tokens
from constrain.kernels.masks.greedy.blocks import FEW_NODES, block_number, keep_rows, push_row, store_table
from constrain.kernels.records.arena import (
    HEADER,
    NO_TAGS,
    NONE,
    intern2,
    intern_list,
    key_end,
    key_start,
    kind,
    note_visits,
    size,
)
from constrain.kernels.records.configurations import (
    LEXER_LIST,
    PAIR,
    config_length,
    config_pair,
    last_pair,
    list_length,
    list_lexer,
    list_node,
    list_table,
    pair_lexer,
)
from constrain.kernels.records.expressions import ALT, continues
from constrain.kernels.records.greedy_tables import (
    END,
    FORK_KEY,
    GREEDY_FRAME,
    LEFT,
    MARK_REPLACED,
    RESTART,
    UNION_FRAME,
    frame_at,
    frame_count,
    frame_ended_as,
    frame_ended_pair,
    frame_lexer,
    frame_number,
    has_ended,
    set_frame_lexer,
    set_frame_number,
    table_base,
    table_tokens,
)
from constrain.kernels.records.stack import push, room, set_top, top
from constrain.kernels.records.vocabulary import (
    mark_node,
    mask_words,
    node_byte,
    node_depth,
    node_end,
    node_token,
    node_word,
    serial_mark,
    trie_of,
    word_byte,
    word_depth,
)

HUB_SHARE = 8  # the hub has at least 1/8 of all nodes
LARGE = 4096  # nodes of a subtree for which a reference is looked for
WHOLE, BASED, TAIL, UNION = 0, 1, 2, 3  # modes of a walk


@kernel("i(arena)")
def hub(A):
    """The root's child with the largest subtree, if it is large; else -1."""
    if A[HEADER.HUB] == 0:
        best = -1
        most = np.int64(A[HEADER.N_NODES]) // HUB_SHARE
        i = np.int64(0)
        while i < A[HEADER.N_NODES]:
            end = node_end(A, trie_of(A), i)
            if end - i > most:
                best = i
                most = end - i
            i = end
        A[HEADER.HUB] = best + 1 if best >= 0 else -1
    return np.int64(A[HEADER.HUB]) - 1 if A[HEADER.HUB] > 0 else np.int64(-1)


@kernel("i(arena, i)")
def subtree_end(A, node):
    """The first node behind the subtree of a node; -1: the root."""
    return node_end(A, trie_of(A), node) if node >= 0 else np.int64(A[HEADER.N_NODES])


@kernel("i(arena, i)")
def depth_of(A, node):
    """The depth of a node; -1: the root, 0."""
    return node_depth(A, trie_of(A), node) if node >= 0 else np.int64(0)


@kernel("i(arena, arena, arena, i, i, i)")
def step_list(A, H, S, before, after, b):
    """Write the frame after byte b, by the rules of `step_greedy`; 1 if a lexeme ended here."""
    n = 0
    S[after + GREEDY_FRAME.ENDED_AS] = NO_TAGS
    for k in range(frame_count(S, before)):
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


@kernel("i(arena, arena, arena, i, i)")
def left_of(A, H, S, frame, n):
    """The LEFT record of the n pairs of a frame."""
    start = top(S)
    for k in range(n):
        push(S, frame_number(S, frame, k))
        push(S, frame_lexer(S, frame, k))
    return intern_list(A, H, S, LEFT.KIND, start)


@kernel("i(arena, arena, arena, i, i, i, i)")
def push_exit(A, H, S, before, after, blocks, i):
    """Push the row of node i, whose byte may be the next lexeme's: one has ended in the frame before it. Returns the
    number of blocks."""
    b = node_byte(A, trie_of(A), i)
    n = frame_count(S, after)
    number = block_number(A, S, before, blocks)
    push_row(S, number, b if n == 0 else FORK_KEY + b, i, left_of(A, H, S, after, n) if n > 0 else 0)
    return max(blocks, number + 1)


@kernel("i(arena, arena, i, i, i)")
def push_end(A, S, after, blocks, i):
    """Push the rows of node i, where a lexeme has ended and none goes on. Returns the number of blocks."""
    number = block_number(A, S, after, blocks)
    if node_token(A, trie_of(A), i) >= 0:
        push_row(S, number, END, i, 0)
    if node_end(A, trie_of(A), i) > i + 1:
        push_row(S, number, RESTART, i, 0)
    return max(blocks, number + 1)


@kernel("void(arena, arena, i, i, i)")
def forget(A, S, first, stop, bitmap):
    """Take the tokens of nodes first..stop-1 out of the bitmap; the reference's rows there no longer count."""
    mark = serial_mark(A) + MARK_REPLACED
    for i in range(first, stop):
        mark_node(A, i, mark)
        clear_tokens(A, S, bitmap, node_token(A, trie_of(A), i))


# --- the walk ---------------------------------------------------------------------------------------------------------


@kernel("i(arena, i, i)")
def is_of_base(S, after, ended):
    """Whether the first lexeme alone decides at a frame, so that its base says all."""
    n = frame_count(S, after)
    first = frame_ended_pair(S, after) if n == 0 else frame_number(S, after, 0)
    return first == 0 and (frame_ended_pair(S, after) == 0 if ended else n == 1)


@kernel("i(arena, arena, arena, i, i, i)")
def step_union(A, H, S, before, after, b):
    """Write the frame after byte b of a union and its reference; 1 if a lexeme ended here, -1 if both do the same."""
    e = step(A, H, S, S[before + UNION_FRAME.STATE], b)
    r = step(A, H, S, S[before + UNION_FRAME.REFERENCE], b) if S[before + UNION_FRAME.REFERENCE] != NONE else NONE
    t = tags(A, H, S, e)
    pending = frame_ended_as(S, before)
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


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def walk_list(A, H, S, mode, node, frames, bitmap, skip):
    """Walk the trie below a node from the lexer states in the frame of its depth; set bits, push rows.

    mode: WHOLE, or one that visits fewer nodes (see the head of this file). TAIL and UNION mark the nodes where
    the reference's rows no longer count. skip: a node to leave out, with its subtree. Returns the number of blocks.
    """
    mark = serial_mark(A) + MARK_REPLACED
    trie = trie_of(A)
    i = node + 1
    stop = subtree_end(A, node)
    top_depth = depth_of(A, node) + 1
    blocks = 0
    visited = 0
    while i < stop:
        end = node_end(A, trie, i)
        if i == skip:
            i = end
            continue
        word = node_word(A, trie, i)
        after = frame_at(frames, word_depth(word))
        before = frame_at(frames, word_depth(word) - 1)
        if mode == UNION:
            ended = step_union(A, H, S, before, after, word_byte(word))
        else:
            ended = step_list(A, H, S, before, after, word_byte(word))
        visited += 1
        if ended < 0:
            i = end
            continue
        if mode == TAIL and ended and frame_ended_pair(S, after) == 0:
            forget(A, S, i, end, bitmap)  # the first lexeme has ended, which drops the others: the base says all
            i = end
            continue
        n = frame_count(S, after)
        if mode == UNION:
            mark_node(A, i, mark)
        if not ended and has_ended(S, before):  # the byte may be the next lexeme's
            blocks = push_exit(A, H, S, before, after, blocks, i)
            if mode == TAIL:
                mark_node(A, i, mark)
        if n == 0 and not ended:
            i = end
            continue
        if mode == BASED and word_depth(word) == top_depth and is_of_base(S, after, ended):
            i = end
            continue
        if mode == TAIL:
            if n == 0 or frame_number(S, after, 0) != 0:  # the first lexeme cannot go on: the reference says all
                i = end
                continue
            mark_node(A, i, mark)
            if n == 1 and not ended:  # it is alone: the base says all
                i = end
                continue
        if n > 0:
            set_tokens(A, S, bitmap, node_token(A, trie, i))
            i += 1
            continue
        blocks = push_end(A, S, after, blocks, i)
        i = end
    note_visits(A, visited)
    return blocks


# --- tables -----------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i)")
def union_reference(A, H, S, node, lexer):
    """The alternatives of a union that take words, as a union, if nearly all words lead from both to the same states;
    else 0.

    All alternatives together: names, and what competes with names.
    """
    if kind(A, lexer) != ALT.KIND or subtree_end(A, node) - node < LARGE:
        return 0
    start = top(S)
    for i in range(key_start(lexer), key_end(A, lexer)):
        if step(A, H, S, A[i], 0x71) != NONE and step(A, H, S, A[i], 0x7A) != NONE:  # q and z: few keywords begin so
            push(S, A[i])
    n = top(S) - start
    if n == 0 or n == size(A, lexer):
        set_top(S, start)
        return 0
    part = alt(A, H, S, start)
    return part if alike(A, H, S, part, lexer) >= MIN_ALIKE else 0


@kernel("i(arena, arena, arena, i, i, i)")
def make_table(A, H, S, lexers, base, reference):
    """Make the token table of a LEXER_LIST.

    base: the table of its first lexer state alone, if there are more. reference: a LEXER_LIST whose table is known, of
    a part of its only lexer state, or of all but the first; 0: none.
    """
    node = list_node(A, lexers)
    words = mask_words(A)
    A[HEADER.SERIAL] += 1
    A[HEADER.TABLES_MADE] += 1
    bitmap = top(S)
    frames = bitmap + words
    above = words + GREEDY_FRAME.WORDS * (np.int64(A[HEADER.DEPTH]) + 3)
    room(S, above)
    S[bitmap : bitmap + words] = 0
    set_top(S, bitmap + above)
    frame = frame_at(frames, depth_of(A, node))
    S[frame + GREEDY_FRAME.COUNT] = list_length(A, lexers)
    S[frame + GREEDY_FRAME.ENDED_AS] = NO_TAGS
    for k in range(list_length(A, lexers)):
        set_frame_number(S, frame, k, k)
        set_frame_lexer(S, frame, k, list_lexer(A, lexers, k))
    starts = top(S)
    push(S, node + 1)
    push(S, subtree_end(A, node))
    rows = top(S)
    skip = hub(A) if node < 0 else np.int64(-1)
    mode = BASED if base != 0 else WHOLE
    if reference != 0:
        mode = TAIL if base != 0 else UNION
        table = list_table(A, reference)
        while table != 0:
            add_tokens(A, S, table_tokens(table), bitmap)
            table = table_base(A, table)
        if mode == UNION:
            S[frame + UNION_FRAME.REFERENCE] = list_lexer(A, reference, 0)
            S[frame + UNION_FRAME.REFERENCE_ENDED] = NO_TAGS
    blocks = walk_list(A, H, S, mode, node, frames, bitmap, skip)
    if reference != 0:
        table = list_table(A, reference)
        while table != 0:
            last = bitmap + above - GREEDY_FRAME.WORDS
            blocks = keep_rows(A, H, S, table, last, blocks, 1 if mode == TAIL else 0)
            table = table_base(A, table)
    A[lexers + LEXER_LIST.TABLE] = store_table(A, H, S, base, bitmap, starts, rows, blocks)
    set_top(S, bitmap)
    return list_table(A, lexers)


@kernel("i(arena, arena, arena, i, i)")
def table_of_one(A, H, S, node, lexer):
    """The token table of one lexer state below a node."""
    lexers = intern2(A, H, LEXER_LIST.KIND, node + 1, lexer)
    if list_table(A, lexers) == 0:
        part = union_reference(A, H, S, node, lexer)
        reference = 0
        if part != 0:
            reference = intern2(A, H, LEXER_LIST.KIND, node + 1, part)
            if list_table(A, reference) == 0:
                make_table(A, H, S, reference, 0, 0)
        make_table(A, H, S, lexers, 0, reference)
    return list_table(A, lexers)


@kernel("i(arena, arena, arena, i, i, i)")
def list_from(A, H, S, node, c, k):
    """The LEXER_LIST of a configuration's lexer states from the pair k on."""
    start = top(S)
    push(S, node + 1)
    for pair in range(config_pair(c, k), key_end(A, c), PAIR.WORDS):
        push(S, pair_lexer(A, pair))
    return intern_list(A, H, S, LEXER_LIST.KIND, start)


@kernel("i(arena, arena, arena, i, i)")
def table_of_list(A, H, S, node, c):
    """The token table of a configuration's lexer states below a node."""
    n = config_length(A, c)
    first = pair_lexer(A, config_pair(c, 0))
    if n == 1:
        return table_of_one(A, H, S, node, first)
    lexers = list_from(A, H, S, node, c, 0)
    if list_table(A, lexers) != 0:
        return list_table(A, lexers)
    if subtree_end(A, node) - node < FEW_NODES:
        return make_table(A, H, S, lexers, table_of_one(A, H, S, node, first), 0)
    table_of_one(A, H, S, node, pair_lexer(A, last_pair(A, c)))
    for k in range(n - 2, -1, -1):
        lexers = list_from(A, H, S, node, c, k)
        if list_table(A, lexers) == 0:
            base = table_of_one(A, H, S, node, pair_lexer(A, config_pair(c, k)))
            make_table(A, H, S, lexers, base, list_from(A, H, S, node, c, k + 1))
    return list_table(A, lexers)
