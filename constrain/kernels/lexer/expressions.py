"""Regular expressions over bytes as records, and their derivatives: the lazy automaton under every lexeme.

The idea: the state of an automaton *is* the expression of what may still come. Reading byte b turns e into its
derivative (Brzozowski, "Derivatives of regular expressions", JACM 1964); hash-consing makes equal states equal ids,
and each state remembers its row of successors, one word for each class of bytes that it cannot tell apart (Owens,
Reppy and Turon, "Regular-expression derivatives re-examined", JFP 2009, section 4.2). Intersection, complement and
counters cost nothing special: the derivative of `x{0,1000}` is `x' x{0,999}`.

    EMPTY                no text (the record NONE)       ALT(e...)      union, sorted, distinct
    EPSILON              the empty text (EPS)            AND(e...)      intersection, sorted, distinct
    BYTES(8 words)       one byte of a set               NOT(e)         every other byte string
    CAT(e, f)            one after the other             REP(e, m, n)   m to n copies, n = -1: no bound
    TAG(t)               the empty text, marked t: a lexeme of terminal t ends here
    REMAINDER(m, r, s)   digits, and points that do not count, that continue a number of remainder r to a multiple of
                         m; s: a region with the byte sets of the ten digits and the point

A *lexer state* is an ALT of CAT(terminal, TAG(terminal)); `tags(e)` are the lexemes that may end now.

An expression without AND or NOT is the empty language only as NONE. With them, `prune` decides: a part from which no
acceptance can be reached becomes NONE (`is_alive`, a search over derivatives that is remembered).

Cost: a derivative visits the parts that can begin now. Limit: A[SEARCH_LIMIT] states a liveness search.
Twin: tests/naive_regex.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.records.arena import (
    ALL,
    ALT,
    AND,
    BYTES,
    CAT,
    EMPTY,
    ENDED,
    EPS,
    EPSILON,
    FRONTS,
    KEY,
    NO_TAGS,
    NONE,
    NOT,
    PARTITION,
    REMAINDER,
    REP,
    SEARCH,
    SEARCH_LIMIT,
    TAG,
    TAGSET,
    intern,
    intern1,
    intern2,
    intern3,
    intern_list,
    kind,
    push,
    region,
    reserve,
    room,
    size,
    sort_groups,
    unique_groups,
)

# memo words of expressions (offsets from the record)
FLAGS, PART, ROW, TAGS, INSIDE, LIFE, CLAMPED, RAW = 1, 2, 3, 4, 5, 6, 7, 8
NULLABLE, NEGATIVE, CONTINUES, KNOWN = 1, 2, 4, 8  # FLAGS; those of the next line are set by automata/lower.py
CHARACTER, ANY_CHARACTER, UNIVERSAL = 16, 32, 64  # one character of a set; of all; every text of characters and more
FIRST_SLICE = 8  # bit FIRST_SLICE + j of FLAGS: every character of the vocabulary's slice j is in e (`engine` says so)
ALIVE, DEAD, FIRST_SERIAL = 1, 2, 3  # LIFE; a larger value marks a visit of the search with that number

# memo words of partitions
CLASSES, REPRESENTATIVES = 1, 2

TAIL = 1  # memo word of ENDED(t): t and its tag, without the byte set that t begins with if it is one of those


class SearchLimit(Exception):
    """A liveness search visited A[SEARCH_LIMIT] states."""


# --- construction -----------------------------------------------------------------------------------------------------


@kernel("i(arena, i)")
def flags(A, e):
    """NULLABLE, NEGATIVE (contains AND or NOT) and CONTINUES of an expression whose parts have theirs.

    CONTINUES: more than the empty text and tags, so that a byte may follow.
    """
    known = np.int64(A[e + FLAGS])
    if known != 0:
        return known
    k = kind(A, e)
    f = KNOWN | CONTINUES
    if k == EMPTY:
        f = KNOWN
    elif k == EPSILON or k == TAG:
        f = KNOWN | NULLABLE
    elif k == CAT:
        f |= A[A[e + KEY] + FLAGS] & A[A[e + KEY + 1] + FLAGS] & NULLABLE
        f |= (A[A[e + KEY] + FLAGS] | A[A[e + KEY + 1] + FLAGS]) & NEGATIVE
        if A[A[e + KEY] + FLAGS] & NULLABLE:
            f |= A[A[e + KEY + 1] + FLAGS] & UNIVERSAL
        if A[A[e + KEY + 1] + FLAGS] & NULLABLE:
            f |= A[A[e + KEY] + FLAGS] & UNIVERSAL
    elif k == ALT:
        f = KNOWN
        for i in range(e + KEY, e + KEY + size(A, e)):
            f |= A[A[i] + FLAGS] & ~(CHARACTER | ANY_CHARACTER)
    elif k == AND:
        f |= NULLABLE | NEGATIVE
        for i in range(e + KEY, e + KEY + size(A, e)):
            if A[A[i] + FLAGS] & NULLABLE == 0:
                f &= ~NULLABLE
    elif k == NOT:
        f |= NEGATIVE
        if A[A[e + KEY] + FLAGS] & NULLABLE == 0:
            f |= NULLABLE
    elif k == REMAINDER:
        if A[e + KEY + 1] == 0:
            f |= NULLABLE
    elif k == REP:
        f |= A[A[e + KEY] + FLAGS] & NEGATIVE
        if A[e + KEY + 1] == 0:
            f |= NULLABLE
    A[e + FLAGS] = f
    return f


@kernel("i(arena, i)")
def is_nullable(A, e):
    return A[e + FLAGS] & NULLABLE


@kernel("i(arena, i)")
def is_negative(A, e):
    return A[e + FLAGS] & NEGATIVE


@kernel("void(arena, arena)", entry=True)
def init_expressions(A, H):
    for e in (NONE, EPS, ALL):
        flags(A, e)


@kernel("i(arena, arena, arena)", entry=True)
def byte_set(A, H, S):
    """The expression of one byte of the set whose 8 words are on top of the stack; pops them."""
    S[0] -= 8
    start = np.int64(S[0])
    top = reserve(A, KEY + 8)
    some = 0
    for i in range(8):
        A[top + KEY + i] = S[start + i]
        some |= S[start + i]
    if some == 0:
        return NONE
    e = intern(A, H, BYTES, 8)
    flags(A, e)
    return e


@kernel("i(arena, arena, i, i)")
def cat(A, H, a, b):
    if a == NONE or b == NONE:
        return NONE
    if a == EPS:
        return b
    if b == EPS:
        return a
    e = intern2(A, H, CAT, a, b)
    flags(A, e)
    return e


@kernel("i(arena, arena, i, i, i)", entry=True)
def rep(A, H, a, low, high):
    if high == 0 or a == EPS:
        return EPS
    if a == NONE:
        return EPS if low == 0 else NONE
    if is_nullable(A, a):
        low = 0
    if low == 1 and high == 1:
        return a
    if kind(A, a) == REP and A[a + KEY + 1] == 0 and A[a + KEY + 2] == -1:
        return a  # copies of a star
    e = intern3(A, H, REP, a, low, high)
    flags(A, e)
    return e


@kernel("i(arena, arena, i)", entry=True)
def negate(A, H, a):
    if kind(A, a) == NOT:
        return np.int64(A[a + KEY])
    e = intern1(A, H, NOT, a)
    flags(A, e)
    return e


@kernel("i(arena, arena, i, i, i)", entry=True)
def remainder(A, H, divisor, r, bytes_region):
    e = intern3(A, H, REMAINDER, divisor, r, bytes_region)
    flags(A, e)
    return e


@kernel("i(arena, arena, i)")
def tag(A, H, t):
    e = intern1(A, H, TAG, t)
    flags(A, e)
    return e


@kernel("void(arena, arena, i, i)")
def push_flat(A, S, e, what):
    """Push e, or its parts when it is itself an ALT/AND (`what`)."""
    if kind(A, e) == what:
        for i in range(e + KEY, e + KEY + size(A, e)):
            push(S, A[i])
    else:
        push(S, e)


@kernel("i(arena, arena, arena, i)", entry=True)
def alt(A, H, S, start):
    """The union of the expressions S[start : S[0]] (as `push_flat` pushed them); pops them."""
    out = start
    merged = False  # of the byte sets
    nullable = False
    for i in range(start, S[0]):
        e = np.int64(S[i])
        k = kind(A, e)
        if k == EMPTY:
            continue
        if e == ALL:
            S[0] = start
            return ALL
        if k == BYTES:
            if merged:
                for w in range(8):
                    S[S[0] + w] |= A[e + KEY + w]
                continue
            merged = True
            room(S, 16)
            for w in range(8):
                S[S[0] + w] = A[e + KEY + w]
        elif k != EPSILON and is_nullable(A, e):
            nullable = True
        S[out] = e
        out += 1
    if merged:
        for i in range(start, out):
            if kind(A, S[i]) == BYTES:
                stop = np.int64(S[0])
                S[0] = stop + 8
                S[i] = byte_set(A, H, S)
    n = 0
    for i in range(start, out):
        if not (S[i] == EPS and nullable):
            S[start + n] = S[i]
            n += 1
    sort_groups(S, start, start + n, 1)
    S[0] = unique_groups(S, start, start + n, 1)
    n = S[0] - start
    if n <= 1:
        S[0] = start
        return NONE if n == 0 else np.int64(S[start])
    e = intern_list(A, H, S, ALT, start)
    flags(A, e)
    return e


@kernel("i(arena, arena, arena, i)")
def meet_counts(A, H, S, start):
    """Make one of x{a,b} and x{c,d}, or of x{a,b} and .{c,d}, among the parts S[start : S[0]] of an intersection.

    Sound for characters x: no spelling begins another, so a text has one number of them. 0 if no number is left.
    """
    i = start
    while i < S[0]:
        j = i + 1
        while j < S[0]:
            e = np.int64(S[i])
            f = np.int64(S[j])
            if kind(A, e) == REP and kind(A, f) == REP:
                x = np.int64(A[e + KEY])
                y = np.int64(A[f + KEY])
                if x != y and A[x + FLAGS] & ANY_CHARACTER:
                    x, y = y, x
                if A[x + FLAGS] & CHARACTER and (x == y or A[y + FLAGS] & ANY_CHARACTER):
                    low = max(A[e + KEY + 1], A[f + KEY + 1])
                    high = np.int64(A[e + KEY + 2])
                    other = np.int64(A[f + KEY + 2])
                    if high < 0 or (other >= 0 and other < high):
                        high = other
                    if high >= 0 and high < low:
                        return 0
                    S[i] = rep(A, H, x, low, high)
                    S[0] -= 1
                    S[j] = S[S[0]]
                    j = i
            j += 1
        i += 1
    return 1


@kernel("i(arena, arena, arena, i)", entry=True)
def both(A, H, S, start):
    """The intersection of the expressions S[start : S[0]] (as `push_flat` pushed them); pops them.

    One of them at least is not a complement, and its texts are spelled characters (automata/lower.py sees to that).
    """
    out = start
    universal = NONE  # a part that all the others are in; counts only if there is no other positive part
    positive = False
    for i in range(start, S[0]):
        e = np.int64(S[i])
        if e == NONE or (kind(A, e) == NOT and A[A[e + KEY] + FLAGS] & UNIVERSAL):
            S[0] = start
            return NONE
        if A[e + FLAGS] & UNIVERSAL:
            universal = e
        elif e != ALL:
            positive = positive or kind(A, e) != NOT
            S[out] = e
            out += 1
    if universal != NONE and not positive:
        S[out] = universal
        out += 1
    S[0] = out
    if not meet_counts(A, H, S, start):
        S[0] = start
        return NONE
    out = np.int64(S[0])
    sort_groups(S, start, out, 1)
    out = unique_groups(S, start, out, 1)
    S[0] = start
    for i in range(start, out):  # x & ~x, and anything with the empty text
        e = np.int64(S[i])
        for j in range(start, out):
            if kind(A, S[j]) == NOT and A[S[j] + KEY] == e:
                return NONE
        if e == EPS:
            for j in range(start, out):
                if not is_nullable(A, S[j]):
                    return NONE
            return EPS
    if out - start <= 1:
        return ALL if out == start else np.int64(S[start])
    S[0] = out
    e = intern_list(A, H, S, AND, start)
    flags(A, e)
    return e


@kernel("i(arena, arena, arena, i, i)")
def alt2(A, H, S, a, b):
    if a == NONE:
        return b
    if b == NONE or a == b:
        return a
    start = np.int64(S[0])
    push_flat(A, S, a, ALT)
    push_flat(A, S, b, ALT)
    return alt(A, H, S, start)


@kernel("i(arena, arena, arena, i, i)")
def chain(A, H, S, start, n):
    """CAT of the n expressions S[start : start + n]."""
    e = EPS
    for i in range(start + n - 1, start - 1, -1):
        e = cat(A, H, S[i], e)
    return e


@kernel("i(arena, arena, arena)", entry=True)
def concat(A, H, parts):
    """CAT of the expressions in an array."""
    e = EPS
    for i in range(parts.size - 1, -1, -1):
        e = cat(A, H, parts[i], e)
    return e


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
        return chain(A, H, S, begin, common)
    start = np.int64(S[0])
    if begin + common == S[table + low + 1]:
        push(S, EPS)
        low += 1
    while low < high:
        first = np.int64(S[S[table + low] + depth])
        stop = low + 1
        while stop < high and S[S[table + stop] + depth] == first:
            stop += 1
        push_flat(A, S, cat(A, H, first, literal_trie_again(A, H, S, table, low, stop, depth + 1)), ALT)
        low = stop
    tail = alt(A, H, S, start)
    for i in range(begin + common - 1, begin - 1, -1):
        tail = cat(A, H, S[i], tail)
    return tail


# --- partitions of the bytes ------------------------------------------------------------------------------------------
# A partition is the map byte -> class, one byte of its key each; classes are numbered as they occur.

push_fronts_again = recursion(lambda: push_fronts, 3)


@kernel("i(arena, arena, i)")
def push_fronts(A, S, e):
    """Push the byte sets with which e can begin (and, inside NOT, cannot)."""
    k = kind(A, e)
    if k == BYTES:
        push(S, e)
    elif k == CAT:
        push_fronts_again(A, S, A[e + KEY])
        if is_nullable(A, A[e + KEY]):
            push_fronts_again(A, S, A[e + KEY + 1])
    elif k == ALT or k == AND:
        for i in range(e + KEY, e + KEY + size(A, e)):
            push_fronts_again(A, S, A[i])
    elif k == NOT or k == REP:
        push_fronts_again(A, S, A[e + KEY])
    elif k == REMAINDER:
        for i in range(11):
            push(S, A[A[e + KEY + 2] + i])
    return 0


@kernel("i(arena, arena, i, i)")
def split_classes(A, S, classes, e):
    """Split the classes at S[classes ...] that the byte set e cuts.

    Scratch: 256 words each for the class of a byte, the bytes in a class, hits, new number; then the number of classes.
    """
    count, hits, fresh, last = classes + 256, classes + 512, classes + 768, classes + 1024
    for w in range(8):
        bits = np.int64(A[e + KEY + w]) & 0xFFFFFFFF
        b = w * 32
        while bits != 0:
            if bits & 1:
                S[hits + S[classes + b]] += 1
            bits >>= 1
            b += 1
    for w in range(8):
        bits = np.int64(A[e + KEY + w]) & 0xFFFFFFFF
        b = w * 32
        while bits != 0:
            if bits & 1:
                c = np.int64(S[classes + b])
                if S[hits + c] != 0 and S[hits + c] < S[count + c]:
                    if S[fresh + c] == 0:
                        S[fresh + c] = S[last]
                        S[last] += 1
                    S[classes + b] = S[fresh + c]
            bits >>= 1
            b += 1
    for c in range(S[last]):
        if S[fresh + c] != 0:
            S[count + S[fresh + c]] = S[hits + c]
            S[count + c] -= S[hits + c]
            S[fresh + c] = 0
        S[hits + c] = 0
    return S[last]


@kernel("i(arena, i, i)")
def class_of(A, p, b):
    """The class of a byte."""
    return (A[p + KEY + (b >> 2)] >> ((b & 3) << 3)) & 255


@kernel("i(arena, arena, arena, i)")
def cut_by_fronts(A, H, S, start):
    """The coarsest partition that no byte set S[start : S[0]] cuts."""
    stop = np.int64(S[0])
    room(S, 2048)
    classes = stop
    cleared = S[classes : classes + 1025]
    for i in range(1025):
        cleared[i] = 0
    S[classes + 256] = 256  # all bytes are in class 0
    S[classes + 1024] = 1
    for i in range(start, stop):
        split_classes(A, S, classes, S[i])
    number = classes + 256
    unnumbered = S[number : number + 256]
    for i in range(256):
        unnumbered[i] = -1
    top = reserve(A, KEY + 64)
    n = 0
    for w in range(64):
        word = 0
        for k in range(4):
            c = np.int64(S[classes + 4 * w + k])
            if S[number + c] < 0:
                S[number + c] = n
                n += 1
            word |= np.int64(S[number + c]) << (8 * k)
        A[top + KEY + w] = np.int32(np.uint32(word))
    p = intern(A, H, PARTITION, 64)
    if A[p + REPRESENTATIVES] == 0:
        r = region(A, n)
        for b in range(255, -1, -1):
            A[r + class_of(A, p, b)] = b
        A[p + CLASSES] = n
        A[p + REPRESENTATIVES] = r
    return p


@kernel("i(arena, arena, arena, i)")
def partition_of_fronts(A, H, S, start):
    """The coarsest partition that no byte set S[start : S[0]] cuts; pops them.

    PERF: most states begin with one byte set, and others with the same sets as some state before.
    """
    sort_groups(S, start, S[0], 1)
    S[0] = unique_groups(S, start, S[0], 1)
    fronts = np.int64(S[start])
    if S[0] - start != 1:
        for i in range(start, S[0]):
            push(S, S[i])
        fronts = intern_list(A, H, S, FRONTS, start + ((S[0] - start) >> 1))
    if A[fronts + PART] == 0:
        A[fronts + PART] = cut_by_fronts(A, H, S, start)
    S[0] = start
    return np.int64(A[fronts + PART])


@kernel("i(arena, arena, arena, i)")
def partition(A, H, S, e):
    """Bytes of one class have the same derivative of e (Owens et al., section 4.2)."""
    if A[e + PART] == 0:
        start = np.int64(S[0])
        push_fronts(A, S, e)
        A[e + PART] = partition_of_fronts(A, H, S, start)
    return np.int64(A[e + PART])


@kernel("void(arena, arena, arena, i, i)", entry=True)
def prepare(A, H, S, e, which):
    """Give e a row of successors, all unknown. which: ROW, for the pruned ones of `step`, or RAW, those of `derive`."""
    if A[e + which] == 0:
        p = partition(A, H, S, e)
        A[e + which] = region(A, A[p + CLASSES])


# --- derivatives ------------------------------------------------------------------------------------------------------


derive_again = recursion(lambda: derive, 5)


@kernel("i(arena, arena, arena, i, i)")
def derive(A, H, S, e, b):
    """What may follow byte b in e. Not pruned."""
    k = kind(A, e)
    if k == BYTES:
        return EPS if (A[e + KEY + (b >> 5)] >> (b & 31)) & 1 else NONE
    cell = 0
    if A[e + RAW] != 0:
        cell = A[e + RAW] + class_of(A, A[e + PART], b)
        if A[cell] != 0:
            return np.int64(A[cell])
    d = NONE
    if k == REMAINDER:
        if b == 0x2E:
            d = e
        elif b >= 0x30 and b <= 0x39:
            d = remainder(A, H, A[e + KEY], (10 * A[e + KEY + 1] + b - 0x30) % A[e + KEY], A[e + KEY + 2])
    elif k == CAT:
        head = np.int64(A[e + KEY])
        tail = np.int64(A[e + KEY + 1])
        d = cat(A, H, derive_again(A, H, S, head, b), tail)
        if is_nullable(A, head):
            d = alt2(A, H, S, d, derive_again(A, H, S, tail, b))
    elif k == REP:
        high = np.int64(A[e + KEY + 2])
        low = max(0, A[e + KEY + 1] - 1)
        d = derive_again(A, H, S, A[e + KEY], b)
        if d != NONE:
            d = cat(A, H, d, rep(A, H, A[e + KEY], low, high - 1 if high > 0 else -1))
    elif k == NOT:
        prepare(A, H, S, A[e + KEY], RAW)
        d = negate(A, H, derive_again(A, H, S, A[e + KEY], b))
    elif k == ALT:
        start = np.int64(S[0])
        for i in range(e + KEY, e + KEY + size(A, e)):
            push_flat(A, S, derive_again(A, H, S, A[i], b), ALT)
        d = alt(A, H, S, start)
    elif k == AND:
        start = np.int64(S[0])
        for i in range(e + KEY, e + KEY + size(A, e)):
            prepare(A, H, S, A[i], RAW)  # each part is an automaton of its own: the product shares their rows
            push_flat(A, S, derive_again(A, H, S, A[i], b), AND)
            if S[S[0] - 1] == NONE:
                break
        d = both(A, H, S, start)
    if cell != 0:
        A[cell] = d
    return d


@kernel("i(arena, arena, arena, i)")
def is_alive(A, H, S, e):
    """Whether e contains any text: a breadth-first search for a nullable derivative. Raises SearchLimit."""
    if e == NONE:
        return 0
    if is_nullable(A, e) or not is_negative(A, e):
        return 1
    if A[e + LIFE] == ALIVE or A[e + LIFE] == DEAD:
        return 1 if A[e + LIFE] == ALIVE else 0
    A[SEARCH] += 1
    serial = A[SEARCH] + FIRST_SERIAL
    start = np.int64(S[0])  # the queue: (state, index of the state that led to it)
    push(S, e)
    push(S, -1)
    A[e + LIFE] = serial
    head = start
    visited = 0
    found = -1
    while found < 0 and head < S[0]:
        x = np.int64(S[head])
        visited += 1
        if visited > A[SEARCH_LIMIT]:
            S[0] = start
            raise SearchLimit()
        prepare(A, H, S, x, RAW)
        p = np.int64(A[x + PART])
        for c in range(A[p + CLASSES]):
            d = derive(A, H, S, x, A[A[p + REPRESENTATIVES] + c])
            if d == NONE or A[d + LIFE] == DEAD or A[d + LIFE] == serial:
                continue
            if is_nullable(A, d) or not is_negative(A, d) or A[d + LIFE] == ALIVE:
                found = head
                break
            A[d + LIFE] = serial
            push(S, d)
            push(S, head)
        head += 2
    if found < 0:
        for i in range(start, S[0], 2):
            A[S[i] + LIFE] = DEAD
    while found >= 0:
        A[S[found] + LIFE] = ALIVE
        found = np.int64(S[found + 1])
    S[0] = start
    return 1 if A[e + LIFE] == ALIVE else 0


prune_again = recursion(lambda: prune, 5)


@kernel("i(arena, arena, arena, i, i)", entry=True)
def prune(A, H, S, e, deep):
    """e without the parts from which nothing can be accepted: wherever they stand (deep), or among those that may
    begin now.

    After a deep pruning, pruning the beginnings of derivatives is enough.
    """
    if not is_negative(A, e):
        return e
    k = kind(A, e)
    if k == ALT:
        start = np.int64(S[0])
        for i in range(e + KEY, e + KEY + size(A, e)):
            push_flat(A, S, prune_again(A, H, S, A[i], deep), ALT)
        return alt(A, H, S, start)
    if k == CAT:
        tail = np.int64(A[e + KEY + 1])
        if deep:
            tail = prune_again(A, H, S, tail, deep)
        return cat(A, H, prune_again(A, H, S, A[e + KEY], deep), tail)
    if k == REP:
        return rep(A, H, prune_again(A, H, S, A[e + KEY], deep), A[e + KEY + 1], A[e + KEY + 2]) if deep else e
    return e if is_alive(A, H, S, e) else NONE


@kernel("i(arena, i, i)")
def peek(A, e, b):
    """`step` if it is known, else 0. Small enough to be inlined: what a hot loop asks first."""
    row = A[e + ROW]
    return A[row + class_of(A, A[e + PART], b)] if row != 0 else 0


@kernel("i(arena, arena, arena, i, i)")
def step(A, H, S, e, b):
    """The state after byte b; NONE when no text of e begins so. e was pruned deep."""
    d = peek(A, e, b)
    if d == 0:
        prepare(A, H, S, e, ROW)
        d = derive(A, H, S, e, b)
        if is_negative(A, d):
            d = prune(A, H, S, d, 0)
        A[A[e + ROW] + class_of(A, A[e + PART], b)] = d
    return d


@kernel("i(arena, arena, arena, arena, i)", entry=True)
def run(A, H, S, text, e):
    """The state of e after the bytes (one a word) of `text`."""
    for i in range(text.size):
        e = step(A, H, S, e, text[i])
        if e == NONE:
            break
    return e


# --- tags -------------------------------------------------------------------------------------------------------------


push_tags_again = recursion(lambda: push_tags, 3)


@kernel("i(arena, arena, i)")
def push_tags(A, S, e):
    if not is_nullable(A, e):
        return 0
    k = kind(A, e)
    if k == TAG:
        push(S, A[e + KEY])
    elif k == CAT:
        push_tags_again(A, S, A[e + KEY + 1])
    elif k == ALT:
        for i in range(e + KEY, e + KEY + size(A, e)):
            push_tags_again(A, S, A[i])
    return 0


@kernel("i(arena, arena, arena, i)")
def tags(A, H, S, e):
    """The set (a TAGSET record) of terminals whose lexeme may end in e; NO_TAGS when none."""
    known = np.int64(A[e + TAGS])
    if known != 0:
        return known
    if not is_nullable(A, e):
        A[e + TAGS] = NO_TAGS
        return NO_TAGS
    start = np.int64(S[0])
    push_tags(A, S, e)
    sort_groups(S, start, S[0], 1)
    S[0] = unique_groups(S, start, S[0], 1)
    t = intern_list(A, H, S, TAGSET, start)
    A[e + TAGS] = t
    return t


@kernel("i(arena, i)")
def continues(A, e):
    """Whether any byte can follow in e (in a lexer state: whether it is more than tags)."""
    return A[e + FLAGS] & CONTINUES


# --- lexer states -----------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i)")
def followed(A, H, S, e, rest):
    """CAT(e, rest), with what stands last in e beside `rest`: then the ends of a literal are its derivatives."""
    parts = np.int64(S[0])
    while kind(A, e) == CAT:
        push(S, A[e + KEY])
        e = np.int64(A[e + KEY + 1])
    rest = cat(A, H, e, rest)
    for i in range(S[0] - 1, parts - 1, -1):
        rest = cat(A, H, S[i], rest)
    S[0] = parts
    return rest


@kernel("i(arena, arena, arena, i)")
def lexer_state(A, H, S, start):
    """The union of CAT(t, TAG(t)) for the terminals S[start : S[0]] (expressions); pops them.

    Common beginnings are kept together, so that a set of keys that open with the same quote is one part, not many.
    """
    stop = np.int64(S[0])
    for i in range(start, stop):  # (head, what follows it)
        e = np.int64(S[i])
        has_head = kind(A, e) == CAT and kind(A, A[e + KEY]) == BYTES
        end = intern1(A, H, ENDED, e)
        if A[end + TAIL] == 0:
            A[end + TAIL] = followed(A, H, S, A[e + KEY + 1] if has_head else e, tag(A, H, e))
        push(S, A[e + KEY] if has_head else EPS)
        push(S, A[end + TAIL])
    sort_groups(S, stop, S[0], 2)
    end = np.int64(S[0])
    i = stop
    while i < end:  # pushed above `end`: one expression a head
        head = np.int64(S[i])
        parts = np.int64(S[0])
        while i < end and S[i] == head:
            push_flat(A, S, S[i + 1], ALT)
            i += 2
        push_flat(A, S, cat(A, H, head, alt(A, H, S, parts)), ALT)
    e = alt(A, H, S, end)
    S[0] = start
    return e
