"""Token tables under the dynamic lexer, by a walk of the trie.

The idea: most tokens never leave the lexeme in progress, and for those the parser does not matter: they are
*context-independent*. One walk of the vocabulary's trie finds, for all grammars on that vocabulary:

* the tokens that stay inside the lexeme;
* for each set of terminals that the lexeme may end as (TAGSET): the nodes where a token *ends* with it, the *exits*
  — the children, sorted by byte, where the lexeme cannot go on, so that the next lexeme begins there — and the bytes
  with which a lexeme that may end goes on all the same (*survivors*).

Where a state loops on a class of characters (a string body, an identifier), the tokens made only of such characters
need no walk: the vocabulary has them ready as *slices*, by length, each with the trie of all other tokens
(masks/common/slices.py).

What can follow in a lexeme of one terminal does not depend on the terminal: `name"` after `last` is `name"` after
`first`. So the expression that is left is walked, without the terminal's tag, and the block names the tagset OWN.

Records: records/dynamic_tables.py. Cost: some 5 ns a node, of which those below a child of the root that leads nowhere
are not looked at. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import peek, step
from constrain.kernels.lexer.expressions import cat
from constrain.kernels.lexer.states import tags
from constrain.kernels.masks.common.blocks import begin_walk, copy_nodes, end_of_key, store_ends
from constrain.kernels.masks.common.slices import copy_slice, largest_slice
from constrain.kernels.masks.common.tokens import store_bitmap, store_tokens
from constrain.kernels.records.arena import EPS, HEADER, NO_TAGS, NONE, OWN, kind, note_visits, region
from constrain.kernels.records.dynamic_tables import (
    DYNAMIC_BLOCK,
    EXIT_RUN,
    IS_END,
    IS_TAGSET,
    WALKED,
    block_at,
    run_end,
)
from constrain.kernels.records.expressions import CAT, EXPRESSION, TAG, TAGSET, continues, is_nullable
from constrain.kernels.records.masks import BLOCK, FINDING, TABLE, TOKENS
from constrain.kernels.records.stack import push, set_top, sort_groups, top
from constrain.kernels.records.vocabulary import (
    SLICE,
    mask_words,
    node_byte,
    node_end,
    node_token,
    node_word,
    set_bit,
    trie_of,
    word_byte,
    word_depth,
)

# --- what a walk finds ------------------------------------------------------------------------------------------------


@kernel("void(arena, i, i, i)")
def push_finding(S, number, byte, node):
    """Push a FINDING."""
    push(S, number)
    push(S, byte)
    push(S, node)


@kernel("i(arena, arena, i, i)")
def number_tagset(A, S, t, n):
    """Give a tagset that is new in this walk the number n, and push a FINDING for it. Returns the next number."""
    if A[t + TAGSET.MARK] != A[HEADER.SERIAL]:
        A[t + TAGSET.BITS] = region(A, 8)
        A[t + TAGSET.MARK] = A[HEADER.SERIAL]
        A[t + TAGSET.NUMBER] = n
        push_finding(S, n, IS_TAGSET, t)
        return n + 1
    return n


@kernel("void(arena, arena, i, i, i, i)")
def note_byte(A, S, before, e, b, node):
    """Note what byte b, of this node, does where a lexeme may end as the tagset `before`: an exit if no lexeme goes on
    (e is NONE), else a survivor."""
    if before == NO_TAGS:
        return
    if e == NONE:
        push_finding(S, A[before + TAGSET.NUMBER], b, node)
    else:
        set_bit(A, A[before + TAGSET.BITS], b)


@kernel("void(arena, arena, i, i, i)")
def store_exits(A, S, block, row, stop):
    """Write the exits of a block: the sorted findings S[row:stop]."""
    nodes = region(A, (stop - row) // FINDING.WORDS)
    runs = 0
    at = row
    while at < stop:
        at = end_of_key(S, at, stop, FINDING.WORDS)
        runs += 1
    A[block + DYNAMIC_BLOCK.RUNS] = region(A, EXIT_RUN.WORDS * runs)
    A[block + DYNAMIC_BLOCK.N_RUNS] = runs
    run = DYNAMIC_BLOCK.RUNS(A, block)
    while row < stop:
        end = end_of_key(S, row, stop, FINDING.WORDS)
        A[run + EXIT_RUN.BYTE] = S[row + FINDING.KEY]
        A[run + EXIT_RUN.NODES] = nodes
        A[run + EXIT_RUN.COUNT] = (end - row) // FINDING.WORDS
        copy_nodes(A, S, row, end, FINDING.WORDS, nodes)
        nodes = run_end(A, run)
        run += EXIT_RUN.WORDS
        row = end


@kernel("void(arena, arena, i, i, i)")
def store_block(A, S, block, start, stop):
    """Write the block for the sorted findings S[start:stop] of one tagset; the first names it."""
    t = np.int64(S[start + FINDING.NODE])
    A[block + BLOCK.TAGSET] = t
    for w in range(8):
        A[block + DYNAMIC_BLOCK.SURVIVORS + w] = A[A[t + TAGSET.BITS] + w]
    row = start + FINDING.WORDS
    exits = end_of_key(S, row, stop, FINDING.WORDS) if row < stop and S[row + FINDING.KEY] == IS_END else row
    store_ends(A, S, row, exits, FINDING.WORDS, block)
    store_exits(A, S, block, exits, stop)


@kernel("i(arena, arena, i, i)")
def count_tagsets(A, S, findings, stop):
    """The number of tagsets that the sorted findings name."""
    n = 0
    for row in range(findings, stop, FINDING.WORDS):
        if S[row + FINDING.KEY] == IS_TAGSET:
            n += 1
    return n


@kernel("void(arena, arena, i, i, i)")
def store_blocks(A, S, block, findings, stop):
    """Write the blocks of the sorted findings S[findings:stop], from `block` on."""
    row = findings
    while row < stop:
        end = row + FINDING.WORDS
        while end < stop and S[end + FINDING.NUMBER] == S[row + FINDING.NUMBER]:
            end += FINDING.WORDS
        store_block(A, S, block, row, end)
        block += DYNAMIC_BLOCK.WORDS
        row = end


# --- the walk ---------------------------------------------------------------------------------------------------------


@kernel("i(arena)")
def root_children(A):
    """A region of 256 words: the trie's child of the root by each byte, or -1."""
    if A[HEADER.ROOT_CHILDREN] == 0:
        children = region(A, 256)
        for b in range(256):
            A[children + b] = -1
        i = np.int64(0)
        while i < A[HEADER.N_NODES]:
            A[children + node_byte(A, trie_of(A), i)] = i
            i = node_end(A, trie_of(A), i)
        A[HEADER.ROOT_CHILDREN] = children
    return np.int64(A[HEADER.ROOT_CHILDREN])


