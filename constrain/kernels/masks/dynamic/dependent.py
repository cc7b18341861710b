"""Context-dependent tokens: they end the lexeme in progress, and may begin others.

The idea: below an exit of a token table a token goes on with the next lexeme, and often with the one after that. Seldom
is there more than one way to cut it into lexemes, so there a node needs no configuration, only a FRAME on the stack:
the parser state and lexer state of the one lexeme in progress, and those of the next lexeme if one may begin here. Only
where a byte may go on with the lexeme or begin the next is the subtree walked with configurations, which are kept.

Records: records/dynamic_tables.py. Cost: some 10 ns a node, and the parser states that are met for the first time.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import peek, step
from constrain.kernels.lexer.states import tags
from constrain.kernels.masks.common.tokens import push_tokens
from constrain.kernels.masks.common.whole import walk_configuration
from constrain.kernels.masks.dynamic.tables import tables_of
from constrain.kernels.parser.closure import close
from constrain.kernels.parser.configurations import step_configuration
from constrain.kernels.parser.earley import scan
from constrain.kernels.parser.leaps import configuration_of
from constrain.kernels.records.arena import NO_TAGS, NONE, OWN, key_end, note_visits
from constrain.kernels.records.configurations import PAIR, config_pairs, pair_parser
from constrain.kernels.records.dynamic_tables import (
    DYNAMIC_BLOCK,
    EXIT_RUN,
    FRAME,
    PIECE,
    block_at,
    pieces_end,
    pieces_start,
    run_end,
    runs_end,
    survivor_word,
)
from constrain.kernels.records.expressions import EXPRESSION, continues
from constrain.kernels.records.masks import BLOCK, TABLE, ends_end
from constrain.kernels.records.vocabulary import (
    node_depth,
    node_end,
    node_token,
    node_word,
    trie_of,
    word_byte,
    word_depth,
)


@kernel("i(arena, arena, arena, i, i)")
def lives(A, H, S, p, e):
    """True if a lexeme of the parser state p whose lexer is in e may go on, or may have ended."""
    if continues(A, e):
        return 1
    t = tags(A, H, S, e)
    return t != NO_TAGS and scan(A, H, S, p, t) != 0


@kernel("void(arena, arena, arena, i, i, i)")
def set_frame(A, H, S, frame, p, e):
    """Write the frame of a lexeme of the parser state p whose lexer is in e."""
    t = tags(A, H, S, e)
    q = scan(A, H, S, p, t) if t != NO_TAGS else 0
    S[frame + FRAME.PARSER] = p
    S[frame + FRAME.LEXER] = e
    S[frame + FRAME.NEXT] = q
    S[frame + FRAME.NEXT_LEXER] = close(A, H, S, q) if q != 0 else NONE


@kernel("void(arena, arena, arena, i, i, i, i)")
def walk_frames(A, H, S, frames, states, first, stop):
    """Push the tokens of nodes first..stop-1, a subtree's children, that keep the frame of the node above alive.

    frames, states: stacks by depth.
    """
    trie = trie_of(A)
    visited = 0
    i = first
    while i < stop:
        word = node_word(A, trie, i)
        b = word_byte(word)
        here = frames + FRAME.WORDS * word_depth(word)
        above = here - FRAME.WORDS
        end = node_end(A, trie, i)
        visited += 1
        p = np.int64(S[above + FRAME.PARSER])
        e = np.int64(peek(A, S[above + FRAME.LEXER], b))
        if e == 0:
            e = step(A, H, S, S[above + FRAME.LEXER], b)
        if S[above + FRAME.NEXT] != 0:
            next_e = np.int64(peek(A, S[above + FRAME.NEXT_LEXER], b))
            if next_e == 0:
                next_e = step(A, H, S, S[above + FRAME.NEXT_LEXER], b)
            if next_e != NONE and e != NONE:  # two ways to cut the token
                next_p, next_lexer = S[above + FRAME.NEXT], S[above + FRAME.NEXT_LEXER]
                c = configuration_of(A, H, S, S[above + FRAME.PARSER], S[above + FRAME.LEXER], next_p, next_lexer)
                d = step_configuration(A, H, S, c, b)
                if d != NONE:
                    push_tokens(A, S, node_token(A, trie, i))
                    walk_configuration(A, H, S, states, i + 1, end, d, 0)
                i = end
                continue
            if next_e != NONE:
                p = np.int64(S[above + FRAME.NEXT])
                e = next_e
        # PERF: as behind letters that are lexemes
        is_same = p == S[above + FRAME.PARSER] and e == S[above + FRAME.LEXER]
        if e == NONE or (not is_same and not lives(A, H, S, p, e)):
            i = end
            continue
        push_tokens(A, S, node_token(A, trie, i))
        if end > i + 1:
            if is_same:
                for w in range(FRAME.WORDS):
                    S[here + w] = S[above + w]
            elif EXPRESSION.TAGS(A, e) == NO_TAGS:  # PERF: as in most cases; what is next is not read then
                S[here + FRAME.PARSER] = p
                S[here + FRAME.LEXER] = e
                S[here + FRAME.NEXT] = 0
            else:
                set_frame(A, H, S, here, p, e)
        i += 1
    note_visits(A, visited)


@kernel("i(arena, arena, arena, i, i, i)")
def meets_survivors(A, H, S, q, lexer, block):
    """1 if a lexeme of q, which begins in the lexer state, can begin with a byte with which the lexeme of the block
    could also go on; else 0."""
    for w in range(8):
        bits = np.int64(survivor_word(A, block, w)) & 0xFFFFFFFF
        b = w * 32
        while bits != 0:
            if bits & 1:
                e = step(A, H, S, lexer, b)
                if e != NONE and lives(A, H, S, q, e):
                    return 1
            bits >>= 1
            b += 1
    return 0


@kernel("void(arena, arena, arena, i, i, i, i, i)")
def walk_exits(A, H, S, frames, states, q, lexer, block):
    """Push the tokens that go on below the exits of a block with a lexeme of q, which begins in the lexer state."""
    trie = trie_of(A)
    for run in range(DYNAMIC_BLOCK.RUNS(A, block), runs_end(A, block), EXIT_RUN.WORDS):
        e = step(A, H, S, lexer, EXIT_RUN.BYTE(A, run))
        if e == NONE or not lives(A, H, S, q, e):
            continue
        is_set = False
        for i in range(EXIT_RUN.NODES(A, run), run_end(A, run)):
            node = np.int64(A[i])
            push_tokens(A, S, node_token(A, trie, node))
            if node_end(A, trie, node) > node + 1:
                if not is_set:  # no node has depth 0
                    set_frame(A, H, S, frames, q, e)
                    is_set = True
                here = frames + FRAME.WORDS * node_depth(A, trie, node)
                for w in range(FRAME.WORDS):
                    S[here + w] = S[frames + w]
                walk_frames(A, H, S, frames, states, node + 1, node_end(A, trie, node))


@kernel("i(arena, arena, arena, i, i, i, i)")
def push_dependent_of_table(A, H, S, frames, states, p, piece):
    """Push the tokens that end the lexeme of a token table and go on from p; 0 if the whole trie must be walked."""
    table = PIECE.TABLE(A, piece)
    for n in range(TABLE.N_BLOCKS(A, table)):
        block = block_at(A, table, n)
        t = np.int64(A[block + BLOCK.TAGSET])
        q = scan(A, H, S, p, t if t != OWN else PIECE.OWN(A, piece))
        if q == 0:
            continue
        for i in range(BLOCK.ENDS(A, block), ends_end(A, block)):
            push_tokens(A, S, node_token(A, trie_of(A), A[i]))
        goes_on = np.int64(A[block + DYNAMIC_BLOCK.N_RUNS])
        for w in range(8):
            goes_on |= survivor_word(A, block, w)
        if goes_on != 0:
            lexer = close(A, H, S, q)
            if meets_survivors(A, H, S, q, lexer, block):
                return 0
            walk_exits(A, H, S, frames, states, q, lexer, block)
    return 1


@kernel("i(arena, arena, arena, i, i, i)")
def push_dependent(A, H, S, frames, states, c):
    """Push the tokens that end a lexeme of c, and may begin others; 0 if the whole trie must be walked."""
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        pieces = tables_of(A, H, S, PAIR.LEXER(A, pair))
        for piece in range(pieces_start(pieces), pieces_end(A, pieces), PIECE.WORDS):
            if not push_dependent_of_table(A, H, S, frames, states, pair_parser(A, pair), piece):
                return 0
    return 1
