"""Counters that no token can reach the end of: one position in a long bounded string stands for all.

The idea: a token has at most so many bytes. If a counter has more copies left than fit into them, the lexer state does
the same with every token as if the counter had no end, so that both share their inside set (tables.py).

Inside an intersection the parts depend on each other, except in the usual case: a pattern, and a length that counts any
characters from zero on (or from one, if the pattern has no empty text). Then a text goes on iff the shortest completion
of the pattern fits into what is left, whatever the ends of the pattern's own counters are; and if what is left exceeds
the longest token and every such completion, the length says nothing at all.

Cost: a look at what stands before the first fixed part. Twin: tests/naive_regex.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.lexer.expressions import (
    ANY_CHARACTER,
    CLAMPED,
    FLAGS,
    alt,
    both,
    cat,
    is_nullable,
    push_flat,
    rep,
)
from constrain.kernels.records.arena import (
    ALT,
    AND,
    BYTES,
    CAT,
    EPSILON,
    KEY,
    LENGTHS,
    REP,
    TAG,
    intern1,
    kind,
    push,
    size,
)

SHORTEST, FARTHEST = 1, 2  # memo words of LENGTHS, each plus one
UNKNOWN = 1 << 20  # bytes

shortest_again = recursion(lambda: shortest, 3)


@kernel("i(arena, arena, i)")
def shortest(A, H, e):
    """The bytes of the shortest text of an expression, or fewer; exact if `farthest` is known."""
    k = kind(A, e)
    if k == BYTES:
        return 1
    if k != CAT and k != ALT and k != REP:
        return 0
    lengths = intern1(A, H, LENGTHS, e)
    if A[lengths + SHORTEST] != 0:
        return np.int64(A[lengths + SHORTEST]) - 1
    found = np.int64(0)
    if k == CAT:
        rest = e
        while kind(A, rest) == CAT:
            found += shortest_again(A, H, A[rest + KEY])
            rest = np.int64(A[rest + KEY + 1])
        found += shortest_again(A, H, rest)
    elif k == ALT:
        found = np.int64(UNKNOWN)
        for i in range(e + KEY, e + KEY + size(A, e)):
            found = min(found, shortest_again(A, H, A[i]))
    else:
        found = shortest_again(A, H, A[e + KEY]) * np.int64(A[e + KEY + 1])
    found = min(found, UNKNOWN)
    A[lengths + SHORTEST] = found + 1
    return found


farthest_again = recursion(lambda: farthest, 3)


@kernel("i(arena, arena, i)")
def farthest(A, H, e):
    """The most bytes that may be missing to the end of a text of e, wherever one is in it and if one hurries; UNKNOWN
    if parts depend on each other."""
    k = kind(A, e)
    if k == BYTES:
        return 1
    if k == EPSILON or k == TAG:
        return 0
    if k != CAT and k != ALT and k != REP:
        return UNKNOWN
    lengths = intern1(A, H, LENGTHS, e)
    if A[lengths + FARTHEST] != 0:
        return np.int64(A[lengths + FARTHEST]) - 1
    found = np.int64(0)
    if k == CAT:
        left = shortest(A, H, e)
        rest = e
        while kind(A, rest) == CAT:
            left -= shortest(A, H, A[rest + KEY])
            found = max(found, farthest_again(A, H, A[rest + KEY]) + left)
            rest = np.int64(A[rest + KEY + 1])
        found = max(found, farthest_again(A, H, rest))
    elif k == ALT:
        for i in range(e + KEY, e + KEY + size(A, e)):
            found = max(found, farthest_again(A, H, A[i]))
    else:
        unit = np.int64(A[e + KEY])
        found = farthest_again(A, H, unit) + shortest(A, H, unit) * max(np.int64(A[e + KEY + 1]) - 1, 0)
    found = min(found, UNKNOWN)
    A[lengths + FARTHEST] = found + 1
    return found


@kernel("i(arena, arena, i, i)")
def most_copies(A, H, unit, longest):
    """More copies of an expression than can begin in a text of `longest` bytes."""
    return longest // max(shortest(A, H, unit), 1) + 1


@kernel("i(arena, i)")
def is_soon(A, e):
    """Whether what follows a CAT begins with a counter."""
    return kind(A, e) == REP or (kind(A, e) == CAT and kind(A, A[e + KEY]) == REP)


loosened_again = recursion(lambda: loosened, 5)


@kernel("i(arena, arena, arena, i, i)")
def loosened(A, H, S, e, longest):
    """e without the ends of counters that no text of `longest` bytes can reach."""
    k = kind(A, e)
    if k == CAT:
        tail = np.int64(A[e + KEY + 1])
        if is_soon(A, tail) or is_nullable(A, A[e + KEY]):
            tail = loosened_again(A, H, S, tail, longest)
        return cat(A, H, loosened_again(A, H, S, A[e + KEY], longest), tail)
    if k == REP and A[e + KEY + 2] > most_copies(A, H, A[e + KEY], longest):
        return rep(A, H, A[e + KEY], A[e + KEY + 1], -1)
    if k == ALT:
        start = np.int64(S[0])
        for i in range(e + KEY, e + KEY + size(A, e)):
            push_flat(A, S, loosened_again(A, H, S, A[i], longest), ALT)
        return alt(A, H, S, start)
    return e


@kernel("i(arena, i)")
def counts_characters(A, e):
    """Whether an expression is: so many characters, any at all."""
    return kind(A, e) == REP and A[e + KEY + 2] > 0 and A[A[e + KEY] + FLAGS] & ANY_CHARACTER != 0


@kernel("i(arena, arena, arena, i, i)")
def clamp_both(A, H, S, e, longest):
    """`clamp` of an intersection."""
    if size(A, e) != 2:
        return e
    pattern = np.int64(A[e + KEY])
    length = np.int64(A[e + KEY + 1])
    if counts_characters(A, pattern):
        pattern, length = length, pattern
    if not counts_characters(A, length) or counts_characters(A, pattern):
        return e
    if A[length + KEY + 1] > (0 if is_nullable(A, pattern) else 1):  # one character is what the pattern asks for, too
        return e
    most = farthest(A, H, pattern)
    if most == UNKNOWN:
        return e
    pattern = loosened(A, H, S, pattern, longest)
    if A[length + KEY + 2] > longest + most:
        return pattern
    start = np.int64(S[0])
    push_flat(A, S, pattern, AND)
    push(S, length)
    return both(A, H, S, start)


clamp_again = recursion(lambda: clamp, 5)


@kernel("i(arena, arena, arena, i, i)")
def clamp(A, H, S, e, longest):
    """An expression that no text of at most `longest` bytes can tell from e: the ends of large counters are cut.

    Only counters that stand before the first fixed part matter. Not inside NOT.
    """
    if A[e + CLAMPED] != 0:
        return np.int64(A[e + CLAMPED])
    k = kind(A, e)
    out = e
    if k == CAT:
        tail = np.int64(A[e + KEY + 1])
        if is_soon(A, tail) or is_nullable(A, A[e + KEY]):
            tail = clamp_again(A, H, S, tail, longest)
        out = cat(A, H, clamp_again(A, H, S, A[e + KEY], longest), tail)
    elif k == REP:
        high = np.int64(A[e + KEY + 2])
        most = most_copies(A, H, A[e + KEY], longest)
        out = rep(A, H, A[e + KEY], min(np.int64(A[e + KEY + 1]), most), -1 if high > most else high)
    elif k == ALT:
        start = np.int64(S[0])
        for i in range(e + KEY, e + KEY + size(A, e)):
            push_flat(A, S, clamp_again(A, H, S, A[i], longest), ALT)
        out = alt(A, H, S, start)
    elif k == AND:
        out = clamp_both(A, H, S, e, longest)
    A[e + CLAMPED] = out
    return out