@kernel("i(arena, arena, arena, i, i, i, i, i, i)")
def walk_lexer(A, H, S, own, bitmap, piece, first, stop, tagsets):
    """Walk nodes first..stop-1 of a trie; set the bits of context-independent tokens, push findings of the others.

    own: the tagset of an expression that is nullable, if expressions are walked; 0 for lexer states.
    piece: the slice whose rest is walked, or 0 for the whole trie.
    The stack of states, WALKED by depth, lies above the bitmap; the state before the first byte is on it. Returns how
    many tagsets have numbers; `tagsets` had before.
    """
    states = bitmap + mask_words(A)
    trie = np.int64(A[piece + SLICE.NODES]) if piece else trie_of(A)
    main = np.int64(A[piece + SLICE.MAIN] if piece else 0)
    visited = 0
    i = first
    while i < stop:
        word = node_word(A, trie, i)
        b = word_byte(word)
        here = states + WALKED.WORDS * word_depth(word)
        above = here - WALKED.WORDS
        e = peek(A, S[above + WALKED.STATE], b)
        if e == 0:
            e = step(A, H, S, S[above + WALKED.STATE], b)
        visited += 1
        note_byte(A, S, S[above + WALKED.TAGSET], e, b, A[main + i] if main else i)
        if e == NONE:
            i = node_end(A, trie, i)
            continue
        t = np.int64(NO_TAGS)
        if own == 0:
            t = EXPRESSION.TAGS(A, e)
            if t == 0:
                t = tags(A, H, S, e)
        elif is_nullable(A, e):
            t = own
        if t != NO_TAGS:
            tagsets = number_tagset(A, S, t, tagsets)
        S[here + WALKED.STATE] = e
        S[here + WALKED.TAGSET] = t
        token = node_token(A, trie, i)
        if token >= 0:
            if continues(A, e):
                while token >= 0:
                    set_bit(S, bitmap, token)
                    token = HEADER.NEXT_SAME(A, token)
            else:
                push_finding(S, A[t + TAGSET.NUMBER], IS_END, A[main + i] if main else i)
        i += 1
    note_visits(A, visited)
    return tagsets


