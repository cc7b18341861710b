"""Lexemes between the states of a pattern: from where to where the pattern spells a text of a terminal.

Arrays: T the pattern and the lexer (PATTERN), P the pairs (PAIRS). No arc of the lexer leads back to a FRESH state.

The idea: a *pair* (s, q) says that a lexeme begun somewhere has reached lexer state s at node q. `reach` finds the
pairs that a text from the first node leads to, `retain` drops the ones from which the end is out of reach. Then
`spread` propagates, for each pair, the row of all positions where its lexeme began: one pass for all of them. `recede`
goes back from live lexemes to live arcs of the pattern. Arcs lead to later nodes or back to the same one, so only pairs
of one node wait for each other.

Records: records.py. Cost: pairs x arcs x positions / 32. Reference: tests/gaps/naive_gaps.py.
"""

import numpy as np

from constrain.gaps.kernels.records import ARC, PAIRS, PATTERN, has_bit_of, moves_of, set_bit_of
from constrain.kernels import kernel

FRESH = 2
ACCEPTING = 1
NOWHERE = 1 << 30  # a cost that nothing has


# --- which pairs there are --------------------------------------------------------------------------------------------


@kernel("i(arena, i, i)")
def product_after(T, moves, arc):
    """The pair, as state * nodes + node, to which an arc leads from the state with these moves; -1: none."""
    after = np.int64(T[moves + ARC.CLASS(T, arc)])
    return after * T[PATTERN.NODES] + ARC.NODE(T, arc) if after >= 0 else np.int64(-1)


@kernel("i(arena, arena, i, i)")
def meet(seen, order, count, pair):
    """Add a pair to `order` unless it was seen. Returns how many there are."""
    if pair < 0 or seen[pair] != 0:
        return np.int64(count)
    seen[pair] = 1
    order[count] = pair
    return np.int64(count + 1)


@kernel("i(arena, arena, arena, i, i)")
def begin_lexemes(T, seen, order, count, q):
    """Add the pairs with which lexemes begin at a node. Returns how many pairs there are."""
    for t in range(T[PATTERN.N_STARTS]):
        count = meet(seen, order, count, PATTERN.START(T, t) * T[PATTERN.NODES] + q)
    return np.int64(count)


@kernel("i(arena, arena, arena, arena, i)", entry=True)
def reach(T, seen, order, boundary, begin):
    """Find the pairs that texts from the node `begin` lead to, as s * nodes + q, in `order`; how many there are.

    seen: 1 for each pair found. boundary: 1 for each node where a lexeme may end, and for `begin`.
    """
    nodes = np.int64(T[PATTERN.NODES])
    boundary[begin] = 1
    count = begin_lexemes(T, seen, order, 0, begin)
    at = 0
    while at < count:
        s, q = order[at] // nodes, order[at] % nodes
        at += 1
        if PATTERN.KIND(T, s) == ACCEPTING and boundary[q] == 0:
            boundary[q] = 1
            count = begin_lexemes(T, seen, order, count, q)
        moves = moves_of(T, s)
        for arc in range(PATTERN.FIRST(T, q), PATTERN.FIRST(T, q + 1), ARC.WORDS):
            count = meet(seen, order, count, product_after(T, moves, arc))
    return np.int64(count)


@kernel("i(arena, arena, arena, i)", inline=True)
def leads_to_end(T, seen, boundary, pair):
    """1 if a pair ends a lexeme where a text may go on to an end, or leads to a pair that is marked; else 0."""
    nodes = np.int64(T[PATTERN.NODES])
    s, q = pair // nodes, pair % nodes
    if PATTERN.KIND(T, s) == ACCEPTING and boundary[q] == 2:
        return 1
    moves = moves_of(T, s)
    for arc in range(PATTERN.FIRST(T, q), PATTERN.FIRST(T, q + 1), ARC.WORDS):
        after = product_after(T, moves, arc)
        if after >= 0 and seen[after] == 2:
            return 1
    return 0


