"""Configurations after a token and after bytes.

The idea: most configurations in the middle of a token are never asked again. So a token of three bytes or more *leaps*
to the configuration after it where there is one way to cut it into lexemes; the configurations in between are made when
the one after them is met again.

Cost: a look-up a byte once the configurations are known. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.parser.configurations import peek_configuration, step_configuration
from constrain.kernels.parser.leaps import READ_WATCHED, UNREAD, begin_leap, can_leap, leap_byte, leapt
from constrain.kernels.records.arena import HEADER, NONE, arena_top, is_of_epoch
from constrain.kernels.records.configurations import is_watched
from constrain.kernels.records.stack import STACK, set_top
from constrain.kernels.records.vocabulary import token_byte, token_end

MIN_LEAP = 3  # bytes of a token for which no configurations are made at first
WATCH = 1 << 40  # added by `advance` to a configuration if one on the way to it is watched
STATE = WATCH - 1  # the bits of the configuration in such a result


@kernel("i(arena, arena, arena, i, i, i)")
def leap(A, H, S, c, first, stop):
    """The configuration after the bytes first..stop-1 of the text of all tokens, and WATCH, without those in between.
    NONE if there is none; 0 if a byte both goes on with a lexeme and begins the next."""
    here = begin_leap(A, S, c)
    watch = False
    for at in range(first, stop):
        read = leap_byte(A, H, S, here, token_byte(A, at))
        if read <= UNREAD:
            set_top(S, here)
            return NONE if read == UNREAD else 0
        watch = watch or read == READ_WATCHED
    d = leapt(A, H, S, here)
    return d + WATCH if watch else d


@kernel("i(arena, arena, arena, i, i, i)")
def advance_slowly(A, H, S, c, first, stop):
    """`advance`, for bytes whose configurations are not all known: made when the one after them is met again."""
    if stop - first >= MIN_LEAP and can_leap(A, c):
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
