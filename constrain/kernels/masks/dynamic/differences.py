"""The inside of a lexer state from that of a state that is nearly the same: only where they differ is walked.

The idea: a union with one text-like part (any key, beside some keys) does what that part does, but where another part
is still alive; and a state that a looping state follows (any key but some) does what that one does, but for a few
beginnings. A walk goes on as long as the two are in different states. Blocks are copied without the nodes that it met.

Cost: the nodes where the states differ, and a copy of the blocks. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import INSIDE, continues, step, tags
from constrain.kernels.masks.common.slices import MIN_ALIKE, alike, loops
from constrain.kernels.masks.dynamic.walks import (
    BITMAP,
    BLOCK,
    BLOCKS,
    ENDS,
    HEAD,
    N_BLOCKS,
    N_ENDS,
    N_RUNS,
    NUMBER,
    RUNS,
    TOKENS,
    T,
    count_tagsets,
    note_byte,
    number_tagset,
    root_children,
    store_triples,
    tag_of,
)
from constrain.kernels.masks.greedy.blocks import store_tokens
from constrain.kernels.records.arena import (
    DEPTH,
    N_INSIDE,
    N_TOKENS,
    N_VISITED,
    NEXT_SAME,
    NO_TAGS,
    NODE_SEEN,
    NONE,
    OWN,
    SERIAL,
    TRIE,
    push,
    region,
    room,
    sort_groups,
)


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def walk_difference(A, H, S, states, bitmap, first, stop, tagsets):
    """Walk nodes first..stop-1 as long as a union is in another state than its text-like part alone.

    Pushes triples as `walk_lexer` does, and one more kind, (0, -3, token), for a token inside that the part's bitmap
    lacks. Marks the nodes whose entries in the part's blocks no longer count: A[NODE_SEEN + node] = 4 serial + 1 for
    an exit, + 2 for an end as well. S[states ...] holds rows of three: union, part, tagset of the union.
    """
    trie = np.int64(A[TRIE])
    seen = np.int64(A[NODE_SEEN])
    mark = (A[SERIAL] & 0xFFFFFFF) * 4
    i = first
    while i < stop:
        word = A[trie + 3 * i]
        b = word & 255
        here = states + 3 * (word >> 8)
        e = step(A, H, S, S[here - 3], b)
        t = step(A, H, S, S[here - 2], b) if S[here - 2] != NONE else NONE
        A[N_VISITED] += 1
        A[seen + i] = mark + 1
        note_byte(A, S, S[here - 1], e, b, i)
        if e == t:
            i = np.int64(A[trie + 3 * i + 1])
            continue
        A[seen + i] = mark + 3
        tagset = tags(A, H, S, e)
        if tagset != NO_TAGS:
            tagsets = number_tagset(A, S, tagset, tagsets)
        S[here], S[here + 1], S[here + 2] = e, t, tagset
        token = np.int64(A[trie + 3 * i + 2])
        if token >= 0:
            if not continues(A, e):
                push(S, A[tagset + NUMBER])
                push(S, -1)
                push(S, i)
            while token >= 0 and continues(A, e):
                if (A[bitmap + (token >> 5)] >> (token & 31)) & 1 == 0:
                    push(S, 0)
                    push(S, -3)
                    push(S, token)
                token = np.int64(A[A[NEXT_SAME] + token])
        i += 1
    return tagsets


@kernel("i(arena, arena, i, i, i)")
def forget_subtree(A, S, first, stop, bitmap):
    """Take the tokens of nodes first..stop-1 out of the bitmap; their entries in the reference's blocks no longer
    count."""
    mark = (A[SERIAL] & 0xFFFFFFF) * 4
    for i in range(first, stop):
        A[A[NODE_SEEN] + i] = mark + 3
        token = np.int64(A[A[TRIE] + 3 * i + 2])
        while token >= 0:
            S[bitmap + (token >> 5)] &= ~np.int32(np.uint32(1) << np.uint32(token & 31))
            token = np.int64(A[A[NEXT_SAME] + token])
    return 0


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def walk_exceptions(A, H, S, states, bitmap, first, stop, tagsets):
    """Walk nodes first..stop-1 as long as a lexer state is in another state than its reference, whose tokens the bitmap
    holds.

    Corrects the bitmap, pushes triples as `walk_lexer` does, and marks nodes as `walk_difference` does.
    """
    trie = np.int64(A[TRIE])
    mark = (A[SERIAL] & 0xFFFFFFF) * 4
    i = first
    while i < stop:
        word = A[trie + 3 * i]
        b = word & 255
        here = states + 3 * (word >> 8)
        e = step(A, H, S, S[here - 3], b)
        r = step(A, H, S, S[here - 2], b) if S[here - 2] != NONE else NONE
        A[N_VISITED] += 1
        A[A[NODE_SEEN] + i] = mark + 1
        note_byte(A, S, S[here - 1], e, b, i)
        if e == r:
            i = np.int64(A[trie + 3 * i + 1])
            continue
        if e == NONE:
            forget_subtree(A, S, i, A[trie + 3 * i + 1], bitmap)
            i = np.int64(A[trie + 3 * i + 1])
            continue
        A[A[NODE_SEEN] + i] = mark + 3
        tagset = tags(A, H, S, e)
        if tagset != NO_TAGS:
            tagsets = number_tagset(A, S, tagset, tagsets)
        S[here], S[here + 1], S[here + 2] = e, r, tagset
        token = np.int64(A[trie + 3 * i + 2])
        if token >= 0 and not continues(A, e):
            push(S, A[tagset + NUMBER])
            push(S, -1)
            push(S, i)
        while token >= 0:
            bit = np.int32(np.uint32(1) << np.uint32(token & 31))
            if continues(A, e):
                S[bitmap + (token >> 5)] |= bit
            else:
                S[bitmap + (token >> 5)] &= ~bit
            token = np.int64(A[A[NEXT_SAME] + token])
        i += 1
    return tagsets


@kernel("void(arena, arena, arena, i, i, i, i, i)")
def walk_both(A, H, S, lexer, known, states, bitmap, is_part):
    """Walk the trie where a lexer state and one whose inside is known differ: its part, or its reference."""
    S[states], S[states + 1], S[states + 2] = lexer, known, NO_TAGS
    children = root_children(A)
    tagsets = 0
    for b in range(256):
        i = np.int64(A[children + b])
        if i >= 0 and step(A, H, S, lexer, b) != step(A, H, S, known, b):
            stop = np.int64(A[A[TRIE] + 3 * i + 1])
            if is_part:
                tagsets = walk_difference(A, H, S, states, bitmap, i, stop, tagsets)
            else:
                tagsets = walk_exceptions(A, H, S, states, bitmap, i, stop, tagsets)


@kernel("void(arena, i, i, i)")
def keep_block(A, source, block, own):
    """Copy a block without the nodes that the present walk marked; it names the tagset `own` in place of OWN."""
    exits = (A[SERIAL] & 0xFFFFFFF) * 4 + 1
    seen = np.int64(A[NODE_SEEN])
    for w in range(BLOCK):
        A[block + w] = A[source + w]
    if A[block + T] == OWN:
        A[block + T] = own
    total = np.int64(A[source + N_ENDS])
    runs = np.int64(A[source + RUNS])
    for run in range(runs, runs + 3 * A[source + N_RUNS], 3):
        total += A[run + 1]
    out = region(A, total)
    A[block + ENDS] = out
    A[block + N_ENDS] = 0
    for i in range(A[source + ENDS], A[source + ENDS] + A[source + N_ENDS]):
        if A[seen + A[i]] != exits + 2:
            A[out] = A[i]
            out += 1
            A[block + N_ENDS] += 1
    copy = region(A, 3 * A[source + N_RUNS])
    A[block + RUNS] = copy
    for run in range(runs, runs + 3 * A[source + N_RUNS], 3):
        A[copy] = A[run]
        A[copy + 2] = out
        for i in range(A[run + 2], A[run + 2] + A[run + 1]):
            if A[seen + A[i]] != exits and A[seen + A[i]] != exits + 2:
                A[out] = A[i]
                out += 1
        A[copy + 1] = out - A[copy + 2]
        copy += 3


@kernel("i(arena, arena, arena, i, i, i)")
def inside_by_difference(A, H, S, lexer, text, pieces):
    """The inside region of a union, from the one piece of its part `text` and a walk of where they differ."""
    known = np.int64(A[pieces + 1])
    A[SERIAL] += 1
    A[N_INSIDE] += 1
    states = np.int64(S[0])
    room(S, 3 * (A[DEPTH] + 2))
    triples = states + 3 * (A[DEPTH] + 2)
    S[0] = triples
    walk_both(A, H, S, lexer, text, states, A[known + BITMAP], 1)
    stop = np.int64(S[0])
    sort_groups(S, triples, stop, 3)
    n = 0  # tokens: the triples (0, -3, token) sort first
    while triples + 3 * n < stop and S[triples + 3 * n + 1] == -3:
        n += 1
    first = triples + 3 * n
    kept = np.int64(A[known + N_BLOCKS])
    added = count_tagsets(A, S, first, stop)
    head = region(A, HEAD)
    A[head] = n
    A[head + TOKENS] = region(A, n)
    for i in range(n):
        A[A[head + TOKENS] + i] = S[triples + 3 * i + 2]
    A[head + BITMAP] = A[known + BITMAP]
    A[head + BLOCKS] = region(A, BLOCK * (kept + added))
    A[head + N_BLOCKS] = kept + added
    for k in range(kept):
        keep_block(A, A[known + BLOCKS] + BLOCK * k, A[head + BLOCKS] + BLOCK * k, A[pieces + 2])
    store_triples(A, S, A[head + BLOCKS] + BLOCK * kept, first, stop)
    S[0] = states
    return head


@kernel("i(arena, arena, arena, i)")
def reference_of(A, H, S, lexer):
    """A looping state whose successors are for the most part those of the lexer state, or 0.

    After a first character that no exception begins with, "any key but some" is "any key": the exceptions are few
    nodes of the trie, all others need no walk.
    """
    e = step(A, H, S, lexer, 0x7E)  # ~ and ^: few exceptions begin so
    if e == NONE or e == lexer or e != step(A, H, S, lexer, 0x5E) or not loops(A, H, S, e):
        return 0
    if A[e + INSIDE] != 0 and A[A[e + INSIDE]] != 1:
        return 0
    return e if alike(A, H, S, e, lexer) >= MIN_ALIKE else 0


@kernel("i(arena, arena, arena, i, i, i)")
def inside_by_exceptions(A, H, S, lexer, reference, pieces):
    """The inside region of a lexer state, from the one piece of its reference and a walk of where they differ."""
    known = np.int64(A[pieces + 1])
    A[SERIAL] += 1
    A[N_INSIDE] += 1
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    bitmap = np.int64(S[0])
    states = bitmap + words
    room(S, words + 3 * (A[DEPTH] + 2))
    triples = states + 3 * (A[DEPTH] + 2)
    S[0] = triples
    copy = S[bitmap : bitmap + words]
    for w in range(words):
        copy[w] = 0
    if A[known + BITMAP] != 0:
        bits = A[A[known + BITMAP] : A[known + BITMAP] + words]
        for w in range(words):
            copy[w] = bits[w]
    for k in range(A[known + TOKENS], A[known + TOKENS] + A[known]):
        S[bitmap + (A[k] >> 5)] |= np.int32(np.uint32(1) << np.uint32(A[k] & 31))
    walk_both(A, H, S, lexer, reference, states, bitmap, 0)
    stop = np.int64(S[0])
    sort_groups(S, triples, stop, 3)
    kept = np.int64(A[known + N_BLOCKS])
    added = count_tagsets(A, S, triples, stop)
    head = region(A, HEAD)
    store_tokens(A, H, S, bitmap, head)
    A[head + BLOCKS] = region(A, BLOCK * (kept + added))
    A[head + N_BLOCKS] = kept + added
    for k in range(kept):
        keep_block(A, A[known + BLOCKS] + BLOCK * k, A[head + BLOCKS] + BLOCK * k, A[pieces + 2])
    store_triples(A, S, A[head + BLOCKS] + BLOCK * kept, triples, stop)
    if tag_of(A, lexer) != 0:  # of one terminal, like its reference
        for k in range(kept + added):
            A[A[head + BLOCKS] + BLOCK * k + T] = OWN
    S[0] = bitmap
    return head
