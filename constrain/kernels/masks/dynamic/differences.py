"""The token table of a lexer state from that of a state that is nearly the same: the trie is walked where they differ.

The idea: a union with one text-like part (any key, in a union with some keys) does what that part does, but where
another part is still alive; and a state that a looping state follows (any key but some) does what that one does, but
for a few beginnings. A walk goes on as long as the two are in different states. Blocks are copied without the nodes
that it met.

* PART: the known state is a part of the union. Its tokens stay, and the union adds some.
* REFERENCE: the known state is another one. Its tokens are copied and corrected.

Records: records/dynamic_tables.py. Cost: the nodes where the states differ, and a copy of the blocks.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import step
from constrain.kernels.lexer.states import tags
from constrain.kernels.masks.common.blocks import begin_walk, copy_nodes, forget
from constrain.kernels.masks.common.slices import MIN_ALIKE, alike, loops
from constrain.kernels.masks.common.tokens import add_tokens, clear_tokens, set_tokens, store_tokens
from constrain.kernels.masks.dynamic.walks import (
    count_tagsets,
    note_byte,
    number_tagset,
    push_finding,
    root_children,
    store_blocks,
    tag_of,
)
from constrain.kernels.records.arena import HEADER, NO_TAGS, NONE, OWN, note_visits, region
from constrain.kernels.records.dynamic_tables import (
    COMPARED,
    DYNAMIC_BLOCK,
    EXIT_RUN,
    IS_END,
    IS_TOKEN,
    PIECE,
    PIECES,
    block_at,
    run_end,
    runs_end,
)
from constrain.kernels.records.expressions import EXPRESSION, TAGSET, continues
from constrain.kernels.records.masks import BLOCK, FINDING, MARK_ALL, MARK_EXIT, TABLE, TOKENS, ends_end
from constrain.kernels.records.stack import set_top, sort_groups, top
from constrain.kernels.records.vocabulary import (
    has_bit,
    mark_node,
    mask_words,
    node_end,
    node_token,
    node_word,
    serial_mark,
    trie_of,
    word_byte,
    word_depth,
)

PART, REFERENCE = 0, 1  # what the known state is: the mode of a walk


@kernel("void(arena, arena, i, i)")
def push_missing(A, S, bitmap, token):
    """Push a FINDING for a token and each with the same bytes that the bitmap of the arena lacks."""
    while token >= 0:
        if has_bit(A, bitmap, token) == 0:
            push_finding(S, 0, IS_TOKEN, token)
        token = HEADER.NEXT_SAME(A, token)


@kernel("i(arena, arena, arena, i, i, i, i, i, i)")
def walk_differences(A, H, S, mode, states, bitmap, first, stop, tagsets):
    """Walk nodes first..stop-1 as long as a lexer state is in another state than the known one.

    Pushes findings as `walk_lexer` does. Marks the nodes whose entries in the known blocks no longer count: MARK_EXIT,
    or MARK_ALL for an end as well. S[states ...] holds COMPARED by depth.
    mode: PART: the bitmap, in the arena, has the tokens of the part; a finding says which it lacks. REFERENCE: the
    bitmap, on the stack, has the tokens of the reference, and is corrected.
    """
    trie = trie_of(A)
    mark = serial_mark(A)
    i = first
    while i < stop:
        word = node_word(A, trie, i)
        b = word_byte(word)
        here = states + COMPARED.WORDS * word_depth(word)
        above = here - COMPARED.WORDS
        e = step(A, H, S, S[above + COMPARED.STATE], b)
        known = step(A, H, S, S[above + COMPARED.KNOWN], b) if S[above + COMPARED.KNOWN] != NONE else NONE
        note_visits(A, 1)
        mark_node(A, i, mark + MARK_EXIT)
        note_byte(A, S, S[above + COMPARED.TAGSET], e, b, i)
        if e == known:
            i = node_end(A, trie, i)
            continue
        if mode == REFERENCE and e == NONE:
            forget(A, S, i, node_end(A, trie, i), bitmap)
            i = node_end(A, trie, i)
            continue
        mark_node(A, i, mark + MARK_ALL)
        t = tags(A, H, S, e)
        if t != NO_TAGS:
            tagsets = number_tagset(A, S, t, tagsets)
        S[here + COMPARED.STATE] = e
        S[here + COMPARED.KNOWN] = known
        S[here + COMPARED.TAGSET] = t
        token = node_token(A, trie, i)
        if token >= 0:
            if not continues(A, e):
                push_finding(S, A[t + TAGSET.NUMBER], IS_END, i)
                if mode == REFERENCE:
                    clear_tokens(A, S, bitmap, token)
            elif mode == REFERENCE:
                set_tokens(A, S, bitmap, token)
            else:
                push_missing(A, S, bitmap, token)
        i += 1
    return tagsets


@kernel("void(arena, arena, arena, i, i, i, i, i)")
def walk_both(A, H, S, mode, lexer, known, states, bitmap):
    """Walk the trie where a lexer state and one whose token table is known differ."""
    S[states + COMPARED.STATE] = lexer
    S[states + COMPARED.KNOWN] = known
    S[states + COMPARED.TAGSET] = NO_TAGS
    children = root_children(A)
    tagsets = 0
    for b in range(256):
        i = np.int64(A[children + b])
        if i >= 0 and step(A, H, S, lexer, b) != step(A, H, S, known, b):
            tagsets = walk_differences(A, H, S, mode, states, bitmap, i, node_end(A, trie_of(A), i), tagsets)


@kernel("void(arena, i, i, i)")
def keep_block(A, known, block, own):
    """Copy a block without the nodes that the present walk marked; it names the tagset `own` in place of OWN."""
    mark = serial_mark(A)
    for w in range(DYNAMIC_BLOCK.WORDS):
        A[block + w] = A[known + w]
    if A[block + BLOCK.TAGSET] == OWN:
        A[block + BLOCK.TAGSET] = own
    total = np.int64(A[known + BLOCK.N_ENDS])
    for run in range(DYNAMIC_BLOCK.RUNS(A, known), runs_end(A, known), EXIT_RUN.WORDS):
        total += A[run + EXIT_RUN.COUNT]
    out = region(A, total)
    A[block + BLOCK.ENDS] = out
    A[block + BLOCK.N_ENDS] = 0
    for i in range(BLOCK.ENDS(A, known), ends_end(A, known)):
        if HEADER.NODE_SEEN(A, A[i]) != mark + MARK_ALL:
            A[out] = A[i]
            out += 1
            A[block + BLOCK.N_ENDS] += 1
    copy = region(A, runs_end(A, known) - DYNAMIC_BLOCK.RUNS(A, known))
    A[block + DYNAMIC_BLOCK.RUNS] = copy
    for run in range(DYNAMIC_BLOCK.RUNS(A, known), runs_end(A, known), EXIT_RUN.WORDS):
        A[copy + EXIT_RUN.BYTE] = A[run + EXIT_RUN.BYTE]
        A[copy + EXIT_RUN.NODES] = out
        for i in range(EXIT_RUN.NODES(A, run), run_end(A, run)):
            if HEADER.NODE_SEEN(A, A[i]) != mark + MARK_EXIT and HEADER.NODE_SEEN(A, A[i]) != mark + MARK_ALL:
                A[out] = A[i]
                out += 1
        A[copy + EXIT_RUN.COUNT] = out - A[copy + EXIT_RUN.NODES]
        copy += EXIT_RUN.WORDS


@kernel("void(arena, arena, i, i, i, i)")
def store_all_blocks(A, S, table, known, findings, own):
    """Store the blocks of a token table: those of the known table without marked nodes, and those of sorted findings,
    which reach to the top of the stack. own: the tagset that OWN stands for in the known table."""
    kept = TABLE.N_BLOCKS(A, known)
    added = count_tagsets(A, S, findings, top(S))
    A[table + TABLE.BLOCKS] = region(A, DYNAMIC_BLOCK.WORDS * (kept + added))
    A[table + TABLE.N_BLOCKS] = kept + added
    for n in range(kept):
        keep_block(A, block_at(A, known, n), block_at(A, table, n), own)
    store_blocks(A, S, block_at(A, table, kept), findings, top(S))


@kernel("i(arena, arena, arena, i)")
def looping_reference(A, H, S, lexer):
    """A looping state whose successors are for the most part those of the lexer state, or 0.

    After a first character that no exception begins with, "any key but some" is "any key": the exceptions are few
    nodes of the trie, all others need no walk.
    """
    e = step(A, H, S, lexer, 0x7E)  # ~ and ^: few exceptions begin so
    if e == NONE or e == lexer or e != step(A, H, S, lexer, 0x5E) or not loops(A, H, S, e):
        return 0
    if EXPRESSION.TABLE(A, e) != 0 and PIECES.COUNT(A, EXPRESSION.TABLE(A, e)) != 1:
        return 0
    return e if alike(A, H, S, e, lexer) >= MIN_ALIKE else 0


@kernel("i(arena, arena, i, i, i)")
def store_added(A, S, table, known, findings):
    """Store the tokens of a table: the bitmap of the known one, and a list of the tokens that sorted findings add.
    These stand first. Returns where the other findings begin."""
    first = findings
    while first < top(S) and S[first + FINDING.KEY] == IS_TOKEN:  # their number is 0, their key the least
        first += FINDING.WORDS
    n = (first - findings) // FINDING.WORDS
    A[table + TOKENS.COUNT] = n
    A[table + TOKENS.LIST] = region(A, n)
    copy_nodes(A, S, findings, first, FINDING.WORDS, TOKENS.LIST(A, table))
    A[table + TOKENS.BITMAP] = TOKENS.BITMAP(A, known)
    return first


@kernel("i(arena, arena, arena, i, i, i, i)")
def table_by_difference(A, H, S, mode, lexer, reference, piece):
    """The token table of a lexer state, from the only piece of a known one and a walk of where they differ.

    mode: PART: the known state is a part of the union `lexer`; REFERENCE: it is another one.
    """
    known = PIECE.TABLE(A, piece)
    bitmap = begin_walk(A, S, COMPARED.WORDS)
    states, findings = bitmap + mask_words(A), top(S)
    if mode == REFERENCE:
        add_tokens(A, S, known, bitmap)
    walk_both(A, H, S, mode, lexer, reference, states, bitmap if mode == REFERENCE else TOKENS.BITMAP(A, known))
    sort_groups(S, findings, top(S), FINDING.WORDS)
    table = region(A, TABLE.WORDS)
    if mode == REFERENCE:
        store_tokens(A, H, S, bitmap, table)
    else:
        findings = store_added(A, S, table, known, findings)
    store_all_blocks(A, S, table, known, findings, PIECE.OWN(A, piece))
    if tag_of(A, lexer) != 0:  # of one terminal, like its reference
        for n in range(TABLE.N_BLOCKS(A, table)):
            A[block_at(A, table, n) + BLOCK.TAGSET] = OWN
    set_top(S, bitmap)
    return table