@kernel("i(arena, arena, arena, arena, i, i)")
def retain_node(T, seen, order, boundary, begin, end):
    """Mark the pairs of one node, order[begin:end], from which an end is reached. Returns how many are marked."""
    nodes = np.int64(T[PATTERN.NODES])
    q = order[begin] % nodes
    marked = 0
    changed = True
    while changed:
        changed = False
        for i in range(end - 1, begin - 1, -1):
            if seen[order[i]] != 2 and leads_to_end(T, seen, boundary, order[i]) != 0:
                seen[order[i]] = 2
                marked += 1
                changed = True
                if PATTERN.KIND(T, order[i] // nodes) == FRESH and boundary[q] == 1:
                    boundary[q] = 2
    return marked


@kernel("i(arena, arena, arena, arena, i)", entry=True)
def retain(T, seen, order, boundary, count):
    """Mark with 2 in `seen` the pairs from which an END is reached, in `boundary` where they meet lexemes.

    order: the pairs that `reach` found, sorted by their nodes: pairs of a node wait for each other, and for later ones.
    Returns how many pairs are marked.
    """
    nodes = np.int64(T[PATTERN.NODES])
    for q in range(nodes):
        if boundary[q] == 1 and PATTERN.END(T, q) == 1:
            boundary[q] = 2
    marked = 0
    end = np.int64(count)
    while end > 0:
        begin = end
        while begin > 0 and order[begin - 1] % nodes == order[end - 1] % nodes:
            begin -= 1
        marked += retain_node(T, seen, order, boundary, begin, end)
        end = begin
    return np.int64(marked)


# --- where lexemes begin and end --------------------------------------------------------------------------------------


@kernel("i(arena, arena, i, i)")
def pair_after(T, P, moves, arc):
    """The pair to which an arc leads from one whose state has these moves; -1: none."""
    after = product_after(T, moves, arc)
    return PAIRS.NUMBER(P, after) if after >= 0 else after


@kernel("i(arena, i)")
def end_of_node(P, begin):
    """The first pair behind those of the node of pair `begin`."""
    end = begin
    while end < P[PAIRS.COUNT] and PAIRS.NODE(P, end) == PAIRS.NODE(P, begin):
        end += 1
    return end


@kernel("i(arena, arena, i)")
def end_position(T, P, i):
    """The position where a lexeme ends with pair i; -1: none does."""
    return PAIRS.POSITION(P, PAIRS.NODE(P, i)) if PATTERN.KIND(T, PAIRS.STATE(P, i)) == ACCEPTING else np.int64(-1)


@kernel("i(rows, i, i)")
def spread_row(begun, i, j):
    """OR the row of pair i into that of pair j. Returns 1 if it grew."""
    grown = np.int64(0)
    for w in range(begun.shape[1]):
        more = begun[i, w] & ~begun[j, w]
        if more != 0:
            begun[j, w] |= np.uint32(more)
            grown = np.int64(1)
    return grown


@kernel("i(arena, arena, rows, i, i)")
def spread_node(T, P, begun, begin, end):
    """`spread` for the pairs of one node, from `begin` on. Returns the number of visits."""
    q = PAIRS.NODE(P, begin)
    visits = 0
    changed = True
    while changed:
        changed = False
        visits += end - begin
        for i in range(begin, end):
            moves = moves_of(T, PAIRS.STATE(P, i))
            for arc in range(PATTERN.FIRST(T, q), PATTERN.FIRST(T, q + 1), ARC.WORDS):
                j = pair_after(T, P, moves, arc)
                if j >= 0 and spread_row(begun, i, j) == 1:
                    changed = changed or (ARC.NODE(T, arc) == q and j < i)
    return visits


@kernel("i(arena, arena, rows, rows)", entry=True)
def spread(T, P, begun, found):
    """Fill `begun`, for each pair the row of positions where its lexeme began, and `found`, the lexemes.

    found: row terminal * positions + p has the positions where a lexeme from p ends. Returns the number of visits to
    pairs.
    """
    positions = np.int64(P[PAIRS.POSITIONS])
    visits = 0
    begin = np.int64(0)
    while begin < P[PAIRS.COUNT]:
        p = PAIRS.POSITION(P, PAIRS.NODE(P, begin))
        end = end_of_node(P, begin)
        for i in range(begin, end):
            if PATTERN.KIND(T, PAIRS.STATE(P, i)) == FRESH and p >= 0:
                set_bit_of(begun, i, p)
        visits += spread_node(T, P, begun, begin, end)
        begin = end
    for i in range(P[PAIRS.COUNT]):
        end = end_position(T, P, i)
        if end >= 0:
            for p in range(positions):
                if has_bit_of(begun, i, p):
                    set_bit_of(found, PATTERN.OWNER(T, PAIRS.STATE(P, i)) * positions + p, end)
    return np.int64(visits)


# --- which of them are live -------------------------------------------------------------------------------------------


@kernel("void(arena, arena, rows, rows, rows)")
def note_live_ends(T, P, begun, useful, live):
    """Fill `useful` for the pairs where lexemes end."""
    positions = np.int64(P[PAIRS.POSITIONS])
    for i in range(P[PAIRS.COUNT]):
        end = end_position(T, P, i)
        if end >= 0:
            for p in range(positions):
                if has_bit_of(begun, i, p) and has_bit_of(
                    live, PATTERN.OWNER(T, PAIRS.STATE(P, i)) * positions + p, end
                ):
                    set_bit_of(useful, i, p)


@kernel("i(rows, rows, i)")
def is_all_useful(begun, useful, i):
    """1 if all of the row of pair i is useful, else 0."""
    for w in range(begun.shape[1]):
        if begun[i, w] & ~useful[i, w] != 0:
            return 0
    return 1


@kernel("i(arena, arena, rows, rows, i)", inline=True)
def recede_pair(T, P, begun, useful, i):
    """Make useful in pair i what is useful in the pairs that it leads to. Returns 1 if there was any more."""
    q = PAIRS.NODE(P, i)
    moves = moves_of(T, PAIRS.STATE(P, i))
    grown = np.int64(0)
    for arc in range(PATTERN.FIRST(T, q), PATTERN.FIRST(T, q + 1), ARC.WORDS):
        if is_all_useful(begun, useful, i) == 1:
            break
        j = pair_after(T, P, moves, arc)
        if j >= 0:
            for w in range(begun.shape[1]):
                more = useful[j, w] & begun[i, w] & ~useful[i, w]
                if more != 0:
                    useful[i, w] |= np.uint32(more)
                    grown = np.int64(1)
    return grown


@kernel("i(arena, arena, rows, rows, arena)")
def mark_arcs(T, P, begun, useful, arcs):
    """Mark the arcs of live lexemes with 1. Returns how many there are."""
    count = 0
    for i in range(P[PAIRS.COUNT]):
        q = PAIRS.NODE(P, i)
        moves = moves_of(T, PAIRS.STATE(P, i))
        for arc in range(PATTERN.FIRST(T, q), PATTERN.FIRST(T, q + 1), ARC.WORDS):
            a = (arc - T[PATTERN.ARCS]) // ARC.WORDS
            j = pair_after(T, P, moves, arc) if arcs[a] == 0 else np.int64(-1)
            if j >= 0:
                for w in range(begun.shape[1]):
                    if useful[j, w] & begun[i, w] != 0:
                        arcs[a] = 1
                count += arcs[a]
    return np.int64(count)


@kernel("i(arena, arena, rows, rows, rows, arena)", entry=True)
def recede(T, P, begun, useful, live, arcs):
    """Fill `useful`, the part of `begun` that ends in a live lexeme, and `arcs`: 1 for each arc of such a lexeme.

    live: as `found` of `spread`, the lexemes of whole derivations. Returns the number of live arcs.
    """
    note_live_ends(T, P, begun, useful, live)
    last = np.int64(P[PAIRS.COUNT])
    while last > 0:
        begin = last
        while begin > 0 and PAIRS.NODE(P, begin - 1) == PAIRS.NODE(P, last - 1):
            begin -= 1
        changed = True
        while changed:
            changed = False
            for i in range(last - 1, begin - 1, -1):
                if recede_pair(T, P, begun, useful, i) == 1:
                    changed = True
        last = begin
    return mark_arcs(T, P, begun, useful, arcs)


# --- the cheapest -----------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, arena, i)", entry=True)
def cheapest(T, P, least, queue, start):
    """Fill `least[pair]`, the least weight of arcs from the fresh pair `start` to each pair that it leads to.

    Each is NOWHERE before. queue: 2 words for each pair. Returns the number of visits to pairs.
    """
    pairs = np.int64(P[PAIRS.COUNT])
    queue[0] = start
    head = 0
    waiting = 1
    least[start] = 0
    visits = 0
    while waiting > 0:
        i = np.int64(queue[head])
        head = (head + 1) % pairs
        waiting -= 1
        queue[pairs + i] = 0
        visits += 1
        q = PAIRS.NODE(P, i)
        moves = moves_of(T, PAIRS.STATE(P, i))
        for arc in range(PATTERN.FIRST(T, q), PATTERN.FIRST(T, q + 1), ARC.WORDS):
            j = pair_after(T, P, moves, arc)
            if j < 0 or least[i] + ARC.WEIGHT(T, arc) >= least[j]:
                continue
            least[j] = least[i] + ARC.WEIGHT(T, arc)
            if queue[pairs + j] == 0:
                queue[pairs + j] = 1
                queue[(head + waiting) % pairs] = j
                waiting += 1
    return np.int64(visits)
