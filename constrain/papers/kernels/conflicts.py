"""The tokens that may not follow a token within a piece, as a row: what `stay_apart` says of all at once.

The idea goes on from kernels/cuts/neighbours.py, with its words. For the merge (x, y), m, of a token x of a's right
spine: x is still there if UNTIL_RIGHT of its parent is greater than the merge's *gate*; then b conflicts if it is y, or
if the parent p of y on b's left spine has UNTIL_LEFT at least some *threshold*. All parents of y, in the order of
UNTIL_LEFT, each with the tokens that have it on their spines, are a run of positions that ends with y itself. So each
merge forbids one run.

Arrays: M the merges (MERGE), T the tokens (TOKEN), B their spines (SPINE), R the runs (RUN), `parents` the tokens by
their left parts and UNTIL_LEFT, `by_length` the tokens that are made, parts before wholes.

Records: records.py. Cost of a row: a step for each merge of the right spine whose gate is open, and for each bit.
Reference: tests/papers/cuts/test_canonical_conflicts.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.cuts.tables import MERGE, NO_RANK, TOKEN, UNMADE
from constrain.papers.kernels.records import RUN, SPINE


@kernel("i(arena, arena, arena, arena, arena)", entry=True)
def find_positions(by_length, parents, T, B, tokens):
    """Number the tokens: fill BEGIN and SIZE, and `tokens` with the token at each position. SIZE is 0 before."""
    for i in range(by_length.size - 1, -1, -1):
        b, left = by_length[i] * SPINE.WORDS, T[by_length[i] * TOKEN.WORDS + TOKEN.LEFT]
        B[b + SPINE.SIZE] += 1
        if left >= 0:
            B[left * SPINE.WORDS + SPINE.SIZE] += B[b + SPINE.SIZE]
    count = 0
    for i in range(by_length.size):
        b = by_length[i] * SPINE.WORDS
        if T[by_length[i] * TOKEN.WORDS + TOKEN.LEFT] < 0:
            B[b + SPINE.BEGIN] = count
            count += B[b + SPINE.SIZE]
        at = B[b + SPINE.BEGIN]
        for j in range(B[b + SPINE.PARENTS], B[b + SPINE.WORDS + SPINE.PARENTS]):
            parent = parents[j] * SPINE.WORDS
            B[parent + SPINE.BEGIN] = at
            at += B[parent + SPINE.SIZE]
        tokens[at] = by_length[i]
    return count


@kernel("i(arena, arena, i)", inline=True)
def has_made_sides(M, T, m):
    """1 if merging makes both sides of a merge."""
    x, y = M[m + MERGE.LEFT] * TOKEN.WORDS, M[m + MERGE.RIGHT] * TOKEN.WORDS
    return T[x + TOKEN.LEFT] != UNMADE and T[y + TOKEN.LEFT] != UNMADE


@kernel("i(arena, arena, arena, arena)", entry=True)
def sort_runs(M, T, B, R):
    """Write the RUN rows of all merges of tokens that are made, and RUNS of their left sides. RUNS is 0 before.

    Returns how many there are. R: room for all merges.
    """
    count = 0
    for m in range(0, M.size, MERGE.WORDS):
        count += has_made_sides(M, T, m)
        if has_made_sides(M, T, m):
            B[M[m + MERGE.LEFT] * SPINE.WORDS + SPINE.RUNS] += 1
    end = 0
    for b in range(0, B.size, SPINE.WORDS):
        end += B[b + SPINE.RUNS] * RUN.WORDS
        B[b + SPINE.RUNS] = end
    for m in range(M.size - MERGE.WORDS, -1, -MERGE.WORDS):
        if has_made_sides(M, T, m):
            x, y = M[m + MERGE.LEFT], M[m + MERGE.RIGHT]
            rank, made_x, made_y = M[m + MERGE.RANK], T[x * TOKEN.WORDS + TOKEN.TIME], T[y * TOKEN.WORDS + TOKEN.TIME]
            B[x * SPINE.WORDS + SPINE.RUNS] -= RUN.WORDS
            r = B[x * SPINE.WORDS + SPINE.RUNS]
            R[r + RUN.RANK] = rank
            R[r + RUN.GATE] = max(rank, made_y) if made_x <= made_y else rank
            R[r + RUN.LOW] = rank if made_x <= made_y else max(rank, made_x)
            R[r + RUN.HIGH] = y
    return count


@kernel("i(arena, arena, arena, arena, i)", entry=True)
def place_runs(T, B, parents, R, count):
    """Put positions in place of the thresholds and tokens of the first `count` RUN rows."""
    for r in range(0, count * RUN.WORDS, RUN.WORDS):
        b = R[r + RUN.HIGH] * SPINE.WORDS
        low, end = B[b + SPINE.PARENTS], B[b + SPINE.WORDS + SPINE.PARENTS]
        high = end
        while low < high:
            middle = (low + high) // 2
            if T[parents[middle] * TOKEN.WORDS + TOKEN.UNTIL_LEFT] < R[r + RUN.LOW]:
                low = middle + 1
            else:
                high = middle
        last = B[b + SPINE.BEGIN] + B[b + SPINE.SIZE] - 1
        R[r + RUN.LOW] = B[parents[low] * SPINE.WORDS + SPINE.BEGIN] if low < end else last
        R[r + RUN.HIGH] = last
    return 0


@kernel("i(arena, arena, arena, arena, i, row)", entry=True)
def add_conflicts(T, B, R, tokens, a, row):
    """Set the bits of the tokens that may not follow a, which is made. Returns how many it set, some more than once.

    tokens: by position.
    """
    count = 0
    x, until = a, NO_RANK
    while x >= 0:
        b = x * SPINE.WORDS
        for r in range(B[b + SPINE.RUNS], B[b + SPINE.WORDS + SPINE.RUNS], RUN.WORDS):
            if R[r + RUN.RANK] >= until:
                break
            if R[r + RUN.GATE] < until:
                for i in range(R[r + RUN.LOW], R[r + RUN.HIGH] + 1):
                    row[tokens[i] >> 5] |= np.uint32(1) << np.uint32(tokens[i] & 31)
                count += R[r + RUN.HIGH] - R[r + RUN.LOW] + 1
        until = T[x * TOKEN.WORDS + TOKEN.UNTIL_RIGHT]
        x = T[x * TOKEN.WORDS + TOKEN.RIGHT]
    return count
