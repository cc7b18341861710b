"""Slices in the arena: which tokens made of one class of characters may all be read from a lexer state, at once.

The idea (vocab/slices.py): where every character of a class leads on, whichever it is, the tokens made of such
characters need no walk. Three ways to see that n of them may be read:

* `run_length`: the head of the expression counts them (`[a-z]{0,40}...`);
* `uniform_run`: from state to state, every character of the class leads to the same next state. This needs no look at
  the expression, so it serves intersections and complements (a pattern together with a length, any key but some);
* `closed`: the characters lead to few states in all, and from each of these every character leads on (keys that a
  pattern tells apart: all stay inside, though in different states).

Tokens of slices of words (SPACED) may begin with one space more, so these are admitted where the characters lead on
both here and after a space.

    slice    [nodes, n, main, longest, rows, sequences, q, spaced, bytes (8 words)]
             the trie of the other tokens and each node's number in the whole trie; longest + 1 bitmaps: row r = tokens
             of at most r characters; q runs of SEQUENCE words, the UTF-8 of the class: [number of bytes, low, high...]
    UNIFORM(state, slice)     memo: the one successor; closed?

Cost: `uniform` some thousand look-ups once per state and slice.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.lexer.expressions import (
    FIRST_SLICE,
    FLAGS,
    alt,
    alt2,
    both,
    cat,
    continues,
    is_negative,
    is_nullable,
    peek,
    prune,
    push_flat,
    rep,
    step,
    tags,
)
from constrain.kernels.records.arena import (
    ALT,
    AND,
    BYTES,
    CAT,
    EPS,
    KEY,
    N_SLICES,
    N_TOKENS,
    NO_TAGS,
    NONE,
    REP,
    SLICES,
    UNIFORM,
    intern2,
    kind,
    push,
    size,
)

SLICE, SEQUENCE = 16, 9
NODES, PIECE_NODES, MAIN, LONGEST, ROWS, SEQUENCES, N_SEQUENCES, SPACED, SLICE_BYTES = 0, 1, 2, 3, 4, 5, 6, 7, 8
POINTERS = (NODES, MAIN, ROWS, SEQUENCES)
TARGET, CLOSED = 1, 2  # of UNIFORM records; TARGET 1: it depends on the character. CLOSED: 1 no, 2 yes
MAX_FRONTIER = 8  # states in the middle of a character
MAX_CLOSED = 40  # states that `closed` follows
MAX_PARTS = 6  # of a union or an intersection that `uniform` looks at
MIN_ALIKE = 3  # small letters after which two states must be one, for a walk of their difference only


run_length_again = recursion(lambda: run_length, 4)


@kernel("i(arena, i, i, i)")
def run_length(A, e, j, alone):
    """How many characters of slice j, whichever they are, may be read from e: what its head counts, or 0.

    A count below the slice's longest token is an answer only if longer tokens are dead for certain: e is `alone` and
    after the count comes a byte that is in no character of the class.
    """
    rest = EPS
    while kind(A, e) == CAT:
        rest = np.int64(A[e + KEY + 1])
        e = np.int64(A[e + KEY])
    if kind(A, e) == ALT:
        best = 0
        for i in range(e + KEY, e + KEY + size(A, e)):
            best = max(best, run_length_again(A, A[i], j, 0))
        return best
    if kind(A, e) != REP or (A[A[e + KEY] + FLAGS] >> (FIRST_SLICE + j)) & 1 == 0:
        return 0
    piece = A[SLICES] + SLICE * j
    high = np.int64(A[e + KEY + 2])
    if high < 0 or high >= A[piece + LONGEST]:
        return np.int64(A[piece + LONGEST])
    if kind(A, rest) == CAT:
        rest = np.int64(A[rest + KEY])
    if not alone or kind(A, rest) != BYTES:
        return 0
    for w in range(8):
        if A[rest + KEY + w] & A[piece + SLICE_BYTES + w] != 0:
            return 0
    return high


@kernel("i(arena, arena, arena, i, i)")
def find_uniform(A, H, S, e, j):
    """`uniform`, computed: every byte sequence of the class is followed, all states of a position at once."""
    piece = A[SLICES] + SLICE * j
    found = 0
    start = np.int64(S[0])
    for q in range(A[piece + N_SEQUENCES]):
        sequence = A[piece + SEQUENCES] + SEQUENCE * q
        S[0] = start
        push(S, e)
        low = start
        high = np.int64(S[0])
        for k in range(A[sequence]):
            for x in range(low, high):
                last = -1
                for b in range(A[sequence + 1 + 2 * k], A[sequence + 2 + 2 * k] + 1):
                    d = NONE
                    if S[x] != NONE:
                        d = peek(A, S[x], b)
                        if d == 0:
                            d = step(A, H, S, S[x], b)
                    if d == last:
                        continue
                    last = d
                    fresh = True
                    for y in range(high, S[0]):
                        fresh = fresh and S[y] != d
                    if fresh:
                        push(S, d)
                        if S[0] - high > MAX_FRONTIER:
                            S[0] = start
                            return 0
            low = high
            high = np.int64(S[0])
        for x in range(low, high):
            if found != 0 and found != S[x]:
                S[0] = start
                return 0
            found = np.int64(S[x])
    S[0] = start
    return found


@kernel("i(arena, arena, arena, i, i, i)")
def after_sequence(A, H, S, e, d, f):
    """What a CAT or a REP becomes when its head becomes d (and the tail of a CAT f): the derivative of expressions.py,
    by a character instead of a byte."""
    if kind(A, e) == REP:
        high = np.int64(A[e + KEY + 2])
        return cat(A, H, d, rep(A, H, A[e + KEY], max(0, A[e + KEY + 1] - 1), high - 1 if high > 0 else -1))
    return alt2(A, H, S, cat(A, H, d, A[e + KEY + 1]), f)


uniform_again = recursion(lambda: uniform, 5)


@kernel("i(arena, arena, arena, i, i)")
def uniform(A, H, S, e, j):
    """The one state to which every character of slice j leads from e; NONE if none may come, 0 if it depends.

    PERF: beside a counter (a pattern together with a length) every character leads to a new state, and to others in the
    middle of it: some 60 records. So there the answer is put together from those of the parts: few, and mostly known.
    """
    memo = intern2(A, H, UNIFORM, e, j)
    if A[memo + TARGET] != 0:
        return np.int64(A[memo + TARGET]) if A[memo + TARGET] != 1 else 0
    found = 0
    k = kind(A, e)
    if k == REP or (k == CAT and is_negative(A, e)):
        found = uniform_again(A, H, S, A[e + KEY], j)
        rest = NONE
        if k == CAT and is_nullable(A, A[e + KEY]) and found != 0:
            rest = uniform_again(A, H, S, A[e + KEY + 1], j)
        found = after_sequence(A, H, S, e, found, rest) if found != 0 and rest != 0 else 0
    elif (k == AND or k == ALT) and is_negative(A, e) and size(A, e) <= MAX_PARTS:
        start = np.int64(S[0])
        found = 1
        for i in range(e + KEY, e + KEY + size(A, e)):
            if found != 0:
                found = uniform_again(A, H, S, A[i], j)
                push_flat(A, S, found if found != 0 else NONE, k)
        if found != 0:
            found = both(A, H, S, start) if k == AND else alt(A, H, S, start)
        S[0] = start
    if found != 0 and is_negative(A, found):
        found = prune(A, H, S, found, 0)
    if found == 0:
        found = find_uniform(A, H, S, e, j)
    A[memo + TARGET] = found if found != 0 else 1
    return found


@kernel("i(arena, arena, arena, i, i)")
def uniform_run(A, H, S, e, j):
    """How many characters of slice j, whichever they are, may be read from e without ending a lexeme; no more may, or
    the answer is the longest of the slice. 0 if it depends on the characters.
    """
    longest = np.int64(A[A[SLICES] + SLICE * j + LONGEST])
    n = 0
    while n < longest:
        d = uniform(A, H, S, e, j)
        if d == NONE:
            return n
        if d == 0 or not continues(A, d) or tags(A, H, S, d) != NO_TAGS:
            return 0
        if d == e:
            return longest
        n += 1
        e = d
    return n


@kernel("i(arena, arena, arena, i, i, i)")
def add_successors(A, H, S, e, j, start):
    """Push the states after each character of slice j that S[start : S[0]] lacks; 0 if one of them is dead or may end a
    lexeme, or if they are too many."""
    piece = A[SLICES] + SLICE * j
    for q in range(A[piece + N_SEQUENCES]):
        sequence = A[piece + SEQUENCES] + SEQUENCE * q
        bottom = np.int64(S[0])  # the states in the middle of a character stand above, for a while
        low = bottom
        push(S, e)
        high = np.int64(S[0])
        for k in range(A[sequence]):
            for x in range(low, high):
                last = -1
                for b in range(A[sequence + 1 + 2 * k], A[sequence + 2 + 2 * k] + 1):
                    d = peek(A, S[x], b)
                    if d == 0:
                        d = step(A, H, S, S[x], b)
                    if d == last:
                        continue
                    last = d
                    fresh = d != NONE
                    for y in range(high, S[0]):
                        fresh = fresh and S[y] != d
                    if fresh:
                        push(S, d)
                    if d == NONE or S[0] - high > MAX_FRONTIER:
                        S[0] = bottom
                        return 0
            low = high
            high = np.int64(S[0])
        top = bottom
        for x in range(low, high):
            d = np.int64(S[x])
            if not continues(A, d) or tags(A, H, S, d) != NO_TAGS:
                S[0] = bottom
                return 0
            fresh = True
            for y in range(start, top):
                fresh = fresh and S[y] != d
            if fresh:
                S[top] = d
                top += 1
        S[0] = top
    return 1


@kernel("i(arena, arena, arena, i, i)")
def closed(A, H, S, e, j):
    """Whether any number of characters of slice j, whichever they are, may be read from e without ending a lexeme."""
    memo = intern2(A, H, UNIFORM, e, j)
    if A[memo + CLOSED] == 0:
        start = np.int64(S[0])
        push(S, e)
        all_lead_on = True
        x = start
        while all_lead_on and x < S[0]:
            all_lead_on = add_successors(A, H, S, S[x], j, start) != 0 and S[0] - start <= MAX_CLOSED
            x += 1
        stop = np.int64(S[0]) if all_lead_on else start
        for y in range(start, stop):  # what holds for e holds for all that it leads to
            A[intern2(A, H, UNIFORM, S[y], j) + CLOSED] = 2
        if not all_lead_on:
            A[memo + CLOSED] = 1
        S[0] = start
    return A[memo + CLOSED] == 2


@kernel("i(arena, arena, arena, i)")
def after_space(A, H, S, e):
    """The state after a space, if the lexeme only goes on there; else NONE."""
    d = step(A, H, S, e, 0x20)
    return d if d != NONE and continues(A, d) and tags(A, H, S, d) == NO_TAGS else NONE


@kernel("i(arena, arena, arena, i, i)")
def word_run(A, H, S, e, j):
    """`uniform_run` with regard to the space that tokens of slice j may begin with: 0 if one is dead for it."""
    n = uniform_run(A, H, S, e, j)
    piece = A[SLICES] + SLICE * j
    if n == 0 or A[piece + SPACED] == 0:
        return n
    d = after_space(A, H, S, e)
    both = n == A[piece + LONGEST] and d != NONE and uniform_run(A, H, S, d, j) == A[piece + LONGEST]
    return n if both else 0


@kernel("i(arena, arena, arena, i, i)")
def words_closed(A, H, S, e, j):
    """`closed` with regard to the space that tokens of slice j may begin with."""
    if not closed(A, H, S, e, j):
        return 0
    if A[A[SLICES] + SLICE * j + SPACED] == 0:
        return 1
    d = after_space(A, H, S, e)
    return 1 if d != NONE and closed(A, H, S, d, j) else 0


@kernel("i(arena, arena, arena, i)")
def covering_slice(A, H, S, lexer):
    """(number of the first slice that a lexer state admits + 1) << 32 | of how many characters; 0 if none."""
    e = step(A, H, S, lexer, 0x71)  # every slice has the small letters: a look at two of them says no to most states
    maybe = e != NONE and e == step(A, H, S, lexer, 0x65)
    for j in range(A[N_SLICES]):
        n = run_length(A, lexer, j, 1)
        if n == 0 and maybe:
            n = word_run(A, H, S, lexer, j)
        if n > 0:
            return ((j + 1) << 32) | n
    return 0


@kernel("i(arena, arena, arena, i)")
def largest_slice(A, H, S, lexer):
    """`covering_slice`, or one with more tokens that is closed from here on."""
    found = covering_slice(A, H, S, lexer)
    stop = found >> 32 if found != 0 else A[N_SLICES] + 1
    if step(A, H, S, lexer, 0x71) == NONE or step(A, H, S, lexer, 0x65) == NONE:
        return found
    for j in range(stop - 1):
        if words_closed(A, H, S, lexer, j):
            return ((j + 1) << 32) | A[A[SLICES] + SLICE * j + LONGEST]
    return found


@kernel("i(arena, arena, arena, i)")
def most_covered(A, H, S, lexer):
    """Whether a lexer state admits the slice with the most tokens, or one of words: no other state knows more."""
    found = covering_slice(A, H, S, lexer) >> 32
    return found == 1 or (found != 0 and A[A[SLICES] + SLICE * (found - 1) + SPACED] != 0)


@kernel("i(arena, arena, arena, i)")
def loops(A, H, S, lexer):
    """Whether a lexer state goes on forever with any character of some slice."""
    found = covering_slice(A, H, S, lexer)
    return found != 0 and uniform(A, H, S, lexer, (found >> 32) - 1) == lexer


@kernel("i(arena, arena, i, i)")
def copy_slice(A, S, found, bitmap):
    """Copy the tokens of a slice that `covering_slice` found to the bitmap; the slice, or 0."""
    if found == 0:
        return 0
    piece = A[SLICES] + SLICE * ((found >> 32) - 1)
    row = min(found & 0xFFFFFFFF, A[piece + LONGEST])
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    start = A[piece + ROWS] + row * words
    bits = A[start : start + words]
    copy = S[bitmap : bitmap + words]
    for w in range(words):
        copy[w] = bits[w]
    return piece


@kernel("i(arena, arena, arena, i)")
def text_part(A, H, S, lexer):
    """The only part of a union that loops on a whole slice (the body of a string, say, beside some keys), or 0."""
    found = 0
    if kind(A, lexer) == ALT:
        for i in range(lexer + KEY, lexer + KEY + size(A, lexer)):
            for j in range(A[N_SLICES]):
                n = run_length(A, A[i], j, 0)
                if n == 0 and j == 0 and is_negative(A, A[i]):
                    n = uniform_run(A, H, S, A[i], j)
                if n > 0:
                    if found != 0:
                        return 0
                    found = np.int64(A[i])
                    break
    return found


@kernel("i(arena, arena, arena, i, i)")
def alike(A, H, S, e, f):
    """How many of the small letters lead from two states to the same state."""
    n = 0
    for letter in range(0x61, 0x7B):
        if step(A, H, S, e, letter) == step(A, H, S, f, letter):
            n += 1
    return n
