"""Token masks: which tokens keep a configuration alive.

The idea: most tokens never leave the lexeme in progress, and for those the parser does not matter. `inside(l)` walks
the vocabulary's trie once for a lexer state l and is shared by all grammars on that vocabulary:

* the tokens that stay inside the lexeme;
  (if a union has one text-like part, only where the union and that part differ)
* for each set t of terminals that the lexeme may end as (TAGSET): the nodes where a token *ends* with it, the *exits*
  — the children, sorted by byte, where the lexeme cannot go on, so that the next lexeme begins there — and the bytes
  with which a lexeme that may end goes on all the same (*survivors*).

Where a state loops on a class of characters (a string body, an identifier), the tokens made only of such characters
need no walk either: the vocabulary has them ready as *slices*, by length, each with the trie of all other tokens
(kernels/slices.py); a state that differs from such a state in a few beginnings is walked only there.

A mask is then the union of inside sets, plus, for each t, a walk of the few exit subtrees from `scan(p, t)`. Only when
a next lexeme can begin with a survivor (two segmentations within a token) is the whole trie walked with whole
configurations.

    inside   [n, where, blocks, m, bitmap]   n tokens at `where`, more in the bitmap (if not 0), m blocks of BLOCK words
    block    [t, ends, n, survivors (8 words), runs, m]       runs: m times [byte, n, nodes at]
    mask     [n, bitmaps..., m, tokens...]                    their union; tokens are distinct and in no bitmap

The trie is in the arena: node i is A[TRIE + 3 i ...] = byte | depth << 8, end of its subtree, first token or -1;
tokens with the same bytes are chained by A[NEXT_SAME + token].

Cost: a few microseconds when the lexer states are known, a walk (about 5 ns a node) when not.
Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.arena import (
    DEPTH,
    EOS,
    KEY,
    N_EOS,
    N_INSIDE,
    N_MASKS,
    N_NODES,
    N_TOKENS,
    N_VISITED,
    N_WALKS,
    NEXT_SAME,
    NO_TAGS,
    NODE_SEEN,
    NONE,
    SEEN,
    SERIAL,
    TRIE,
    push,
    region,
    room,
    size,
    sort_groups,
)
from constrain.kernels.blocks import list_tokens
from constrain.kernels.configurations import (
    ACCEPTING,
    MASK_OF,
    WATCHING,
    accepts,
    fresh,
    peek_configuration,
    step_configuration,
)
from constrain.kernels.earley import GREEDY, scan
from constrain.kernels.expressions import INSIDE, TAGS, clamp, continues, peek, step, tags
from constrain.kernels.greedy import greedy_mask
from constrain.kernels.slices import (
    MAIN,
    MIN_ALIKE,
    NODES,
    PIECE_NODES,
    alike,
    closed,
    copy_slice,
    largest_slice,
    loops,
    most_covered,
    text_part,
)

HEAD = 5
BLOCKS, N_BLOCKS, BITMAP = 2, 3, 4  # words of an inside region, after the tokens
BLOCK = 13
T, ENDS, N_ENDS, SURVIVORS, RUNS, N_RUNS = 0, 1, 2, 3, 11, 12  # words of a block
IS_WATCHED, IS_ACCEPTING = 1, 2  # what `fill_mask` says
MARK, NUMBER, BITS = 1, 2, 3  # memo words of TAGSET records: serial of the walk that saw it, number in it, survivors


# --- inside -----------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i, i)")
def number_tagset(A, S, t, n):
    """The number of a tagset in this walk; a new one gets number n and a triple (n, -2, t)."""
    if A[t + MARK] != A[SERIAL]:
        A[t + BITS] = region(A, 8)
        A[t + MARK] = A[SERIAL]
        A[t + NUMBER] = n
        push(S, n)
        push(S, -2)
        push(S, t)
        return n + 1
    return n


@kernel("i(arena, arena, arena, i, i, i)")
def walk_lexer(A, H, S, lexer, bitmap, piece):
    """Walk a trie from a lexer state; set the bits of the tokens inside, push triples (tagset number, byte or mark,
    node).

    piece: the slice whose rest is walked, or 0 for the whole trie. Marks: -2 the tagset itself, -1 a token ends here.
    The stack of states lies above the bitmap. Returns the number of tokens set.
    """
    states = bitmap + ((A[N_TOKENS] + 31) >> 5)  # S[states + 2 d], ... + 1: lexer state and tagset at depth d
    S[states] = lexer
    S[states + 1] = NO_TAGS
    trie = np.int64(A[piece + NODES] if piece else A[TRIE])
    main = np.int64(A[piece + MAIN] if piece else 0)
    n = np.int64(A[piece + PIECE_NODES] if piece else A[N_NODES])
    count = 0
    tagsets = 0
    visited = 0
    i = 0
    while i < n:
        word = A[trie + 3 * i]
        b = word & 255
        here = states + 2 * (word >> 8)
        e = peek(A, S[here - 2], b)
        if e == 0:
            e = step(A, H, S, S[here - 2], b)
        before = np.int64(S[here - 1])
        visited += 1
        if e == NONE:
            if before != NO_TAGS:
                push(S, A[before + NUMBER])
                push(S, b)
                push(S, A[main + i] if main else i)
            i = np.int64(A[trie + 3 * i + 1])
            continue
        if before != NO_TAGS:
            A[A[before + BITS] + (b >> 5)] |= np.int32(np.uint32(1) << np.uint32(b & 31))
        t = np.int64(A[e + TAGS])
        if t == 0:
            t = tags(A, H, S, e)
        if t != NO_TAGS:
            tagsets = number_tagset(A, S, t, tagsets)
        S[here] = e
        S[here + 1] = t
        token = np.int64(A[trie + 3 * i + 2])
        if token >= 0:
            if continues(A, e):
                while token >= 0:
                    S[bitmap + (token >> 5)] |= np.int32(np.uint32(1) << np.uint32(token & 31))
                    count += 1
                    token = np.int64(A[A[NEXT_SAME] + token])
            else:
                push(S, A[t + NUMBER])
                push(S, -1)
                push(S, A[main + i] if main else i)
        i += 1
    A[N_VISITED] += visited
    return count


@kernel("i(arena, arena, i, i)")
def store_tokens(A, S, bitmap, count):
    """The beginning of an inside region for the bitmap: a list of tokens if that is shorter, else the bitmap."""
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    bits = S[bitmap : bitmap + words]
    if count >= words:
        where = region(A, words)
        copy = A[where : where + words]
        for w in range(words):
            copy[w] = bits[w]
        head = region(A, HEAD)
        A[head + BITMAP] = where
        return head
    where = region(A, count)
    head = region(A, HEAD)
    A[head] = count
    A[head + 1] = where
    list_tokens(A, S, bitmap, where)
    return head


@kernel("i(arena, arena, i, i, i)")
def store_block(A, S, block, start, stop):
    """Write the block for the sorted triples S[start:stop] of one tagset; the first names it."""
    t = np.int64(S[start + 2])
    A[block + T] = t
    for w in range(8):
        A[block + SURVIVORS + w] = A[A[t + BITS] + w]
    i = start + 3
    nodes = region(A, (stop - i) // 3)
    A[block + ENDS] = nodes
    while i < stop and S[i + 1] == -1:
        A[nodes] = S[i + 2]
        nodes += 1
        A[block + N_ENDS] += 1
        i += 3
    runs = 0
    for j in range(i, stop, 3):
        if j == i or S[j + 1] != S[j - 2]:
            runs += 1
    run = region(A, 3 * runs) - 3
    A[block + RUNS] = run + 3
    A[block + N_RUNS] = runs
    for j in range(i, stop, 3):
        if j == i or S[j + 1] != S[j - 2]:
            run += 3
            A[run] = S[j + 1]
            A[run + 2] = nodes
        A[run + 1] += 1
        A[nodes] = S[j + 2]
        nodes += 1
    return 0


@kernel("i(arena, arena, i, i)")
def count_tagsets(A, S, triples, stop):
    """How many tagsets the sorted triples name."""
    n = 0
    for i in range(triples, stop, 3):
        if S[i + 1] == -2:
            n += 1
    return n


@kernel("void(arena, arena, i, i, i)")
def store_triples(A, S, block, triples, stop):
    """Write the blocks of the sorted triples S[triples:stop], from `block` on."""
    i = triples
    while i < stop:
        j = i + 3
        while j < stop and S[j] == S[i]:
            j += 3
        store_block(A, S, block, i, j)
        block += BLOCK
        i = j


@kernel("i(arena, arena, arena, i)")
def inside_by_walk(A, H, S, lexer):
    """The inside region of a lexer state, from a walk of the trie or of a slice's rest."""
    if A[lexer + INSIDE] != 0:
        return np.int64(A[lexer + INSIDE])
    A[SERIAL] += 1
    A[N_INSIDE] += 1
    bitmap = np.int64(S[0])
    above = ((A[N_TOKENS] + 31) >> 5) + 2 * (A[DEPTH] + 2)
    room(S, above)
    cleared = S[bitmap : bitmap + above]
    for w in range(above):
        cleared[w] = 0
    triples = bitmap + above
    S[0] = triples
    piece = copy_slice(A, S, largest_slice(A, H, S, lexer), bitmap)
    count = walk_lexer(A, H, S, lexer, bitmap, piece)
    if piece:
        count = A[N_TOKENS]  # many: store the bitmap
    stop = np.int64(S[0])
    sort_groups(S, triples, stop, 3)
    blocks = count_tagsets(A, S, triples, stop)
    head = store_tokens(A, S, bitmap, count)
    A[head + BLOCKS] = region(A, BLOCK * blocks)
    A[head + N_BLOCKS] = blocks
    store_triples(A, S, A[head + BLOCKS], triples, stop)
    S[0] = bitmap
    A[lexer + INSIDE] = head
    return head


