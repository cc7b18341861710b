r"""Unions of expressions; of parts that count the same, one part stays.

The idea: after some bytes of `(.{1,63}\.){1,127}` there is a part for each way to have come there: so many copies of
the outer unit, so many characters of the inner one. Nearly all of them are contained in others, which have more copies
left. So where parts of a union differ in counters only, a part that is contained in another one is dropped, and
x{a,b} | x{c,d} is one counter if no number lies between the two. A few parts stay, not one for each pair of counts.

For this the parts are written as sums of products: a head that is a union is multiplied out if head and tail count.

Cost: linear in the parts; quadratic in those with counters. Reference: tests/reading_oracle.py.
Source: "Counting-set automata" (Turonova et al., 2020) keeps sets of counts; this keeps intervals of them.
"""

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.lexer.expressions import byte_set, cat, cat_run, flags, push_flat, rep
from constrain.kernels.records.arena import ALL, EPS, NONE, intern_list, key_end, key_start, kind, spend
from constrain.kernels.records.expressions import (
    ALT,
    BYTES,
    CAT,
    COUNTED,
    EMPTY,
    EPSILON,
    EXPRESSION,
    REP,
    is_nullable,
    set_word,
)
from constrain.kernels.records.stack import push, room, set_top, sort_groups, top, unique_groups

MAX_COMPARED = 256  # parts with counters that are compared, pair by pair

is_within_again = recursion(lambda: is_within, 3)


@kernel("i(arena, i, i)")
def is_within(A, e, f):
    """1 if the trees show that e is contained in f: they are equal but for counters, which are wider in f; else 0."""
    while e != f:
        k = kind(A, f)
        if k == REP.KIND:
            if e == EPS:
                return np.int64(REP.LOW(A, f) == 0)
            if kind(A, e) != REP.KIND or REP.UNIT(A, e) != REP.UNIT(A, f) or REP.LOW(A, e) < REP.LOW(A, f):
                return np.int64(0)
            high = REP.HIGH(A, f)
            return np.int64(high < 0 or (REP.HIGH(A, e) >= 0 and REP.HIGH(A, e) <= high))
        if k != CAT.KIND or not EXPRESSION.FLAGS(A, f) & COUNTED:
            return np.int64(0)
        head = CAT.HEAD(A, f)
        f = CAT.TAIL(A, f)
        if kind(A, e) == CAT.KIND:
            if CAT.HEAD(A, e) != head and is_within_again(A, CAT.HEAD(A, e), head) == 0:
                return np.int64(0)
            e = CAT.TAIL(A, e)
        else:
            if e != head and is_within_again(A, e, head) == 0:
                return np.int64(0)
            e = np.int64(EPS)
    return np.int64(1)


unite_again = recursion(lambda: unite, 4)


@kernel("i(arena, arena, i, i)")
def unite(A, H, e, f):
    """The union of two expressions as one that is no ALT; NONE if the trees do not show it."""
    if is_within(A, e, f) == 1:
        return f
    if is_within(A, f, e) == 1:
        return e
    if kind(A, e) == REP.KIND and kind(A, f) == REP.KIND and REP.UNIT(A, e) == REP.UNIT(A, f):
        low, high = REP.LOW(A, e), REP.HIGH(A, e)
        other_low, other_high = REP.LOW(A, f), REP.HIGH(A, f)
        if (high < 0 or other_low <= high + 1) and (other_high < 0 or low <= other_high + 1):
            most = -1 if high < 0 or other_high < 0 else max(high, other_high)
            return rep(A, H, REP.UNIT(A, e), min(low, other_low), most)
        return np.int64(NONE)
    if kind(A, e) != CAT.KIND or kind(A, f) != CAT.KIND:
        return np.int64(NONE)
    if CAT.HEAD(A, e) == CAT.HEAD(A, f):
        return cat(A, H, CAT.HEAD(A, e), unite_again(A, H, CAT.TAIL(A, e), CAT.TAIL(A, f)))
    if CAT.TAIL(A, e) == CAT.TAIL(A, f):
        return cat(A, H, unite_again(A, H, CAT.HEAD(A, e), CAT.HEAD(A, f)), CAT.TAIL(A, e))
    return np.int64(NONE)


