"""Derivatives of regular expressions: the lazy automaton under every lexeme.

The idea: reading byte b turns the expression e into its derivative (Brzozowski, "Derivatives of regular expressions",
JACM 1964); hash-consing makes equal states equal ids, and each state remembers its row of successors, one word for each
class of bytes that it cannot tell apart (Owens, Reppy and Turon, "Regular-expression derivatives re-examined", JFP
2009, section 4.2). Intersection, complement and counters cost nothing special: the derivative of `x{0,1000}` is
`x' x{0,999}`.

With AND or NOT, a state may be the empty language without being NONE. `prune` makes a part NONE from which no
acceptance can be reached (`is_alive`, a search over derivatives that is remembered).

Cost: a derivative visits the parts that can begin now. Limit: SEARCH_LIMIT states of the header a liveness search.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.lexer.expressions import both, cat, literal, negate, push_flat, remainder, rep, unrolled
from constrain.kernels.lexer.multiples import has_multiple
from constrain.kernels.lexer.unions import alt, alt2, product
from constrain.kernels.records.arena import (
    EPS,
    HEADER,
    NONE,
    intern,
    intern_list,
    key_end,
    key_start,
    kind,
    region,
    reserve,
    spend,
)
from constrain.kernels.records.expressions import (
    ALIVE,
    ALT,
    AND,
    BYTES,
    CAT,
    CUTTING,
    DEAD,
    DIGITS,
    EXPRESSION,
    FIRST_SERIAL,
    FRONTS,
    LITERAL,
    NOT,
    PARTITION,
    RANK,
    REMAINDER,
    REP,
    VISIT,
    class_of,
    has_byte,
    is_negative,
    is_nullable,
    literal_character,
    remainder_set,
    representative,
    set_word,
    successor_cell,
)
from constrain.kernels.records.stack import push, room, set_top, sort_groups, top, unique_groups

RANKS = 64  # what is farther from acceptance has the last rank


class SearchLimit(Exception):
    """A liveness search visited HEADER.SEARCH_LIMIT states."""


# --- partitions of the bytes ------------------------------------------------------------------------------------------

push_fronts_again = recursion(lambda: push_fronts, 3)


@kernel("i(arena, arena, i)")
def push_fronts(A, S, e):
    """Push the byte sets with which e can begin (and, inside NOT, cannot)."""
    k = kind(A, e)
    if k == BYTES.KIND:
        push(S, e)
    elif k == CAT.KIND:
        push_fronts_again(A, S, CAT.HEAD(A, e))
        if is_nullable(A, CAT.HEAD(A, e)):
            push_fronts_again(A, S, CAT.TAIL(A, e))
    elif k == LITERAL.KIND:
        push_fronts_again(A, S, literal_character(A, e))
    elif k == ALT.KIND or k == AND.KIND:
        for i in range(key_start(e), key_end(A, e)):
            push_fronts_again(A, S, A[i])
    elif k == NOT.KIND:
        push_fronts_again(A, S, NOT.OPERAND(A, e))
    elif k == REP.KIND:
        push_fronts_again(A, S, REP.UNIT(A, e))
    elif k == REMAINDER.KIND:
        for digit in range(DIGITS.WORDS):
            push(S, remainder_set(A, e, digit))
    return 0


@kernel("i(arena, arena, i, i)")
def split_classes(A, S, classes, e):
    """Split the classes at S[classes ...], CUTTING words, that the byte set e cuts. Returns how many there are then."""
    count, hits, fresh = classes + CUTTING.COUNT, classes + CUTTING.HITS, classes + CUTTING.FRESH
    last = classes + CUTTING.CLASSES
    for w in range(8):
        bits = np.int64(set_word(A, e, w)) & 0xFFFFFFFF
        b = w * 32
        while bits != 0:
            if bits & 1:
                S[hits + S[classes + b]] += 1
            bits >>= 1
            b += 1
    for w in range(8):
        bits = np.int64(set_word(A, e, w)) & 0xFFFFFFFF
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


@kernel("i(arena, arena, arena, i)")
def cut_by_fronts(A, H, S, start):
    """The coarsest partition that no byte set from S[start] on cuts."""
    stop = top(S)
    room(S, 2048)
    classes = stop
    cleared = S[classes : classes + CUTTING.WORDS]
    for i in range(CUTTING.WORDS):
        cleared[i] = 0
    S[classes + CUTTING.COUNT] = 256  # all bytes are in class 0
    S[classes + CUTTING.CLASSES] = 1
    for i in range(start, stop):
        split_classes(A, S, classes, S[i])
    number = classes + CUTTING.COUNT
    unnumbered = S[number : classes + CUTTING.HITS]
    for i in range(256):
        unnumbered[i] = -1
    words = key_start(reserve(A, PARTITION.WORDS + 64))
    n = 0
    b = 0
    for w in range(64):
        word = 0
        for k in range(4):
            c = np.int64(S[classes + b])
            b += 1
            if S[number + c] < 0:
                S[number + c] = n
                n += 1
            word |= np.int64(S[number + c]) << (8 * k)
        A[words + w] = np.int32(np.uint32(word))
    p = intern(A, H, PARTITION.KIND, 64)
    if A[p + PARTITION.REPRESENTATIVES] == 0:
        r = region(A, n)
        for b in range(255, -1, -1):
            A[r + class_of(A, p, b)] = b
        A[p + PARTITION.CLASSES] = n
        A[p + PARTITION.REPRESENTATIVES] = r
    return p


@kernel("i(arena, arena, arena, i)")
def partition_of_fronts(A, H, S, start):
    """The coarsest partition that no byte set from S[start] on cuts; pops them.

    PERF: most states begin with one byte set, and others with the same sets as some state before.
    """
    sort_groups(S, start, top(S), 1)
    set_top(S, unique_groups(S, start, top(S), 1))
    fronts = np.int64(S[start])
    if top(S) - start != 1:
        for i in range(start, top(S)):
            push(S, S[i])
        fronts = intern_list(A, H, S, FRONTS.KIND, start + ((top(S) - start) >> 1))
    if A[fronts + EXPRESSION.PARTITION] == 0:
        A[fronts + EXPRESSION.PARTITION] = cut_by_fronts(A, H, S, start)
    set_top(S, start)
    return np.int64(A[fronts + EXPRESSION.PARTITION])


@kernel("i(arena, arena, arena, i)")
def partition(A, H, S, e):
    """Bytes of one class have the same derivative of e (Owens et al., section 4.2)."""
    if A[e + EXPRESSION.PARTITION] == 0:
        start = top(S)
        push_fronts(A, S, e)
        A[e + EXPRESSION.PARTITION] = partition_of_fronts(A, H, S, start)
    return np.int64(A[e + EXPRESSION.PARTITION])


@kernel("void(arena, arena, arena, i, i)")
def prepare(A, H, S, e, which):
    """Give e a row of successors, all unknown. which: ROW, for the pruned ones of `step`, or RAW, those of `derive`."""
    if A[e + which] == 0:
        p = partition(A, H, S, e)
        A[e + which] = region(A, A[p + PARTITION.CLASSES])


# --- derivatives ------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i, i)")
def derive_remainder(A, H, e, b):
    """The derivative of a REMAINDER by byte b."""
    if b == 0x2E:
        return e
    if b < 0x30 or b > 0x39:
        return NONE
    divisor = np.int64(A[e + REMAINDER.DIVISOR])
    rest = (10 * np.int64(A[e + REMAINDER.REST]) + b - 0x30) % divisor
    return remainder(A, H, divisor, rest, A[e + REMAINDER.DIGITS])


@kernel("i(arena, arena, arena, i, i)")
def after_copy(A, H, S, e, d):
    """The derivative of a REP whose unit has the derivative d."""
    if d == NONE:
        return NONE
    high = REP.HIGH(A, e)
    low = max(0, REP.LOW(A, e) - 1)
    return product(A, H, S, d, rep(A, H, REP.UNIT(A, e), low, high - 1 if high > 0 else -1))


derive_again = recursion(lambda: derive, 5)  # a kernel can only call itself, so all kinds with parts are in this one


@kernel("i(arena, arena, arena, i, i)")
def derive(A, H, S, e, b):
    """The derivative of e by byte b. Not pruned."""
    k = kind(A, e)
    if k == LITERAL.KIND:
        e = unrolled(A, H, e)
        k = kind(A, e)
    if k == BYTES.KIND:
        return EPS if has_byte(A, e, b) else NONE
    cell = 0
    if A[e + EXPRESSION.RAW_ROW] != 0:
        cell = A[e + EXPRESSION.RAW_ROW] + class_of(A, A[e + EXPRESSION.PARTITION], b)
        if A[cell] != 0:
            return np.int64(A[cell])
    d = NONE
    if k == REMAINDER.KIND:
        d = derive_remainder(A, H, e, b)
    elif k == CAT.KIND:
        head, tail = CAT.HEAD(A, e), CAT.TAIL(A, e)
        d = product(A, H, S, derive_again(A, H, S, head, b), tail)
        if is_nullable(A, head):
            d = alt2(A, H, S, d, derive_again(A, H, S, tail, b))
    elif k == REP.KIND:
        d = after_copy(A, H, S, e, derive_again(A, H, S, REP.UNIT(A, e), b))
    elif k == NOT.KIND:
        prepare(A, H, S, NOT.OPERAND(A, e), EXPRESSION.RAW_ROW)
        d = negate(A, H, derive_again(A, H, S, NOT.OPERAND(A, e), b))
    elif k == ALT.KIND or k == AND.KIND:
        start = top(S)
        for i in range(key_start(e), key_end(A, e)):
            if k == AND.KIND:  # each part is an automaton of its own: the product shares their rows
                prepare(A, H, S, A[i], EXPRESSION.RAW_ROW)
            push_flat(A, S, derive_again(A, H, S, A[i], b), k)
            if k == AND.KIND and S[top(S) - 1] == NONE:
                break
        d = both(A, H, S, start) if k == AND.KIND else alt(A, H, S, start)
    if cell != 0:
        A[cell] = d
    return d


# --- liveness ---------------------------------------------------------------------------------------------------------


@kernel("i(arena, i)")
def rank(A, e):
    """The distance of e from acceptance: the number of parts of an intersection that lack the empty text."""
    if kind(A, e) != AND.KIND:
        return 0
    found = 0
    for i in range(key_start(e), key_end(A, e)):
        if not is_nullable(A, A[i]):
            found += 1
    return min(found, RANKS - 1)


@kernel("void(arena, arena, i, i, i)")
def enqueue(A, S, ranks, e, before):
    """Add the row of a state to the queue and to its rank. before: the row that led to it, or -1."""
    row = top(S)
    push(S, e)
    push(S, before)
    push(S, -1)
    push(S, 0)
    at = ranks + rank(A, e) * RANK.WORDS
    if S[at + RANK.FIRST] < 0:
        S[at + RANK.FIRST] = row
    else:
        S[S[at + RANK.LAST] + VISIT.NEXT] = row
    S[at + RANK.LAST] = row


@kernel("i(arena, i)")
def take_nearest(S, ranks):
    """Take the first row of the least rank that is not done; -1: all are."""
    for at in range(ranks, ranks + RANKS * RANK.WORDS, RANK.WORDS):
        while S[at + RANK.FIRST] >= 0:
            row = np.int64(S[at + RANK.FIRST])
            S[at + RANK.FIRST] = S[row + VISIT.NEXT]
            if S[row + VISIT.DONE] == 0:
                return row
    return np.int64(-1)


@kernel("i(arena, i)")
def known_life(A, e):
    """1 if e contains a text, 0 if it does not, -1 if only a search can tell."""
    if e == NONE or A[e + EXPRESSION.LIFE] == DEAD:
        return 0
    if is_nullable(A, e) or not is_negative(A, e) or A[e + EXPRESSION.LIFE] == ALIVE or has_multiple(A, e):
        return 1
    return -1


@kernel("i(arena, arena, i)")
def begin_search(A, S, e):
    """Push empty ranks and a queue of VISIT rows with e alone. Returns where the ranks are."""
    ranks = top(S)
    start = ranks + RANKS * RANK.WORDS
    room(S, start - ranks)
    for at in range(ranks, start, RANK.WORDS):
        S[at + RANK.FIRST] = -1
    set_top(S, start)
    enqueue(A, S, ranks, e, -1)
    A[HEADER.SEARCH] += 1
    A[e + EXPRESSION.LIFE] = A[HEADER.SEARCH] + FIRST_SERIAL
    return ranks


@kernel("i(arena, arena, arena, i, i)")
def visit_successors(A, H, S, ranks, row):
    """Enqueue the successors of a row's state that were not visited; 1 if one of them is alive, else 0."""
    x = np.int64(S[row + VISIT.STATE])
    serial = A[HEADER.SEARCH] + FIRST_SERIAL
    prepare(A, H, S, x, EXPRESSION.RAW_ROW)
    p = np.int64(A[x + EXPRESSION.PARTITION])
    for c in range(A[p + PARTITION.CLASSES]):
        d = derive(A, H, S, x, representative(A, p, c))
        if A[d + EXPRESSION.LIFE] == serial:
            continue
        life = known_life(A, d)
        if life == 1:
            return 1
        if life < 0:
            A[d + EXPRESSION.LIFE] = serial
            enqueue(A, S, ranks, d, row)
    return 0


