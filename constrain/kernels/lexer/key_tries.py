"""Sets of literals as tries with tags: one expression that finds many terminals, and loses one at little cost.

The idea: the union of CAT(key, TAG(key)) for many keys, with common beginnings written once. To take a key out changes
the nodes on its path alone; the other subtries are the records that they were, and so are the lexer states and token
tables that begin there. Hash-consing makes the trie of a set one record, whatever was taken out first.

Cost: a key's letters, each with the branches there. Reference: tests/masks/engine/test_key_sets.py.
"""

import numpy as np

from constrain.kernels import kernel, recursion
from constrain.kernels.lexer.expressions import cat, tag
from constrain.kernels.lexer.unions import alt, literal_trie
from constrain.kernels.records.arena import EPS, NONE, intern1, key_end, key_start, key_word, kind, size
from constrain.kernels.records.expressions import ALT, CAT, ENDED, LITERAL
from constrain.kernels.records.stack import push, room, set_top, top

push_units_again = recursion(lambda: push_units, 3)


@kernel("i(arena, arena, i)")
def push_units(A, S, e):
    """Push the expressions whose concatenation is e."""
    while kind(A, e) == CAT.KIND:
        if kind(A, CAT.HEAD(A, e)) == CAT.KIND:
            push_units_again(A, S, CAT.HEAD(A, e))
        else:
            push(S, CAT.HEAD(A, e))
        e = CAT.TAIL(A, e)
        while kind(A, e) == LITERAL.KIND:
            text = LITERAL.CHARACTERS(A, e)
            for i in range(LITERAL.AT(A, e), size(A, text)):
                push(S, key_word(A, text, i))
            e = LITERAL.TAIL(A, e)
    if e != EPS:
        push(S, e)
    return 0


@kernel("i(arena, arena, arena, i, i)")
def key_trie(A, H, S, first, stop):
    """The trie of the keys S[first:stop], distinct expressions of literals, sorted by their texts; NONE of no keys.

    Every key begins with the same unit, a quote.
    """
    if first == stop:
        return np.int64(NONE)
    table = top(S)
    room(S, stop - first + 1)
    set_top(S, table + stop - first + 1)
    for i in range(first, stop):
        S[table + i - first] = top(S)
        push_units(A, S, S[i])
        push(S, tag(A, H, S[i]))
    S[table + stop - first] = top(S)
    trie = literal_trie(A, H, S, table, 0, stop - first, 0)
    set_top(S, table)
    return trie


@kernel("i(arena, i, i)")
def behind_unit(A, e, unit):
    """The node behind a unit in a node of a trie; 0 if no key goes on with the unit."""
    if kind(A, e) == CAT.KIND:
        return CAT.TAIL(A, e) if CAT.HEAD(A, e) == unit else np.int64(0)
    if kind(A, e) == ALT.KIND:
        for i in range(key_start(e), key_end(A, e)):
            if kind(A, A[i]) == CAT.KIND and CAT.HEAD(A, A[i]) == unit:
                return CAT.TAIL(A, A[i])
    return np.int64(0)


@kernel("i(arena, arena, arena, i, i, i)")
def with_branch(A, H, S, node, unit, tail):
    """A node of a trie with another tail behind a unit that it has; NONE: without this branch."""
    branch = cat(A, H, unit, tail)
    if kind(A, node) == CAT.KIND:
        return branch
    start = top(S)
    for i in range(key_start(node), key_end(A, node)):
        if kind(A, A[i]) != CAT.KIND or CAT.HEAD(A, A[i]) != unit:
            push(S, A[i])
    push(S, branch)
    return alt(A, H, S, start)


@kernel("i(arena, arena, arena, i, i)")
def without_key(A, H, S, trie, key):
    """A trie without a key; 0 if it does not have it."""
    units = top(S)
    push_units(A, S, key)
    nodes = top(S)
    e = np.int64(trie)
    for i in range(units, nodes):
        push(S, e)
        e = behind_unit(A, e, S[i])
        if e == 0:
            set_top(S, units)
            return 0
    has_key = e == tag(A, H, key)
    e = np.int64(NONE)
    for i in range(nodes - 1, units - 1, -1):
        e = with_branch(A, H, S, S[nodes + i - units], S[i], e)
    set_top(S, units)
    return e if has_key else np.int64(0)


@kernel("void(arena, arena, i)")
def note_tags(A, H, trie):
    """Say to `lexer_state` that the keys of a trie have their tags."""
    if trie != NONE:
        A[intern1(A, H, ENDED.KIND, trie) + ENDED.TAIL] = CAT.TAIL(A, trie)
