"""Derivations between positions: what derives some text from where to where, and what is live.

The idea (Bar-Hillel, Perles and Shamir 1961): an item (A, p, q) says that symbol A derives a text that leads from
position p to position q. `inside` finds all items, `outside` the ones that are part of a derivation of the whole. Rules
have at most two symbols. A row of bits is all q of one (A, p): a rule A -> B C ORs whole rows.

Positions are numbered along the pattern: no text leads back, except from a position to itself. So `inside` completes
the items of the last position first, and `outside` those of the first: only items at one position wait for each other.

Row of (A, p): A * positions + p. Arrays: G the rules (RULES), Q which symbols have fresh items (AGENDA), R the items, L
the live ones; the row of a symbol in `begins` has the positions where items of it begin, in `fresh` the ends of items
that were found since its consequences were.

Records: records.py. Cost: rules x positions^3 / 32 at most. Reference: tests/gaps/naive_gaps.py.
"""

import numpy as np

from constrain.gaps.kernels.records import AGENDA, RULE, RULES, has_bit_of, set_bit_of
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


# --- the agenda -------------------------------------------------------------------------------------------------------


@kernel("void(arena, i)")
def wait(Q, symbol):
    """Put a symbol on the stack of those with fresh bits, unless it is there."""
    if Q[Q[AGENDA.WAITS] + symbol] == 0:
        Q[Q[AGENDA.WAITS] + symbol] = 1
        Q[Q[AGENDA.STACK] + Q[AGENDA.HEIGHT]] = symbol
        Q[AGENDA.HEIGHT] += 1


@kernel("i(arena)")
def take_waiting(Q):
    """Take a symbol from the stack."""
    Q[AGENDA.HEIGHT] -= 1
    symbol = np.int64(Q[Q[AGENDA.STACK] + Q[AGENDA.HEIGHT]])
    Q[Q[AGENDA.WAITS] + symbol] = 0
    return symbol


@kernel("i(rows, i, i, i)")
def take_fresh(fresh, symbol, into, begin):
    """Move the fresh bits of a symbol, from word `begin` on, to the row `into`. Returns the last word that has any."""
    last = np.int64(begin)
    for w in range(begin, fresh.shape[1]):
        fresh[into, w] = fresh[symbol, w]
        fresh[symbol, w] = np.uint32(0)
        if fresh[into, w] != 0:
            last = np.int64(w)
    return last


# --- from the bottom up -----------------------------------------------------------------------------------------------