@kernel("i(arena, arena, arena, i, i, i, i)")
def walk_difference(A, H, S, lexer, text, states, bitmap):
    """Walk the trie as long as the union `lexer` is in another state than its part `text` alone.

    Pushes triples as `walk_lexer` does, and one more kind, (0, -3, token), for a token inside that the part's bitmap
    lacks. Marks the nodes whose entries in the part's blocks no longer count: A[NODE_SEEN + node] = 4 serial + 1 for
    an exit, + 2 for an end as well.
    """
    S[states], S[states + 1], S[states + 2] = lexer, text, NO_TAGS  # rows of three: union, part, tagset of the union
    trie = np.int64(A[TRIE])
    n = np.int64(A[N_NODES])
    seen = np.int64(A[NODE_SEEN])
    mark = (A[SERIAL] & 0xFFFFFFF) * 4
    tagsets = 0
    i = 0
    while i < n:
        word = A[trie + 3 * i]
        b = word & 255
        here = states + 3 * (word >> 8)
        before = np.int64(S[here - 1])
        e = step(A, H, S, S[here - 3], b)
        t = step(A, H, S, S[here - 2], b) if S[here - 2] != NONE else NONE
        A[N_VISITED] += 1
        A[seen + i] = mark + 1
        if before != NO_TAGS:
            if e == NONE:
                push(S, A[before + NUMBER])
                push(S, b)
                push(S, i)
            else:
                A[A[before + BITS] + (b >> 5)] |= np.int32(np.uint32(1) << np.uint32(b & 31))
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


