"""Slices in the arena: which tokens made of one class of characters may all be read from a lexer state, at once.

The idea (vocab/slices.py): where every character of a class leads on, the tokens made of such characters need no walk.
Three ways to see that n of them may be read:

* `run_length`: the head of the expression counts them (`[a-z]{0,40}...`);
* `uniform_run`: from state to state, every character of the class leads to the same next state. This needs no look at
  the expression, so it serves intersections and complements (a pattern together with a length, any key but some);
* `closed`: the characters lead to few states in all, and from each of these every character leads on (keys that a
  pattern tells apart: all stay inside, though in different states).

Tokens of slices of words (SPACED) may begin with one space more, so these are admitted where the characters lead on
both here and after a space.

Records: records/vocabulary.py. Cost: `uniform` makes some thousand look-ups once per state
and slice. Reference: tests/masks/engine/test_almost_text.py.
"""

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.lexer.derivatives import peek, prune, step
from constrain.kernels.lexer.expressions import both, cat, push_flat, rep
from constrain.kernels.lexer.states import tags
from constrain.kernels.lexer.unions import alt, alt2
from constrain.kernels.records.arena import (
    EPS,
    HEADER,
    NO_TAGS,
    NONE,
    intern2,
    key_end,
    key_start,
    key_word,
    kind,
    size,
)
from constrain.kernels.records.expressions import (
    ALT,
    AND,
    BYTES,
    CAT,
    EXPRESSION,
    FIRST_SLICE,
    REP,
    continues,
    is_negative,
    is_nullable,
    set_word,
)
from constrain.kernels.records.stack import push, set_top, top
from constrain.kernels.records.vocabulary import (
    DEPENDS,
    SEQUENCE,
    SLICE,
    UNIFORM,
    highest_byte,
    lowest_byte,
    mask_words,
    sequence_at,
    slice_at,
)

MAX_FRONTIER = 8  # states in the middle of a character
MAX_CLOSED = 40  # states that `closed` follows
MAX_PARTS = 6  # of a union or an intersection that `uniform` looks at
MIN_ALIKE = 3  # small letters after which two states must be one, for a walk of their difference only


run_length_again = recursion(lambda: run_length, 4)


@kernel("i(arena, i, i, i)")
def run_length(A, e, j, alone):
    """The number of characters of slice j that may be read from e, as its head counts them, or 0.

    A count below the slice's longest token is an answer only if longer tokens are dead for certain: e is `alone` and
    after the count comes a byte that is in no character of the class.
    """
    rest = EPS
    while kind(A, e) == CAT.KIND:
        rest = CAT.TAIL(A, e)
        e = CAT.HEAD(A, e)
    if kind(A, e) == ALT.KIND:
        best = 0
        for i in range(key_start(e), key_end(A, e)):
            best = max(best, run_length_again(A, A[i], j, 0))
        return best
    if kind(A, e) != REP.KIND or (EXPRESSION.FLAGS(A, REP.UNIT(A, e)) >> (FIRST_SLICE + j)) & 1 == 0:
        return 0
    piece = slice_at(A, j)
    high = REP.HIGH(A, e)
    if high < 0 or high >= SLICE.LONGEST(A, piece):
        return SLICE.LONGEST(A, piece)
    if kind(A, rest) == CAT.KIND:
        rest = CAT.HEAD(A, rest)
    if not alone or kind(A, rest) != BYTES.KIND:
        return 0
    for w in range(8):
        if set_word(A, rest, w) & A[piece + SLICE.BYTES + w] != 0:
            return 0
    return high


@kernel("i(arena, arena, arena, i, i)")
def find_uniform(A, H, S, e, j):
    """Find `uniform`: follow every byte sequence of the class, all states of a position at once."""
    piece = slice_at(A, j)
    target = 0
    start = top(S)
    for q in range(A[piece + SLICE.N_SEQUENCES]):
        sequence = sequence_at(A, piece, q)
        set_top(S, start)
        push(S, e)
        low = start
        high = top(S)
        for k in range(A[sequence + SEQUENCE.LENGTH]):
            for x in range(low, high):
                last = -1
                for b in range(lowest_byte(A, sequence, k), highest_byte(A, sequence, k) + 1):
                    d = NONE
                    if S[x] != NONE:
                        d = peek(A, S[x], b)
                        if d == 0:
                            d = step(A, H, S, S[x], b)
                    if d == last:
                        continue
                    last = d
                    fresh = True
                    for y in range(high, top(S)):
                        fresh = fresh and S[y] != d
                    if fresh:
                        push(S, d)
                        if top(S) - high > MAX_FRONTIER:
                            set_top(S, start)
                            return 0
            low = high
            high = top(S)
        for x in range(low, high):
            if target != 0 and target != S[x]:
                set_top(S, start)
                return 0
            target = np.int64(S[x])
    set_top(S, start)
    return target