@kernel("void(rows, rows, arena, i)")
def note_entering(R, entering, G, positions):
    """Fill `entering[q]`, the terminals with a lexeme that ends at position q; before the first stands `terminals`."""
    terminals = np.int64(G[RULES.TERMINALS])
    for row in range(terminals * positions):
        for w in range(R.shape[1]):
            bits = R[row, w]
            q = 32 * w
            while bits != 0:
                if bits & np.uint32(1) != 0:
                    set_bit_of(entering, q, row // positions)
                bits = np.uint32(bits >> np.uint32(1))
                q += 1
    set_bit_of(entering, 0, terminals)


@kernel("i(rows, rows, arena, i)", inline=True)
def may_begin(before, entering, Q, symbol):
    """1 if a lexeme that ends at the position of the agenda may stand before the symbol in some text, else 0."""
    p = np.int64(Q[AGENDA.POSITION])
    known = np.int64(Q[AGENDA.BEGINS]) + symbol
    if Q[known] >> 1 != p + 1:
        answer = np.int64(0)
        for w in range(before.shape[1]):
            if before[symbol, w] & entering[p, w] != 0:
                answer = np.int64(1)
                break
        Q[known] = 2 * (p + 1) + answer
    return np.int64(Q[known] & 1)


@kernel("void(rows, rows, rows, arena, i)")
def begin_with(R, begins, fresh, Q, symbol):
    """Make the items of a symbol at the position of the agenda fresh that were there before."""
    p = np.int64(Q[AGENDA.POSITION])
    row = symbol * Q[AGENDA.POSITIONS] + p
    for w in range(p >> 5, R.shape[1]):
        if R[row, w] != 0:
            fresh[symbol, w] |= np.uint32(R[row, w])
            set_bit_of(begins, symbol, p)
            wait(Q, symbol)


@kernel("void(rows, rows, arena, arena, i, i)")
def add_fresh(R, fresh, G, Q, rule, scratch):
    """The fresh bits in the row `scratch` are ends of the rule's parent, too."""
    above = RULE.PARENT(G, rule)
    p = np.int64(Q[AGENDA.POSITION])
    if join(R, above * Q[AGENDA.POSITIONS] + p, fresh, scratch, fresh, above, p >> 5) == 1:
        wait(Q, above)


@kernel("void(rows, rows, rows, arena, arena, i, i)", inline=True)
def add_seconds(R, begins, fresh, G, Q, rule, scratch):
    """Add the items of a rule whose first symbol ends at fresh bits, in the row `scratch`, by its second symbol."""
    above, second = RULE.PARENT(G, rule), RULE.RIGHT(G, rule)
    p, positions = np.int64(Q[AGENDA.POSITION]), np.int64(Q[AGENDA.POSITIONS])
    grown = np.int64(0)
    for w in range(p >> 5, R.shape[1]):
        bits = fresh[scratch, w] & begins[second, w]
        q = 32 * w
        while bits != 0:
            if bits & np.uint32(1) != 0:
                grown |= join(R, above * positions + p, R, second * positions + q, fresh, above, w)
            bits = np.uint32(bits >> np.uint32(1))
            q += 1
    if grown == 1:
        wait(Q, above)


@kernel("i(rows, rows, rows, rows, rows, arena, arena)", entry=True)
def inside(R, begins, fresh, before, entering, G, Q):
    """Complete the items: R has the lexemes and the empty derivations of the symbols EMPTIES before.

    begins: rows of 0. fresh: rows of 0, one more than symbols. before: row A has the terminals that may stand before A
    in a text, and bit `terminals` if the text may begin with A. entering: a row of 0 for each position. Q: empty.
    Items that no text has, because of what stands before them, may be missing. Returns the number of visits.
    """
    positions = np.int64(Q[AGENDA.POSITIONS])
    scratch = np.int64(Q[AGENDA.SYMBOLS])
    note_entering(R, entering, G, positions)
    visits = 0
    for p in range(positions - 1, -1, -1):
        Q[AGENDA.POSITION] = p
        for symbol in range(G[RULES.TERMINALS]):
            begin_with(R, begins, fresh, Q, symbol)
        for k in range(G[RULES.N_EMPTIES]):
            begin_with(R, begins, fresh, Q, RULES.EMPTIES(G, k))
        while Q[AGENDA.HEIGHT] > 0:
            symbol = take_waiting(Q)
            visits += 1
            set_bit_of(begins, symbol, p)
            take_fresh(fresh, symbol, scratch, p >> 5)
            for rule in range(RULES.BY_UNIT(G, symbol), RULES.BY_UNIT(G, symbol + 1), RULE.WORDS):
                if may_begin(before, entering, Q, RULE.PARENT(G, rule)) == 1:
                    add_fresh(R, fresh, G, Q, rule, scratch)
            for rule in range(RULES.BY_LEFT(G, symbol), RULES.BY_LEFT(G, symbol + 1), RULE.WORDS):
                if may_begin(before, entering, Q, RULE.PARENT(G, rule)) == 1:
                    add_seconds(R, begins, fresh, G, Q, rule, scratch)
            for rule in range(RULES.BY_RIGHT(G, symbol), RULES.BY_RIGHT(G, symbol + 1), RULE.WORDS):
                if has_bit_of(R, RULE.LEFT(G, rule) * positions + p, p):
                    if may_begin(before, entering, Q, RULE.PARENT(G, rule)) == 1:
                        add_fresh(R, fresh, G, Q, rule, scratch)
    return np.int64(visits)


# --- from the top down ------------------------------------------------------------------------------------------------


@kernel("i(rows, rows, rows, arena, i, i, i)", inline=True)
def narrow(R, L, fresh, Q, symbol, begin, last):
    """Make the items of a symbol from `begin` live that end where the item above does; whether there are any.

    The ends of the item above are the row of `fresh` behind the symbols, up to the word `last`.
    """
    row = symbol * Q[AGENDA.POSITIONS] + begin
    above = np.int64(Q[AGENDA.SYMBOLS])
    some = np.int64(0)
    grown = False
    for w in range(begin >> 5, last + 1):
        both = np.uint32(fresh[above, w] & R[row, w])
        more = np.uint32(both & ~L[row, w])
        if both != 0:
            some = np.int64(1)
        if more != 0:
            L[row, w] |= more
            if begin == Q[AGENDA.POSITION]:
                fresh[symbol, w] |= more
                grown = True
    if grown:
        wait(Q, symbol)
    return some


@kernel("void(rows, rows, rows, rows, rows, arena, arena, i, i)", inline=True)
def narrow_seconds(R, begins, L, live_begins, fresh, G, Q, rule, last):
    """Make the items of a rule's second symbol live; where they begin, the last row of `fresh` has bits then."""
    one, second = RULE.LEFT(G, rule), RULE.RIGHT(G, rule)
    p = np.int64(Q[AGENDA.POSITION])
    first, part = one * Q[AGENDA.POSITIONS] + p, np.int64(Q[AGENDA.SYMBOLS]) + 1
    for w in range(p >> 5, last + 1):
        bits = R[first, w] & begins[second, w]
        middle = 32 * w
        while bits != 0:
            if bits & np.uint32(1) != 0 and narrow(R, L, fresh, Q, second, middle, last) != 0:
                set_bit_of(fresh, part, middle)
                set_bit_of(live_begins, second, middle)
            bits = np.uint32(bits >> np.uint32(1))
            middle += 1


@kernel("void(rows, rows, rows, rows, rows, arena, arena, i, i)")
def narrow_rule(R, begins, L, live_begins, fresh, G, Q, rule, last):
    """Make the items of a rule live below an item of its parent; `last` as in `narrow`."""
    one = RULE.LEFT(G, rule)
    p = np.int64(Q[AGENDA.POSITION])
    first = one * Q[AGENDA.POSITIONS] + p
    above, part = np.int64(Q[AGENDA.SYMBOLS]), np.int64(Q[AGENDA.SYMBOLS]) + 1
    if not has_bit_of(begins, one, p):
        return
    for w in range(p >> 5, R.shape[1]):
        fresh[part, w] = np.uint32(0)
    if RULE.RIGHT(G, rule) < 0:
        for w in range(p >> 5, last + 1):
            fresh[part, w] = fresh[above, w] & R[first, w]
    else:
        narrow_seconds(R, begins, L, live_begins, fresh, G, Q, rule, last)
    if join(L, first, fresh, part, fresh, one, p >> 5) == 1:
        set_bit_of(live_begins, one, p)
        wait(Q, one)


@kernel("i(rows, rows, rows, rows, rows, arena, arena)", entry=True)
def outside(R, begins, L, live_begins, fresh, G, Q):
    """Fill L, the live items among R, and `live_begins`, where they begin, as `begins` for R.

    Before, both have the items of the whole. fresh: rows of 0, two more than symbols. Q: empty. Returns the number of
    visits.
    """
    symbols = np.int64(Q[AGENDA.SYMBOLS])
    visits = 0
    for p in range(Q[AGENDA.POSITIONS]):
        Q[AGENDA.POSITION] = p
        for symbol in range(symbols):
            if has_bit_of(live_begins, symbol, p) and RULES.BY_PARENT(G, symbol) < RULES.BY_PARENT(G, symbol + 1):
                for w in range(p >> 5, R.shape[1]):
                    fresh[symbol, w] = L[symbol * Q[AGENDA.POSITIONS] + p, w]
                wait(Q, symbol)
        while Q[AGENDA.HEIGHT] > 0:
            symbol = take_waiting(Q)
            visits += 1
            last = take_fresh(fresh, symbol, symbols, p >> 5)
            for rule in range(RULES.BY_PARENT(G, symbol), RULES.BY_PARENT(G, symbol + 1), RULE.WORDS):
                narrow_rule(R, begins, L, live_begins, fresh, G, Q, rule, last)
    return np.int64(visits)
