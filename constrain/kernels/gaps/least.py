"""The least cost of each live item: costs of lexemes add up along a derivation.

The idea (Knuth, "A generalization of Dijkstra's algorithm", Information Processing Letters 6, 1977): items are settled
in the order of their costs. An item whose parts are settled gets the sum; a heap knows which item is next. So each item
is settled once, and its `rule` and `middle` are the top of a cheapest derivation.

Items are numbered in the order of their rows and bits: item (A, p, q) is `offset[A * positions + p]` plus the number of
bits below q in the row. Cost: items x rules x positions. Reference: tests/masks/gaps/naive_gaps.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.gaps.lexemes import NOWHERE


@kernel("i(rows, arena, arena, arena, i)", entry=True)
def number_items(L, offset, item_row, item_end, rows):
    """Number the items of the first `rows` rows of L. With empty `item_row`, only count them. Returns their number."""
    count = 0
    for r in range(rows):
        offset[r] = count
        for w in range(L.shape[1]):
            bits = L[r, w]
            if bits == 0:
                continue
            for b in range(32):
                if (bits >> np.uint32(b)) & np.uint32(1) != 0:
                    if item_row.size > 0:
                        item_row[count] = r
                        item_end[count] = 32 * w + b
                    count += 1
    return np.int64(count)


@kernel("i(rows, arena, i, i)")
def item_of(L, offset, row, end):
    """The number of an item; -1 if it is not in L."""
    if (L[row, end >> 5] >> np.uint32(end & 31)) & np.uint32(1) == 0:
        return np.int64(-1)
    count = np.int64(offset[row])
    for w in range(end >> 5):
        bits = L[row, w]
        while bits != 0:
            bits &= np.uint32(bits - np.uint32(1))
            count += 1
    for b in range(end & 31):
        count += np.int64((L[row, end >> 5] >> np.uint32(b)) & np.uint32(1))
    return count


@kernel("void(arena, arena, arena, i)")
def sift_up(heap, place, cost, at):
    """Move an entry of the heap up to where it belongs."""
    item = heap[at]
    while at > 0 and cost[heap[(at - 1) >> 1]] > cost[item]:
        heap[at] = heap[(at - 1) >> 1]
        place[heap[at]] = at
        at = (at - 1) >> 1
    heap[at] = item
    place[item] = at


@kernel("void(arena, arena, arena, i)")
def sift_down(heap, place, cost, size):
    """Move the first entry of the heap down to where it belongs."""
    item = heap[0]
    at = np.int64(0)
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and cost[heap[child + 1]] < cost[heap[child]]:
            child += 1
        if cost[heap[child]] >= cost[item]:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = item
    place[item] = at


@kernel("i(arena, arena, arena, arena, arena, i, i, i, i, i)")
def lower(heap, place, cost, rule, middle, size, item, price, number, m):
    """Note that an item may cost `price`; the size of the heap then. place: -1 for an item that is not in the heap."""
    if item < 0 or price >= cost[item]:
        return np.int64(size)
    cost[item] = price
    rule[item] = number
    middle[item] = m
    at = np.int64(place[item])
    if at < 0:
        at = np.int64(size)
        heap[at] = item
        size += 1
    sift_up(heap, place, cost, at)
    return np.int64(size)


@kernel(
    "i(rows, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena,"
    " arena, arena, i)",
    entry=True,
)
def settle(
    L, offset, item_row, item_end, cost, rule, middle, heap, place,
    left_first, left_rule, right_first, right_rule, unit_first, unit_rule, parent, left, right, positions,
):  # fmt: skip
    """Settle all items. Before, `cost` has the costs of lexemes and of empty derivations, NOWHERE for other items.

    rule, middle: -1 before; then the rule at the top of a cheapest derivation, and where its left symbol ends.
    Returns the number of settled items.
    """
    size = np.int64(0)
    for i in range(cost.size):
        place[i] = -1
        if cost[i] < NOWHERE:
            heap[size] = i
            size += 1
            sift_up(heap, place, cost, size - 1)
    settled = 0
    while size > 0:
        item = np.int64(heap[0])
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            sift_down(heap, place, cost, size)
        place[item] = -2
        settled += 1
        symbol = item_row[item] // positions
        p = item_row[item] % positions
        q = np.int64(item_end[item])
        for i in range(unit_first[symbol], unit_first[symbol + 1]):
            target = item_of(L, offset, parent[unit_rule[i]] * positions + p, q)
            size = lower(heap, place, cost, rule, middle, size, target, cost[item], unit_rule[i], -1)
        for i in range(left_first[symbol], left_first[symbol + 1]):
            into = parent[left_rule[i]] * positions + p
            row = right[left_rule[i]] * positions + q
            for end in range(positions):
                if (L[row, end >> 5] >> np.uint32(end & 31)) & np.uint32(1) == 0:
                    continue
                other = item_of(L, offset, row, end)
                if place[other] != -2:
                    continue
                target = item_of(L, offset, into, end)
                size = lower(heap, place, cost, rule, middle, size, target, cost[item] + cost[other], left_rule[i], q)
        for i in range(right_first[symbol], right_first[symbol + 1]):
            for begin in range(positions):
                row = left[right_rule[i]] * positions + begin
                if (L[row, p >> 5] >> np.uint32(p & 31)) & np.uint32(1) == 0:
                    continue
                other = item_of(L, offset, row, p)
                if place[other] != -2:
                    continue
                target = item_of(L, offset, parent[right_rule[i]] * positions + begin, q)
                price = cost[item] + cost[other]
                size = lower(heap, place, cost, rule, middle, size, target, price, right_rule[i], p)
    return np.int64(settled)
