"""All rules of a JSON object or of an array of equal items, made in one call from an int32 message.

The idea: Python says which symbols stand in the rules, by their records, and which texts the keys have
(engine/bulk_rules.py packs the message); the keys are spelled here. Rules come to be only when a text reaches the
object, so the call is on the way to a mask.

Messages: records/messages.py. Cost: some microseconds and thirty words a member, and the letters of its key.
Reference: tests/masks/engine/test_bulk_rules.py, which compares the rules with those of cfg/bulk_rules.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.spelling import push_strings
from constrain.kernels.parser.rules import mark_watched, suffix_of
from constrain.kernels.records.arena import intern4, intern_list, region
from constrain.kernels.records.expressions import TAGSET
from constrain.kernels.records.grammars import (
    LIST,
    NONTERMINAL,
    SUFFIX,
    TERMINAL,
    list_end,
    new_nonterminal_head,
    new_suffix_head,
)
from constrain.kernels.records.messages import ARRAY_MESSAGE, OBJECT_MESSAGE, nonterminal_at, symbols_end, symbols_start
from constrain.kernels.records.stack import push, set_top, sort_groups, top, unique_groups


@kernel("i(arena, i, i)")
def new_suffix(A, symbol, following):
    """The SUFFIX of a symbol and what follows it, for lists that end with a new nonterminal.

    PERF: no other list is equal, so that it need not be looked up, nor be found: 41 → 24 µs for twenty keys.
    """
    suffix = region(A, SUFFIX.WORDS)
    new_suffix_head(A, suffix)
    A[suffix + SUFFIX.SYMBOL] = symbol
    A[suffix + SUFFIX.NEXT] = following
    mark_watched(A, suffix)
    return suffix


@kernel("i(arena, arena, i, i)")
def new_suffixes(A, message, symbols, following):
    """The SUFFIX of SYMBOLS and what follows them, which is new."""
    for k in range(symbols_end(message, symbols), symbols_start(symbols), -1):
        following = new_suffix(A, message[k - 1], following)
    return following


@kernel("i(arena, arena, arena, i, i)")
def suffix_of_symbols(A, H, message, symbols, following):
    """The SUFFIX of SYMBOLS and what follows them."""
    for k in range(symbols_end(message, symbols), symbols_start(symbols), -1):
        following = suffix_of(A, H, message[k - 1], following)
    return following


@kernel("i(arena, i, i)")
def store_alternatives(A, first, second):
    """The LIST of at most two alternatives; 0: none."""
    out = region(A, LIST.WORDS + 2)
    for suffix in (first, second):
        if suffix != 0:
            A[list_end(A, out)] = suffix
            A[out + LIST.COUNT] += 1
    return out


@kernel("i(arena, arena, arena, i, i, i)")
def other_key(A, H, S, any_key, start, stop):
    """The TERMINAL of any key but those with the expressions S[start:stop]."""
    excluded = 0
    if stop > start:
        base = top(S)
        for i in range(start, stop):
            push(S, S[i])
        sort_groups(S, base, top(S), 1)
        set_top(S, unique_groups(S, base, top(S), 1))
        excluded = intern_list(A, H, S, TAGSET.KIND, base)
    return intern4(A, H, TERMINAL.KIND, any_key, excluded, 0, 0)


@kernel("i(arena, arena, i, i, i, i, i)")
def member_suffix(A, message, between, behind, key, value, following):
    """The SUFFIX of a key, its value and what follows it, a new nonterminal; 0 if no text is such a value."""
    if value == 0:
        return 0
    rest = new_suffixes(A, message, behind, new_suffix(A, following, 0))
    rest = new_suffixes(A, message, between, new_suffix(A, value, rest))
    return new_suffix(A, key, rest)


@kernel("i(arena)")
def count_places(message):
    """Number of nonterminals of an object: next(1) to next(n), member(0) to member(n - 1), the three of other keys
    (member(n), next(n + 1), member(n) again)."""
    return 2 * np.int64(message[OBJECT_MESSAGE.MEMBERS]) + 3 * np.int64(message[OBJECT_MESSAGE.OTHERS])


@kernel("i(arena, arena)")
def new_places(A, message):
    """Records for the nonterminals of an object, in the order of `count_places`, and for new values; without
    alternatives."""
    places = count_places(message)
    n = places + message[OBJECT_MESSAGE.NEW_VALUES]
    first = region(A, NONTERMINAL.WORDS * n)
    for k in range(n):
        r = nonterminal_at(first, k)
        new_nonterminal_head(A, r)
        A[r + NONTERMINAL.RIGHT_RECURSIVE] = k < places
        number = message[OBJECT_MESSAGE.NUMBER] if k < places else message[OBJECT_MESSAGE.VALUE_NUMBER]
        A[r + NONTERMINAL.NUMBER] = number
    return first


@kernel("i(arena, i, i)")
def value_of(message, value, first):
    """The record of a value, from its word; first: the first of the object's records."""
    record = np.int64(message[value])
    if record >= 0:
        return record
    return nonterminal_at(first, count_places(message) - 1 - record)