@kernel("i(arena, arena, arena, i)")
def search(A, H, S, ranks):
    """The row of a liveness search from which an acceptance is reached; -1: none is. Raises SearchLimit.

    Every other state is the nearest one, the rest come breadth-first: texts that fulfil n patterns at once are found
    pattern by pattern, not among all 2^n sets of patterns, and no search is longer than twice breadth-first search.
    """
    head = ranks + RANKS * RANK.WORDS
    visited = 0
    while head < top(S):
        row = take_nearest(S, ranks) if visited & 1 else head
        if row < 0 or row == head:
            row = head
            head += VISIT.WORDS
        if S[row + VISIT.DONE]:
            continue
        S[row + VISIT.DONE] = 1
        visited += 1
        if visited > A[HEADER.SEARCH_LIMIT]:
            set_top(S, ranks)
            raise SearchLimit()
        if visit_successors(A, H, S, ranks, row) == 1:
            return row
    return np.int64(-1)


@kernel("i(arena, arena, arena, i)")
def is_alive(A, H, S, e):
    """1 if e contains any text, else 0: searches for a nullable derivative, and remembers it. Raises SearchLimit."""
    life = known_life(A, e)
    if life == 1:
        A[e + EXPRESSION.LIFE] = ALIVE
    elif life < 0:
        ranks = begin_search(A, S, e)
        alive = search(A, H, S, ranks)
        life = 1 if alive >= 0 else 0
        if life == 0:
            for row in range(ranks + RANKS * RANK.WORDS, top(S), VISIT.WORDS):
                A[S[row + VISIT.STATE] + EXPRESSION.LIFE] = DEAD
        while alive >= 0:  # all that led to the acceptance
            A[S[alive + VISIT.STATE] + EXPRESSION.LIFE] = ALIVE
            alive = np.int64(S[alive + VISIT.FROM])
        set_top(S, ranks)
    return life


