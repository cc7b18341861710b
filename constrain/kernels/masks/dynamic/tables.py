"""Inside sets: what every token does with the lexemes that a lexer state may be in, whichever parser state waits.

The idea: `inside(l)` is found once for a lexer state l, by a walk of the trie (walks.py) or of where l differs
from a state that is known (differences.py), and shared by all grammars on the vocabulary. Lexer states that
have a part in common share that part's inside too:

* of a state with one terminal it is kept with the expression that is left of the terminal;
* a union is several *pieces* where a part is a whole terminal that begins like no other part: whitespace before a key,
  the brackets and numbers among values. Each token belongs to one piece, by its first byte.

    pieces   [n, (inside, TAGSET that OWN stands for)...]

Cost: one look-up when known. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.counters import clamp
from constrain.kernels.lexer.expressions import INSIDE, alt, continues, is_negative, is_nullable, push_fronts, tags
from constrain.kernels.masks.common.slices import MIN_ALIKE, alike, closed, most_covered, text_part
from constrain.kernels.masks.dynamic.differences import inside_by_difference, inside_by_exceptions, reference_of
from constrain.kernels.masks.dynamic.walks import inside_by_walk, tag_of, untagged
from constrain.kernels.records.arena import ALT, CAT, DEPTH, KEY, NONE, kind, push, region, room, size


@kernel("i(arena, arena, arena, i, i)")
def one_piece(A, H, S, lexer, head):
    """The pieces of a lexer state that is in one piece, with this inside region, or the one from a walk if it is 0."""
    known = np.int64(A[lexer + INSIDE])
    if head == 0 and known != 0 and A[known] == 1:
        return known
    e = untagged(A, H, S, lexer)
    if head == 0 and e != 0:
        head = np.int64(A[e + INSIDE])
    if head == 0:
        head = inside_by_walk(A, H, S, lexer)
    if e != 0:
        A[e + INSIDE] = head
    own = tags(A, H, S, tag_of(A, lexer)) if e != 0 else 0
    pieces = region(A, 3)
    A[pieces], A[pieces + 1], A[pieces + 2] = 1, head, own
    A[lexer + INSIDE] = pieces
    return pieces


@kernel("i(arena, arena, arena, i)")
def inside_of_one(A, H, S, lexer):
    """The pieces of a lexer state that is not taken apart, by the cheapest way that is open to it."""
    if A[lexer + INSIDE] != 0:
        return np.int64(A[lexer + INSIDE])
    e = untagged(A, H, S, lexer)
    if e != 0 and A[e + INSIDE] != 0:
        return one_piece(A, H, S, lexer, 0)
    text = text_part(A, H, S, lexer)
    head = 0
    if text != 0 and alike(A, H, S, lexer, text) >= MIN_ALIKE:
        head = inside_by_difference(A, H, S, lexer, text, one_piece(A, H, S, text, 0))
    elif not most_covered(A, H, S, lexer):
        reference = reference_of(A, H, S, lexer)
        if reference != 0:
            head = inside_by_exceptions(A, H, S, lexer, reference, one_piece(A, H, S, reference, 0))
        elif text != 0 and not closed(A, H, S, lexer, 0):
            head = inside_by_difference(A, H, S, lexer, text, one_piece(A, H, S, text, 0))
    return one_piece(A, H, S, lexer, head)


# --- pieces -----------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i)")
def is_whole(A, H, S, lexer):
    """Whether nothing of the one terminal of a lexer state was read yet (or it loops)."""
    e = untagged(A, H, S, lexer)
    return 1 if e != 0 and e == clamp(A, H, S, A[tag_of(A, lexer) + KEY], A[DEPTH]) else 0


@kernel("i(arena, arena, i, i)")
def first_bytes(A, S, e, out):
    """Write the 8 words of the set of bytes with which e can begin to S[out ...]; 0 if they cannot be told."""
    for w in range(8):
        S[out + w] = 0
    while kind(A, e) == CAT and not is_nullable(A, A[e + KEY]):
        e = np.int64(A[e + KEY])
    if is_negative(A, e):
        return 0
    start = np.int64(S[0])
    push_fronts(A, S, e)
    for i in range(start, S[0]):
        for w in range(8):
            S[out + w] |= A[S[i] + KEY + w]
    S[0] = start
    return 1


@kernel("i(arena, arena, i, i)")
def stands_apart(A, S, sets, k):
    """Whether the k-th of the byte sets S[sets : S[0]] meets no other."""
    for i in range(sets, S[0], 8):
        if i != sets + 8 * k:
            for w in range(8):
                if S[i + w] & S[sets + 8 * k + w] != 0:
                    return 0
    return 1


@kernel("i(arena, arena, arena, i)")
def push_apart(A, H, S, lexer):
    """Push the parts of a union that are whole terminals and begin like no other part: how many of the others there
    are."""
    n = size(A, lexer)
    start = np.int64(S[0])
    whole = 0
    for i in range(lexer + KEY, lexer + KEY + n):
        whole += is_whole(A, H, S, A[i])
    if whole == 0:
        return n
    sets = start + n
    room(S, 9 * n)
    S[0] = sets + 8 * n
    for k in range(n):
        if not first_bytes(A, S, A[lexer + KEY + k], sets + 8 * k):
            S[0] = start
            return n
    top = start
    for k in range(n):
        if is_whole(A, H, S, A[lexer + KEY + k]) and stands_apart(A, S, sets, k):
            S[top] = A[lexer + KEY + k]
            top += 1
    S[0] = top
    return n - (top - start)


@kernel("void(arena, arena, i)")
def push_pieces(A, S, pieces):
    """Push the pairs (inside, own tagset) of a region of pieces."""
    for i in range(pieces + 1, pieces + 1 + 2 * A[pieces]):
        push(S, A[i])


@kernel("i(arena, arena, arena, i)")
def find_pieces(A, H, S, lexer):
    """The pieces of a lexer state."""
    start = np.int64(S[0])
    others = push_apart(A, H, S, lexer) if kind(A, lexer) == ALT else 0
    apart = np.int64(S[0])
    if apart == start:
        return inside_of_one(A, H, S, lexer)
    rest = np.int64(NONE)
    if others > 0:
        for i in range(lexer + KEY, lexer + KEY + size(A, lexer)):
            k = start
            while k < apart and S[k] != A[i]:
                k += 1
            if k == apart:
                push(S, A[i])
        rest = alt(A, H, S, apart)
    for k in range(start, apart):
        push_pieces(A, S, inside_of_one(A, H, S, S[k]))
    if continues(A, rest):  # it may be a lone tag, in which nothing goes on
        push_pieces(A, S, inside_of_one(A, H, S, rest))
    n = np.int64(S[0]) - apart
    pieces = region(A, 1 + n)
    A[pieces] = n // 2
    for k in range(n):
        A[pieces + 1 + k] = S[apart + k]
    S[0] = start
    return pieces


@kernel("i(arena, arena, arena, i)")
def inside(A, H, S, lexer):
    """The pieces of a lexer state: what every token does with the lexeme in progress."""
    lexer = clamp(A, H, S, lexer, A[DEPTH])
    if A[lexer + INSIDE] == 0:
        A[lexer + INSIDE] = find_pieces(A, H, S, lexer)
    return np.int64(A[lexer + INSIDE])
