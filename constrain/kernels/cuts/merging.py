"""Byte-pair merging of texts: the merge of least rank comes first, of equal ones the leftmost, until none is left.

The idea: texts are merged by the rules themselves, one step after the other, so whatever a list of merges holds (two
merges that make the same token, merges that are never reached, ranks in any order) has the meaning that it has there.

Arrays: M the merges (MERGE), T the tokens (TOKEN), W scratch. `slots` finds a merge by its two sides: a hash table with
open addressing, a power of two in size.

Records: tables.py. Cost: 0.5 µs a text of seven symbols. Reference: tests/languages/cuts/test_merges.py.
"""

from constrain.kernels import kernel
from constrain.kernels.cuts.tables import LEAF, MERGE, NO_MERGE, NO_RANK, TOKEN, UNMADE


@kernel("i(arena, arena, i, i)")
def slot_of(M, slots, x, y):
    """The slot of the merge of x and y, or the free one where it would be."""
    mixed = x * 1640531527 + y * 1190494759
    slot = (mixed ^ (mixed >> 21)) & (slots.size - 1)
    while slots[slot] != NO_MERGE and (M[slots[slot] + MERGE.LEFT] != x or M[slots[slot] + MERGE.RIGHT] != y):
        slot = (slot + 1) & (slots.size - 1)
    return slot


@kernel("i(arena, arena, i, i)")
def merge_of(M, slots, x, y):
    """The merge of x and y; NO_MERGE if there is none."""
    return slots[slot_of(M, slots, x, y)]


@kernel("i(arena, arena)", entry=True)
def fill_slots(M, slots):
    """Enter all merges. Of two with the same sides the later one counts. Returns how many count."""
    slots[:] = NO_MERGE
    count = 0
    for m in range(0, M.size, MERGE.WORDS):
        slot = slot_of(M, slots, M[m + MERGE.LEFT], M[m + MERGE.RIGHT])
        count += slots[slot] == NO_MERGE
        slots[slot] = m
    return count


@kernel("i(arena, arena, arena, i)")
def merge_symbols(M, slots, W, n):
    """Merge the symbols W[:n], in place. Returns how many tokens are left; if one, W[n] is the merge that made it.

    W: 2 n words. W[n + i] is the merge of W[i] and W[i + 1].
    """
    for i in range(n - 1):
        W[n + i] = merge_of(M, slots, W[i], W[i + 1])
    count = n
    while True:
        best, least = -1, NO_RANK
        for i in range(count - 1):
            m = W[n + i]
            if m != NO_MERGE and M[m + MERGE.RANK] < least:
                best, least = i, M[m + MERGE.RANK]
        if best < 0:
            return count
        W[best] = M[W[n + best] + MERGE.PRODUCT]
        count -= 1
        for i in range(best + 1, count):
            W[i] = W[i + 1]
            W[n + i] = W[n + i + 1]
        if best + 1 < count:
            W[n + best] = merge_of(M, slots, W[best], W[best + 1])
        if best > 0:
            W[n + best - 1] = merge_of(M, slots, W[best - 1], W[best])


@kernel("i(arena, arena, arena, arena, arena, arena)", entry=True)
def find_parts(symbols, starts, M, slots, W, T):
    """Merge the text of every token: fills LEFT and RIGHT, and TIME with the rank of the last merge.

    The text of t is symbols[starts[t] : starts[t + 1]]; a symbol is a token, or negative where there is none.
    Returns how many tokens are made.
    """
    made = 0
    for t in range(starts.size - 1):
        n = starts[t + 1] - starts[t]
        token = t * TOKEN.WORDS
        T[token + TOKEN.LEFT] = T[token + TOKEN.RIGHT] = UNMADE
        if n == 0:
            continue
        for i in range(n):
            W[i] = symbols[starts[t] + i]
        if merge_symbols(M, slots, W, n) != 1 or W[0] != t:
            continue
        made += 1
        if n == 1:
            T[token + TOKEN.LEFT] = T[token + TOKEN.RIGHT] = LEAF
        else:
            T[token + TOKEN.LEFT] = M[W[n] + MERGE.LEFT]
            T[token + TOKEN.RIGHT] = M[W[n] + MERGE.RIGHT]
            T[token + TOKEN.TIME] = M[W[n] + MERGE.RANK]
    return made