@kernel("i(arena, arena, arena, i, arena)", entry=True, brief=True)
def make_object_rules(A, H, S, head, message):
    """Give the nonterminals of an object their alternatives, `head` the first of them. Returns the first of the others
    (`new_places`).

    message: an OBJECT_MESSAGE.
    """
    n = np.int64(message[OBJECT_MESSAGE.MEMBERS])
    closes = True
    separator = OBJECT_MESSAGE.LISTS
    close = symbols_end(message, separator)
    between = symbols_end(message, close)
    behind = symbols_end(message, between)
    required = symbols_end(message, behind)
    values = required + n
    keys = top(S)
    push_strings(A, H, S, message, values + n + message[OBJECT_MESSAGE.OTHERS], message[OBJECT_MESSAGE.TEXTS])
    first = new_places(A, message)
    ended = suffix_of_symbols(A, H, message, close, 0)
    later = np.int64(message[OBJECT_MESSAGE.BEYOND])  # member(i + 1), 0: nothing can come there
    if message[OBJECT_MESSAGE.OTHERS] != 0:
        other = nonterminal_at(first, 2 * n)
        following = nonterminal_at(first, 2 * n + 1)
        again = nonterminal_at(first, 2 * n + 2)
        A[following + NONTERMINAL.IS_WATCHED] = 1
        A[again + NONTERMINAL.IS_WATCHED] = 1
        key = other_key(A, H, S, message[OBJECT_MESSAGE.ANY_KEY], keys, top(S))
        value = value_of(message, values + n, first)
        written = member_suffix(A, message, between, behind, key, value, following)
        A[other + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, written, 0)
        A[again + NONTERMINAL.ALTERNATIVES] = A[other + NONTERMINAL.ALTERNATIVES]
        goes_on = new_suffixes(A, message, separator, new_suffix(A, again, 0))
        A[following + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, ended, goes_on)
        later = other if written != 0 else 0
    for i in range(n - 1, -1, -1):
        following = nonterminal_at(first, i)
        skipped = 0
        goes_on = 0
        if later != 0:
            skipped = new_suffix(A, later, 0)
            goes_on = new_suffixes(A, message, separator, skipped)
        A[following + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, ended if closes else 0, goes_on)
        key = intern4(A, H, TERMINAL.KIND, S[keys + i], 0, 0, 0)
        value = value_of(message, values + i, first)
        written = member_suffix(A, message, between, behind, key, value, following)
        if message[required + i] != 0:
            skipped = 0
            closes = False
        here = nonterminal_at(first, n + i)
        A[here + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, written, skipped)
        later = here if written != 0 or skipped != 0 else 0
    A[head + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, new_suffix(A, later, 0) if later != 0 else 0, 0)
    set_top(S, keys)
    return first


@kernel("i(arena, arena, arena, i, arena)", entry=True, brief=True)
def make_array_rules(A, H, S, head, message):
    """Give the nonterminals of an array their alternatives, `head` the whole array. Returns what follows an item; the
    record of the item, if it is new, is behind it.

    message: a ARRAY_MESSAGE.
    """
    separator = ARRAY_MESSAGE.LISTS
    close = symbols_end(message, separator)
    behind = symbols_end(message, close)
    following = region(A, NONTERMINAL.WORDS * (1 + np.int64(message[ARRAY_MESSAGE.NEW_VALUE])))
    new_nonterminal_head(A, following)
    A[following + NONTERMINAL.RIGHT_RECURSIVE] = 1
    A[following + NONTERMINAL.IS_WATCHED] = A[head + NONTERMINAL.IS_WATCHED]
    A[following + NONTERMINAL.NUMBER] = message[ARRAY_MESSAGE.NUMBER]
    value = np.int64(message[symbols_end(message, behind)])
    if message[ARRAY_MESSAGE.NEW_VALUE]:
        value = nonterminal_at(following, 1)
        new_nonterminal_head(A, value)
        A[value + NONTERMINAL.NUMBER] = message[ARRAY_MESSAGE.VALUE_NUMBER]
    ended = suffix_of_symbols(A, H, message, close, 0)
    written = 0
    if value != 0:
        written = new_suffix(A, value, new_suffixes(A, message, behind, new_suffix(A, following, 0)))
    again = new_suffixes(A, message, separator, written) if written != 0 else 0
    A[following + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, ended, again)
    A[head + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, written, 0)
    return following