prune_again = recursion(lambda: prune, 5)


@kernel("i(arena, arena, arena, i, i)", entry=True)
def prune(A, H, S, e, deep):
    """e without the parts from which nothing can be accepted: all of them (deep), or only the parts where e begins.

    After a deep pruning, pruning the beginnings of derivatives is enough.
    """
    if not is_negative(A, e):
        return e
    spend(A, 1)
    k = kind(A, e)
    if k == LITERAL.KIND and not deep:
        return e
    if k == LITERAL.KIND:
        return literal(A, H, LITERAL.CHARACTERS(A, e), LITERAL.AT(A, e), prune_again(A, H, S, LITERAL.TAIL(A, e), deep))
    if k == ALT.KIND:
        start = top(S)
        for i in range(key_start(e), key_end(A, e)):
            push_flat(A, S, prune_again(A, H, S, A[i], deep), ALT.KIND)
        return alt(A, H, S, start)
    if k == CAT.KIND:
        tail = CAT.TAIL(A, e)
        if deep:
            tail = prune_again(A, H, S, tail, deep)
        return cat(A, H, prune_again(A, H, S, CAT.HEAD(A, e), deep), tail)
    if k == REP.KIND:
        return rep(A, H, prune_again(A, H, S, REP.UNIT(A, e), deep), REP.LOW(A, e), REP.HIGH(A, e)) if deep else e
    return e if is_alive(A, H, S, e) else NONE


