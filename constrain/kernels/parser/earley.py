"""Parser states: hash-consed Earley sets over lexemes.

The idea (Earley, "An efficient context-free parsing algorithm", CACM 1970): a parser state is the set of items after a
lexeme, finished items already carried back to their origins (*completed*). Since an origin is itself such a state,
equal states are one record: the second element of a list leads to the same state as the first, and `scan` is
remembered.

A parser state is *watched* while a symbol that the grammar's guard has to watch is still to come in what was begun: in
one of its own items, or an item that waits for one of them; or everywhere, where the grammar says so.

Records: records/parser_states.py. Cost: linear in the items of a state, once a state. Reference:
tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.parser.items import add_completed, add_item
from constrain.kernels.parser.key_sets import take
from constrain.kernels.records.arena import intern2, intern_list, key_end, key_start, kind
from constrain.kernels.records.grammars import GRAMMAR, SUFFIX, TERMINAL, list_end, list_start
from constrain.kernels.records.key_sets import KEY_SET, MAY_NOT_COME
from constrain.kernels.records.parser_states import (
    DEAD_SCAN,
    ENDING,
    ITEM,
    KEPT,
    PARSER,
    PREDICTED_PAIR,
    SCAN,
    parser_items,
    predicted_end,
    predicted_waiting_end,
    scanning_end,
    waiting_end,
)
from constrain.kernels.records.stack import push, set_key, set_top, sort_groups, top

LOWEST_RANK = -(1 << 30)
HEAD_OF_PARSER = PARSER.KEY_WORDS  # before its items


@kernel("i(arena, i, i)")
def is_tag(A, tagset, terminal):
    """1 if the expression of a terminal is in the TAGSET, else 0."""
    low = key_start(tagset)
    high = key_end(A, tagset)
    while low < high:
        middle = (low + high) >> 1
        if A[middle] < terminal:
            low = middle + 1
        else:
            high = middle
    return 1 if low < key_end(A, tagset) and A[low] == terminal else 0


@kernel("i(arena, i, i)")
def admits(A, tagset, terminal):
    """1 if a lexeme that ended as every terminal of the TAGSET counts as this terminal, else 0."""
    is_one = False
    excluded = TERMINAL.EXCLUDED(A, terminal)
    for i in range(key_start(tagset), key_end(A, tagset)):
        if A[i] == TERMINAL.EXPRESSION(A, terminal):
            is_one = True
        elif excluded != 0 and is_tag(A, excluded, A[i]):
            return 0
    return 1 if is_one else 0


@kernel("i(arena, arena, arena, i, i, i)")
def better_rank(A, H, S, tagset, terminal, best):
    """The rank of a terminal if it is above `best` and the lexeme counts as the terminal; else `best`.

    The keys of a KEY_SET record have rank 0.
    """
    if kind(A, terminal) == KEY_SET.KIND:
        for i in range(key_start(tagset), key_end(A, tagset)):
            if best < 0 and take(A, H, S, terminal, A[i]) != MAY_NOT_COME:
                best = np.int64(0)
        return best
    if TERMINAL.RANK(A, terminal) > best and admits(A, tagset, terminal):
        return TERMINAL.RANK(A, terminal)
    return best


@kernel("i(arena, arena, arena, i, i)")
def best_rank(A, H, S, p, tagset):
    """The highest rank of the terminals of p that a lexeme ended as: the greedy lexer takes these alone."""
    best = LOWEST_RANK
    for item in range(waiting_end(A, p), scanning_end(A, p), KEPT):
        best = better_rank(A, H, S, tagset, SUFFIX.SYMBOL(A, ITEM.SUFFIX(A, item)), best)
    predicted = PARSER.PREDICTED(A, p)
    if predicted != 0:
        for item in range(predicted_waiting_end(A, predicted), predicted_end(A, predicted), PREDICTED_PAIR):
            best = better_rank(A, H, S, tagset, SUFFIX.SYMBOL(A, ITEM.SUFFIX(A, item)), best)
    ignored = GRAMMAR.IGNORED(A, PARSER.GRAMMAR(A, p))
    for i in range(list_start(ignored), list_end(A, ignored)):
        best = better_rank(A, H, S, tagset, A[i], best)
    return best


@kernel("void(arena, arena, arena, i, i, i, i, i, i)")
def add_shifted(A, H, S, base, lhs, suffix, origin, tagset, lowest):
    """Add the item behind the terminal that (lhs, suffix, origin) waits for, if the lexeme counts as the terminal and
    its rank is no lower than `lowest`; in place of KEY_SET, what stands behind the key."""
    terminal = SUFFIX.SYMBOL(A, suffix)
    if kind(A, terminal) == KEY_SET.KIND:
        for i in range(key_start(tagset), key_end(A, tagset)):
            rest = take(A, H, S, terminal, A[i]) if lowest <= 0 else np.int64(MAY_NOT_COME)
            if rest != MAY_NOT_COME:
                add_item(S, base, lhs, rest, origin)
    elif TERMINAL.RANK(A, terminal) >= lowest and admits(A, tagset, terminal):
        add_item(S, base, lhs, SUFFIX.NEXT(A, suffix), origin)
        if TERMINAL.AFTER(A, terminal) != 0:
            S[base - HEAD_OF_PARSER] = TERMINAL.AFTER(A, terminal)


@kernel("i(arena, arena, arena, i, i, i)")
def add_scanned(A, H, S, base, p, tagset):
    """Add the items of p after a lexeme that ended as the tagset; 1 if p itself accepts and the lexeme is ignored.

    The first word below `base` is the grammar; it is replaced by the one that holds after the lexeme.
    """
    lowest = LOWEST_RANK
    if GRAMMAR.GREEDY(A, PARSER.GRAMMAR(A, p)):
        lowest = best_rank(A, H, S, p, tagset)
    for item in range(waiting_end(A, p), scanning_end(A, p), KEPT):
        add_shifted(A, H, S, base, ITEM.LHS(A, item), ITEM.SUFFIX(A, item), ITEM.ORIGIN(A, item), tagset, lowest)
    predicted = PARSER.PREDICTED(A, p)
    if predicted != 0:
        for item in range(predicted_waiting_end(A, predicted), predicted_end(A, predicted), PREDICTED_PAIR):
            add_shifted(A, H, S, base, ITEM.LHS(A, item), ITEM.SUFFIX(A, item), p, tagset, lowest)
    ignored = GRAMMAR.IGNORED(A, PARSER.GRAMMAR(A, p))
    for i in range(list_start(ignored), list_end(A, ignored)):
        if TERMINAL.RANK(A, A[i]) >= lowest and admits(A, tagset, A[i]):
            for item in range(parser_items(p), key_end(A, p), KEPT):
                add_item(S, base, ITEM.LHS(A, item), ITEM.SUFFIX(A, item), ITEM.ORIGIN(A, item))
            return PARSER.IS_ACCEPTING(A, p)
    return 0


@kernel("void(arena, i)")
def note_watched(A, p):
    """Find out whether a parser state is watched; its origins know already."""
    watched = 2 if GRAMMAR.WATCHED(A, PARSER.GRAMMAR(A, p)) else 1
    for item in range(parser_items(p), key_end(A, p), KEPT):
        origin = ITEM.ORIGIN(A, item)
        if A[ITEM.SUFFIX(A, item) + SUFFIX.HOLDS_WATCHED] != 0 or (origin != 0 and A[origin + PARSER.WATCHED] == 2):
            watched = 2
    A[p + PARSER.WATCHED] = watched


@kernel("i(arena, arena, arena, i, i)")
def finish_items(A, H, S, accepts, base):
    """Complete the set at `base`, pop it and the words below it. Returns its parser state; 0 if it is empty and the
    text may not end.

    Below the set stand the grammar, and a word for `accepts`: with the items these are the key words of PARSER.
    """
    row = base
    while row < top(S):
        if ITEM.SUFFIX(S, row) == 0:
            if ITEM.ORIGIN(S, row) == 0:
                accepts = 1
            else:
                add_completed(A, S, base, ITEM.LHS(S, row), ITEM.ORIGIN(S, row))
        row += ITEM.WORDS
    out = base
    for row in range(base, top(S), ITEM.WORDS):
        if ITEM.SUFFIX(S, row) != 0:
            for k in range(KEPT):
                S[out + k] = S[row + k]
            out += KEPT
    start = base - HEAD_OF_PARSER
    if out == base and accepts == 0:
        set_top(S, start)
        return 0
    sort_groups(S, base, out, KEPT)
    set_key(S, start, PARSER.IS_ACCEPTING, accepts)
    set_top(S, out)
    p = intern_list(A, H, S, PARSER.KIND, start)
    if A[p + PARSER.WATCHED] == 0:
        note_watched(A, p)
    return p


@kernel("i(arena, arena, arena, i, i)")
def scan(A, H, S, p, tagset):
    """The parser state after a lexeme of the closed state p that ended as the tagset; 0 if there is none."""
    memo = intern2(A, H, SCAN.KIND, p, tagset)
    if A[memo + SCAN.TARGET] == 0:
        push(S, PARSER.GRAMMAR(A, p))
        push(S, 0)
        base = top(S)
        accepts = add_scanned(A, H, S, base, p, tagset)
        target = finish_items(A, H, S, accepts, base)
        A[memo + SCAN.TARGET] = target if target != 0 else DEAD_SCAN
    return np.int64(A[memo + SCAN.TARGET]) if A[memo + SCAN.TARGET] != DEAD_SCAN else 0


@kernel("i(arena, arena, arena, i)")
def scan_all(A, H, S, start):
    """The one parser state after lexemes that end at the same place, ENDING words from S[start] on; pops them.

    The union of what each leads to: segmentations of one text share a state from here on, so their number never
    matters.
    """
    stop = top(S)
    if stop - start == ENDING.WORDS:
        set_top(S, start)
        return scan(A, H, S, S[start + ENDING.PARSER], S[start + ENDING.TAGSET])
    push(S, PARSER.GRAMMAR(A, S[start + ENDING.PARSER]))
    push(S, 0)
    base = top(S)
    accepts = 0
    for row in range(start, stop, ENDING.WORDS):
        accepts |= add_scanned(A, H, S, base, S[row + ENDING.PARSER], S[row + ENDING.TAGSET])
    target = finish_items(A, H, S, accepts, base)
    set_top(S, start)
    return target
