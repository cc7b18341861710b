"""Regular expressions over bytes: expressions are made of their parts.

The idea: the state of an automaton *is* the expression of what may still come (derivatives.py). So expressions are
brought to one form when they are made: unions and intersections are flat, sorted and without repetitions, and what is
equal by simple identities is one record.

An expression without AND or NOT is the empty language only as NONE. With them, `prune` (derivatives.py) decides.

The kinds of expressions: records/expressions.py. Cost: linear in the parts. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.records.arena import (
    ALL,
    EPS,
    NONE,
    intern,
    intern1,
    intern2,
    intern3,
    intern_list,
    key_end,
    key_start,
    key_word,
    kind,
    reserve,
    size,
    spend,
)
from constrain.kernels.records.expressions import (
    ALT,
    AND,
    ANY_CHARACTER,
    BYTES,
    CAT,
    CHARACTER,
    CONTINUES,
    COUNTED,
    EMPTY,
    EPSILON,
    EXPRESSION,
    KNOWN,
    LITERAL,
    NEGATIVE,
    NOT,
    NULLABLE,
    REMAINDER,
    REP,
    TAG,
    TEXT,
    UNIVERSAL,
    is_nullable,
)
from constrain.kernels.records.stack import push, set_top, sort_groups, top, unique_groups

LONG = 256  # characters from which on a run of them is a LITERAL
UNROLLED = 64  # characters of one whose states are made at once


@kernel("i(arena, i)")
def flags_of_cat(A, e):
    """The flags of a CAT."""
    head, tail = EXPRESSION.FLAGS(A, CAT.HEAD(A, e)), EXPRESSION.FLAGS(A, CAT.TAIL(A, e))
    f = (head & tail & NULLABLE) | ((head | tail) & (NEGATIVE | COUNTED))
    if head & NULLABLE:
        f |= tail & UNIVERSAL
    if tail & NULLABLE:
        f |= head & UNIVERSAL
    return f


@kernel("i(arena, i)")
def flags_of_alt(A, e):
    """The flags of an ALT: those of its parts."""
    f = np.int64(0)
    for i in range(key_start(e), key_end(A, e)):
        f |= EXPRESSION.FLAGS(A, A[i])
    return f & ~(CHARACTER | ANY_CHARACTER)


@kernel("i(arena, i)")
def flags_of_and(A, e):
    """The flags of an AND."""
    for i in range(key_start(e), key_end(A, e)):
        if not is_nullable(A, A[i]):
            return NEGATIVE
    return NEGATIVE | NULLABLE


@kernel("i(arena, i)")
def flags_of_rep(A, e):
    """The flags of a REP."""
    f = EXPRESSION.FLAGS(A, REP.UNIT(A, e)) & (NEGATIVE | COUNTED)
    if REP.HIGH(A, e) > 1 or REP.LOW(A, e) > 1:
        f |= COUNTED
    return f | NULLABLE if REP.LOW(A, e) == 0 else f


@kernel("i(arena, i)")
def flags_by_kind(A, e):
    """The flags of an expression whose parts have theirs, but for KNOWN and CONTINUES."""
    k = kind(A, e)
    if k == EPSILON.KIND or k == TAG.KIND:
        return NULLABLE
    if k == CAT.KIND:
        return flags_of_cat(A, e)
    if k == LITERAL.KIND:
        return EXPRESSION.FLAGS(A, LITERAL.TAIL(A, e)) & (NEGATIVE | COUNTED)
    if k == ALT.KIND:
        return flags_of_alt(A, e)
    if k == AND.KIND:
        return flags_of_and(A, e)
    if k == NOT.KIND:
        return NEGATIVE if is_nullable(A, NOT.OPERAND(A, e)) else NEGATIVE | NULLABLE
    if k == REMAINDER.KIND:
        return NULLABLE if A[e + REMAINDER.REST] == 0 else 0
    return flags_of_rep(A, e) if k == REP.KIND else 0


@kernel("i(arena, i)")
def flags(A, e):
    """Set the flags of an expression whose parts have theirs. Returns them.

    NULLABLE: the empty text is in it. NEGATIVE: it contains AND or NOT. CONTINUES: it is more than the empty text and
    tags, so that a byte may follow. COUNTED: it contains a counter, outside of AND and NOT.
    """
    if EXPRESSION.FLAGS(A, e) == 0:
        k = kind(A, e)
        is_short = k == EMPTY.KIND or k == EPSILON.KIND or k == TAG.KIND or k == ALT.KIND  # an ALT has it of its parts
        A[e + EXPRESSION.FLAGS] = flags_by_kind(A, e) | (KNOWN if is_short else KNOWN | CONTINUES)
    return EXPRESSION.FLAGS(A, e)


@kernel("void(arena, arena)", entry=True)
def init_expressions(A, H):
    """Set the flags of the records at fixed places."""
    for e in (NONE, EPS, ALL):
        flags(A, e)


@kernel("i(arena, arena, arena)", entry=True, brief=True)
def byte_set(A, H, S):
    """The expression of one byte of the set whose 8 words are on top of the stack; pops them."""
    start = top(S) - 8
    set_top(S, start)
    words = key_start(reserve(A, BYTES.WORDS + 8))
    some = 0
    for i in range(8):
        A[words + i] = S[start + i]
        some |= S[start + i]
    if some == 0:
        return NONE
    e = intern(A, H, BYTES.KIND, 8)
    flags(A, e)
    return e


@kernel("i(arena, arena, i, i, i)")
def literal(A, H, text, at, tail):
    """The expression of the characters of a TEXT from the one with the number `at` on, and of a tail."""
    if at == size(A, text) or tail == NONE:
        return tail
    e = intern3(A, H, LITERAL.KIND, text, at, tail)
    flags(A, e)
    return e


@kernel("i(arena, arena, i)", apart=True)
def unrolled(A, H, e):
    """A LITERAL as a CAT of its next characters and of the LITERAL of the others."""
    text = LITERAL.CHARACTERS(A, e)
    first = LITERAL.AT(A, e)
    stop = min(first + UNROLLED, size(A, text))
    e = literal(A, H, text, stop, LITERAL.TAIL(A, e))
    for i in range(stop - 1, first - 1, -1):
        c = key_word(A, text, i)
        e = c if e == EPS else intern2(A, H, CAT.KIND, c, e)
        flags(A, e)
    return e


@kernel("i(arena, arena, i, i)", apart=True)
def literal_cat(A, H, a, b):
    """The expression of a LITERAL and of what follows it, which is not the empty text."""
    tail = LITERAL.TAIL(A, a)
    if tail != EPS:
        b = intern2(A, H, CAT.KIND, tail, b)
        flags(A, b)
    return literal(A, H, LITERAL.CHARACTERS(A, a), LITERAL.AT(A, a), b)


@kernel("i(arena, arena, i, i)")
def cat(A, H, a, b):
    """The expression of one after the other."""
    if a == NONE or b == NONE:
        return NONE
    if a == EPS:
        return unrolled(A, H, b) if kind(A, b) == LITERAL.KIND else b
    if b == EPS:
        return a
    if kind(A, a) == LITERAL.KIND:
        return literal_cat(A, H, a, b)
    e = intern2(A, H, CAT.KIND, a, b)
    flags(A, e)
    return e


@kernel("i(arena, arena, i, i, i)", entry=True, brief=True)
def rep(A, H, a, low, high):
    """The expression of low to high copies; high = -1: no bound."""
    if high == 0 or a == EPS:
        return EPS
    if a == NONE:
        return EPS if low == 0 else NONE
    if is_nullable(A, a):
        low = 0
    if low == 1 and high == 1:
        return a
    if kind(A, a) == REP.KIND and REP.LOW(A, a) == 0 and REP.HIGH(A, a) == -1:
        return a  # copies of a star
    e = intern3(A, H, REP.KIND, a, low, high)
    flags(A, e)
    return e


@kernel("i(arena, arena, i)", entry=True, brief=True)
def negate(A, H, a):
    """The expression of every other byte string."""
    if kind(A, a) == NOT.KIND:
        return NOT.OPERAND(A, a)
    e = intern1(A, H, NOT.KIND, a)
    flags(A, e)
    return e


@kernel("i(arena, arena, i, i, i)", entry=True)
def remainder(A, H, divisor, r, bytes_region):
    """The expression REMAINDER; bytes_region: the byte sets of the digits and the point."""
    e = intern3(A, H, REMAINDER.KIND, divisor, r, bytes_region)
    flags(A, e)
    return e


@kernel("i(arena, arena, i)")
def tag(A, H, t):
    """The empty text, marked with the terminal t."""
    e = intern1(A, H, TAG.KIND, t)
    flags(A, e)
    return e


@kernel("void(arena, arena, i, i)")
def push_flat(A, S, e, what):
    """Push e, or its parts when it is itself an ALT/AND (`what`)."""
    if kind(A, e) == what:
        for i in range(key_start(e), key_end(A, e)):
            push(S, A[i])
    else:
        push(S, e)


@kernel("i(arena, arena, arena, i)")
def meet_counts(A, H, S, start):
    """Make one of x{a,b} and x{c,d}, or of x{a,b} and .{c,d}, among the parts from S[start] on of an intersection.

    Sound for characters x: no spelling begins another, so a text has one number of them. 0 if no number is left.
    """
    i = start
    while i < top(S):
        spend(A, (top(S) - i) >> 2)
        j = i + 1
        while j < top(S):
            e = np.int64(S[i])
            f = np.int64(S[j])
            if kind(A, e) == REP.KIND and kind(A, f) == REP.KIND:
                x = REP.UNIT(A, e)
                y = REP.UNIT(A, f)
                if x != y and EXPRESSION.FLAGS(A, x) & ANY_CHARACTER:
                    x, y = y, x
                if EXPRESSION.FLAGS(A, x) & CHARACTER and (x == y or EXPRESSION.FLAGS(A, y) & ANY_CHARACTER):
                    low = max(REP.LOW(A, e), REP.LOW(A, f))
                    high = REP.HIGH(A, e)
                    other = REP.HIGH(A, f)
                    if high < 0 or (other >= 0 and other < high):
                        high = other
                    if high >= 0 and high < low:
                        return 0
                    S[i] = rep(A, H, x, low, high)
                    set_top(S, top(S) - 1)
                    S[j] = S[top(S)]
                    j = i
            j += 1
        i += 1
    return 1


@kernel("i(arena, arena, arena, i)", entry=True)
def both(A, H, S, start):
    """The intersection of the expressions S[start] and on (as `push_flat` pushed them); pops them.

    One of them at least is not a complement, and its texts are spelled characters (automata/lower.py sees to that).
    """
    spend(A, top(S) - start)
    out = start
    universal = NONE  # a part that all the others are in; counts only if there is no other positive part
    positive = False
    for i in range(start, top(S)):
        e = np.int64(S[i])
        if e == NONE or (kind(A, e) == NOT.KIND and EXPRESSION.FLAGS(A, NOT.OPERAND(A, e)) & UNIVERSAL):
            set_top(S, start)
            return NONE
        if EXPRESSION.FLAGS(A, e) & UNIVERSAL:
            universal = e
        elif e != ALL:
            positive = positive or kind(A, e) != NOT.KIND
            S[out] = e
            out += 1
    if universal != NONE and not positive:
        S[out] = universal
        out += 1
    set_top(S, out)
    if not meet_counts(A, H, S, start):
        set_top(S, start)
        return NONE
    out = top(S)
    sort_groups(S, start, out, 1)
    out = unique_groups(S, start, out, 1)
    set_top(S, start)
    spend(A, (out - start) * (out - start) >> 3)
    for i in range(start, out):  # x & ~x, and anything with the empty text
        e = np.int64(S[i])
        for j in range(start, out):
            if kind(A, S[j]) == NOT.KIND and NOT.OPERAND(A, S[j]) == e:
                return NONE
        if e == EPS:
            for j in range(start, out):
                if not is_nullable(A, S[j]):
                    return NONE
            return EPS
    if out - start <= 1:
        return ALL if out == start else np.int64(S[start])
    set_top(S, out)
    e = intern_list(A, H, S, AND.KIND, start)
    flags(A, e)
    return e


@kernel("i(arena, arena, i, i)")
def first_of_text(A, words, start, stop):
    """The index of the first of the last characters of words[start:stop], of which a LITERAL may be made."""
    first = stop
    while first > start:
        e = words[first - 1]
        if e == NONE or EXPRESSION.FLAGS(A, e) & (NULLABLE | NEGATIVE | COUNTED) != 0:
            break
        first -= 1
    return first


@kernel("i(arena, arena, arena, i, i, i)")
def cat_run(A, H, words, start, n, tail):
    """CAT of the n expressions words[start : start + n], and of a tail.

    A long run of characters is a LITERAL, so that states are made as a text comes to them.
    """
    stop = start + n
    e = tail
    while stop > start:
        first = first_of_text(A, words, start, stop) if stop - start >= LONG else stop
        if stop - first < LONG:
            first = min(first, stop - 1)
            for i in range(stop - 1, first - 1, -1):
                e = cat(A, H, words[i], e)
        else:
            at = key_start(reserve(A, TEXT.WORDS + stop - first))
            for i in range(first, stop):
                A[at + i - first] = words[i]
            e = literal(A, H, intern(A, H, TEXT.KIND, stop - first), 0, e)
            if first == start:
                return unrolled(A, H, e)
        stop = first
    return e


@kernel("i(arena, arena, arena)", entry=True, brief=True)
def concat(A, H, parts):
    """CAT of the expressions in an array."""
    return cat_run(A, H, parts, 0, parts.size, EPS)
