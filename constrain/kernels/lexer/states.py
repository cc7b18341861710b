"""Lexer states: expressions of several terminals at once, each with the tag of its terminal at the end.

The idea: a *lexer state* is an ALT of CAT(terminal, TAG(terminal)). Its derivatives are lexer states again, and
`tags(e)` is the set of terminals whose lexeme may end after the bytes that led to e.

Cost: linear in the parts. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.lexer.expressions import cat, push_flat, tag
from constrain.kernels.lexer.unions import alt
from constrain.kernels.records.arena import EPS, NO_TAGS, intern1, intern_list, key_end, key_start, kind
from constrain.kernels.records.expressions import ALT, BYTES, CAT, ENDED, EXPRESSION, HEADED, TAG, TAGSET, is_nullable
from constrain.kernels.records.stack import push, set_top, sort_groups, top, unique_groups

push_tags_again = recursion(lambda: push_tags, 3)


@kernel("i(arena, arena, i)")
def push_tags(A, S, e):
    """Push the terminals whose lexeme may end in e."""
    if not is_nullable(A, e):
        return 0
    k = kind(A, e)
    if k == TAG.KIND:
        push(S, TAG.TERMINAL(A, e))
    elif k == CAT.KIND:
        push_tags_again(A, S, CAT.TAIL(A, e))
    elif k == ALT.KIND:
        for i in range(key_start(e), key_end(A, e)):
            push_tags_again(A, S, A[i])
    return 0


@kernel("i(arena, arena, arena, i)")
def tags(A, H, S, e):
    """The set (a TAGSET record) of terminals whose lexeme may end in e; NO_TAGS when none."""
    if EXPRESSION.TAGS(A, e) != 0:
        return EXPRESSION.TAGS(A, e)
    if not is_nullable(A, e):
        A[e + EXPRESSION.TAGS] = NO_TAGS
        return NO_TAGS
    start = top(S)
    push_tags(A, S, e)
    sort_groups(S, start, top(S), 1)
    set_top(S, unique_groups(S, start, top(S), 1))
    t = intern_list(A, H, S, TAGSET.KIND, start)
    A[e + EXPRESSION.TAGS] = t
    return t


# --- lexer states -----------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i)")
def followed(A, H, S, e, rest):
    """CAT(e, rest), as CAT(first, CAT(second, ... rest)): so the tails of a literal are its derivatives."""
    parts = top(S)
    while kind(A, e) == CAT.KIND:
        push(S, CAT.HEAD(A, e))
        e = CAT.TAIL(A, e)
    rest = cat(A, H, e, rest)
    for i in range(top(S) - 1, parts - 1, -1):
        rest = cat(A, H, S[i], rest)
    set_top(S, parts)
    return rest


@kernel("i(arena, arena, arena, i)")
def lexer_state(A, H, S, start):
    """The union of CAT(t, TAG(t)) for the terminals S[start] and on (expressions); pops them.

    Common beginnings are kept together, so that a set of keys that open with the same quote is one part, not many.
    """
    stop = top(S)
    for i in range(start, stop):  # HEADED rows
        e = np.int64(S[i])
        has_head = kind(A, e) == CAT.KIND and kind(A, CAT.HEAD(A, e)) == BYTES.KIND
        end = intern1(A, H, ENDED.KIND, e)
        if A[end + ENDED.TAIL] == 0:
            A[end + ENDED.TAIL] = followed(A, H, S, CAT.TAIL(A, e) if has_head else e, tag(A, H, e))
        push(S, CAT.HEAD(A, e) if has_head else EPS)
        push(S, A[end + ENDED.TAIL])
    sort_groups(S, stop, top(S), HEADED.WORDS)
    end = top(S)
    row = stop
    while row < end:  # pushed above `end`: one expression a head
        head = np.int64(S[row + HEADED.HEAD])
        parts = top(S)
        while row < end and S[row + HEADED.HEAD] == head:
            push_flat(A, S, S[row + HEADED.TAIL], ALT.KIND)
            row += HEADED.WORDS
        push_flat(A, S, cat(A, H, head, alt(A, H, S, parts)), ALT.KIND)
    e = alt(A, H, S, end)
    set_top(S, start)
    return e
