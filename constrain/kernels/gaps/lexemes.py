"""Lexemes between the states of a pattern: from where to where the pattern spells a text of a terminal.

A pattern is an automaton of byte classes without empty arcs. Its arcs stand in CSR form: those of node q are
`first[q]` to `first[q + 1]`, each with its class `by` and its node `to`. The lexer is one table for all terminals:
`moves[s * classes + c]` is the state after a byte of class c, -1 for none; `kinds[s]` is FRESH at the beginning of a
terminal (no arc leads back to it), ACCEPTING after a whole text of it, else 0; `owners[s]` is its terminal.

The idea: a *pair* (s, q) says that a lexeme begun somewhere has reached lexer state s at node q. `reach` finds the
pairs that a text from the first node leads to, `retain` drops the ones from which the end is out of reach. Then
`spread` propagates, for each pair, the row of all positions where its lexeme began: one pass for all of them. `recede`
goes back from live lexemes to live arcs of the pattern. Arcs lead to later nodes or back to the same one, so only pairs
of one node wait for each other.

Cost: pairs x arcs x positions / 32. Reference: tests/masks/gaps/naive_gaps.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel

FRESH = 2
ACCEPTING = 1
NOWHERE = 1 << 30  # a cost that nothing has


@kernel("i(arena, arena, arena, arena, arena, arena, arena, arena, arena, i, i)", entry=True)
def reach(first, by, to, moves, kinds, starts, seen, order, boundary, classes, begin):
    """Find the pairs that texts from the node `begin` lead to, as s * nodes + q, in `order`; how many there are.

    seen: 1 for each pair found. boundary: 1 for each node where a lexeme may end, and for `begin`.
    """
    nodes = boundary.size
    count = 0
    boundary[begin] = 1
    for t in range(starts.size):
        order[count] = starts[t] * nodes + begin
        seen[order[count]] = 1
        count += 1
    at = 0
    while at < count:
        s = order[at] // nodes
        q = order[at] % nodes
        at += 1
        if kinds[s] == ACCEPTING and boundary[q] == 0:
            boundary[q] = 1
            for t in range(starts.size):
                pair = starts[t] * nodes + q
                if seen[pair] == 0:
                    seen[pair] = 1
                    order[count] = pair
                    count += 1
        for a in range(first[q], first[q + 1]):
            after = moves[s * classes + by[a]]
            if after < 0:
                continue
            pair = after * nodes + to[a]
            if seen[pair] == 0:
                seen[pair] = 1
                order[count] = pair
                count += 1
    return np.int64(count)


@kernel("i(arena, arena, arena, arena, arena, arena, arena, arena, arena, i, i)", entry=True)
def retain(first, by, to, moves, kinds, ends, seen, order, boundary, classes, count):
    """Mark with 2 in `seen` the pairs from which a node of `ends` is reached, in `boundary` where they meet lexemes.

    order: the pairs that `reach` found, sorted by their nodes: pairs of a node wait for each other, and for later ones.
    Returns how many pairs are marked.
    """
    nodes = boundary.size
    for q in range(nodes):
        if boundary[q] == 1 and ends[q] == 1:
            boundary[q] = 2
    marked = 0
    end = np.int64(count)
    while end > 0:
        q = order[end - 1] % nodes
        begin = end
        while begin > 0 and order[begin - 1] % nodes == q:
            begin -= 1
        changed = True
        while changed:
            changed = False
            for i in range(end - 1, begin - 1, -1):
                if seen[order[i]] == 2:
                    continue
                s = order[i] // nodes
                alive = kinds[s] == ACCEPTING and boundary[q] == 2
                for a in range(first[q], first[q + 1]):
                    if alive:
                        break
                    after = moves[s * classes + by[a]]
                    alive = after >= 0 and seen[after * nodes + to[a]] == 2
                if alive:
                    seen[order[i]] = 2
                    marked += 1
                    changed = True
                    if kinds[s] == FRESH and boundary[q] == 1:
                        boundary[q] = 2
        end = begin
    return np.int64(marked)


@kernel("i(arena, arena, arena, arena, arena, arena, arena, arena, arena, rows, arena, rows, i)", entry=True)
def spread(first, by, to, moves, kinds, owners, place, pair_s, pair_q, begun, number, found, classes):
    """Fill `begun`, for each pair the row of positions where its lexeme began, and `found`, the lexemes.

    place: the position of each node; -1 for none. Pairs are sorted by their nodes. number: the pair of s * nodes + q;
    -1 for none. found: row terminal * positions + p has the positions where a lexeme from p ends.
    Returns the number of visits to pairs.
    """
    nodes = place.size
    pairs = pair_s.size
    width = begun.shape[1]
    positions = 0
    for q in range(nodes):
        positions = max(positions, place[q] + 1)
    visits = 0
    begin = np.int64(0)
    while begin < pairs:
        q = pair_q[begin]
        p = place[q]
        end = begin
        while end < pairs and pair_q[end] == q:
            if kinds[pair_s[end]] == FRESH and p >= 0:
                begun[end, p >> 5] |= np.uint32(1) << np.uint32(p & 31)
            end += 1
        changed = True
        while changed:
            changed = False
            visits += end - begin
            for i in range(begin, end):
                for a in range(first[q], first[q + 1]):
                    after = moves[pair_s[i] * classes + by[a]]
                    if after < 0:
                        continue
                    j = number[after * nodes + to[a]]
                    if j < 0:
                        continue
                    for w in range(width):
                        more = begun[i, w] & ~begun[j, w]
                        if more != 0:
                            begun[j, w] |= np.uint32(more)
                            changed = changed or (to[a] == q and j < i)
        begin = end
    for i in range(pairs):
        end = place[pair_q[i]]
        if kinds[pair_s[i]] != ACCEPTING or end < 0:
            continue
        for p in range(positions):
            if (begun[i, p >> 5] >> np.uint32(p & 31)) & np.uint32(1) != 0:
                found[owners[pair_s[i]] * positions + p, end >> 5] |= np.uint32(1) << np.uint32(end & 31)
    return np.int64(visits)


@kernel(
    "i(arena, arena, arena, arena, arena, arena, arena, arena, arena, rows, rows, arena, rows, arena, i)", entry=True
)
def recede(first, by, to, moves, kinds, owners, place, pair_s, pair_q, begun, useful, number, live, arcs, classes):
    """Fill `useful`, the part of `begun` that ends in a live lexeme, and `arcs`: 1 for each arc of such a lexeme.

    live: as `found` of `spread`, the lexemes of whole derivations. Returns the number of live arcs.
    """
    nodes = place.size
    pairs = pair_s.size
    width = begun.shape[1]
    positions = 0
    for q in range(nodes):
        positions = max(positions, place[q] + 1)
    for i in range(pairs):
        end = place[pair_q[i]]
        if kinds[pair_s[i]] != ACCEPTING or end < 0:
            continue
        for p in range(positions):
            if (begun[i, p >> 5] >> np.uint32(p & 31)) & np.uint32(1) != 0:
                row = owners[pair_s[i]] * positions + p
                if (live[row, end >> 5] >> np.uint32(end & 31)) & np.uint32(1) != 0:
                    useful[i, p >> 5] |= np.uint32(1) << np.uint32(p & 31)
    last = np.int64(pairs)
    while last > 0:
        q = pair_q[last - 1]
        begin = last
        while begin > 0 and pair_q[begin - 1] == q:
            begin -= 1
        changed = True
        while changed:
            changed = False
            for i in range(last - 1, begin - 1, -1):
                for a in range(first[q], first[q + 1]):
                    missing = np.uint32(0)
                    for w in range(width):
                        missing |= begun[i, w] & ~useful[i, w]
                    if missing == 0:
                        break
                    after = moves[pair_s[i] * classes + by[a]]
                    if after < 0:
                        continue
                    j = number[after * nodes + to[a]]
                    if j < 0:
                        continue
                    for w in range(width):
                        more = useful[j, w] & begun[i, w] & ~useful[i, w]
                        if more != 0:
                            useful[i, w] |= np.uint32(more)
                            changed = True
        last = begin
    count = 0
    for i in range(pairs):
        q = pair_q[i]
        for a in range(first[q], first[q + 1]):
            after = moves[pair_s[i] * classes + by[a]]
            if after < 0 or arcs[a] == 1:
                continue
            j = number[after * nodes + to[a]]
            if j < 0:
                continue
            for w in range(width):
                if useful[j, w] & begun[i, w] != 0:
                    arcs[a] = 1
                    count += 1
                    break
    return np.int64(count)


@kernel(
    "i(arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, arena, rows, arena, arena, i, i)",
    entry=True,
)
def cheapest(
    first, by, to, weights, moves, kinds, owners, place, pair_s, pair_q, number, live, least, queue, classes, start
):
    """Fill `least[pair]`, the least weight of arcs from the fresh pair `start` to each pair that it leads to.

    Each is NOWHERE before. queue: 2 words for each pair. Returns the number of visits to pairs.
    """
    nodes = place.size
    pairs = pair_s.size
    queue[0] = start
    head = 0
    waiting = 1
    least[start] = 0
    visits = 0
    while waiting > 0:
        i = queue[head]
        head = (head + 1) % pairs
        waiting -= 1
        queue[pairs + i] = 0
        visits += 1
        q = pair_q[i]
        for a in range(first[q], first[q + 1]):
            after = moves[pair_s[i] * classes + by[a]]
            if after < 0:
                continue
            j = number[after * nodes + to[a]]
            if j < 0 or least[i] + weights[a] >= least[j]:
                continue
            least[j] = least[i] + weights[a]
            if queue[pairs + j] == 0:
                queue[pairs + j] = 1
                queue[(head + waiting) % pairs] = j
                waiting += 1
    return np.int64(visits)
