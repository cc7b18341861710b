"""The least cost of each live item: costs of lexemes add up along a derivation.

The idea (Knuth, "A generalization of Dijkstra's algorithm", Information Processing Letters 6, 1977): items are settled
in the order of their costs. An item whose parts are settled gets the sum; a heap knows which item is next. So each item
is settled once, and its `rule` and `middle` are the top of a cheapest derivation.

Items are numbered in the order of their rows and bits: item (A, p, q) is `offset[A * positions + p]` plus the number of
bits below q in the row. Those of a symbol that end at q are listed too, so that a settled item meets only live ones.
Arrays: G the rules (RULES), C the items (ITEMS), L their rows.

Records: records.py. Cost: items x rules x positions. Reference: tests/gaps/naive_gaps.py.
"""

import numpy as np

from constrain.gaps.kernels.lexemes import NOWHERE
from constrain.gaps.kernels.records import ITEMS, RULE, RULES, has_bit_of, set_heap_place, set_item_cost
from constrain.kernels import kernel

SETTLED = -2  # the place of an item that has left the heap


@kernel("i(i)")
def bits_of(word):
    """The number of bits of a word of 32."""
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    return ((((word + (word >> 4)) & 0x0F0F0F0F) * 0x01010101) & 0xFFFFFFFF) >> 24


@kernel("i(rows, arena, arena, arena, i)", entry=True)
def number_items(L, offset, of_row, of_end, rows):
    """Number the items of the first `rows` rows of L. With empty `of_row`, only count them. Returns their number."""
    count = np.int64(0)
    for r in range(rows):
        offset[r] = count
        for w in range(L.shape[1]):
            rest = np.int64(L[r, w])
            if of_row.size == 0:
                count += bits_of(rest) if rest != 0 else 0
                continue
            while rest != 0:
                of_row[count] = r
                of_end[count] = 32 * w + bits_of((rest & -rest) - 1)
                rest &= rest - 1
                count += 1
    return count


@kernel("i(rows, arena, i, i)", entry=True)
def item_of(L, C, row, end):
    """The number of an item; -1 if it is not in L."""
    if not has_bit_of(L, row, end):
        return np.int64(-1)
    count = ITEMS.OFFSET(C, row)
    for w in range(end >> 5):
        if L[row, w] != 0:
            count += bits_of(np.int64(L[row, w]))
    return count + bits_of(np.int64(L[row, end >> 5]) & ((np.int64(1) << np.int64(end & 31)) - 1))


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
    others, targets = ITEMS.OFFSET(C, row), ITEMS.OFFSET(C, into)
    for w in range(L.shape[1]):
        second, whole = np.int64(L[row, w]), np.int64(L[into, w])
        rest = second & whole
        while rest != 0:
            below = (rest & -rest) - 1
            other = others + bits_of(second & below)
            if ITEMS.PLACE(C, other) == SETTLED:
                price = ITEMS.COST(C, item) + ITEMS.COST(C, other)
                lower(C, targets + bits_of(whole & below), price, RULE.NUMBER(G, rule), ITEMS.END(C, item))
            rest &= rest - 1
        others, targets = others + bits_of(second), targets + bits_of(whole)


@kernel("void(rows, arena, arena, i, i)")
def combine_right(L, C, G, item, rule):
    """Lower the items that a settled one, as the second symbol of a rule, makes with settled ones of the first."""
    positions = np.int64(C[ITEMS.POSITIONS])
    p = ITEMS.ROW(C, item) % positions
    column = RULE.LEFT(G, rule) * positions + p
    for at in range(ITEMS.COLUMN(C, column), ITEMS.COLUMN(C, column + 1)):
        other = ITEMS.BY_END(C, at)
        if ITEMS.PLACE(C, other) == SETTLED:
            into = RULE.PARENT(G, rule) * positions + ITEMS.ROW(C, other) % positions
            price = ITEMS.COST(C, item) + ITEMS.COST(C, other)
            lower(C, item_of(L, C, into, ITEMS.END(C, item)), price, RULE.NUMBER(G, rule), p)


@kernel("i(rows, arena, arena, arena)", entry=True)
def settle(L, C, G, tops):
    """Settle all items that cost no more than the cheapest one of `tops`; with empty `tops`, all items.

    Before, COST has the costs of lexemes and of empty derivations, NOWHERE for other items; RULE, MIDDLE and PLACE are
    -1. Returns the number of settled items.
    """
    positions = np.int64(C[ITEMS.POSITIONS])
    for item in range(C[ITEMS.COUNT]):
        if ITEMS.COST(C, item) < NOWHERE:
            add_to_heap(C, item)
    settled, most = np.int64(0), np.int64(NOWHERE)
    while C[ITEMS.HEIGHT] > 0 and ITEMS.COST(C, ITEMS.HEAP(C, 0)) <= most:
        item = take_cheapest(C)
        settled += 1
        for at in range(tops.size):
            if tops[at] == item and ITEMS.COST(C, item) < most:
                most = ITEMS.COST(C, item)
        symbol, p = ITEMS.ROW(C, item) // positions, ITEMS.ROW(C, item) % positions
        for rule in range(RULES.BY_UNIT(G, symbol), RULES.BY_UNIT(G, symbol + 1), RULE.WORDS):
            target = item_of(L, C, RULE.PARENT(G, rule) * positions + p, ITEMS.END(C, item))
            lower(C, target, ITEMS.COST(C, item), RULE.NUMBER(G, rule), -1)
        for rule in range(RULES.BY_LEFT(G, symbol), RULES.BY_LEFT(G, symbol + 1), RULE.WORDS):
            combine_left(L, C, G, item, rule)
        for rule in range(RULES.BY_RIGHT(G, symbol), RULES.BY_RIGHT(G, symbol + 1), RULE.WORDS):
            combine_right(L, C, G, item, rule)
    return settled