@kernel("void(arena, i, i)")
def keep_block(A, source, block):
    """Copy a block without the nodes that the present walk marked."""
    exits = (A[SERIAL] & 0xFFFFFFF) * 4 + 1
    seen = np.int64(A[NODE_SEEN])
    for w in range(BLOCK):
        A[block + w] = A[source + w]
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
def inside_by_difference(A, H, S, lexer, text, known):
    """The inside region of a union, from the region `known` of its part `text` and a walk of where they differ."""
    A[SERIAL] += 1
    A[N_INSIDE] += 1
    states = np.int64(S[0])
    room(S, 3 * (A[DEPTH] + 2))
    triples = states + 3 * (A[DEPTH] + 2)
    S[0] = triples
    walk_difference(A, H, S, lexer, text, states, A[known + BITMAP])
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
    A[head + 1] = region(A, n)
    for i in range(n):
        A[A[head + 1] + i] = S[triples + 3 * i + 2]
    A[head + BITMAP] = A[known + BITMAP]
    A[head + BLOCKS] = region(A, BLOCK * (kept + added))
    A[head + N_BLOCKS] = kept + added
    for k in range(kept):
        keep_block(A, A[known + BLOCKS] + BLOCK * k, A[head + BLOCKS] + BLOCK * k)
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
    return e if alike(A, H, S, e, lexer) >= MIN_ALIKE else 0


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


