"""Insides of lineups: what tokens do as long as the lexemes in progress are the same, under the greedy lexer.

The idea: which tokens can be read from a list of lexer states (a LINEUP), and where a lexeme ends on the way, does not
depend on the parser. `inside(node, lexers)` walks the trie below a node once for a lineup, and is remembered:

* the tokens after which some lexeme is in progress;
* for each pair i and set t of terminals that its lexeme may end as: the *ends*, nodes of tokens that end with it; the
  *restarts*, nodes where it has ended and cannot go on, so that the next lexeme begins below; the *exits*, nodes whose
  byte the lexeme does not take, so that the next lexeme begins with it; and the *forks*, nodes whose byte the lexeme
  does take without ending again, so that it may be the next lexeme's after all (LEFT: the pairs in progress there).

A longer match drops what began after a shorter one: there nothing is to be asked.

Of the trie's root the child with the largest subtree (a space, in most vocabularies) is a start of its own (HUB):
what follows a space hardly depends on what was before it.

Lexer states differ in operators and keywords, and have the names in common. So where one part of a union takes nearly
every word (its *reference*), the inside of the part is taken over, and the trie is walked only where the union is in
another state than that part. Of a list of lexer states, likewise, the first alone is the *base*: what it decides is
left to it. The others are the reference, and the trie is walked only where the first is in progress beside them.

    LINEUP(node + 1, lexer state...)   node -1: the root without the hub     memo: inside, byte partition
    LEFT(i, lexer state, ...)

Cost: a walk of the trie, about 20 ns a node that is visited. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import alt, continues, peek, step, tags
from constrain.kernels.masks.common.slices import MIN_ALIKE, alike
from constrain.kernels.masks.greedy.blocks import (
    BASE,
    END,
    FEW_NODES,
    FORK,
    MAX_PAIRS,
    RESTART,
    add_inner,
    block_number,
    keep_rows,
    push_row,
    set_tokens,
    store_inside,
)
from constrain.kernels.records.arena import (
    ALT,
    DEPTH,
    HUB,
    KEY,
    LEFT,
    LINEUP,
    N_INSIDE,
    N_NODES,
    N_TOKENS,
    N_VISITED,
    NEXT_SAME,
    NO_TAGS,
    NODE_SEEN,
    NONE,
    SERIAL,
    TRIE,
    intern2,
    intern_list,
    kind,
    push,
    room,
    size,
)

INSIDE = 1  # memo word of LINEUP
FRAME = 3 + 2 * MAX_PAIRS  # n pairs in progress; (i, t) of a lexeme that has ended, t = NO_TAGS: none; the pairs
STATE, REFERENCE, REFERENCE_ENDED = 4, 5, 6  # words of a frame of one pair: its state; its reference's, and tagset
HUB_SHARE = 8  # the hub has at least 1/8 of all nodes
LARGE = 4096  # nodes of a subtree for which a reference is looked for


@kernel("i(arena)")
def hub(A):
    """The root's child with the largest subtree, if it is large; else -1."""
    if A[HUB] == 0:
        best = -1
        most = np.int64(A[N_NODES]) // HUB_SHARE
        i = np.int64(0)
        while i < A[N_NODES]:
            end = np.int64(A[A[TRIE] + 3 * i + 1])
            if end - i > most:
                best = i
                most = end - i
            i = end
        A[HUB] = best + 1 if best >= 0 else -1
    return np.int64(A[HUB]) - 1 if A[HUB] > 0 else np.int64(-1)


@kernel("i(arena, arena, arena, i, i, i)")
def step_lineup(A, H, S, before, after, b):
    """The frame after byte b, by the rules of `step_greedy`; 1 if a lexeme ended here."""
    n = 0
    S[after + 2] = NO_TAGS
    for k in range(S[before]):
        e = np.int64(peek(A, S[before + 4 + 2 * k], b))
        if e == 0:
            e = step(A, H, S, S[before + 4 + 2 * k], b)
        if e == NONE:
            continue
        if continues(A, e):
            S[after + 3 + 2 * n] = S[before + 3 + 2 * k]
            S[after + 4 + 2 * n] = e
            n += 1
        t = tags(A, H, S, e)
        if t != NO_TAGS:
            S[after + 1] = S[before + 3 + 2 * k]
            S[after + 2] = t
            S[after] = n
            return 1
    S[after] = n
    return 0


