"""Derivations between positions: what derives some text from where to where, and what is live.

The idea (Bar-Hillel, Perles and Shamir 1961): an item (A, p, q) says that symbol A derives a text that leads from
position p to position q. `inside` finds all items from the bottom up, `outside` the ones that are part of a derivation
of the whole. Rules have at most two symbols. A row of bits is all q of one (A, p): a rule A -> B C ORs whole rows.

Rule i is parent[i] -> left[i] right[i], with -1 for right[i] if there is one symbol. The rules with right symbol C are
`right_rule[right_first[C] : right_first[C + 1]]`; likewise those by left symbol, by the symbol of a rule with one
(`unit`), and by parent (`down`). Row of (A, p): A * positions + p.

Cost: rules x positions^3 / 32 at most. Reference: tests/gaps/naive_gaps.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel


@kernel("i(rows, i, rows, i, arena, i)")
def join(table, into, of, row, pending, fresh):
    """OR row `row` of `of` into row `into` of `table`, and the new bits into row `fresh + into`; 1 if there are any."""
    grown = np.int64(0)
    for w in range(table.shape[1]):
        more = of[row, w] & ~table[into, w]
        if more != 0:
            table[into, w] |= np.uint32(more)
            table[fresh + into, w] |= np.uint32(more)
            grown = np.int64(1)
    if grown == 1 and pending[into] == 0:
        pending[into] = 1
        return np.int64(2)
    return grown


@kernel("i(rows, rows, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, i, i)", entry=True)
def inside(
    R, delta, pending, queue,
    left_first, left_rule, right_first, right_rule, unit_first, unit_rule, parent, left, right, rows, positions,
):  # fmt: skip
    """Complete the items: R has rows of (A, p), then as many for bits that wait. The first have the lexemes and the
    empty derivations before. delta: one row. pending, queue: a word for each row. Returns the number of visits.
    """
    width = R.shape[1]
    head = 0
    waiting = 0
    for r in range(rows):
        pending[r] = 0
        some = False
        for w in range(width):
            R[rows + r, w] = R[r, w]
            some = some or R[r, w] != 0
        if some:
            pending[r] = 1
            queue[waiting] = r
            waiting += 1
    visits = 0
    while waiting > 0:
        r = queue[head]
        head = (head + 1) % rows
        waiting -= 1
        pending[r] = 0
        visits += 1
        symbol = r // positions
        p = r % positions
        for w in range(width):
            delta[0, w] = R[rows + r, w]
            R[rows + r, w] = np.uint32(0)
        for i in range(unit_first[symbol], unit_first[symbol + 1]):
            into = parent[unit_rule[i]] * positions + p
            if join(R, into, delta, 0, pending, rows) == 2:
                queue[(head + waiting) % rows] = into
                waiting += 1
        for i in range(left_first[symbol], left_first[symbol + 1]):
            into = parent[left_rule[i]] * positions + p
            for w in range(width):
                bits = delta[0, w]
                if bits == 0:
                    continue
                for b in range(32):
                    if (bits >> np.uint32(b)) & np.uint32(1) == 0:
                        continue
                    if join(R, into, R, right[left_rule[i]] * positions + 32 * w + b, pending, rows) == 2:
                        queue[(head + waiting) % rows] = into
                        waiting += 1
        for i in range(right_first[symbol], right_first[symbol + 1]):
            other = left[right_rule[i]] * positions
            for begin in range(positions):
                if (R[other + begin, p >> 5] >> np.uint32(p & 31)) & np.uint32(1) == 0:
                    continue
                into = parent[right_rule[i]] * positions + begin
                if join(R, into, delta, 0, pending, rows) == 2:
                    queue[(head + waiting) % rows] = into
                    waiting += 1
    return np.int64(visits)


@kernel("i(rows, rows, rows, arena, arena, arena, arena, arena, arena, i, i)", entry=True)
def outside(R, L, delta, pending, queue, down_first, down_rule, left, right, rows, positions):
    """Fill L, the live items among R: rows of (A, p), then as many for bits that wait.

    Before, L has the items of the whole, in both halves. Returns the number of visits.
    """
    width = R.shape[1]
    head = 0
    waiting = 0
    for r in range(rows):
        pending[r] = 0
        for w in range(width):
            if L[r, w] != 0 and pending[r] == 0:
                pending[r] = 1
                queue[waiting] = r
                waiting += 1
    visits = 0
    while waiting > 0:
        r = queue[head]
        head = (head + 1) % rows
        waiting -= 1
        pending[r] = 0
        visits += 1
        symbol = r // positions
        p = r % positions
        for w in range(width):
            delta[0, w] = L[rows + r, w]
            L[rows + r, w] = np.uint32(0)
        for i in range(down_first[symbol], down_first[symbol + 1]):
            first = left[down_rule[i]] * positions + p
            if right[down_rule[i]] < 0:
                for w in range(width):
                    delta[1, w] = delta[0, w] & R[first, w]
                if join(L, first, delta, 1, pending, rows) == 2:
                    queue[(head + waiting) % rows] = first
                    waiting += 1
                continue
            for middle in range(positions):
                if (R[first, middle >> 5] >> np.uint32(middle & 31)) & np.uint32(1) == 0:
                    continue
                second = right[down_rule[i]] * positions + middle
                some = False
                for w in range(width):
                    delta[1, w] = delta[0, w] & R[second, w]
                    some = some or delta[1, w] != 0
                if not some:
                    continue
                if join(L, second, delta, 1, pending, rows) == 2:
                    queue[(head + waiting) % rows] = second
                    waiting += 1
                for w in range(width):
                    delta[1, w] = np.uint32(0)
                delta[1, middle >> 5] = np.uint32(1) << np.uint32(middle & 31)
                if join(L, first, delta, 1, pending, rows) == 2:
                    queue[(head + waiting) % rows] = first
                    waiting += 1
    return np.int64(visits)
