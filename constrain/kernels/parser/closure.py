"""The closure of a parser state: what it waits for, and the lexer state that looks for it.

The idea: the closure of a state is its own items, with what completions of nullable symbols make of them; what is
predicted is shared (predictions.py). An item whose last symbol is a right-recursive nonterminal is replaced by that
nonterminal's alternatives under its own lhs and origin: a tail call. So lists written right-recursively need constant
space, as with Leo's rule ("A general context-free parsing algorithm running in linear time on every LR(k) grammar
without using lookahead", TCS 1991).

Cost: linear in the own items of a state, once. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.states import lexer_state
from constrain.kernels.parser.items import Unexpanded, add_alternatives, add_completed, add_item
from constrain.kernels.parser.key_sets import trie_of_keys
from constrain.kernels.parser.predictions import predict, predict_together
from constrain.kernels.records.arena import HEADER, intern_copy, intern_list, key_end, key_start, kind, region
from constrain.kernels.records.expressions import TAGSET
from constrain.kernels.records.grammars import (
    GRAMMAR,
    NONTERMINAL,
    SUFFIX,
    TERMINAL,
    list_end,
    list_start,
    waits_for_nonterminal,
)
from constrain.kernels.records.key_sets import KEY_SET, open_keys_find_all
from constrain.kernels.records.parser_states import (
    AWAITED,
    CLOSURE,
    ITEM,
    KEPT,
    PARSER,
    PREDICTED,
    PREDICTED_PAIR,
    TERMINALS,
    parser_items,
    predicted_end,
    predicted_waiting_end,
    waiting_end,
    waiting_start,
)
from constrain.kernels.records.stack import push, set_top, sort_groups, top, unique_groups


@kernel("i(arena, arena, arena, i)")
def close_items(A, H, S, base):
    """Complete until nothing is new in the set at `base`, the own items of a state.

    Returns 1 if the whole text may end, else 0; or a nonterminal whose predictions must be found first.
    """
    accepts = 0
    row = base
    while row < top(S):
        lhs = ITEM.LHS(S, row)
        suffix = ITEM.SUFFIX(S, row)
        origin = ITEM.ORIGIN(S, row)
        row += ITEM.WORDS
        if suffix == 0:
            if origin == 0:
                accepts = 1
            else:
                add_completed(A, S, base, lhs, origin)
            continue
        symbol = SUFFIX.SYMBOL(A, suffix)
        if kind(A, symbol) == NONTERMINAL.KIND:
            rest = SUFFIX.NEXT(A, suffix)
            if rest == 0 and NONTERMINAL.RIGHT_RECURSIVE(A, symbol):
                add_alternatives(A, H, S, base, symbol, lhs, origin)
            elif NONTERMINAL.PREDICTS(A, symbol) == 0:
                return symbol
            elif A[NONTERMINAL.PREDICTS(A, symbol) + PREDICTED.IS_NULLABLE] != 0:
                add_item(S, base, lhs, rest, origin)
    return accepts


@kernel("void(arena, arena, arena, i)")
def push_terminal(A, H, S, symbol):
    """Push the expression of a terminal, and those of the terminals that it excludes; nothing for a nonterminal."""
    if kind(A, symbol) == NONTERMINAL.KIND:
        return
    if kind(A, symbol) == KEY_SET.KIND:
        if not open_keys_find_all(A, symbol):
            push(S, trie_of_keys(A, H, S, symbol))
        return
    push(S, TERMINAL.EXPRESSION(A, symbol))
    excluded = TERMINAL.EXCLUDED(A, symbol)
    if excluded != 0 and A[excluded + TAGSET.TRIE] != 0:
        push(S, A[excluded + TAGSET.TRIE])
    elif excluded != 0:
        for i in range(key_start(excluded), key_end(A, excluded)):
            push(S, A[i])


@kernel("i(arena, arena, arena, i, i, i, i)")
def lexer_of_items(A, H, S, grammar, base, stop, predicted):
    """The lexer state that looks for the terminals that items wait for: the own items S[base:stop] and the predicted
    ones; for what these terminals exclude; and for the ignored ones."""
    start = top(S)
    push(S, grammar)
    push(S, predicted)
    for row in range(base, stop, ITEM.WORDS):
        suffix = ITEM.SUFFIX(S, row)
        if suffix != 0 and not waits_for_nonterminal(A, suffix):
            push(S, SUFFIX.SYMBOL(A, suffix))
    awaited = intern_list(A, H, S, AWAITED.KIND, start)
    if A[awaited + AWAITED.LEXER] != 0:
        return np.int64(A[awaited + AWAITED.LEXER])
    for i in range(awaited + AWAITED.OWN, key_end(A, awaited)):
        push_terminal(A, H, S, A[i])
    if predicted != 0:
        for item in range(predicted_waiting_end(A, predicted), predicted_end(A, predicted), PREDICTED_PAIR):
            push_terminal(A, H, S, SUFFIX.SYMBOL(A, ITEM.SUFFIX(A, item)))
    ignored = GRAMMAR.IGNORED(A, grammar)
    for i in range(list_start(ignored), list_end(A, ignored)):
        push_terminal(A, H, S, A[i])
    sort_groups(S, start, top(S), 1)
    set_top(S, unique_groups(S, start, top(S), 1))
    terminals = intern_copy(A, H, S, TERMINALS.KIND, start)
    if A[terminals + TERMINALS.LEXER] == 0:
        A[terminals + TERMINALS.LEXER] = lexer_state(A, H, S, start)
    set_top(S, start)
    A[awaited + AWAITED.LEXER] = A[terminals + TERMINALS.LEXER]
    return np.int64(A[terminals + TERMINALS.LEXER])


@kernel("void(arena, arena, i, i, i)")
def store_closure(A, S, p, base, stop):
    """Store the own items S[base:stop] of a state that wait for something."""
    waiting = 0
    scanning = 0
    for row in range(base, stop, ITEM.WORDS):
        if ITEM.SUFFIX(S, row) != 0:
            if waits_for_nonterminal(A, ITEM.SUFFIX(S, row)):
                waiting += 1
            else:
                scanning += 1
    closure = region(A, CLOSURE.WORDS + KEPT * (waiting + scanning))
    A[closure + CLOSURE.N_WAITING] = waiting
    A[closure + CLOSURE.N_SCANNING] = scanning
    A[p + PARSER.CLOSURE] = closure
    wait = waiting_start(A, p)
    scan_at = waiting_end(A, p)
    for row in range(base, stop, ITEM.WORDS):
        if ITEM.SUFFIX(S, row) != 0:
            if waits_for_nonterminal(A, ITEM.SUFFIX(S, row)):
                out = wait
                wait += KEPT
            else:
                out = scan_at
                scan_at += KEPT
            for k in range(KEPT):
                A[out + k] = S[row + k]


@kernel("i(arena, arena, arena, i)", entry=True)
def close(A, H, S, p):
    """Close a parser state: find what it waits for and whether it accepts; its lexer state."""
    if PARSER.CLOSURE(A, p):
        return PARSER.LEXER(A, p)
    base = top(S)
    while True:
        for item in range(parser_items(p), key_end(A, p), KEPT):
            add_item(S, base, ITEM.LHS(A, item), ITEM.SUFFIX(A, item), ITEM.ORIGIN(A, item))
        outcome = close_items(A, H, S, base)
        if outcome <= 1:
            break
        set_top(S, base)
        predict(A, H, S, outcome)
    if A[HEADER.N_UNEXPANDED] > 0:
        raise Unexpanded()
    stop = top(S)
    predicted = predict_together(A, H, S, base, stop)
    A[p + PARSER.LEXER] = lexer_of_items(A, H, S, PARSER.GRAMMAR(A, p), base, stop, predicted)
    A[p + PARSER.PREDICTED] = predicted
    A[p + PARSER.ACCEPTS] = 2 if outcome == 1 or PARSER.IS_ACCEPTING(A, p) else 1
    store_closure(A, S, p, base, stop)
    set_top(S, base)
    return PARSER.LEXER(A, p)
