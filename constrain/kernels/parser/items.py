"""Sets of Earley items on the scratch stack.

The idea: an *item* (lhs, suffix, origin) says that `lhs` was begun in the parser state `origin` and that `suffix` — a
list of symbols, so that rules with equal ends share it — is still to come. A set is a run of rows from `base` to the
top of the stack. The table in the last quarter of S maps a slot to a row and is never cleared: an entry counts only if
it points at a row of this set that names the slot (Briggs and Torczon, "An efficient representation for sparse sets",
LOPLAS 1993).

Cost: a look-up an item. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.parser.placed import alternatives_of
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.grammars import SUFFIX, list_end, list_start
from constrain.kernels.records.parser_states import (
    ITEM,
    KEPT,
    PARSER,
    PREDICTED_PAIR,
    predicted_start,
    predicted_waiting_end,
    waiting_end,
    waiting_start,
)
from constrain.kernels.records.stack import ScratchFull, room, set_top, stack_end, top

MAX_UNEXPANDED = 1024


class Unexpanded(Exception):
    """Nonterminals without alternatives were reached; they stand in the region HEADER.UNEXPANDED."""


@kernel("i(arena, i, i, i, i)", inline=True)
def find_item(S, base, lhs, suffix, origin):
    """The free slot of an item that is not in the set, or -1 if it is."""
    table = stack_end(S)
    mask = (S.size >> 2) - 1
    h = (lhs * 0x9E3779B1 + suffix * 0x85EBCA6B + origin * 0x27D4EB2F) & 0x7FFFFFFFFFFF
    slot = (h ^ (h >> 15)) & mask
    while True:
        row = np.int64(S[table + slot])
        if row < base or row >= top(S) or (row - base) & (ITEM.WORDS - 1) != 0 or S[row + ITEM.SLOT] != slot:
            return slot
        if S[row + ITEM.LHS] == lhs and S[row + ITEM.SUFFIX] == suffix and S[row + ITEM.ORIGIN] == origin:
            return -1
        slot = (slot + 1) & mask


@kernel("void(arena, i, i, i, i)", inline=True)
def add_item(S, base, lhs, suffix, origin):
    """Add an item to the set at `base`, unless it is in it."""
    slot = find_item(S, base, lhs, suffix, origin)
    if slot < 0:
        return
    row = top(S)
    room(S, ITEM.WORDS)
    if (row - base) >> 1 > S.size >> 2:  # rows are four words: the table is half full
        raise ScratchFull()
    S[row + ITEM.LHS] = lhs
    S[row + ITEM.SUFFIX] = suffix
    S[row + ITEM.ORIGIN] = origin
    S[row + ITEM.SLOT] = slot
    S[stack_end(S) + slot] = row
    set_top(S, row + ITEM.WORDS)


@kernel("void(arena, arena, i, i, i)")
def add_completed(A, S, base, lhs, origin):
    """Add the items of the closed state `origin` that wait for lhs, one symbol further."""
    for item in range(waiting_start(A, origin), waiting_end(A, origin), KEPT):
        suffix = ITEM.SUFFIX(A, item)
        if SUFFIX.SYMBOL(A, suffix) == lhs:
            add_item(S, base, ITEM.LHS(A, item), SUFFIX.NEXT(A, suffix), ITEM.ORIGIN(A, item))
    predicted = PARSER.PREDICTED(A, origin)
    if predicted != 0:
        for item in range(predicted_start(predicted), predicted_waiting_end(A, predicted), PREDICTED_PAIR):
            suffix = ITEM.SUFFIX(A, item)
            if SUFFIX.SYMBOL(A, suffix) == lhs:
                add_item(S, base, ITEM.LHS(A, item), SUFFIX.NEXT(A, suffix), origin)


@kernel("void(arena, arena, arena, i, i, i, i)")
def add_alternatives(A, H, S, base, symbol, lhs, origin):
    """Add an item (lhs, alternative, origin) for each alternative of the nonterminal `symbol`."""
    alternatives = alternatives_of(A, H, symbol)
    if alternatives == 0:
        n = np.int64(A[HEADER.N_UNEXPANDED])
        if n == MAX_UNEXPANDED:
            raise Unexpanded()
        A[A[HEADER.UNEXPANDED] + n] = symbol
        A[HEADER.N_UNEXPANDED] = n + 1
        return
    for i in range(list_start(alternatives), list_end(A, alternatives)):
        add_item(S, base, lhs, A[i], origin)