@kernel("i(arena, arena, arena, i, i)")
def left_of(A, H, S, frame, n):
    """The LEFT record of the n pairs of a frame."""
    start = np.int64(S[0])
    for w in range(2 * n):
        push(S, S[frame + 3 + w])
    return intern_list(A, H, S, LEFT, start)


@kernel("i(arena, arena, arena, i, i, i, i)")
def push_exit(A, H, S, before, after, blocks, i):
    """Push the row of node i, whose byte may be the next lexeme's: one has ended in the frame before it. Returns the
    number of blocks."""
    b = A[A[TRIE] + 3 * i] & 255
    n = S[after]
    number = block_number(A, S, before, blocks)
    push_row(S, number, b if n == 0 else FORK + b, i, left_of(A, H, S, after, n) if n > 0 else 0)
    return max(blocks, number + 1)


@kernel("i(arena, arena, i, i, i)")
def push_end(A, S, after, blocks, i):
    """Push the rows of node i, where a lexeme has ended and none goes on. Returns the number of blocks."""
    number = block_number(A, S, after, blocks)
    if A[A[TRIE] + 3 * i + 2] >= 0:
        push_row(S, number, END, i, 0)
    if A[A[TRIE] + 3 * i + 1] > i + 1:
        push_row(S, number, RESTART, i, 0)
    return max(blocks, number + 1)


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def walk_lineup(A, H, S, node, frames, bitmap, has_base, skip):
    """Walk the trie below a node from the lexer states in the frame of its depth; set bits, push rows.

    has_base: what the first lexer state does alone is known, and left out where it is all that happens. skip: a node
    to leave out, with its subtree. Returns the number of blocks.
    """
    trie = np.int64(A[TRIE])
    i = node + 1
    stop = np.int64(A[trie + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    top = 1 + (np.int64(A[trie + 3 * node]) >> 8) if node >= 0 else np.int64(1)
    blocks = 0
    visited = 0
    while i < stop:
        end = np.int64(A[trie + 3 * i + 1])
        if i == skip:
            i = end
            continue
        word = np.int64(A[trie + 3 * i])
        b = word & 255
        after = frames + FRAME * (word >> 8)
        before = after - FRAME
        ended = step_lineup(A, H, S, before, after, b)
        n = np.int64(S[after])
        visited += 1
        if not ended and S[before + 2] != NO_TAGS:  # the byte may be the next lexeme's
            blocks = push_exit(A, H, S, before, after, blocks, i)
        if n == 0 and not ended:
            i = end
            continue
        if has_base and word >> 8 == top:
            first = S[after + 1] if n == 0 else S[after + 3]
            if first == 0 and (S[after + 1] == 0 if ended else n == 1):
                i = end
                continue
        if n > 0:
            set_tokens(A, S, bitmap, A[trie + 3 * i + 2])
            i += 1
            continue
        blocks = push_end(A, S, after, blocks, i)
        i = end
    A[N_VISITED] += visited
    return blocks


# A union and its reference: the reference is a part of the union, so what it has inside, the union has too.


@kernel("i(arena, arena, arena, i, i)")
def reference_of(A, H, S, node, lexer):
    """The part of a union that takes most words, if the union takes them the same way; else 0.

    All alternatives together that take words: names, and what competes with names.
    """
    stop = np.int64(A[A[TRIE] + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    if kind(A, lexer) != ALT or stop - node < LARGE:
        return 0
    start = np.int64(S[0])
    for i in range(lexer + KEY, lexer + KEY + size(A, lexer)):
        if step(A, H, S, A[i], 0x71) != NONE and step(A, H, S, A[i], 0x7A) != NONE:  # q and z: few keywords begin so
            push(S, A[i])
    n = S[0] - start
    if n == 0 or n == size(A, lexer):
        S[0] = start
        return 0
    part = alt(A, H, S, start)
    return part if alike(A, H, S, part, lexer) >= MIN_ALIKE else 0


@kernel("void(arena, arena, i, i, i)")
def forget(A, S, first, stop, bitmap):
    """Take the tokens of nodes first..stop-1 out of the bitmap; the reference's rows there no longer count."""
    mark = (A[SERIAL] & 0xFFFFFFF) * 4 + 3
    for i in range(first, stop):
        A[A[NODE_SEEN] + i] = mark
        token = np.int64(A[A[TRIE] + 3 * i + 2])
        while token >= 0:
            S[bitmap + (token >> 5)] &= ~np.int32(np.uint32(1) << np.uint32(token & 31))
            token = np.int64(A[A[NEXT_SAME] + token])


@kernel("i(arena, arena, arena, i, i, i, i)")
def walk_beside(A, H, S, node, frames, bitmap, skip):
    """As `walk_lineup`, but only where the first lexeme is in progress beside others.

    Where it is alone, or has ended (which drops the others), its base says all; where it cannot go on, the reference
    does. Marks the nodes where the reference's rows no longer count.
    """
    mark = (A[SERIAL] & 0xFFFFFFF) * 4 + 3
    trie = np.int64(A[TRIE])
    i = node + 1
    stop = np.int64(A[trie + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    blocks = 0
    visited = 0
    while i < stop:
        end = np.int64(A[trie + 3 * i + 1])
        if i == skip:
            i = end
            continue
        word = np.int64(A[trie + 3 * i])
        b = word & 255
        after = frames + FRAME * (word >> 8)
        before = after - FRAME
        ended = step_lineup(A, H, S, before, after, b)
        n = np.int64(S[after])
        visited += 1
        if ended and S[after + 1] == 0:
            forget(A, S, i, end, bitmap)
            i = end
            continue
        if not ended and S[before + 2] != NO_TAGS:
            blocks = push_exit(A, H, S, before, after, blocks, i)
            A[A[NODE_SEEN] + i] = mark
        if n == 0 or S[after + 3] != 0:
            i = end
            continue
        A[A[NODE_SEEN] + i] = mark
        if n == 1 and not ended:
            i = end
            continue
        set_tokens(A, S, bitmap, A[trie + 3 * i + 2])
        i += 1
    A[N_VISITED] += visited
    return blocks


@kernel("i(arena, arena, arena, i, i, i, i)")
def walk_union(A, H, S, node, frames, bitmap, skip):
    """As `walk_lineup`, for one lexer state, but only where it is in another state than its reference.

    Marks the nodes where the reference's rows no longer count, as `walk_difference` does (masks.py).
    """
    mark = (A[SERIAL] & 0xFFFFFFF) * 4 + 3
    trie = np.int64(A[TRIE])
    i = node + 1
    stop = np.int64(A[trie + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    blocks = 0
    visited = 0
    while i < stop:
        end = np.int64(A[trie + 3 * i + 1])
        if i == skip:
            i = end
            continue
        word = np.int64(A[trie + 3 * i])
        b = word & 255
        after = frames + FRAME * (word >> 8)
        before = after - FRAME
        e = step(A, H, S, S[before + STATE], b)
        r = step(A, H, S, S[before + REFERENCE], b) if S[before + REFERENCE] != NONE else NONE
        t = tags(A, H, S, e)
        visited += 1
        pending = np.int64(S[before + 2])
        same = t != NO_TAGS or pending == NO_TAGS
        if pending == S[before + REFERENCE_ENDED] and continues(A, S[before + REFERENCE]):
            same = True  # else the reference has a restart, where it had ended, and no exit here
        if e == r and same:
            i = end
            continue
        A[A[NODE_SEEN] + i] = mark
        n = 1 if continues(A, e) else 0
        S[after] = n
        S[after + 1] = 0
        S[after + 2] = t
        S[after + 3] = 0
        S[after + STATE] = e
        S[after + REFERENCE] = r
        S[after + REFERENCE_ENDED] = tags(A, H, S, r)
        if t == NO_TAGS and S[before + 2] != NO_TAGS:
            blocks = push_exit(A, H, S, before, after, blocks, i)
        if n > 0:
            set_tokens(A, S, bitmap, A[trie + 3 * i + 2])
            i += 1
            continue
        if t != NO_TAGS:
            blocks = push_end(A, S, after, blocks, i)
        i = end
    A[N_VISITED] += visited
    return blocks


@kernel("i(arena, arena, arena, i, i, i)")
def make_inside(A, H, S, lineup, base, reference):
    """The inside of a LINEUP.

    base: the inside of its first lexer state alone, if there are more. reference: a LINEUP whose inside is known, of a
    part of its only lexer state, or of all but the first; 0: none.
    """
    node = np.int64(A[lineup + KEY]) - 1
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    A[SERIAL] += 1
    A[N_INSIDE] += 1
    bitmap = np.int64(S[0])
    frames = bitmap + words
    above = words + FRAME * (A[DEPTH] + 3)
    room(S, above)
    S[bitmap : bitmap + words] = 0
    S[0] = bitmap + above
    start = frames + (FRAME * (np.int64(A[A[TRIE] + 3 * node]) >> 8) if node >= 0 else 0)
    S[start] = size(A, lineup) - 1
    S[start + 2] = NO_TAGS
    for k in range(S[start]):
        S[start + 3 + 2 * k] = k
        S[start + 4 + 2 * k] = A[lineup + KEY + 1 + k]
    starts = np.int64(S[0])
    push(S, node + 1)
    push(S, A[A[TRIE] + 3 * node + 1] if node >= 0 else A[N_NODES])
    rows = np.int64(S[0])
    skip = hub(A) if node < 0 else np.int64(-1)
    if reference != 0:
        known = np.int64(A[reference + INSIDE])
        while known != 0:
            add_inner(A, S, known, bitmap)
            known = np.int64(A[known + BASE])
        if base != 0:
            blocks = walk_beside(A, H, S, node, frames, bitmap, skip)
        else:
            S[start + REFERENCE] = A[reference + KEY + 1]
            S[start + REFERENCE_ENDED] = NO_TAGS
            blocks = walk_union(A, H, S, node, frames, bitmap, skip)
        known = np.int64(A[reference + INSIDE])
        while known != 0:
            blocks = keep_rows(A, H, S, known, bitmap + above - FRAME, blocks, 1 if base != 0 else 0)
            known = np.int64(A[known + BASE])
    else:
        blocks = walk_lineup(A, H, S, node, frames, bitmap, 1 if base != 0 else 0, skip)
    head = store_inside(A, H, S, base, bitmap, starts, rows, blocks)
    S[0] = bitmap
    A[lineup + INSIDE] = head
    return head


@kernel("i(arena, arena, arena, i, i)")
def inside_of_one(A, H, S, node, lexer):
    """The inside of one lexer state below a node."""
    lineup = intern2(A, H, LINEUP, node + 1, lexer)
    if A[lineup + INSIDE] == 0:
        part = reference_of(A, H, S, node, lexer)
        known = 0
        if part != 0:
            known = intern2(A, H, LINEUP, node + 1, part)
            if A[known + INSIDE] == 0:
                make_inside(A, H, S, known, 0, 0)
        make_inside(A, H, S, lineup, 0, known)
    return np.int64(A[lineup + INSIDE])


@kernel("i(arena, arena, arena, i, i, i)")
def lineup_from(A, H, S, node, c, k):
    """The LINEUP of a configuration's lexer states from the pair k on."""
    start = np.int64(S[0])
    push(S, node + 1)
    for i in range(c + KEY + 2 + 2 * k, c + KEY + size(A, c), 2):
        push(S, A[i])
    return intern_list(A, H, S, LINEUP, start)


@kernel("i(arena, arena, arena, i, i)")
def inside(A, H, S, node, c):
    """The inside of a configuration's lexer states below a node."""
    n = (size(A, c) - 1) // 2
    if n == 1:
        return inside_of_one(A, H, S, node, A[c + KEY + 2])
    lineup = lineup_from(A, H, S, node, c, 0)
    if A[lineup + INSIDE] != 0:
        return np.int64(A[lineup + INSIDE])
    stop = np.int64(A[A[TRIE] + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    if stop - node < FEW_NODES:
        return make_inside(A, H, S, lineup, inside_of_one(A, H, S, node, A[c + KEY + 2]), 0)
    inside_of_one(A, H, S, node, A[c + KEY + 2 * n])
    for k in range(n - 2, -1, -1):
        lineup = lineup_from(A, H, S, node, c, k)
        if A[lineup + INSIDE] == 0:
            base = inside_of_one(A, H, S, node, A[c + KEY + 2 + 2 * k])
            make_inside(A, H, S, lineup, base, lineup_from(A, H, S, node, c, k + 1))
    return np.int64(A[lineup + INSIDE])
