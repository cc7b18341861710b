"""What the tokens do with one lexeme in progress, by a walk of the trie: the *inside* of a lexer state.

The idea: most tokens never leave the lexeme in progress, and for those the parser does not matter. One walk of the
vocabulary's trie finds, for all grammars on that vocabulary:

* the tokens that stay inside the lexeme;
* for each set t of terminals that the lexeme may end as (TAGSET): the nodes where a token *ends* with it, the *exits*
  — the children, sorted by byte, where the lexeme cannot go on, so that the next lexeme begins there — and the bytes
  with which a lexeme that may end goes on all the same (*survivors*).

Where a state loops on a class of characters (a string body, an identifier), the tokens made only of such characters
need no walk: the vocabulary has them ready as *slices*, by length, each with the trie of all other tokens
(slices.py).

What can follow in a lexeme of one terminal does not depend on the terminal: `name"` after `last` is `name"` after
`first`. So the expression that is left is walked, without the terminal's tag, and the block names the tagset OWN.

    inside   [n, tokens at, bitmap, blocks, m]     n tokens in a list, more in the bitmap (if not 0), m blocks
    block    [t, ends, n, survivors (8 words), runs, m]       runs: m times [byte, n, nodes at]

The trie is in the arena: node i is A[TRIE + 3 i ...] = byte | depth << 8, end of its subtree, first token or -1;
tokens with the same bytes are chained by A[NEXT_SAME + token].

Cost: some 5 ns a node, of which those below a child of the root that leads nowhere are not looked at.
Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import TAGS, cat, continues, is_nullable, peek, step, tags
from constrain.kernels.masks.common.slices import MAIN, NODES, PIECE_NODES, copy_slice, largest_slice
from constrain.kernels.masks.greedy.blocks import store_bitmap, store_tokens
from constrain.kernels.records.arena import (
    CAT,
    DEPTH,
    EPS,
    KEY,
    N_INSIDE,
    N_NODES,
    N_TOKENS,
    N_VISITED,
    NEXT_SAME,
    NO_TAGS,
    NONE,
    OWN,
    ROOT,
    SERIAL,
    TAG,
    TRIE,
    kind,
    push,
    region,
    room,
    sort_groups,
)

HEAD = 5
TOKENS, BITMAP, BLOCKS, N_BLOCKS = 1, 2, 3, 4  # words of an inside region, after the number of tokens
BLOCK = 13
T, ENDS, N_ENDS, SURVIVORS, RUNS, N_RUNS = 0, 1, 2, 3, 11, 12  # words of a block
MARK, NUMBER, BITS = 1, 2, 3  # memo words of TAGSET records: serial of the walk that saw it, number in it, survivors


# --- blocks -----------------------------------------------------------------------------------------------------------


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


@kernel("void(arena, arena, i, i, i, i)")
def note_byte(A, S, before, e, b, node):
    """Note what byte b, of this node, does where a lexeme may end as the tagset `before`: an exit if no lexeme goes on
    (e is NONE), else a survivor."""
    if before == NO_TAGS:
        return
    if e == NONE:
        push(S, A[before + NUMBER])
        push(S, b)
        push(S, node)
    else:
        A[A[before + BITS] + (b >> 5)] |= np.int32(np.uint32(1) << np.uint32(b & 31))


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


# --- by a walk --------------------------------------------------------------------------------------------------------


@kernel("i(arena)")
def root_children(A):
    """A region of 256 words: the trie's child of the root by each byte, or -1."""
    if A[ROOT] == 0:
        children = region(A, 256)
        for b in range(256):
            A[children + b] = -1
        i = np.int64(0)
        while i < A[N_NODES]:
            A[children + (A[A[TRIE] + 3 * i] & 255)] = i
            i = np.int64(A[A[TRIE] + 3 * i + 1])
        A[ROOT] = children
    return np.int64(A[ROOT])


