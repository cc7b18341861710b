"""The items that nonterminals predict.

The idea: the items that a nonterminal predicts do not depend on where it is predicted, but for the origin. So they are
found once, and parser states share them; `HERE` stands for the origin.

Cost: linear in the items, once a nonterminal and once a set of nonterminals. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.parser.items import Unexpanded, add_alternatives, add_item, find_item
from constrain.kernels.parser.placed import alternatives_of
from constrain.kernels.records.arena import HEADER, intern_list, key_end, key_start, kind, region
from constrain.kernels.records.grammars import (
    NONTERMINAL,
    SUFFIX,
    list_start,
    waits_for_nonterminal,
)
from constrain.kernels.records.parser_states import (
    HERE,
    ITEM,
    PREDICTED,
    PREDICTED_PAIR,
    PREDICTION,
    predicted_end,
    predicted_start,
    predicted_waiting_end,
)
from constrain.kernels.records.stack import push, set_top, sort_groups, top, unique_groups


@kernel("void(arena, arena, arena, i)")
def predict_items(A, H, S, base):
    """Predict until nothing is new in the set at `base`, all of whose items begin here."""
    row = base
    while row < top(S):
        lhs = ITEM.LHS(S, row)
        suffix = ITEM.SUFFIX(S, row)
        row += ITEM.WORDS
        if suffix == 0:  # lhs derives the empty text; items that come later look for this one
            other = base
            while other < top(S):
                waiting = ITEM.SUFFIX(S, other)
                if waiting != 0 and SUFFIX.SYMBOL(A, waiting) == lhs:
                    add_item(S, base, ITEM.LHS(S, other), SUFFIX.NEXT(A, waiting), HERE)
                other += ITEM.WORDS
            continue
        symbol = SUFFIX.SYMBOL(A, suffix)
        if kind(A, symbol) == NONTERMINAL.KIND:
            rest = SUFFIX.NEXT(A, suffix)
            if rest == 0 and NONTERMINAL.RIGHT_RECURSIVE(A, symbol):
                add_alternatives(A, H, S, base, symbol, lhs, HERE)
            else:
                alternatives = alternatives_of(A, H, symbol)
                is_new = alternatives == 0
                if not is_new:
                    is_new = find_item(S, base, symbol, A[list_start(alternatives)], HERE) >= 0
                if is_new:
                    add_alternatives(A, H, S, base, symbol, symbol, HERE)
                if find_item(S, base, symbol, 0, HERE) < 0:
                    add_item(S, base, lhs, rest, HERE)


@kernel("i(arena, arena, i, i, i)")
def store_predicted(A, S, start, width, nullable):
    """Store the rows from S[start] on, which begin with (lhs, suffix), as a PREDICTED region; pops them."""
    waiting = 0
    scanning = 0
    for row in range(start, top(S), width):
        if ITEM.SUFFIX(S, row) != 0:
            if waits_for_nonterminal(A, ITEM.SUFFIX(S, row)):
                waiting += 1
            else:
                scanning += 1
    out = region(A, PREDICTED.WORDS + PREDICTED_PAIR * (waiting + scanning))
    A[out + PREDICTED.IS_NULLABLE] = nullable
    A[out + PREDICTED.N_WAITING] = waiting
    A[out + PREDICTED.N_SCANNING] = scanning
    wait = predicted_start(out)
    scan_at = predicted_waiting_end(A, out)
    for row in range(start, top(S), width):
        if ITEM.SUFFIX(S, row) != 0:
            if waits_for_nonterminal(A, ITEM.SUFFIX(S, row)):
                at = wait
                wait += PREDICTED_PAIR
            else:
                at = scan_at
                scan_at += PREDICTED_PAIR
            A[at + ITEM.LHS] = ITEM.LHS(S, row)
            A[at + ITEM.SUFFIX] = ITEM.SUFFIX(S, row)
    set_top(S, start)
    return out


@kernel("i(arena, arena, arena, i)")
def predict(A, H, S, symbol):
    """Find what a nonterminal predicts. Returns its PREDICTED region."""
    base = top(S)
    add_alternatives(A, H, S, base, symbol, symbol, HERE)
    predict_items(A, H, S, base)
    if A[HEADER.N_UNEXPANDED] > 0:
        raise Unexpanded()
    nullable = 1 if find_item(S, base, symbol, 0, HERE) < 0 else 0
    A[symbol + NONTERMINAL.PREDICTS] = store_predicted(A, S, base, ITEM.WORDS, nullable)
    return NONTERMINAL.PREDICTS(A, symbol)


@kernel("i(arena, arena, arena, i, i)")
def predict_together(A, H, S, base, stop):
    """The PREDICTED region of all nonterminals that the own items S[base:stop] wait for; 0 if there are none."""
    start = top(S)
    for row in range(base, stop, ITEM.WORDS):
        suffix = ITEM.SUFFIX(S, row)
        if suffix != 0:
            symbol = SUFFIX.SYMBOL(A, suffix)
            is_tail_call = SUFFIX.NEXT(A, suffix) == 0 and NONTERMINAL.RIGHT_RECURSIVE(A, symbol) != 0
            if kind(A, symbol) == NONTERMINAL.KIND and not is_tail_call:
                push(S, symbol)
    sort_groups(S, start, top(S), 1)
    set_top(S, unique_groups(S, start, top(S), 1))
    n = top(S) - start
    if n <= 1:
        set_top(S, start)
        return NONTERMINAL.PREDICTS(A, S[start]) if n == 1 else np.int64(0)
    prediction = intern_list(A, H, S, PREDICTION.KIND, start)
    if A[prediction + PREDICTION.TOGETHER] == 0:
        for i in range(key_start(prediction), key_end(A, prediction)):
            rows = NONTERMINAL.PREDICTS(A, A[i])
            for k in range(predicted_start(rows), predicted_end(A, rows)):
                push(S, A[k])
        sort_groups(S, start, top(S), PREDICTED_PAIR)
        set_top(S, unique_groups(S, start, top(S), PREDICTED_PAIR))
        A[prediction + PREDICTION.TOGETHER] = store_predicted(A, S, start, PREDICTED_PAIR, 0)
    return np.int64(A[prediction + PREDICTION.TOGETHER])
