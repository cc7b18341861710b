"""Rules of grammars in the arena: nonterminals and the lists of symbols of their alternatives.

Cost: a look-up a symbol. Reference: tests/masks/engine/test_bulk_rules.py, which compares them with the grammar's.
"""

from constrain.kernels import kernel
from constrain.kernels.records.arena import intern2, kind, region
from constrain.kernels.records.grammars import LIST, NONTERMINAL, SUFFIX, list_start, new_nonterminal_head
from constrain.kernels.records.messages import symbols_end, symbols_start


@kernel("i(arena, i, i, i)", entry=True, brief=True)
def nonterminal(A, number, right_recursive, is_watched):
    """A new nonterminal without alternatives. number: says whose it is (engine/inspect.py)."""
    r = region(A, NONTERMINAL.WORDS)
    new_nonterminal_head(A, r)
    A[r + NONTERMINAL.RIGHT_RECURSIVE] = right_recursive
    A[r + NONTERMINAL.IS_WATCHED] = is_watched
    A[r + NONTERMINAL.NUMBER] = number
    return r


@kernel("void(arena, i)")
def mark_watched(A, suffix):
    """Note in a new SUFFIX whether a watched nonterminal is in it."""
    symbol = SUFFIX.SYMBOL(A, suffix)
    following = SUFFIX.NEXT(A, suffix)
    watched = kind(A, symbol) == NONTERMINAL.KIND and A[symbol + NONTERMINAL.IS_WATCHED] != 0
    if watched or (following != 0 and A[following + SUFFIX.HOLDS_WATCHED] != 0):
        A[suffix + SUFFIX.HOLDS_WATCHED] = 1


@kernel("i(arena, arena, i, i)", entry=True, brief=True)
def suffix_of(A, H, symbol, following):
    """The SUFFIX of a symbol and what follows it."""
    suffix = intern2(A, H, SUFFIX.KIND, symbol, following)
    mark_watched(A, suffix)
    return suffix


@kernel("i(arena, arena, i, arena)", entry=True, brief=True)
def set_alternatives(A, H, symbol, words):
    """Give a nonterminal its alternatives; words: SYMBOLS for each. Returns how many there are."""
    n = 0
    i = 0
    while i < words.size:
        n += 1
        i = symbols_end(words, i)
    out = region(A, LIST.WORDS + n)
    A[out + LIST.COUNT] = n
    at = list_start(out)
    i = 0
    while i < words.size:
        suffix = 0
        for k in range(symbols_end(words, i), symbols_start(i), -1):
            suffix = suffix_of(A, H, words[k - 1], suffix)
        A[at] = suffix
        at += 1
        i = symbols_end(words, i)
    A[symbol + NONTERMINAL.ALTERNATIVES] = out
    return n