@kernel("i(arena, arena, arena, i, i, i, i)")
def walk_exceptions(A, H, S, lexer, reference, states, bitmap):
    """Walk the trie as long as a lexer state is in another state than its reference, whose tokens the bitmap holds.

    Corrects the bitmap, pushes triples as `walk_lexer` does, and marks nodes as `walk_difference` does.
    """
    S[states], S[states + 1], S[states + 2] = lexer, reference, NO_TAGS
    trie = np.int64(A[TRIE])
    n = np.int64(A[N_NODES])
    mark = (A[SERIAL] & 0xFFFFFFF) * 4
    tagsets = 0
    i = 0
    while i < n:
        word = A[trie + 3 * i]
        b = word & 255
        here = states + 3 * (word >> 8)
        before = np.int64(S[here - 1])
        e = step(A, H, S, S[here - 3], b)
        r = step(A, H, S, S[here - 2], b) if S[here - 2] != NONE else NONE
        A[N_VISITED] += 1
        A[A[NODE_SEEN] + i] = mark + 1
        if before != NO_TAGS:
            if e == NONE:
                push(S, A[before + NUMBER])
                push(S, b)
                push(S, i)
            else:
                A[A[before + BITS] + (b >> 5)] |= np.int32(np.uint32(1) << np.uint32(b & 31))
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


@kernel("i(arena, arena, arena, i, i, i)")
def inside_by_exceptions(A, H, S, lexer, reference, known):
    """The inside region of a lexer state, from the region `known` of its reference and a walk of where they differ."""
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
    for k in range(A[known + 1], A[known + 1] + A[known]):
        S[bitmap + (A[k] >> 5)] |= np.int32(np.uint32(1) << np.uint32(A[k] & 31))
    walk_exceptions(A, H, S, lexer, reference, states, bitmap)
    stop = np.int64(S[0])
    sort_groups(S, triples, stop, 3)
    kept = np.int64(A[known + N_BLOCKS])
    added = count_tagsets(A, S, triples, stop)
    head = store_tokens(A, S, bitmap, A[N_TOKENS])
    A[head + BLOCKS] = region(A, BLOCK * (kept + added))
    A[head + N_BLOCKS] = kept + added
    for k in range(kept):
        keep_block(A, A[known + BLOCKS] + BLOCK * k, A[head + BLOCKS] + BLOCK * k)
    store_triples(A, S, A[head + BLOCKS] + BLOCK * kept, triples, stop)
    S[0] = bitmap
    return head


@kernel("i(arena, arena, arena, i)")
def find_inside(A, H, S, lexer):
    """The inside region of a lexer state, by the cheapest way that is open to it."""
    text = text_part(A, H, S, lexer)
    if text != 0 and alike(A, H, S, lexer, text) >= MIN_ALIKE:
        return inside_by_difference(A, H, S, lexer, text, inside_by_walk(A, H, S, text))
    if not most_covered(A, H, S, lexer):
        reference = reference_of(A, H, S, lexer)
        if reference != 0:
            return inside_by_exceptions(A, H, S, lexer, reference, inside_by_walk(A, H, S, reference))
        if text != 0 and not closed(A, H, S, lexer, 0):
            return inside_by_difference(A, H, S, lexer, text, inside_by_walk(A, H, S, text))
    return inside_by_walk(A, H, S, lexer)


@kernel("i(arena, arena, arena, i)")
def inside(A, H, S, lexer):
    """The inside region of a lexer state."""
    lexer = clamp(A, H, S, lexer, A[DEPTH])
    if A[lexer + INSIDE] == 0:
        A[lexer + INSIDE] = find_inside(A, H, S, lexer)
    return np.int64(A[lexer + INSIDE])