@kernel("i(arena, i, i)")
def peek(A, e, b):
    """`step` if it is known, else 0. Small enough to be inlined: what a hot loop asks first."""
    return A[successor_cell(A, e, b)] if A[e + EXPRESSION.ROW] != 0 else 0


@kernel("i(arena, arena, arena, i, i)")
def step(A, H, S, e, b):
    """The state after byte b; NONE when no text of e begins so. e was pruned deep."""
    d = peek(A, e, b)
    if d == 0:
        prepare(A, H, S, e, EXPRESSION.ROW)
        d = derive(A, H, S, e, b)
        if is_negative(A, d):
            d = prune(A, H, S, d, 0)
        A[successor_cell(A, e, b)] = d
    return d


@kernel("i(arena, arena, arena, i)", entry=True)
def step_by_all(A, H, S, e):
    """Know the state after each byte (`step`), whose row EXPRESSION.ROW then is. Returns e, which was pruned deep."""
    prepare(A, H, S, e, EXPRESSION.ROW)
    p = np.int64(A[e + EXPRESSION.PARTITION])
    for c in range(A[p + PARTITION.CLASSES]):
        step(A, H, S, e, representative(A, p, c))
    return e


@kernel("i(arena, arena, arena, arena, i)", entry=True)
def run(A, H, S, text, e):
    """The state of e after the bytes (one a word) of `text`."""
    for i in range(text.size):
        e = step(A, H, S, e, text[i])
        if e == NONE:
            break
    return e
