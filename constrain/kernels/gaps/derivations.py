"""Derivations between positions: what derives some text from where to where, and what is live.

The idea (Bar-Hillel, Perles and Shamir 1961): an item (A, p, q) says that symbol A derives a text that leads from
position p to position q. `inside` finds all items, `outside` the ones that are part of a derivation of the whole. Rules
have at most two symbols. A row of bits is all q of one (A, p): a rule A -> B C ORs whole rows.

Positions are numbered along the pattern: no text leads back, except from a position to itself. So `inside` completes
the items of the last position first, and `outside` those of the first: only items at one position wait for each other.

Rule i is parent[i] -> left[i] right[i], with -1 for right[i] if there is one symbol. The rules with right symbol C are
`right_rule[right_first[C] : right_first[C + 1]]`; likewise those by left symbol, by the symbol of a rule with one
(`unit`), and by parent (`down`). Row of (A, p): A * positions + p. The first symbols are the terminals.

Cost: rules x positions^3 / 32 at most. Reference: tests/masks/gaps/naive_gaps.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel


@kernel("i(rows, i, rows, i, rows, i, i)")
def join(table, into, of, row, fresh, symbol, begin):
    """OR row `row` of `of`, from word `begin` on, into row `into` of `table`; the new bits also into `fresh[symbol]`.

    Returns 1 if there are any.
    """
    grown = np.int64(0)
    for w in range(begin, table.shape[1]):
        more = of[row, w] & ~table[into, w]
        if more != 0:
            table[into, w] |= np.uint32(more)
            fresh[symbol, w] |= np.uint32(more)
            grown = np.int64(1)
    return grown


@kernel("i(arena, i, i, i)")
def wait(queue, symbols, waiting, symbol):
    """Put a symbol on the stack of those with fresh bits, unless it is there; the height of the stack then.

    queue: `symbols` words of the stack, then a word for each symbol: 1 if it waits.
    """
    if queue[symbols + symbol] == 1:
        return np.int64(waiting)
    queue[symbols + symbol] = 1
    queue[waiting] = symbol
    return np.int64(waiting + 1)


@kernel("void(rows, rows, i, i)")
def note_entering(R, entering, terminals, positions):
    """Fill `entering[q]`, the terminals with a lexeme that ends at position q; before the first stands `terminals`."""
    for t in range(terminals):
        for p in range(positions):
            for w in range(R.shape[1]):
                bits = R[t * positions + p, w]
                q = 32 * w
                while bits != 0:
                    if bits & np.uint32(1) != 0:
                        entering[q, t >> 5] |= np.uint32(1) << np.uint32(t & 31)
                    bits = np.uint32(bits >> np.uint32(1))
                    q += 1
    entering[0, terminals >> 5] |= np.uint32(1) << np.uint32(terminals & 31)


@kernel("i(rows, rows, arena, i, i, i)")
def may_begin(before, entering, known, symbol, p, positions):
    """Whether a lexeme that ends at position p may stand before the symbol in some text. known: 2 p + answer + 1."""
    if known[symbol] >> 1 != p + 1:
        answer = np.int64(0)
        for w in range(before.shape[1]):
            if before[symbol, w] & entering[p, w] != 0:
                answer = np.int64(1)
                break
        known[symbol] = 2 * (p + 1) + answer
    return np.int64(known[symbol] & 1)


@kernel(
    "i(rows, rows, rows, rows, rows, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena,"
    " arena, i, i)",
    entry=True,
)
def inside(
    R, begins, fresh, before, entering, known, queue, empties,
    left_first, left_rule, right_first, right_rule, unit_first, unit_rule, parent, left, right, terminals, positions,
):  # fmt: skip
    """Complete the items: R has the lexemes and the empty derivations of the symbols `empties` before.

    begins: row A has the positions p with an item (A, p, q); 0 before. fresh: rows of 0, one more than symbols. before:
    row A has the terminals that may stand before A in a text, and bit `terminals` if the text may begin with A.
    entering: a row of 0 for each position. known: 0 for each symbol. queue: 2 words of 0 for each symbol.
    Items that no text has, because of what stands before them, may be missing. Returns the number of visits.
    """
    width = R.shape[1]
    symbols = begins.shape[0]
    scratch = symbols
    note_entering(R, entering, terminals, positions)
    visits = 0
    for p in range(positions - 1, -1, -1):
        here = p >> 5
        bit = np.uint32(1) << np.uint32(p & 31)
        waiting = np.int64(0)
        for number in range(terminals + empties.size):
            symbol = np.int64(number) if number < terminals else np.int64(empties[number - terminals])
            row = symbol * positions + p
            for w in range(here, width):
                if R[row, w] != 0:
                    fresh[symbol, w] |= np.uint32(R[row, w])
                    begins[symbol, here] |= bit
                    waiting = wait(queue, symbols, waiting, symbol)
        while waiting > 0:
            waiting -= 1
            symbol = np.int64(queue[waiting])
            queue[symbols + symbol] = 0
            visits += 1
            begins[symbol, here] |= bit
            for w in range(here, width):
                fresh[scratch, w] = fresh[symbol, w]
                fresh[symbol, w] = np.uint32(0)
            for i in range(unit_first[symbol], unit_first[symbol + 1]):
                above = np.int64(parent[unit_rule[i]])
                if may_begin(before, entering, known, above, p, positions) == 1:
                    if join(R, above * positions + p, fresh, scratch, fresh, above, here) == 1:
                        waiting = wait(queue, symbols, waiting, above)
            for i in range(left_first[symbol], left_first[symbol + 1]):
                above = np.int64(parent[left_rule[i]])
                if may_begin(before, entering, known, above, p, positions) == 0:
                    continue
                second = np.int64(right[left_rule[i]])
                grown = np.int64(0)
                for w in range(here, width):
                    bits = fresh[scratch, w] & begins[second, w]
                    q = 32 * w
                    while bits != 0:
                        if bits & np.uint32(1) != 0:
                            grown |= join(R, above * positions + p, R, second * positions + q, fresh, above, w)
                        bits = np.uint32(bits >> np.uint32(1))
                        q += 1
                if grown == 1:
                    waiting = wait(queue, symbols, waiting, above)
            for i in range(right_first[symbol], right_first[symbol + 1]):
                if R[left[right_rule[i]] * positions + p, here] & bit == 0:
                    continue
                above = np.int64(parent[right_rule[i]])
                if may_begin(before, entering, known, above, p, positions) == 1:
                    if join(R, above * positions + p, fresh, scratch, fresh, above, here) == 1:
                        waiting = wait(queue, symbols, waiting, above)
    return np.int64(visits)


@kernel("i(rows, rows, rows, rows, rows, arena, arena, arena, arena, arena, i)", entry=True)
def outside(R, begins, L, live_begins, fresh, queue, down_first, down_rule, left, right, positions):
    """Fill L, the live items among R, and `live_begins`, where they begin, as `begins` for R.

    Before, both have the items of the whole. fresh: rows of 0, two more than symbols. queue: 2 words of 0 for each
    symbol. Returns the number of visits.
    """
    width = R.shape[1]
    symbols = begins.shape[0]
    delta = symbols
    part = symbols + 1
    visits = 0
    for p in range(positions):
        here = p >> 5
        bit = np.uint32(1) << np.uint32(p & 31)
        waiting = np.int64(0)
        for symbol in range(symbols):
            if live_begins[symbol, here] & bit != 0 and down_first[symbol] < down_first[symbol + 1]:
                for w in range(here, width):
                    fresh[symbol, w] = L[symbol * positions + p, w]
                waiting = wait(queue, symbols, waiting, symbol)
        while waiting > 0:
            waiting -= 1
            symbol = np.int64(queue[waiting])
            queue[symbols + symbol] = 0
            visits += 1
            last = np.int64(here)
            for w in range(here, width):
                fresh[delta, w] = fresh[symbol, w]
                fresh[symbol, w] = np.uint32(0)
                if fresh[delta, w] != 0:
                    last = np.int64(w)
            for i in range(down_first[symbol], down_first[symbol + 1]):
                one = np.int64(left[down_rule[i]])
                first = one * positions + p
                if begins[one, here] & bit == 0:
                    continue
                for w in range(here, width):
                    fresh[part, w] = np.uint32(0)
                if right[down_rule[i]] < 0:
                    for w in range(here, last + 1):
                        fresh[part, w] = fresh[delta, w] & R[first, w]
                else:
                    second = np.int64(right[down_rule[i]])
                    for w in range(here, last + 1):
                        bits = R[first, w] & begins[second, w]
                        middle = 32 * w
                        while bits != 0:
                            if bits & np.uint32(1) != 0:
                                row = second * positions + middle
                                some = np.uint32(0)
                                more = np.uint32(0)
                                for v in range(w, last + 1):
                                    both = np.uint32(fresh[delta, v] & R[row, v])
                                    some |= both
                                    fit = np.uint32(both & ~L[row, v])
                                    if fit != 0:
                                        more |= fit
                                        L[row, v] |= fit
                                        if middle == p:
                                            fresh[second, v] |= fit
                                if some != 0:
                                    fresh[part, w] |= np.uint32(1) << np.uint32(middle & 31)
                                    live_begins[second, w] |= np.uint32(1) << np.uint32(middle & 31)
                                if more != 0 and middle == p:
                                    waiting = wait(queue, symbols, waiting, second)
                            bits = np.uint32(bits >> np.uint32(1))
                            middle += 1
                if join(L, first, fresh, part, fresh, one, here) == 1:
                    live_begins[one, here] |= bit
                    waiting = wait(queue, symbols, waiting, one)
    return np.int64(visits)
