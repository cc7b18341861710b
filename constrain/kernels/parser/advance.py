"""Configurations after a token, after bytes, and the bytes that are forced.

The idea: most configurations in the middle of a token are never asked again. So a token of three bytes or more *leaps*
to the configuration after it where there is one way to cut it into lexemes; the configurations in between are made when
the one after them is met again.

Cost: a look-up a byte once the configurations are known. Reference: tests/naive_mask.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import step
from constrain.kernels.lexer.states import tags
from constrain.kernels.parser.closure import close
from constrain.kernels.parser.configurations import accepts, note_watching, peek_configuration, step_configuration
from constrain.kernels.parser.earley import scan
from constrain.kernels.records.arena import HEADER, NO_TAGS, NONE, arena_top, intern_list, is_of_epoch, key_end
from constrain.kernels.records.configurations import (
    CONFIG,
    PAIR,
    begun_word,
    config_is_greedy,
    config_length,
    config_pair,
    config_pairs,
    fresh_word,
    is_watched,
    pair_is_fresh,
    pair_parser,
)
from constrain.kernels.records.expressions import continues
from constrain.kernels.records.parser_states import PARSER
from constrain.kernels.records.stack import STACK, push, sort_groups, top
from constrain.kernels.records.vocabulary import token_byte, token_end

MIN_LEAP = 3  # bytes of a token for which no configurations are made at first
WATCH = 1 << 40  # added by `advance` to a configuration if one on the way to it is watched
STATE = WATCH - 1  # the bits of the configuration in such a result


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
def is_cut(A, c):
    """True if a configuration of the dynamic lexer is one open lexeme, with or without the beginning of the next."""
    n = config_length(A, c)
    return n == 1 or (n == 2 and pair_is_fresh(A, config_pair(c, 0)) != pair_is_fresh(A, config_pair(c, 1)))


@kernel("i(arena, arena, arena, i, i, i)")
def leap(A, H, S, c, first, stop):
    """The configuration after the bytes first..stop-1 of the text of all tokens, and WATCH, without those in between.
    NONE if there is none; 0 if a byte both goes on with a lexeme and begins the next."""
    p, e, q, lexer = np.int64(0), np.int64(NONE), np.int64(0), np.int64(NONE)
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        if pair_is_fresh(A, pair) and config_length(A, c) == 2:
            q, lexer = pair_parser(A, pair), PAIR.LEXER(A, pair)
        else:
            p, e = pair_parser(A, pair), PAIR.LEXER(A, pair)
    watch = False
    for at in range(first, stop):
        b = token_byte(A, at)
        e = step(A, H, S, e, b)
        f = step(A, H, S, lexer, b)
        if f != NONE:
            if e != NONE:
                return 0
            p, e = q, f
        t = tags(A, H, S, e)
        q = scan(A, H, S, p, t) if t != NO_TAGS else 0
        if not continues(A, e):
            if q == 0:
                return NONE
            e = np.int64(NONE)
        lexer = close(A, H, S, q) if q != 0 else NONE
        watch = watch or (e != NONE and A[p + PARSER.WATCHED] == 2) or (q != 0 and A[q + PARSER.WATCHED] == 2)
    d = configuration_of(A, H, S, p, e, q, lexer)
    return d + WATCH if watch else d


@kernel("i(arena, arena, arena, i, i, i)")
def advance_slowly(A, H, S, c, first, stop):
    """`advance`, for bytes whose configurations are not all known: made when the one after them is met again."""
    if stop - first >= MIN_LEAP and not config_is_greedy(A, c) and is_cut(A, c):
        records = arena_top(A)
        d = leap(A, H, S, c, first, stop)
        if d == NONE or (d & STATE) >= records:
            return d
    watch = False
    for i in range(first, stop):
        c = step_configuration(A, H, S, c, token_byte(A, i))
        if c == NONE:
            return NONE
        watch = watch or is_watched(A, c)
    return c + WATCH if watch else c


@kernel("i(arena, arena, arena, i, i)", entry=True)
def advance(A, H, S, c, token):
    """The configuration after the bytes of a token, and WATCH; NONE if it is not allowed (or has no bytes)."""
    start = HEADER.TOKEN_AT(A, token)
    stop = token_end(A, token)
    if start == stop:
        return NONE
    watch = is_watched(A, c)
    for i in range(start, stop):
        d = peek_configuration(A, c, token_byte(A, i))
        if d == 0:
            d = advance_slowly(A, H, S, c, i, stop)
            return d if d == NONE or not watch else d | WATCH
        if d == NONE:
            return NONE
        c = d
        watch = watch or is_watched(A, c)
    return c + WATCH if watch else c


@kernel("i(arena, i, i, i)", entry=True, brief=True)
def known_step(A, epoch, c, token):
    """`advance` where every state on the way is known, else 0. Needs no lock: c is a configuration of this epoch.

    PERF: an array less costs 60 ns less in a call.
    """
    if not is_of_epoch(A, epoch):
        return 0
    start = HEADER.TOKEN_AT(A, token)
    stop = token_end(A, token)
    if start == stop:
        return NONE
    watch = is_watched(A, c)
    for i in range(start, stop):
        c = peek_configuration(A, c, token_byte(A, i))
        if c <= NONE:
            return c
        watch = watch or is_watched(A, c)
    return c + WATCH if watch else c


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def advance_bytes(A, H, S, c, text):
    """The configuration after the bytes (one a word) of `text`, and WATCH, or NONE; STACK.READ of S says how
    many bytes were read before it died."""
    watch = is_watched(A, c)
    for i in range(text.size):
        c = step_configuration(A, H, S, c, text[i])
        if c == NONE:
            S[STACK.READ] = i
            return NONE
        watch = watch or is_watched(A, c)
    S[STACK.READ] = text.size
    return c + WATCH if watch else c


@kernel("i(arena, arena, arena, i)")
def forced_byte(A, H, S, c):
    """The only byte that may follow, when the text is not valid yet; else -1."""
    if accepts(A, H, S, c):
        return -1
    only = -1
    for b in range(256):
        if step_configuration(A, H, S, c, b) != NONE:
            if only >= 0:
                return -1
            only = b
    return only


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def forced_run(A, H, S, c, text):
    """Writes the bytes that must follow into `text`, one a word; returns how many these are, and WATCH."""
    watch = is_watched(A, c)
    length = 0
    while length < text.size:
        b = forced_byte(A, H, S, c)
        if b < 0:
            break
        text[length] = b
        length += 1
        c = step_configuration(A, H, S, c, b)
        watch = watch or is_watched(A, c)
    return length + WATCH if watch else length


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def any_byte(A, H, S, c, bits):
    """1 if one of the bytes of a bitmap, int32[8], may follow; else 0. Printable bytes are tried first."""
    for i in range(8):
        w = (i + 1) & 7
        word = np.int64(bits[w])
        for b in range(32):
            if (word >> b) & 1 and step_configuration(A, H, S, c, 32 * w + b) != NONE:
                return 1
    return 0
