"""Counters whose end no token can reach: one position in a long bounded string stands for all.

The idea: a token has at most so many bytes. If a counter has more copies left than fit into them, the lexer state does
the same with every token as if the counter had no end, so that both share their token table (masks/dynamic/tables.py).

Inside an intersection the parts depend on each other, except in the usual case: a pattern, and a length that counts any
characters from zero on (or from one, if the pattern has no empty text). Then a text goes on iff the shortest completion
of the pattern fits into what is left, whatever the ends of the pattern's own counters are; and if what is left exceeds
the longest token and every such completion, the length says nothing at all.

Cost: a look at what stands before the first fixed part. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.lexer.expressions import both, cat, push_flat, rep
from constrain.kernels.lexer.unions import alt
from constrain.kernels.records.arena import intern1, key_end, key_start, key_word, kind, size
from constrain.kernels.records.expressions import (
    ALT,
    AND,
    ANY_CHARACTER,
    BYTES,
    CAT,
    EPSILON,
    EXPRESSION,
    LENGTHS,
    REP,
    TAG,
    is_nullable,
)
from constrain.kernels.records.stack import push, set_top, top

UNKNOWN = 1 << 20  # bytes

shortest_again = recursion(lambda: shortest, 3)


@kernel("i(arena, arena, i)")
def shortest(A, H, e):
    """A lower bound of the bytes of a text of e; exact if `farthest` is known."""
    k = kind(A, e)
    if k == BYTES.KIND:
        return 1
    if k != CAT.KIND and k != ALT.KIND and k != REP.KIND:
        return 0
    lengths = intern1(A, H, LENGTHS.KIND, e)
    if A[lengths + LENGTHS.SHORTEST] != 0:
        return np.int64(A[lengths + LENGTHS.SHORTEST]) - 1
    length = np.int64(0)
    if k == CAT.KIND:
        rest = e
        while kind(A, rest) == CAT.KIND:
            length += shortest_again(A, H, CAT.HEAD(A, rest))
            rest = CAT.TAIL(A, rest)
        length += shortest_again(A, H, rest)
    elif k == ALT.KIND:
        length = np.int64(UNKNOWN)
        for i in range(key_start(e), key_end(A, e)):
            length = min(length, shortest_again(A, H, A[i]))
    else:
        length = shortest_again(A, H, REP.UNIT(A, e)) * REP.LOW(A, e)
    length = min(length, UNKNOWN)
    A[lengths + LENGTHS.SHORTEST] = length + 1
    return length


farthest_again = recursion(lambda: farthest, 3)


@kernel("i(arena, arena, i)")
def farthest(A, H, e):
    """The most bytes that may be missing, anywhere within a text of e, to the nearest end; UNKNOWN if parts depend on
    each other."""
    k = kind(A, e)
    if k == BYTES.KIND:
        return 1
    if k == EPSILON.KIND or k == TAG.KIND:
        return 0
    if k != CAT.KIND and k != ALT.KIND and k != REP.KIND:
        return UNKNOWN
    lengths = intern1(A, H, LENGTHS.KIND, e)
    if A[lengths + LENGTHS.FARTHEST] != 0:
        return np.int64(A[lengths + LENGTHS.FARTHEST]) - 1
    length = np.int64(0)
    if k == CAT.KIND:
        left = shortest(A, H, e)
        rest = e
        while kind(A, rest) == CAT.KIND:
            left -= shortest(A, H, CAT.HEAD(A, rest))
            length = max(length, farthest_again(A, H, CAT.HEAD(A, rest)) + left)
            rest = CAT.TAIL(A, rest)
        length = max(length, farthest_again(A, H, rest))
    elif k == ALT.KIND:
        for i in range(key_start(e), key_end(A, e)):
            length = max(length, farthest_again(A, H, A[i]))
    else:
        unit = REP.UNIT(A, e)
        length = farthest_again(A, H, unit) + shortest(A, H, unit) * max(REP.LOW(A, e) - 1, 0)
    length = min(length, UNKNOWN)
    A[lengths + LENGTHS.FARTHEST] = length + 1
    return length


@kernel("i(arena, arena, i)")
def is_measured(A, H, e):
    """True if `shortest` and `farthest` of e need no other expression's."""
    k = kind(A, e)
    if k != CAT.KIND and k != ALT.KIND and k != REP.KIND:
        return True
    return A[intern1(A, H, LENGTHS.KIND, e) + LENGTHS.FARTHEST] != 0


