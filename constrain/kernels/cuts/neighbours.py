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

Arrays: M the merges (MERGE) with their `slots` (merging.py), T the tokens (TOKEN), `by_length` the tokens that are
made, parts before wholes.

Records: tables.py. Cost: a step for each token of the two spines.
Reference: tests/languages/cuts/test_merges.py.
"""

from constrain.kernels import kernel
from constrain.kernels.cuts.merging import merge_of
from constrain.kernels.cuts.tables import MERGE, NO_MERGE, NO_RANK, TOKEN


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


@kernel("i(arena, arena, arena, i, i)", entry=True, brief=True)
def stay_apart(T, M, slots, a, b):
    """1 if both ids are of tokens that are ALONE, and b may follow a; else 0.

    The pairs that touch are gone through from the last, (a, b), back: what was made later is undone first.
    """
    count = T.size // TOKEN.WORDS
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


@kernel("void(arena, arena, arena, i, arena, arena)", entry=True)
def all_stay_apart(T, M, slots, a, tokens, out):
    """Write for each of some tokens 1 if it may follow a, else 0."""
    for i in range(tokens.size):
        out[i] = stay_apart(T, M, slots, a, tokens[i])