@kernel("void(arena, arena, arena, i)")
def unite_counted(A, H, S, start):
    """Make one of two parts with counters, among the sorted parts from S[start] on, wherever the trees allow it."""
    counted = 0
    for i in range(start, top(S)):
        counted += (EXPRESSION.FLAGS(A, S[i]) & COUNTED) != 0
    if counted < 2 or counted > MAX_COMPARED:
        return
    spend(A, counted * counted)
    changed = False
    i = start
    while i < top(S):
        j = i + 1 if EXPRESSION.FLAGS(A, S[i]) & COUNTED else top(S)
        while j < top(S):
            e = unite(A, H, S[i], S[j]) if EXPRESSION.FLAGS(A, S[j]) & COUNTED else np.int64(NONE)
            if e == NONE:
                j += 1
                continue
            changed = True
            set_top(S, top(S) - 1)
            S[j] = S[top(S)]
            if e != S[i]:
                S[i] = e
                j = i + 1
        i += 1
    if changed:
        sort_groups(S, start, top(S), 1)
        set_top(S, unique_groups(S, start, top(S), 1))


@kernel("i(arena, arena, arena, i)", entry=True)
def alt(A, H, S, start):
    """The union of the expressions S[start] and on (as `push_flat` pushed them); pops them."""
    spend(A, top(S) - start)
    out = start
    merged = False  # of the byte sets
    nullable = False
    for i in range(start, top(S)):
        e = np.int64(S[i])
        k = kind(A, e)
        if k == EMPTY.KIND:
            continue
        if e == ALL:
            set_top(S, start)
            return ALL
        if k == BYTES.KIND:
            if merged:
                for w in range(8):
                    S[top(S) + w] |= set_word(A, e, w)
                continue
            merged = True
            room(S, 16)
            for w in range(8):
                S[top(S) + w] = set_word(A, e, w)
        elif k != EPSILON.KIND and is_nullable(A, e):
            nullable = True
        S[out] = e
        out += 1
    if merged:
        for i in range(start, out):
            if kind(A, S[i]) == BYTES.KIND:
                stop = top(S)
                set_top(S, stop + 8)
                S[i] = byte_set(A, H, S)
    n = 0
    for i in range(start, out):
        if not (S[i] == EPS and nullable):
            S[start + n] = S[i]
            n += 1
    sort_groups(S, start, start + n, 1)
    set_top(S, unique_groups(S, start, start + n, 1))
    unite_counted(A, H, S, start)
    n = top(S) - start
    if n <= 1:
        set_top(S, start)
        return NONE if n == 0 else np.int64(S[start])
    e = intern_list(A, H, S, ALT.KIND, start)
    flags(A, e)
    return e


@kernel("i(arena, arena, arena, i, i)")
def alt2(A, H, S, a, b):
    """The union of two expressions."""
    if a == NONE:
        return b
    if b == NONE or a == b:
        return a
    start = top(S)
    push_flat(A, S, a, ALT.KIND)
    push_flat(A, S, b, ALT.KIND)
    return alt(A, H, S, start)


product_again = recursion(lambda: product, 5)


@kernel("i(arena, arena, arena, i, i)")
def product(A, H, S, e, tail):
    """CAT(e, tail); if both count, as a union of products without unions in their heads."""
    if not (EXPRESSION.FLAGS(A, e) & COUNTED and EXPRESSION.FLAGS(A, tail) & COUNTED):
        return cat(A, H, e, tail)
    if kind(A, e) == CAT.KIND:
        return product_again(A, H, S, CAT.HEAD(A, e), product_again(A, H, S, CAT.TAIL(A, e), tail))
    if kind(A, e) != ALT.KIND:
        return cat(A, H, e, tail)
    start = top(S)
    for i in range(key_start(e), key_end(A, e)):
        push_flat(A, S, product_again(A, H, S, A[i], tail), ALT.KIND)
    return alt(A, H, S, start)


literal_trie_again = recursion(lambda: literal_trie, 7)


@kernel("i(arena, arena, arena, i, i, i, i)", entry=True)
def literal_trie(A, H, S, table, low, high, depth):
    """The union of the distinct literals low..high-1, sorted, that agree on their first `depth` characters.

    Literal i is the run S[S[table + i] : S[table + i + 1]] of one-character expressions. Recursion is as deep as
    literals branch, not as they are long.
    """
    begin = S[table + low] + depth
    length = min(S[table + low + 1] - begin, S[table + high] - S[table + high - 1] - depth)
    last = S[table + high - 1] + depth
    common = 0
    while common < length and S[begin + common] == S[last + common]:
        common += 1
    depth += common
    if high - low == 1:
        return cat_run(A, H, S, begin, common, EPS)
    start = top(S)
    if begin + common == S[table + low + 1]:
        push(S, EPS)
        low += 1
    while low < high:
        first = np.int64(S[S[table + low] + depth])
        stop = low + 1
        while stop < high and S[S[table + stop] + depth] == first:
            stop += 1
        push_flat(A, S, cat(A, H, first, literal_trie_again(A, H, S, table, low, stop, depth + 1)), ALT.KIND)
        low = stop
    tail = alt(A, H, S, start)
    return cat_run(A, H, S, begin, common, tail)