@kernel("void(arena, arena, arena, i)")
def measure_parts(A, H, S, e):
    """Compute `shortest` and `farthest` of e, its deepest parts first: calls of calls could not go so deep."""
    begin = top(S)
    push(S, e)
    while top(S) > begin:
        e = np.int64(S[top(S) - 1])
        waiting = top(S)
        if is_measured(A, H, e):
            set_top(S, waiting - 1)
            continue
        rest = e
        while kind(A, rest) == CAT.KIND:
            if not is_measured(A, H, CAT.HEAD(A, rest)):
                push(S, CAT.HEAD(A, rest))
            rest = CAT.TAIL(A, rest)
        if rest != e and not is_measured(A, H, rest):
            push(S, rest)
        elif rest == e and kind(A, e) == REP.KIND and not is_measured(A, H, REP.UNIT(A, e)):
            push(S, REP.UNIT(A, e))
        elif rest == e and kind(A, e) == ALT.KIND:
            for i in range(key_start(e), key_end(A, e)):
                if not is_measured(A, H, A[i]):
                    push(S, A[i])
        if top(S) == waiting:  # its parts are known
            shortest(A, H, e)
            farthest(A, H, e)


@kernel("i(arena, arena, i, i)")
def most_copies(A, H, unit, longest):
    """More copies of an expression than can begin in a text of `longest` bytes."""
    return longest // max(shortest(A, H, unit), 1) + 1


@kernel("i(arena, i)")
def is_soon(A, e):
    """True if the tail e of a CAT begins with a counter."""
    return kind(A, e) == REP.KIND or (kind(A, e) == CAT.KIND and kind(A, CAT.HEAD(A, e)) == REP.KIND)


loosened_again = recursion(lambda: loosened, 5)


@kernel("i(arena, arena, arena, i, i)")
def loosened(A, H, S, e, longest):
    """e without the ends of counters that no text of `longest` bytes can reach."""
    k = kind(A, e)
    if k == CAT.KIND:
        tail = CAT.TAIL(A, e)
        if is_soon(A, tail) or is_nullable(A, CAT.HEAD(A, e)):
            tail = loosened_again(A, H, S, tail, longest)
        return cat(A, H, loosened_again(A, H, S, CAT.HEAD(A, e), longest), tail)
    if k == REP.KIND and REP.HIGH(A, e) > most_copies(A, H, REP.UNIT(A, e), longest):
        return rep(A, H, REP.UNIT(A, e), REP.LOW(A, e), -1)
    if k == ALT.KIND:
        start = top(S)
        for i in range(key_start(e), key_end(A, e)):
            push_flat(A, S, loosened_again(A, H, S, A[i], longest), ALT.KIND)
        return alt(A, H, S, start)
    return e


@kernel("i(arena, i)")
def counts_characters(A, e):
    """True if an expression counts characters, any at all, up to a number."""
    return kind(A, e) == REP.KIND and REP.HIGH(A, e) > 0 and EXPRESSION.FLAGS(A, REP.UNIT(A, e)) & ANY_CHARACTER != 0


@kernel("i(arena, arena, arena, i, i)")
def clamp_both(A, H, S, e, longest):
    """`clamp` of an intersection."""
    if size(A, e) != 2:
        return e
    pattern = key_word(A, e, 0)
    length = key_word(A, e, 1)
    if counts_characters(A, pattern):
        pattern, length = length, pattern
    if not counts_characters(A, length) or counts_characters(A, pattern):
        return e
    if REP.LOW(A, length) > (0 if is_nullable(A, pattern) else 1):  # one character is what the pattern asks for, too
        return e
    measure_parts(A, H, S, pattern)
    most = farthest(A, H, pattern)
    if most == UNKNOWN:
        return e
    pattern = loosened(A, H, S, pattern, longest)
    if REP.HIGH(A, length) > longest + most:
        return pattern
    start = top(S)
    push_flat(A, S, pattern, AND.KIND)
    push(S, length)
    return both(A, H, S, start)


clamp_again = recursion(lambda: clamp, 5)


@kernel("i(arena, arena, arena, i, i)")
def clamp(A, H, S, e, longest):
    """An expression that no text of at most `longest` bytes can tell from e: the ends of large counters are cut.

    Only counters that stand before the first fixed part matter. Not inside NOT.
    """
    if A[e + EXPRESSION.CLAMPED] != 0:
        return np.int64(A[e + EXPRESSION.CLAMPED])
    k = kind(A, e)
    out = e
    if k == CAT.KIND:
        tail = CAT.TAIL(A, e)
        if is_soon(A, tail) or is_nullable(A, CAT.HEAD(A, e)):
            tail = clamp_again(A, H, S, tail, longest)
        out = cat(A, H, clamp_again(A, H, S, CAT.HEAD(A, e), longest), tail)
    elif k == REP.KIND:
        high = REP.HIGH(A, e)
        most = most_copies(A, H, REP.UNIT(A, e), longest)
        out = rep(A, H, REP.UNIT(A, e), min(REP.LOW(A, e), most), -1 if high > most else high)
    elif k == ALT.KIND:
        start = top(S)
        for i in range(key_start(e), key_end(A, e)):
            push_flat(A, S, clamp_again(A, H, S, A[i], longest), ALT.KIND)
        out = alt(A, H, S, start)
    elif k == AND.KIND:
        out = clamp_both(A, H, S, e, longest)
    A[e + EXPRESSION.CLAMPED] = out
    return out
