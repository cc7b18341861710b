"""The tokens that spell one of some texts where each text is one token of its own: an added token (languages/cuts).

The idea: a token of another text takes part of one. It *completes* one that was begun before it, or in it, and the
constraint tells that text from others, since no other byte leads where its last one leads; or it ends with the
beginning of one, and every text of the constraint that goes on so *must complete* one that begins there. Where the text
is free neither holds: `>` in a JSON string is as good as any letter.

Cost: a step for each byte of these tokens that may follow, and ten for each beginning.
Reference: all texts of small languages (tests/masks/derived/test_forced_cuts.py).
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.parser.configurations import accepts, step_configuration
from constrain.kernels.records.arena import NONE
from constrain.kernels.records.configurations import BEGINNINGS, BEGUN, SPELLINGS
from constrain.kernels.records.stack import push, set_top, top

FREE = 8  # bytes that may follow: a text is not a choice between a few
COMPLETE_TEXT = -1  # BEGUN.OTHERS
COMPLETES = -1  # SPELLINGS.ENDS


@kernel("i(arena, arena, arena, i, arena, i)")
def other_bytes(A, H, S, c, T, n):
    """The number, at most FREE, of bytes that may follow a configuration and lead to no beginning behind the n-th one.
    An end counts as a byte. Printable ones are tried first."""
    number = np.int64(accepts(A, H, S, c) != 0)
    for i in range(256):
        b = (i + 32) & 255
        k = BEGINNINGS.LONGER(T, n)
        while k < T[BEGINNINGS.COUNT] and BEGINNINGS.BEFORE(T, k) == n and BEGINNINGS.BYTE(T, k) != b:
            k += 1
        goes_on = k < T[BEGINNINGS.COUNT] and BEGINNINGS.BEFORE(T, k) == n
        if not goes_on and step_configuration(A, H, S, c, b) != NONE:
            number += 1
        if number == FREE:
            break
    return number


@kernel("i(arena, arena, arena, i, arena, i)")
def must_complete(A, H, S, c, T, root):
    """1 if all that may follow a configuration completes one of the texts, whose beginning `root` was read last.

    A beginning that FREE other bytes may follow is not gone on with: the text is free there.
    """
    if other_bytes(A, H, S, c, T, root) > 0:
        return 0
    here = top(S) - BEGUN.WORDS * root  # of the beginnings before the root nothing is kept
    push(S, c)
    push(S, 0)
    last, n, must = np.int64(root), root + 1, 1
    while must == 1 and n < T[BEGINNINGS.COUNT] and BEGINNINGS.BEFORE(T, n) <= last:
        before = here + BEGUN.WORDS * BEGINNINGS.BEFORE(T, n)
        d, others = np.int64(NONE), np.int64(0)
        if BEGINNINGS.BEFORE(T, n) >= root and BEGUN.AFTER(S, before) != NONE and BEGUN.OTHERS(S, before) == 0:
            d = step_configuration(A, H, S, BEGUN.AFTER(S, before), BEGINNINGS.BYTE(T, n))
        if d != NONE:
            others = COMPLETE_TEXT if BEGINNINGS.IS_WHOLE(T, n) else other_bytes(A, H, S, d, T, n)
            must = np.int64(others <= 0)
            last = n
        push(S, d)
        push(S, others)
        n += 1
    set_top(S, here + BEGUN.WORDS * root)
    return must


@kernel("i(arena, arena, arena, i, i, i)")
def is_told_apart(A, H, S, c, b, after):
    """1 if no other byte leads where b leads from c: a text that ends with it is not free."""
    for other in range(256):
        if other != b and step_configuration(A, H, S, c, other) == after:
            return 0
    return 1


@kernel("i(arena, arena, arena, i, arena, arena, arena)", entry=True)
def spelling_tokens(A, H, S, c, T, K, found):
    """Write into `found` the nodes of the SPELLINGS K whose tokens spell one of the BEGINNINGS T, as many as it holds.
    Returns how many there are."""
    here, number = top(S), np.int64(0)
    for _ in range(K[SPELLINGS.DEEPEST] + 1):
        push(S, c)
    free, free_end, n = np.int64(NONE), np.int64(0), np.int64(0)  # the last beginning that need not be completed
    while n < K[SPELLINGS.COUNT]:
        at = here + SPELLINGS.DEPTH(K, n)
        end, b = SPELLINGS.ENDS(K, n), SPELLINGS.BYTE(K, n)
        d = step_configuration(A, H, S, np.int64(S[at]), b)
        spells = np.int64(0)
        if d != NONE:
            S[at + 1] = d
            if end == COMPLETES:
                spells = is_told_apart(A, H, S, np.int64(S[at]), b, d)
            elif end > 0 and (d != free or end != free_end):
                spells = must_complete(A, H, S, d, T, end)
                free, free_end = (free, free_end) if spells else (d, end)
        if spells:
            if number < found.size:
                found[number] = n
            number += 1
        n = SPELLINGS.NEXT(K, n) if d == NONE or (spells and end == COMPLETES) else n + 1
    set_top(S, here)
    return number
