"""Bytes that are read without making the configurations between them.

The idea: where one lexeme is open, with or without the beginning of the next, two lexer states and two parser states
say all. They stand on the stack (a LEAP region) while bytes are read, and become a configuration in the end.

Cost: two steps of a lexer a byte; at the end of a lexeme, a step of the parser. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import step
from constrain.kernels.lexer.states import tags
from constrain.kernels.parser.closure import close
from constrain.kernels.parser.configurations import note_watching
from constrain.kernels.parser.earley import scan
from constrain.kernels.records.arena import NO_TAGS, NONE, intern_list, key_end
from constrain.kernels.records.configurations import (
    CONFIG,
    LEAP,
    PAIR,
    begun_word,
    config_is_greedy,
    config_length,
    config_pair,
    config_pairs,
    fresh_word,
    pair_is_fresh,
    pair_parser,
)
from constrain.kernels.records.expressions import continues
from constrain.kernels.records.parser_states import PARSER
from constrain.kernels.records.stack import push, set_top, sort_groups, top

BOTH, UNREAD, READ, READ_WATCHED = 0, 1, 2, 3  # what `leap_byte` says


@kernel("i(arena, arena, arena, i, i, i, i)")
def configuration_of(A, H, S, p, e, q, lexer):
    """The configuration of a lexeme of p that the lexer goes on with in e, if any (else NONE), and of the next lexeme,
    of q in this lexer state, if one may begin (else q is 0)."""
    start = top(S)
    push(S, PARSER.GRAMMAR(A, p))
    pairs = start + 1
    if continues(A, e):
        push(S, begun_word(p))
        push(S, e)
    if q != 0:
        push(S, fresh_word(q))
        push(S, lexer)
    sort_groups(S, pairs, top(S), PAIR.WORDS)
    c = intern_list(A, H, S, CONFIG.KIND, start)
    if A[c + CONFIG.WATCHED] == 0:
        note_watching(A, c)
    return c


@kernel("i(arena, i)")
def can_leap(A, c):
    """True if a configuration of the dynamic lexer is one open lexeme, with or without the beginning of the next."""
    n = config_length(A, c)
    if config_is_greedy(A, c):
        return False
    return n == 1 or (n == 2 and pair_is_fresh(A, config_pair(c, 0)) != pair_is_fresh(A, config_pair(c, 1)))


@kernel("i(arena, arena, i)")
def begin_leap(A, S, c):
    """Push the LEAP region of a configuration that can leap. Returns where it is."""
    here = top(S)
    for word in (0, NONE, 0, NONE):
        push(S, word)
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        if pair_is_fresh(A, pair) and config_length(A, c) == 2:
            S[here + LEAP.NEXT] = pair_parser(A, pair)
            S[here + LEAP.NEXT_LEXER] = PAIR.LEXER(A, pair)
        else:
            S[here + LEAP.PARSER] = pair_parser(A, pair)
            S[here + LEAP.LEXER] = PAIR.LEXER(A, pair)
    return here


@kernel("i(arena, arena, arena, i, i)")
def leap_byte(A, H, S, here, b):
    """Read a byte. READ, or READ_WATCHED if the place after it is watched; UNREAD if it may not follow; BOTH if it goes
    on with the lexeme and begins the next, which a LEAP region cannot hold."""
    p = LEAP.PARSER(S, here)
    e = step(A, H, S, LEAP.LEXER(S, here), b)
    f = step(A, H, S, LEAP.NEXT_LEXER(S, here), b)
    if f != NONE:
        if e != NONE:
            return BOTH
        p, e = LEAP.NEXT(S, here), f
    t = tags(A, H, S, e)
    q = scan(A, H, S, p, t) if t != NO_TAGS else 0
    if not continues(A, e):
        if q == 0:
            return UNREAD
        e = np.int64(NONE)
    S[here + LEAP.PARSER] = p
    S[here + LEAP.LEXER] = e
    S[here + LEAP.NEXT] = q
    S[here + LEAP.NEXT_LEXER] = close(A, H, S, q) if q != 0 else NONE
    watched = (e != NONE and A[p + PARSER.WATCHED] == 2) or (q != 0 and A[q + PARSER.WATCHED] == 2)
    return READ_WATCHED if watched else READ


@kernel("i(arena, arena, arena, i)")
def leapt(A, H, S, here):
    """The configuration of a LEAP region, which is popped."""
    set_top(S, here)
    p, e, q, lexer = LEAP.PARSER(S, here), LEAP.LEXER(S, here), LEAP.NEXT(S, here), LEAP.NEXT_LEXER(S, here)
    return configuration_of(A, H, S, p, e, q, lexer)