@kernel("void(arena, arena, arena, i, i, i, i)")
def walk_from_root(A, H, S, e, own, bitmap, piece):
    """`walk_lexer` of the whole trie, or of the rest of a slice, from a state or an expression.

    PERF: children of the root lie far apart. Most of them lead nowhere, 230 for most literals, and are not looked at.
    """
    states = bitmap + mask_words(A)
    S[states + WALKED.STATE] = e
    S[states + WALKED.TAGSET] = NO_TAGS
    if piece:
        walk_lexer(A, H, S, own, bitmap, piece, 0, A[piece + SLICE.N_NODES], 0)
    else:
        children = root_children(A)
        tagsets = 0
        for b in range(256):
            i = np.int64(A[children + b])
            if i >= 0 and step(A, H, S, e, b) != NONE:
                tagsets = walk_lexer(A, H, S, own, bitmap, 0, i, node_end(A, trie_of(A), i), tagsets)


@kernel("i(arena, i)")
def tag_of(A, lexer):
    """The tag at the end of a lexer state of only one terminal; else 0."""
    while kind(A, lexer) == CAT.KIND:
        lexer = CAT.TAIL(A, lexer)
    return lexer if kind(A, lexer) == TAG.KIND else 0


@kernel("i(arena, arena, arena, i)")
def untagged(A, H, S, lexer):
    """The rest of the terminal, in a lexer state of only one; else 0."""
    if tag_of(A, lexer) == 0:
        return 0
    start = top(S)
    while kind(A, lexer) == CAT.KIND:
        push(S, CAT.HEAD(A, lexer))
        lexer = CAT.TAIL(A, lexer)
    e = np.int64(EPS)
    for i in range(top(S) - 1, start - 1, -1):
        e = cat(A, H, S[i], e)
    set_top(S, start)
    return e


@kernel("i(arena, arena, arena, i)")
def table_by_walk(A, H, S, lexer):
    """The token table of a lexer state, from a walk of the trie or of a slice's rest."""
    bitmap = begin_walk(A, S, WALKED.WORDS)
    findings = top(S)
    piece = copy_slice(A, S, largest_slice(A, H, S, lexer), bitmap)
    e = untagged(A, H, S, lexer)
    if e != 0:
        walk_from_root(A, H, S, e, OWN, bitmap, piece)
    else:
        walk_from_root(A, H, S, lexer, 0, bitmap, piece)
    stop = top(S)
    sort_groups(S, findings, stop, FINDING.WORDS)
    blocks = count_tagsets(A, S, findings, stop)
    table = region(A, TABLE.WORDS)
    if piece:
        A[table + TOKENS.BITMAP] = store_bitmap(A, H, S, bitmap)  # `table_by_difference` relies on it
    else:
        store_tokens(A, H, S, bitmap, table)
    A[table + TABLE.BLOCKS] = region(A, DYNAMIC_BLOCK.WORDS * blocks)
    A[table + TABLE.N_BLOCKS] = blocks
    store_blocks(A, S, block_at(A, table, 0), findings, stop)
    set_top(S, bitmap)
    return table
