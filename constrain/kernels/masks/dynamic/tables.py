"""Token tables of lexer states: what every token does with the lexemes in progress, whichever parser state waits.

The idea: `tables_of(l)` is found once for a lexer state l, by a walk of the trie (walks.py) or of where l differs from
a state that is known (differences.py), and shared by all grammars on the vocabulary. Lexer states that have a part in
common share that part's table too:

* the table of a state with one terminal is kept with the expression that is left of the terminal;
* a union is several *pieces* where a part is a whole terminal that begins like no other part: whitespace before a key,
  the brackets and numbers among values. Each token belongs to one piece, by its first byte.

Records: records/dynamic_tables.py. Cost: one look-up when known. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.counters import clamp
from constrain.kernels.lexer.derivatives import push_fronts
from constrain.kernels.lexer.states import tags
from constrain.kernels.lexer.unions import alt
from constrain.kernels.masks.common.slices import MIN_ALIKE, alike, closed, most_covered, text_part
from constrain.kernels.masks.dynamic.differences import PART, REFERENCE, looping_reference, table_by_difference
from constrain.kernels.masks.dynamic.walks import table_by_walk, tag_of, untagged
from constrain.kernels.records.arena import HEADER, NONE, key_end, key_start, key_word, kind, region, size
from constrain.kernels.records.dynamic_tables import PIECE, PIECES, pieces_end, pieces_start
from constrain.kernels.records.expressions import (
    ALT,
    CAT,
    EXPRESSION,
    TAG,
    continues,
    is_negative,
    is_nullable,
    set_word,
)
from constrain.kernels.records.stack import push, room, set_top, top


@kernel("i(arena, arena, arena, i, i)")
def one_piece(A, H, S, lexer, table):
    """The pieces of a lexer state that is in one piece, with this token table, or the one from a walk if it is 0."""
    known = EXPRESSION.TABLE(A, lexer)
    if table == 0 and known != 0 and PIECES.COUNT(A, known) == 1:
        return known
    e = untagged(A, H, S, lexer)
    if table == 0 and e != 0:
        table = EXPRESSION.TABLE(A, e)
    if table == 0:
        table = table_by_walk(A, H, S, lexer)
    if e != 0:
        A[e + EXPRESSION.TABLE] = table
    own = tags(A, H, S, tag_of(A, lexer)) if e != 0 else 0
    pieces = region(A, PIECES.WORDS + PIECE.WORDS)
    A[pieces + PIECES.COUNT] = 1
    A[pieces_start(pieces) + PIECE.TABLE] = table
    A[pieces_start(pieces) + PIECE.OWN] = own
    A[lexer + EXPRESSION.TABLE] = pieces
    return pieces


@kernel("i(arena, arena, arena, i)")
def whole_table(A, H, S, lexer):
    """The pieces of a lexer state that is not taken apart, by the cheapest way that is open to it."""
    if EXPRESSION.TABLE(A, lexer) != 0:
        return EXPRESSION.TABLE(A, lexer)
    e = untagged(A, H, S, lexer)
    if e != 0 and EXPRESSION.TABLE(A, e) != 0:
        return one_piece(A, H, S, lexer, 0)
    text = text_part(A, H, S, lexer)
    table = 0
    if text != 0 and alike(A, H, S, lexer, text) >= MIN_ALIKE:
        table = table_by_difference(A, H, S, PART, lexer, text, pieces_start(one_piece(A, H, S, text, 0)))
    elif not most_covered(A, H, S, lexer):
        reference = looping_reference(A, H, S, lexer)
        if reference != 0:
            table = table_by_difference(
                A, H, S, REFERENCE, lexer, reference, pieces_start(one_piece(A, H, S, reference, 0))
            )
        elif text != 0 and not closed(A, H, S, lexer, 0):
            table = table_by_difference(A, H, S, PART, lexer, text, pieces_start(one_piece(A, H, S, text, 0)))
    return one_piece(A, H, S, lexer, table)


# --- pieces -----------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i)")
def is_whole(A, H, S, lexer):
    """1 if nothing of the one terminal of a lexer state was read yet (or it loops), else 0."""
    e = untagged(A, H, S, lexer)
    return 1 if e != 0 and e == clamp(A, H, S, TAG.TERMINAL(A, tag_of(A, lexer)), A[HEADER.DEPTH]) else 0


@kernel("i(arena, arena, i, i)")
def first_bytes(A, S, e, out):
    """Write the 8 words of the set of bytes with which e can begin to S[out ...]; 0 if they cannot be told."""
    for w in range(8):
        S[out + w] = 0
    while kind(A, e) == CAT.KIND and not is_nullable(A, CAT.HEAD(A, e)):
        e = CAT.HEAD(A, e)
    if is_negative(A, e):
        return 0
    start = top(S)
    push_fronts(A, S, e)
    for i in range(start, top(S)):
        for w in range(8):
            S[out + w] |= set_word(A, S[i], w)
    set_top(S, start)
    return 1


@kernel("i(arena, arena, i, i)")
def stands_apart(A, S, sets, k):
    """1 if the k-th of the byte sets from S[sets] on is disjoint from the others, else 0."""
    own = sets + 8 * k
    for other in range(sets, top(S), 8):
        if other != own:
            for w in range(8):
                if S[other + w] & S[own + w] != 0:
                    return 0
    return 1


@kernel("i(arena, arena, arena, i)")
def push_apart(A, H, S, lexer):
    """Push the parts of a union that are whole terminals and begin like no other part. Returns how many others there
    are."""
    n = size(A, lexer)
    start = top(S)
    whole = 0
    for i in range(key_start(lexer), key_end(A, lexer)):
        whole += is_whole(A, H, S, A[i])
    if whole == 0:
        return n
    sets = start + n
    room(S, 9 * n)
    set_top(S, sets + 8 * n)
    for k in range(n):
        if not first_bytes(A, S, key_word(A, lexer, k), sets + 8 * k):
            set_top(S, start)
            return n
    end = start
    for k in range(n):
        if is_whole(A, H, S, key_word(A, lexer, k)) and stands_apart(A, S, sets, k):
            S[end] = key_word(A, lexer, k)
            end += 1
    set_top(S, end)
    return n - (end - start)


@kernel("void(arena, arena, i)")
def push_pieces(A, S, pieces):
    """Push the words of pieces."""
    for i in range(pieces_start(pieces), pieces_end(A, pieces)):
        push(S, A[i])


@kernel("i(arena, arena, arena, i)")
def find_pieces(A, H, S, lexer):
    """Find the pieces of a lexer state."""
    start = top(S)
    others = push_apart(A, H, S, lexer) if kind(A, lexer) == ALT.KIND else 0
    apart = top(S)
    if apart == start:
        return whole_table(A, H, S, lexer)
    rest = np.int64(NONE)
    if others > 0:
        for i in range(key_start(lexer), key_end(A, lexer)):
            k = start
            while k < apart and S[k] != A[i]:
                k += 1
            if k == apart:
                push(S, A[i])
        rest = alt(A, H, S, apart)
    for k in range(start, apart):
        push_pieces(A, S, whole_table(A, H, S, S[k]))
    if continues(A, rest):  # it may be a lone tag, in which nothing goes on
        push_pieces(A, S, whole_table(A, H, S, rest))
    n = top(S) - apart
    pieces = region(A, PIECES.WORDS + n)
    A[pieces + PIECES.COUNT] = n // PIECE.WORDS
    for k in range(n):
        A[pieces_start(pieces) + k] = S[apart + k]
    set_top(S, start)
    return pieces


@kernel("i(arena, arena, arena, i)")
def tables_of(A, H, S, lexer):
    """The pieces of a lexer state: what every token does with the lexeme in progress."""
    lexer = clamp(A, H, S, lexer, A[HEADER.DEPTH])
    if EXPRESSION.TABLE(A, lexer) == 0:
        A[lexer + EXPRESSION.TABLE] = find_pieces(A, H, S, lexer)
    return EXPRESSION.TABLE(A, lexer)