# --- masks ------------------------------------------------------------------------------------------------------------


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
    """Push the tokens of nodes first..stop-1, a subtree's children (or the whole trie), that keep c alive."""
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
def meets_survivors(A, H, S, c, block):
    """Whether c can begin with a byte with which the lexeme of the block could also go on."""
    for w in range(8):
        bits = np.int64(A[block + SURVIVORS + w]) & 0xFFFFFFFF
        b = w * 32
        while bits != 0:
            if bits & 1 and step_configuration(A, H, S, c, b) != NONE:
                return 1
            bits >>= 1
            b += 1
    return 0


@kernel("i(arena, arena, arena, i, i, i)")
def cross(A, H, S, states, p, head):
    """Push the tokens that end the lexeme of the inside set `head` and go on from p; 0 if the whole trie must be
    walked."""
    trie = np.int64(A[TRIE])
    for n in range(A[head + N_BLOCKS]):
        block = A[head + BLOCKS] + BLOCK * n
        q = scan(A, H, S, p, A[block + T])
        if q == 0:
            continue
        for i in range(A[block + ENDS], A[block + ENDS] + A[block + N_ENDS]):
            push_tokens(A, S, A[trie + 3 * A[i] + 2])
        c = fresh(A, H, S, q)
        if meets_survivors(A, H, S, c, block):
            return 0
        for run in range(A[block + RUNS], A[block + RUNS] + 3 * A[block + N_RUNS], 3):
            d = peek_configuration(A, c, A[run])
            if d == 0:
                d = step_configuration(A, H, S, c, A[run])
            if d == NONE:
                continue
            for i in range(A[run + 2], A[run + 2] + A[run + 1]):
                node = np.int64(A[i])
                if A[trie + 3 * node + 2] >= 0:
                    push_tokens(A, S, A[trie + 3 * node + 2])
                if A[trie + 3 * node + 1] > node + 1:
                    walk_configuration(A, H, S, states, node + 1, A[trie + 3 * node + 1], d)
    return 1


@kernel("i(arena, arena, i, i)")
def store_mask(A, S, bitmaps, tokens):
    """The mask record of the union of the bitmaps S[bitmaps:tokens] and the tokens S[tokens : S[0]]."""
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    stop = np.int64(S[0])
    out = tokens
    for i in range(tokens, stop):  # drop what a bitmap has
        token = np.int64(S[i])
        found = False
        for k in range(bitmaps, tokens):
            found = found or (A[S[k] + (token >> 5)] >> (token & 31)) & 1 != 0
        if not found:
            S[out] = token
            out += 1
    if out - tokens <= words:
        record = region(A, 2 + out - bitmaps)
        A[record] = tokens - bitmaps
        for i in range(bitmaps, tokens):
            A[record + 1 + i - bitmaps] = S[i]
        A[record + 1 + tokens - bitmaps] = out - tokens
        for i in range(tokens, out):
            A[record + 2 + i - bitmaps] = S[i]
        return record
    union = region(A, words)
    all_bits = A[union : union + words]
    for k in range(bitmaps, tokens):
        bits = A[S[k] : S[k] + words]
        for w in range(words):
            all_bits[w] |= bits[w]
    for i in range(tokens, out):
        A[union + (S[i] >> 5)] |= np.int32(np.uint32(1) << np.uint32(S[i] & 31))
    record = region(A, 3)
    A[record] = 1
    A[record + 1] = union
    return record