@kernel("i(arena, arena, arena, i, i, i)")
def after_sequence(A, H, S, e, d, f):
    """The derivative of a CAT or a REP by a character, by which its head becomes d (and the tail of a CAT f)."""
    if kind(A, e) == REP.KIND:
        high = REP.HIGH(A, e)
        return cat(A, H, d, rep(A, H, REP.UNIT(A, e), max(0, REP.LOW(A, e) - 1), high - 1 if high > 0 else -1))
    return alt2(A, H, S, cat(A, H, d, CAT.TAIL(A, e)), f)


uniform_again = recursion(lambda: uniform, 5)


@kernel("i(arena, arena, arena, i, i)")
def uniform(A, H, S, e, j):
    """The one state to which every character of slice j leads from e; NONE if none may come, 0 if it depends.

    PERF: in an intersection with a counter (a pattern together with a length) every character leads to a new state, and
    to others in the middle of it: some 60 records. So there the answer is put together from those of the parts: few,
    and mostly known.
    """
    memo = intern2(A, H, UNIFORM.KIND, e, j)
    if A[memo + UNIFORM.TARGET] != 0:
        return np.int64(A[memo + UNIFORM.TARGET]) if A[memo + UNIFORM.TARGET] != DEPENDS else 0
    target = 0
    k = kind(A, e)
    if k == REP.KIND or (k == CAT.KIND and is_negative(A, e)):
        target = uniform_again(A, H, S, key_word(A, e, 0), j)  # of the head of a CAT, or what a REP repeats
        rest = NONE
        if k == CAT.KIND and is_nullable(A, CAT.HEAD(A, e)) and target != 0:
            rest = uniform_again(A, H, S, CAT.TAIL(A, e), j)
        target = after_sequence(A, H, S, e, target, rest) if target != 0 and rest != 0 else 0
    elif (k == AND.KIND or k == ALT.KIND) and is_negative(A, e) and size(A, e) <= MAX_PARTS:
        start = top(S)
        target = 1
        for i in range(key_start(e), key_end(A, e)):
            if target != 0:
                target = uniform_again(A, H, S, A[i], j)
                push_flat(A, S, target if target != 0 else NONE, k)
        if target != 0:
            target = both(A, H, S, start) if k == AND.KIND else alt(A, H, S, start)
        set_top(S, start)
    if target != 0 and is_negative(A, target):
        target = prune(A, H, S, target, 0)
    if target == 0:
        target = find_uniform(A, H, S, e, j)
    A[memo + UNIFORM.TARGET] = target if target != 0 else DEPENDS
    return target


@kernel("i(arena, arena, arena, i, i)")
def uniform_run(A, H, S, e, j):
    """The number of characters of slice j that may be read from e without ending a lexeme; at most the longest of the
    slice. 0 if it depends on the characters."""
    longest = SLICE.LONGEST(A, slice_at(A, j))
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
    """Push the states after each character of slice j that the stack lacks from S[start] on; 0 if one of them is dead
    or may end a lexeme, or if they are too many."""
    piece = slice_at(A, j)
    for q in range(A[piece + SLICE.N_SEQUENCES]):
        sequence = sequence_at(A, piece, q)
        bottom = top(S)  # the states in the middle of a character stand above, for a while
        low = bottom
        push(S, e)
        high = top(S)
        for k in range(A[sequence + SEQUENCE.LENGTH]):
            for x in range(low, high):
                last = -1
                for b in range(lowest_byte(A, sequence, k), highest_byte(A, sequence, k) + 1):
                    d = peek(A, S[x], b)
                    if d == 0:
                        d = step(A, H, S, S[x], b)
                    if d == last:
                        continue
                    last = d
                    fresh = d != NONE
                    for y in range(high, top(S)):
                        fresh = fresh and S[y] != d
                    if fresh:
                        push(S, d)
                    if d == NONE or top(S) - high > MAX_FRONTIER:
                        set_top(S, bottom)
                        return 0
            low = high
            high = top(S)
        kept = bottom
        for x in range(low, high):
            d = np.int64(S[x])
            if not continues(A, d) or tags(A, H, S, d) != NO_TAGS:
                set_top(S, bottom)
                return 0
            fresh = True
            for y in range(start, kept):
                fresh = fresh and S[y] != d
            if fresh:
                S[kept] = d
                kept += 1
        set_top(S, kept)
    return 1


@kernel("i(arena, arena, arena, i, i)")
def closed(A, H, S, e, j):
    """True if any number of characters of slice j may be read from e without ending a lexeme."""
    memo = intern2(A, H, UNIFORM.KIND, e, j)
    if A[memo + UNIFORM.CLOSED] == 0:
        start = top(S)
        push(S, e)
        all_lead_on = True
        x = start
        while all_lead_on and x < top(S):
            all_lead_on = add_successors(A, H, S, S[x], j, start) != 0 and top(S) - start <= MAX_CLOSED
            x += 1
        stop = top(S) if all_lead_on else start
        for y in range(start, stop):  # what holds for e holds for all that it leads to
            A[intern2(A, H, UNIFORM.KIND, S[y], j) + UNIFORM.CLOSED] = 2
        if not all_lead_on:
            A[memo + UNIFORM.CLOSED] = 1
        set_top(S, start)
    return A[memo + UNIFORM.CLOSED] == 2


