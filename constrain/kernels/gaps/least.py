"""The least cost of each live item: costs of lexemes add up along a derivation.

The idea (Knuth, "A generalization of Dijkstra's algorithm", Information Processing Letters 6, 1977): items are settled
in the order of their costs. An item whose parts are settled gets the sum; a heap knows which item is next. So each item
is settled once, and its `rule` and `middle` are the top of a cheapest derivation.

Items are numbered in the order of their rows and bits: item (A, p, q) is `offset[A * positions + p]` plus the number of
bits below q in the row. Arrays: G the rules (RULES), C the items (ITEMS), L their rows.

Records: records/gaps.py. Cost: items x rules x positions. Reference: tests/masks/gaps/naive_gaps.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.gaps.lexemes import NOWHERE
from constrain.kernels.records.gaps import ITEMS, RULE, RULES, has_bit_of, set_heap_place, set_item_cost

SETTLED = -2  # the place of an item that has left the heap


@kernel("i(rows, arena, arena, arena, i)", entry=True)
def number_items(L, offset, of_row, of_end, rows):
    """Number the items of the first `rows` rows of L. With empty `of_row`, only count them. Returns their number."""
    count = 0
    for r in range(rows):
        offset[r] = count
        for w in range(L.shape[1]):
            bits = L[r, w]
            if bits == 0:
                continue
            for b in range(32):
                if (bits >> np.uint32(b)) & np.uint32(1) != 0:
                    if of_row.size > 0:
                        of_row[count] = r
                        of_end[count] = 32 * w + b
                    count += 1
    return np.int64(count)


@kernel("i(rows, arena, i, i)", entry=True)
def item_of(L, C, row, end):
    """The number of an item; -1 if it is not in L."""
    if not has_bit_of(L, row, end):
        return np.int64(-1)
    count = ITEMS.OFFSET(C, row)
    for w in range(end >> 5):
        bits = L[row, w]
        while bits != 0:
            bits &= np.uint32(bits - np.uint32(1))
            count += 1
    for b in range(end & 31):
        count += np.int64((L[row, end >> 5] >> np.uint32(b)) & np.uint32(1))
    return count


# --- the heap ---------------------------------------------------------------------------------------------------------


@kernel("void(arena, i, i)")
def put(C, item, at):
    """Put an item at a place of the heap."""
    C[C[ITEMS.HEAP] + at] = item
    set_heap_place(C, item, at)


@kernel("void(arena, i)")
def sift_up(C, at):
    """Move an entry of the heap up to where it belongs."""
    item = ITEMS.HEAP(C, at)
    while at > 0 and ITEMS.COST(C, ITEMS.HEAP(C, (at - 1) >> 1)) > ITEMS.COST(C, item):
        put(C, ITEMS.HEAP(C, (at - 1) >> 1), at)
        at = (at - 1) >> 1
    put(C, item, at)


@kernel("void(arena)")
def sift_down(C):
    """Move the first entry of the heap down to where it belongs."""
    size = np.int64(C[ITEMS.HEIGHT])
    item = ITEMS.HEAP(C, 0)
    at = np.int64(0)
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and ITEMS.COST(C, ITEMS.HEAP(C, child + 1)) < ITEMS.COST(C, ITEMS.HEAP(C, child)):
            child += 1
        if ITEMS.COST(C, ITEMS.HEAP(C, child)) >= ITEMS.COST(C, item):
            break
        put(C, ITEMS.HEAP(C, child), at)
        at = child
    put(C, item, at)


@kernel("void(arena, i)")
def add_to_heap(C, item):
    """Add an item to the heap."""
    at = np.int64(C[ITEMS.HEIGHT])
    C[ITEMS.HEIGHT] += 1
    put(C, item, at)
    sift_up(C, at)


@kernel("i(arena)")
def take_cheapest(C):
    """Take the cheapest item from the heap; it is settled."""
    item = ITEMS.HEAP(C, 0)
    C[ITEMS.HEIGHT] -= 1
    if C[ITEMS.HEIGHT] > 0:
        put(C, ITEMS.HEAP(C, C[ITEMS.HEIGHT]), 0)
        sift_down(C)
    set_heap_place(C, item, SETTLED)
    return item


# --- items ------------------------------------------------------------------------------------------------------------


@kernel("void(arena, i, i, i, i)")
def lower(C, item, price, rule, middle):
    """Note that an item may cost `price`, by a rule whose first symbol ends at `middle`; no item if it is negative."""
    if item < 0 or price >= ITEMS.COST(C, item):
        return
    set_item_cost(C, item, price)
    C[C[ITEMS.RULE] + item] = rule
    C[C[ITEMS.MIDDLE] + item] = middle
    if ITEMS.PLACE(C, item) < 0:
        add_to_heap(C, item)
    else:
        sift_up(C, ITEMS.PLACE(C, item))


@kernel("void(rows, arena, arena, i, i)")
def combine_left(L, C, G, item, rule):
    """Lower the items that a settled one, as the first symbol of a rule, makes with settled ones of the second."""
    positions = np.int64(C[ITEMS.POSITIONS])
    into = RULE.PARENT(G, rule) * positions + ITEMS.ROW(C, item) % positions
    row = RULE.RIGHT(G, rule) * positions + ITEMS.END(C, item)
    for end in range(positions):
        if has_bit_of(L, row, end):
            other = item_of(L, C, row, end)
            if ITEMS.PLACE(C, other) == SETTLED:
                price = ITEMS.COST(C, item) + ITEMS.COST(C, other)
                lower(C, item_of(L, C, into, end), price, RULE.NUMBER(G, rule), ITEMS.END(C, item))


@kernel("void(rows, arena, arena, i, i)")
def combine_right(L, C, G, item, rule):
    """Lower the items that a settled one, as the second symbol of a rule, makes with settled ones of the first."""
    positions = np.int64(C[ITEMS.POSITIONS])
    p = ITEMS.ROW(C, item) % positions
    for begin in range(positions):
        row = RULE.LEFT(G, rule) * positions + begin
        if has_bit_of(L, row, p):
            other = item_of(L, C, row, p)
            if ITEMS.PLACE(C, other) == SETTLED:
                target = item_of(L, C, RULE.PARENT(G, rule) * positions + begin, ITEMS.END(C, item))
                lower(C, target, ITEMS.COST(C, item) + ITEMS.COST(C, other), RULE.NUMBER(G, rule), p)


@kernel("i(rows, arena, arena)", entry=True)
def settle(L, C, G):
    """Settle all items. Before, COST has the costs of lexemes and of empty derivations, NOWHERE for other items; RULE,
    MIDDLE and PLACE are -1. Returns the number of settled items.
    """
    positions = np.int64(C[ITEMS.POSITIONS])
    for item in range(C[ITEMS.COUNT]):
        if ITEMS.COST(C, item) < NOWHERE:
            add_to_heap(C, item)
    settled = 0
    while C[ITEMS.HEIGHT] > 0:
        item = take_cheapest(C)
        settled += 1
        symbol, p = ITEMS.ROW(C, item) // positions, ITEMS.ROW(C, item) % positions
        for rule in range(RULES.BY_UNIT(G, symbol), RULES.BY_UNIT(G, symbol + 1), RULE.WORDS):
            target = item_of(L, C, RULE.PARENT(G, rule) * positions + p, ITEMS.END(C, item))
            lower(C, target, ITEMS.COST(C, item), RULE.NUMBER(G, rule), -1)
        for rule in range(RULES.BY_LEFT(G, symbol), RULES.BY_LEFT(G, symbol + 1), RULE.WORDS):
            combine_left(L, C, G, item, rule)
        for rule in range(RULES.BY_RIGHT(G, symbol), RULES.BY_RIGHT(G, symbol + 1), RULE.WORDS):
            combine_right(L, C, G, item, rule)
    return np.int64(settled)
