"""The tokens that byte-pair merging does not leave side by side.

The idea: merging the text of a and b, each made by merging its own text, goes on in both as if the other were not
there, until a merge joins the two tokens that touch at the border; a and b stay apart if none ever does. The tokens
that touch are of the right spine of a (a, its right part, the right part of that...) and the left spine of b.

* *When.* The merge of a lower rank comes first, so a token is made once all ranks up to the highest one among the
  merges below it, its *time*, have had their turn; -1 for a symbol. Of x in a and y in b with the same time x is made
  first, since the leftmost of equal merges is. So a token meets its neighbours at times that do not depend on them.
* *Joining.* x and y of the two spines, both there at some time, are joined by their merge of rank m unless one of them
  is used up before. x is used up by merges of a; these come first while their ranks are at most m. So x is still there
  when the merge has its turn if some merge until x's parent is made has a rank > m, and y if one has a rank >= m.
  UNTIL_RIGHT, UNTIL_LEFT of a token p: the highest rank from the making of p's right (left) part to that of p.
  Both are the time of p, but where p's last merge comes late in the list of those that are due (its rank is lower).
* *Rows.* For the merge (x, y), m, of a token x of a's right spine: x is still there if UNTIL_RIGHT of its parent is
  greater than the merge's *gate*; then b conflicts if it is y, or if the parent p of y on b's left spine has
  UNTIL_LEFT at least some *threshold*. All parents of y, in the order of UNTIL_LEFT, each with the tokens that
  have it on their spines, are a run of positions that ends with y itself. So each merge forbids one run.

Arrays: M the merges (MERGE) with their `slots` (merging.py), T the tokens (TOKEN), R the runs (RUN), `parents` the
tokens by their left parts and UNTIL_LEFT, `by_length` the tokens that are made, parts before wholes.

Records: tables.py. Cost of a row: a step for each merge of the right spine whose gate is open, and for each bit.
Reference: tests/languages/cuts/test_merges.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.cuts.merging import merge_of
from constrain.kernels.cuts.tables import MERGE, NO_MERGE, NO_RANK, RUN, TOKEN, UNMADE


@kernel("i(arena, arena)", entry=True)
def find_times(by_length, T):
    """Fill TIME, UNTIL_LEFT and UNTIL_RIGHT. TIME is the rank of the last merge before."""
    for i in range(by_length.size):
        t = by_length[i] * TOKEN.WORDS
        if T[t + TOKEN.LEFT] < 0:
            T[t + TOKEN.TIME] = -1
            continue
        rank = T[t + TOKEN.TIME]
        left = T[T[t + TOKEN.LEFT] * TOKEN.WORDS + TOKEN.TIME]
        right = T[T[t + TOKEN.RIGHT] * TOKEN.WORDS + TOKEN.TIME]
        time = max(rank, max(left, right))
        T[t + TOKEN.TIME] = time
        T[t + TOKEN.UNTIL_RIGHT] = time if time > right else rank
        T[t + TOKEN.UNTIL_LEFT] = time if time > left or time == right else rank
    return 0


@kernel("i(arena, arena, arena, arena)", entry=True)
def find_positions(by_length, parents, T, tokens):
    """Number the tokens: fill BEGIN and SIZE, and `tokens` with the token at each position. SIZE is 0 before."""
    for i in range(by_length.size - 1, -1, -1):
        t = by_length[i] * TOKEN.WORDS
        T[t + TOKEN.SIZE] += 1
        if T[t + TOKEN.LEFT] >= 0:
            T[T[t + TOKEN.LEFT] * TOKEN.WORDS + TOKEN.SIZE] += T[t + TOKEN.SIZE]
    count = 0
    for i in range(by_length.size):
        t = by_length[i] * TOKEN.WORDS
        if T[t + TOKEN.LEFT] < 0:
            T[t + TOKEN.BEGIN] = count
            count += T[t + TOKEN.SIZE]
        at = T[t + TOKEN.BEGIN]
        for j in range(T[t + TOKEN.PARENTS], T[t + TOKEN.WORDS + TOKEN.PARENTS]):
            parent = parents[j] * TOKEN.WORDS
            T[parent + TOKEN.BEGIN] = at
            at += T[parent + TOKEN.SIZE]
        tokens[at] = by_length[i]
    return count


@kernel("i(arena, arena, i)", inline=True)
def has_made_sides(M, T, m):
    """1 if merging makes both sides of a merge."""
    x, y = M[m + MERGE.LEFT] * TOKEN.WORDS, M[m + MERGE.RIGHT] * TOKEN.WORDS
    return T[x + TOKEN.LEFT] != UNMADE and T[y + TOKEN.LEFT] != UNMADE


@kernel("i(arena, arena, arena)", entry=True)
def sort_runs(M, T, R):
    """Write the RUN rows of all merges of tokens that are made, and RUNS of their left sides. RUNS is 0 before.

    Returns how many there are. R: room for all merges.
    """
    count = 0
    for m in range(0, M.size, MERGE.WORDS):
        count += has_made_sides(M, T, m)
        if has_made_sides(M, T, m):
            T[M[m + MERGE.LEFT] * TOKEN.WORDS + TOKEN.RUNS] += 1
    end = 0
    for t in range(0, T.size, TOKEN.WORDS):
        end += T[t + TOKEN.RUNS] * RUN.WORDS
        T[t + TOKEN.RUNS] = end
    for m in range(M.size - MERGE.WORDS, -1, -MERGE.WORDS):
        if has_made_sides(M, T, m):
            x, y = M[m + MERGE.LEFT] * TOKEN.WORDS, M[m + MERGE.RIGHT] * TOKEN.WORDS
            rank, made_x, made_y = M[m + MERGE.RANK], T[x + TOKEN.TIME], T[y + TOKEN.TIME]
            T[x + TOKEN.RUNS] -= RUN.WORDS
            r = T[x + TOKEN.RUNS]
            R[r + RUN.RANK] = rank
            R[r + RUN.GATE] = max(rank, made_y) if made_x <= made_y else rank
            R[r + RUN.LOW] = rank if made_x <= made_y else max(rank, made_x)
            R[r + RUN.HIGH] = M[m + MERGE.RIGHT]
    return count


@kernel("i(arena, arena, arena, i)", entry=True)
def place_runs(T, parents, R, count):
    """Put positions in place of the thresholds and tokens of the first `count` RUN rows."""
    for r in range(0, count * RUN.WORDS, RUN.WORDS):
        t = R[r + RUN.HIGH] * TOKEN.WORDS
        low, end = T[t + TOKEN.PARENTS], T[t + TOKEN.WORDS + TOKEN.PARENTS]
        high = end
        while low < high:
            middle = (low + high) // 2
            if T[parents[middle] * TOKEN.WORDS + TOKEN.UNTIL_LEFT] < R[r + RUN.LOW]:
                low = middle + 1
            else:
                high = middle
        last = T[t + TOKEN.BEGIN] + T[t + TOKEN.SIZE] - 1
        R[r + RUN.LOW] = T[parents[low] * TOKEN.WORDS + TOKEN.BEGIN] if low < end else last
        R[r + RUN.HIGH] = last
    return 0


@kernel("i(arena, arena, arena, i, row)", entry=True)
def add_conflicts(T, R, tokens, a, row):
    """Set the bits of the tokens that may not follow a, which is made. Returns how many it set, some more than once.

    tokens: by position.
    """
    count = 0
    x, until = a, NO_RANK
    while x >= 0:
        t = x * TOKEN.WORDS
        for r in range(T[t + TOKEN.RUNS], T[t + TOKEN.WORDS + TOKEN.RUNS], RUN.WORDS):
            if R[r + RUN.RANK] >= until:
                break
            if R[r + RUN.GATE] < until:
                for i in range(R[r + RUN.LOW], R[r + RUN.HIGH] + 1):
                    row[tokens[i] >> 5] |= np.uint32(1) << np.uint32(tokens[i] & 31)
                count += R[r + RUN.HIGH] - R[r + RUN.LOW] + 1
        until = T[t + TOKEN.UNTIL_RIGHT]
        x = T[t + TOKEN.RIGHT]
    return count


@kernel("i(arena, arena, arena, i, i)", entry=True, brief=True)
def stay_apart(T, M, slots, a, b):
    """1 if both ids are of tokens that are ALONE, and b may follow a; else 0.

    The pairs that touch are gone through from the last, (a, b), back: what was made later is undone first.
    """
    count = T.size // TOKEN.WORDS - 1
    if a < 0 or a >= count or b < 0 or b >= count:
        return 0
    if T[a * TOKEN.WORDS + TOKEN.ALONE] == 0 or T[b * TOKEN.WORDS + TOKEN.ALONE] == 0:
        return 0
    x, y, until_x, until_y = a, b, NO_RANK, NO_RANK
    while True:
        m = merge_of(M, slots, x, y)
        if m != NO_MERGE and M[m + MERGE.RANK] < until_x and M[m + MERGE.RANK] <= until_y:
            return 0
        s, t = x * TOKEN.WORDS, y * TOKEN.WORDS
        if T[s + TOKEN.TIME] > T[t + TOKEN.TIME]:
            x, until_x = T[s + TOKEN.RIGHT], T[s + TOKEN.UNTIL_RIGHT]
        elif T[t + TOKEN.TIME] >= 0:
            y, until_y = T[t + TOKEN.LEFT], T[t + TOKEN.UNTIL_LEFT]
        else:
            return 1
