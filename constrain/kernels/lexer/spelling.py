"""JSON strings of fixed texts as expressions: the keys of objects, and enumerations.

The idea: A[SPELLED] says how each ASCII character is written inside a string (automata/lower.py makes it), so that a
text becomes an expression without a look at its letters in Python. Words that hold texts begin with the length of each,
and go on with the characters of all; -e instead of a length stands for a text whose expression is e.

Cost: a lookup a letter.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import cat, literal_trie
from constrain.kernels.records.arena import SPELLED, push

QUOTE = 128  # in A[SPELLED]: the expression of a quote, behind those of the ASCII characters


@kernel("void(arena, arena, arena, arena, i, i)")
def push_strings(A, H, S, words, lengths, n):
    """Push the expressions of n JSON strings, whose texts are in words[lengths:]."""
    spelled = np.int64(A[SPELLED])
    quote = np.int64(A[spelled + QUOTE])
    at = lengths + n
    for i in range(n):
        length = np.int64(words[lengths + i])
        if length < 0:
            push(S, -length)
            continue
        e = quote
        for k in range(at + length, at, -1):
            e = cat(A, H, A[spelled + words[k - 1]], e)
        at += length
        push(S, cat(A, H, quote, e))


@kernel("i(arena, arena, arena, arena)", entry=True)
def any_string(A, H, S, words):
    """The expression of the JSON strings of texts, distinct and sorted; words[0] is their number."""
    start = np.int64(S[0])
    n = np.int64(words[0])
    spelled = np.int64(A[SPELLED])
    quote = np.int64(A[spelled + QUOTE])
    for k in range(1 + n, words.size):
        push(S, A[spelled + words[k]])
    table = np.int64(S[0])
    push(S, start)
    for i in range(n):
        push(S, S[table + i] + words[1 + i])
    e = literal_trie(A, H, S, table, 0, n, 0)
    S[0] = start
    return cat(A, H, quote, cat(A, H, e, quote))
