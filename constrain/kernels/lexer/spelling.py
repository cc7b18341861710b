"""JSON strings of fixed texts as expressions: the keys of objects, and enumerations.

The idea: the header's SPELLED says how each ASCII character is written inside a string (automata/lower.py makes it), so
that a text becomes an expression without a look at its letters in Python. A message that holds texts has the length of
each, and then the characters of all (TEXTS_MESSAGE).

Cost: a lookup a letter. Reference: tests/masks/engine/test_bulk_rules.py, automata/syntax.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import cat
from constrain.kernels.lexer.unions import literal_trie
from constrain.kernels.records.expressions import spelled_character, spelled_quote
from constrain.kernels.records.messages import TEXTS_MESSAGE
from constrain.kernels.records.stack import push, set_top, top


@kernel("void(arena, arena, arena, arena, i, i)")
def push_strings(A, H, S, words, lengths, n):
    """Push the expressions of n JSON strings, whose lengths begin at words[lengths], their characters behind these.

    -e in place of a length stands for a text whose expression is e.
    """
    quote = spelled_quote(A)
    at = lengths + n
    for i in range(n):
        length = np.int64(words[lengths + i])
        if length < 0:
            push(S, -length)
            continue
        e = quote
        for k in range(at + length, at, -1):
            e = cat(A, H, spelled_character(A, words[k - 1]), e)
        at += length
        push(S, cat(A, H, quote, e))


@kernel("i(arena, arena, arena, arena)", entry=True)
def any_string(A, H, S, words):
    """The expression of the JSON strings of texts, distinct and sorted; words: a TEXTS_MESSAGE."""
    start = top(S)
    n = np.int64(words[TEXTS_MESSAGE.COUNT])
    lengths = TEXTS_MESSAGE.LENGTHS
    quote = spelled_quote(A)
    for k in range(lengths + n, words.size):
        push(S, spelled_character(A, words[k]))
    table = top(S)
    push(S, start)
    for i in range(n):
        push(S, S[table + i] + words[lengths + i])
    e = literal_trie(A, H, S, table, 0, n, 0)
    set_top(S, start)
    return cat(A, H, quote, cat(A, H, e, quote))