@kernel("i(arena, arena, arena, i, i, i, i, i, i)")
def walk_lexer(A, H, S, own, bitmap, piece, first, stop, tagsets):
    """Walk nodes first..stop-1 of a trie; set the bits of the tokens inside, push triples (tagset number, byte or mark,
    node).

    own: the tagset of an expression that is nullable, if expressions are walked; 0 for lexer states.
    piece: the slice whose rest is walked, or 0 for the whole trie. Marks: -2 the tagset itself, -1 a token ends here.
    The stack of states lies above the bitmap; the state before the first byte is on it. Returns how many tagsets have
    numbers; `tagsets` had before.
    """
    states = bitmap + ((A[N_TOKENS] + 31) >> 5)  # S[states + 2 d], ... + 1: state and tagset at depth d
    trie = np.int64(A[piece + NODES] if piece else A[TRIE])
    main = np.int64(A[piece + MAIN] if piece else 0)
    visited = 0
    i = first
    while i < stop:
        word = A[trie + 3 * i]
        b = word & 255
        here = states + 2 * (word >> 8)
        e = peek(A, S[here - 2], b)
        if e == 0:
            e = step(A, H, S, S[here - 2], b)
        visited += 1
        note_byte(A, S, S[here - 1], e, b, A[main + i] if main else i)
        if e == NONE:
            i = np.int64(A[trie + 3 * i + 1])
            continue
        t = np.int64(NO_TAGS)
        if own == 0:
            t = np.int64(A[e + TAGS])
            if t == 0:
                t = tags(A, H, S, e)
        elif is_nullable(A, e):
            t = own
        if t != NO_TAGS:
            tagsets = number_tagset(A, S, t, tagsets)
        S[here] = e
        S[here + 1] = t
        token = np.int64(A[trie + 3 * i + 2])
        if token >= 0:
            if continues(A, e):
                while token >= 0:
                    S[bitmap + (token >> 5)] |= np.int32(np.uint32(1) << np.uint32(token & 31))
                    token = np.int64(A[A[NEXT_SAME] + token])
            else:
                push(S, A[t + NUMBER])
                push(S, -1)
                push(S, A[main + i] if main else i)
        i += 1
    A[N_VISITED] += visited
    return tagsets


@kernel("void(arena, arena, arena, i, i, i, i)")
def walk_from_root(A, H, S, e, own, bitmap, piece):
    """`walk_lexer` of the whole trie, or of the rest of a slice, from a state or an expression.

    PERF: children of the root lie far apart, so those that lead nowhere are not looked at: 230 for most literals.
    """
    states = bitmap + ((A[N_TOKENS] + 31) >> 5)
    S[states] = e
    S[states + 1] = NO_TAGS
    if piece:
        walk_lexer(A, H, S, own, bitmap, piece, 0, A[piece + PIECE_NODES], 0)
    else:
        children = root_children(A)
        tagsets = 0
        for b in range(256):
            i = np.int64(A[children + b])
            if i >= 0 and step(A, H, S, e, b) != NONE:
                tagsets = walk_lexer(A, H, S, own, bitmap, 0, i, A[A[TRIE] + 3 * i + 1], tagsets)


@kernel("i(arena, i)")
def tag_of(A, lexer):
    """The tag at the end of a lexer state of only one terminal; else 0."""
    while kind(A, lexer) == CAT:
        lexer = np.int64(A[lexer + KEY + 1])
    return lexer if kind(A, lexer) == TAG else 0


@kernel("i(arena, arena, arena, i)")
def untagged(A, H, S, lexer):
    """What is left of the terminal, in a lexer state of only one; else 0."""
    if tag_of(A, lexer) == 0:
        return 0
    start = np.int64(S[0])
    while kind(A, lexer) == CAT:
        push(S, A[lexer + KEY])
        lexer = np.int64(A[lexer + KEY + 1])
    e = np.int64(EPS)
    for i in range(S[0] - 1, start - 1, -1):
        e = cat(A, H, S[i], e)
    S[0] = start
    return e


@kernel("i(arena, arena, arena, i)")
def inside_by_walk(A, H, S, lexer):
    """The inside region of a lexer state, from a walk of the trie or of a slice's rest."""
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
    e = untagged(A, H, S, lexer)
    if e != 0:
        walk_from_root(A, H, S, e, OWN, bitmap, piece)
    else:
        walk_from_root(A, H, S, lexer, 0, bitmap, piece)
    stop = np.int64(S[0])
    sort_groups(S, triples, stop, 3)
    blocks = count_tagsets(A, S, triples, stop)
    head = region(A, HEAD)
    if piece:
        A[head + BITMAP] = store_bitmap(A, H, S, bitmap)  # `inside_by_difference` relies on it
    else:
        store_tokens(A, H, S, bitmap, head)
    A[head + BLOCKS] = region(A, BLOCK * blocks)
    A[head + N_BLOCKS] = blocks
    store_triples(A, S, A[head + BLOCKS], triples, stop)
    S[0] = bitmap
    return head
