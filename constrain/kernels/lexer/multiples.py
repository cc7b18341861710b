"""Multiples of several numbers: what is alive, by arithmetic.

The idea: the intersection of two remainder automata has as many states as the product of their divisors, a million for
997 and 991, and a search for an accepted one visits them. But if any digits may still come, enough of them to write
each remainder of the least common multiple, some of them lead to a multiple of all (the Chinese remainder theorem).

Cost: a look at the parts. Reference: tests/languages/automata/test_multiples.py.
"""

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.records.arena import key_end, key_start, kind
from constrain.kernels.records.expressions import ALT, AND, BYTES, CAT, REMAINDER, REP, is_nullable, set_word

ANY_DIGITS = 18  # so many are taken for any number: more than a product of divisors may need
ALL_DIGITS = 0x03FF0000  # in word 1 of a byte set, from 0x20 on

free_digits_again = recursion(lambda: free_digits, 2)


@kernel("i(arena, i)")
def free_digits(A, e):
    """A number n of which the trees show that every string of at most n digits is in e; at most ANY_DIGITS."""
    k = kind(A, e)
    if k == REP.KIND and REP.LOW(A, e) == 0 and kind(A, REP.UNIT(A, e)) == BYTES.KIND:
        if set_word(A, REP.UNIT(A, e), 1) & ALL_DIGITS != ALL_DIGITS:
            return np.int64(0)
        return np.int64(ANY_DIGITS if REP.HIGH(A, e) < 0 else min(REP.HIGH(A, e), ANY_DIGITS))
    if k == CAT.KIND and is_nullable(A, CAT.TAIL(A, e)):
        return free_digits_again(A, CAT.HEAD(A, e))
    most = np.int64(0)
    if k == ALT.KIND:
        for i in range(key_start(e), key_end(A, e)):
            most = max(most, free_digits_again(A, A[i]))
    return most


@kernel("i(arena, i, i)")
def agree(A, a, b):
    """1 if two REMAINDER records may be of one number: the rests are equal modulo the common divisor; else 0."""
    divisor = np.int64(A[a + REMAINDER.DIVISOR])
    other = np.int64(A[b + REMAINDER.DIVISOR])
    while other != 0:
        divisor, other = other, divisor % other
    return np.int64((A[a + REMAINDER.REST] - A[b + REMAINDER.REST]) % divisor == 0)


@kernel("i(arena, i)")
def has_multiple(A, e):
    """1 if the trees show that an intersection contains digits that lead to a multiple of all divisors; else 0."""
    if kind(A, e) != AND.KIND:
        return np.int64(0)
    first = key_start(e)
    while first < key_end(A, e) and kind(A, A[first]) != REMAINDER.KIND:
        first += 1
    if first == key_end(A, e):
        return np.int64(0)
    digits = np.int64(ANY_DIGITS)
    needed = np.int64(1)
    for i in range(key_start(e), key_end(A, e)):
        if kind(A, A[i]) != REMAINDER.KIND:
            digits = min(digits, free_digits(A, A[i]))
            if digits == 0:
                return np.int64(0)
            continue
        for j in range(first, i):
            if kind(A, A[j]) == REMAINDER.KIND and not agree(A, A[i], A[j]):
                return np.int64(0)
        if needed > 1 << 30:
            return np.int64(0)
        needed *= np.int64(A[A[i] + REMAINDER.DIVISOR])
    while digits > 0 and needed > 1:
        needed = (needed + 9) // 10
        digits -= 1
    return np.int64(needed == 1)