@kernel("i(arena, arena, arena, i)")
def mask(A, H, S, c):
    """The mask record of a configuration."""
    if A[c + MASK_OF] != 0:
        return np.int64(A[c + MASK_OF])
    A[N_MASKS] += 1
    if A[A[c + KEY] + GREEDY]:
        A[c + MASK_OF] = greedy_mask(A, H, S, c)
        return np.int64(A[c + MASK_OF])
    bottom = np.int64(S[0])
    room(S, A[DEPTH] + 4)
    states = bottom + 1
    S[0] = bottom + A[DEPTH] + 4
    bitmaps = np.int64(S[0])
    # bitmaps of the inside sets first: their walks use the serial number too
    for i in range(c + KEY + 2, c + KEY + size(A, c), 2):
        head = inside(A, H, S, A[i])
        if A[head + BITMAP] != 0:
            push(S, A[head + BITMAP])
    tokens = np.int64(S[0])
    A[SERIAL] += 1
    for i in range(c + KEY + 2, c + KEY + size(A, c), 2):
        head = inside(A, H, S, A[i])
        for k in range(A[head + 1], A[head + 1] + A[head]):
            push_tokens(A, S, A[k])
    exact = True
    for i in range(c + KEY + 1, c + KEY + size(A, c), 2):
        if not cross(A, H, S, states, A[i] >> 1, inside(A, H, S, A[i + 1])):
            exact = False
            break
    if not exact:
        A[N_WALKS] += 1
        A[SERIAL] += 1
        tokens = bitmaps
        S[0] = tokens
        walk_configuration(A, H, S, states, 0, A[N_NODES], c)
    if accepts(A, H, S, c):
        for i in range(A[EOS], A[EOS] + A[N_EOS]):
            push(S, A[i])
    record = store_mask(A, S, bitmaps, tokens)
    S[0] = bottom
    A[c + MASK_OF] = record
    return record


@kernel("void(arena, i, row)")
def write_mask(A, record, row):
    """Write a mask record into a row of uint32 words; words beyond the vocabulary become 0.

    PERF: `A[first + w]` may be an index from the end, as far as the compiler knows, and such loops are not vectorised:
    2.5 µs for 4,008 words, and 0.1 µs with a slice.
    """
    n = np.int64(A[record])
    words = (A[N_TOKENS] + 31) >> 5
    if n == 0:
        row[:] = 0
    else:
        first = A[A[record + 1] : A[record + 1] + words]
        for w in range(first.size):
            row[w] = np.uint32(first[w])
        row[words:] = 0
        for k in range(1, n):
            other = A[A[record + 1 + k] : A[record + 1 + k] + words]
            for w in range(other.size):
                row[w] |= np.uint32(other[w])
    tokens = record + 2 + n
    for i in range(tokens, tokens + A[tokens - 1]):
        row[A[i] >> 5] |= np.uint32(1) << np.uint32(A[i] & 31)


@kernel("i(arena, arena, arena, i, row)", entry=True)
def fill_mask(A, H, S, c, row):
    """Write the mask of a configuration; IS_WATCHED and IS_ACCEPTING, added up, as they apply to it."""
    write_mask(A, mask(A, H, S, c), row)
    return (IS_WATCHED if A[c + WATCHING] == 2 else 0) + (IS_ACCEPTING if accepts(A, H, S, c) else 0)


@kernel("i(arena, i, row)", entry=True)
def known_mask(A, c, row):
    """`fill_mask` if the mask is known, else -1."""
    if A[c + MASK_OF] == 0 or A[c + ACCEPTING] == 0:
        return -1
    write_mask(A, A[c + MASK_OF], row)
    return (IS_WATCHED if A[c + WATCHING] == 2 else 0) + (IS_ACCEPTING if A[c + ACCEPTING] == 2 else 0)


@kernel("i(arena, arena, arena, i)", entry=True)
def forced_token(A, H, S, c):
    """The only token that the mask of c allows, or -1."""
    record = mask(A, H, S, c)
    if A[record] == 0 and A[record + 1] == 1:
        return np.int64(A[record + 2])
    return -1


@kernel("void(arena, arena, arena, arena)", entry=True)
def align_trie(whole, part, cursor, out):
    """The number in a whole trie of each node of a trie of some of its tokens.

    whole, part: nodes as rows of three words     out: int32[nodes of part]
    cursor: int32[deepest level + 2], zero; by depth, where to look for the next sibling
    """
    for i in range(out.size):
        depth = part[3 * i] >> 8
        j = np.int64(cursor[depth])
        while whole[3 * j] != part[3 * i]:
            j = np.int64(whole[3 * j + 1])
        out[i] = j
        cursor[depth] = whole[3 * j + 1]
        cursor[depth + 1] = j + 1