@kernel("i(arena, arena, arena, i)")
def after_space(A, H, S, e):
    """The state after a space, if the lexeme only goes on there; else NONE."""
    d = step(A, H, S, e, 0x20)
    return d if d != NONE and continues(A, d) and tags(A, H, S, d) == NO_TAGS else NONE


@kernel("i(arena, arena, arena, i, i)")
def word_run(A, H, S, e, j):
    """`uniform_run` with regard to the space that tokens of slice j may begin with: 0 if one is dead for it."""
    n = uniform_run(A, H, S, e, j)
    piece = slice_at(A, j)
    if n == 0 or A[piece + SLICE.SPACED] == 0:
        return n
    d = after_space(A, H, S, e)
    is_same = n == SLICE.LONGEST(A, piece) and d != NONE and uniform_run(A, H, S, d, j) == SLICE.LONGEST(A, piece)
    return n if is_same else 0


@kernel("i(arena, arena, arena, i, i)")
def words_closed(A, H, S, e, j):
    """`closed` with regard to the space that tokens of slice j may begin with."""
    if not closed(A, H, S, e, j):
        return 0
    if A[slice_at(A, j) + SLICE.SPACED] == 0:
        return 1
    d = after_space(A, H, S, e)
    return 1 if d != NONE and closed(A, H, S, d, j) else 0


@kernel("i(arena, arena, arena, i)")
def covering_slice(A, H, S, lexer):
    """(number of the first slice that a lexer state admits + 1) << 32 | of how many characters; 0 if none."""
    e = step(A, H, S, lexer, 0x71)  # every slice has the small letters: a look at two of them says no to most states
    maybe = e != NONE and e == step(A, H, S, lexer, 0x65)
    for j in range(A[HEADER.N_SLICES]):
        n = run_length(A, lexer, j, 1)
        if n == 0 and maybe:
            n = word_run(A, H, S, lexer, j)
        if n > 0:
            return ((j + 1) << 32) | n
    return 0


@kernel("i(arena, arena, arena, i)")
def largest_slice(A, H, S, lexer):
    """`covering_slice`, or one with more tokens that is closed from here on."""
    covering = covering_slice(A, H, S, lexer)
    stop = covering >> 32 if covering != 0 else A[HEADER.N_SLICES] + 1
    if step(A, H, S, lexer, 0x71) == NONE or step(A, H, S, lexer, 0x65) == NONE:
        return covering
    for j in range(stop - 1):
        if words_closed(A, H, S, lexer, j):
            return ((j + 1) << 32) | SLICE.LONGEST(A, slice_at(A, j))
    return covering


@kernel("i(arena, arena, arena, i)")
def most_covered(A, H, S, lexer):
    """True if a lexer state admits the slice with the most tokens, or one of words: no other state knows more."""
    number = covering_slice(A, H, S, lexer) >> 32
    return number == 1 or (number != 0 and A[slice_at(A, number - 1) + SLICE.SPACED] != 0)


@kernel("i(arena, arena, arena, i)")
def loops(A, H, S, lexer):
    """True if a lexer state goes on forever with any character of some slice."""
    covering = covering_slice(A, H, S, lexer)
    return covering != 0 and uniform(A, H, S, lexer, (covering >> 32) - 1) == lexer


@kernel("i(arena, arena, i, i)")
def copy_slice(A, S, covering, bitmap):
    """Copy the tokens of a slice that `covering_slice` covering to the bitmap; the slice, or 0."""
    if covering == 0:
        return 0
    piece = slice_at(A, (covering >> 32) - 1)
    row = min(covering & 0xFFFFFFFF, SLICE.LONGEST(A, piece))
    words = mask_words(A)
    start = A[piece + SLICE.ROWS] + row * words
    bits = A[start : start + words]
    copy = S[bitmap : bitmap + words]
    for w in range(words):
        copy[w] = bits[w]
    return piece


@kernel("i(arena, arena, arena, i)")
def text_part(A, H, S, lexer):
    """The only part of a union that loops on a whole slice (any string, in a union with some keys), or 0."""
    text = 0
    if kind(A, lexer) == ALT.KIND:
        for i in range(key_start(lexer), key_end(A, lexer)):
            for j in range(A[HEADER.N_SLICES]):
                n = run_length(A, A[i], j, 0)
                if n == 0 and j == 0 and is_negative(A, A[i]):
                    n = uniform_run(A, H, S, A[i], j)
                if n > 0:
                    if text != 0:
                        return 0
                    text = np.int64(A[i])
                    break
    return text


@kernel("i(arena, arena, arena, i, i)")
def alike(A, H, S, e, f):
    """The number of small letters that lead from two states to the same state."""
    n = 0
    for letter in range(0x61, 0x7B):
        if step(A, H, S, e, letter) == step(A, H, S, f, letter):
            n += 1
    return n
