"""Templates of a JSON object or of an array of equal items, made in one call from an int32 message.

The idea: Python says which values there are and which texts the keys have (engine/templates.py packs the message); the
keys are spelled here. Rules are made of the templates where texts reach them (placed.py).

Messages: records/messages.py. Cost: some microseconds and thirty words a member, and the letters of its key.
Reference: tests/masks/engine/test_bulk_rules.py, which compares the rules with what `expand` gives.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.spelling import push_strings
from constrain.kernels.parser.rules import mark_watched, suffix_of
from constrain.kernels.records.arena import intern4, intern_list, region
from constrain.kernels.records.expressions import TAGSET
from constrain.kernels.records.grammars import (
    LAYOUT,
    LIST,
    SUFFIX,
    TEMPLATE,
    TERMINAL,
    list_end,
    list_start,
    new_suffix_head,
    new_template_head,
    template_at,
)
from constrain.kernels.records.messages import (
    ANY_VALUE,
    ARRAY_MESSAGE,
    NEW_VALUE,
    OBJECT_MESSAGE,
    symbols_end,
    symbols_start,
)
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


@kernel("void(arena, i, i)")
def append(A, out, item):
    """Append an item to a LIST that has room for it."""
    A[list_end(A, out)] = item
    A[out + LIST.COUNT] += 1


@kernel("i(arena)")
def count_places(message):
    """Number of templates of an object: next(1) to next(n), member(0) to member(n - 1), the three of other keys
    (member(n), next(n + 1), member(n) again)."""
    return 2 * np.int64(message[OBJECT_MESSAGE.MEMBERS]) + 3 * np.int64(message[OBJECT_MESSAGE.OTHERS])


@kernel("i(arena, i, i, i)", entry=True, brief=True)
def new_templates(A, n, number, is_inside):
    """The first of n new templates without alternatives, right-recursive ones or values."""
    first = region(A, TEMPLATE.WORDS * n)
    for k in range(n):
        template = template_at(first, k)
        new_template_head(A, template)
        A[template + TEMPLATE.NUMBER] = number
        A[template + TEMPLATE.RIGHT_RECURSIVE] = 1 - is_inside
        A[template + TEMPLATE.IS_INSIDE] = is_inside
    return first


@kernel("i(arena, i, arena)", entry=True, brief=True)
def describe_template(A, template, words):
    """Give a template its alternatives; words: SYMBOLS for each. Returns the LIST."""
    out = region(A, LIST.WORDS + words.size)
    A[out + LIST.COUNT] = words.size
    for k in range(words.size):
        A[list_start(out) + k] = words[k]
    A[template + TEMPLATE.ALTERNATIVES] = out
    return out


@kernel("i(arena, i, i, i)")
def new_alternative(A, words, n, symbol):
    """Append an alternative of n symbols to a LIST of words, and its first symbol."""
    append(A, words, n)
    append(A, words, symbol)
    return words


@kernel("i(arena, i, i)")
def following_words(A, closes, member):
    """The words of next(i): the end, if `closes`, and another member, unless it is 0."""
    out = region(A, LIST.WORDS + 5)
    if closes:
        new_alternative(A, out, 1, -LAYOUT.CLOSE_OBJECT)
    if member != 0:
        append(A, new_alternative(A, out, 2, -LAYOUT.COMMA), member)
    return out


@kernel("i(arena, i, i, i, i)")
def member_words(A, key, value, following, skipped):
    """The words of member(i): a key, its value and what follows it, unless no text is such a value; or `skipped`."""
    out = region(A, LIST.WORDS + 8)
    if value != 0:
        append(A, new_alternative(A, out, 5, key), -LAYOUT.COLON)
        append(A, out, value)
        append(A, out, -LAYOUT.BEHIND)
        append(A, out, following)
    if skipped != 0:
        new_alternative(A, out, 1, skipped)
    return out


@kernel("i(arena, i, i)")
def value_of(message, value, first):
    """The symbol of a value, from its word. first: the first of the new values."""
    symbol = np.int64(message[value])
    if symbol >= 0:
        return symbol
    return -np.int64(LAYOUT.ANY) if symbol == ANY_VALUE else template_at(first, NEW_VALUE - symbol)


@kernel("i(arena, arena, arena, arena)", entry=True, brief=True)
def make_object_templates(A, H, S, message):
    """Describe the nonterminals of an object. Returns the first of their templates (`count_places`); those of new
    values are behind them.

    message: an OBJECT_MESSAGE.
    """
    n = np.int64(message[OBJECT_MESSAGE.MEMBERS])
    required = np.int64(OBJECT_MESSAGE.LISTS)
    values = required + n
    keys = top(S)
    push_strings(A, H, S, message, values + n + message[OBJECT_MESSAGE.OTHERS], message[OBJECT_MESSAGE.TEXTS])
    first = new_templates(A, count_places(message), np.int64(message[OBJECT_MESSAGE.NUMBER]), 0)
    number = np.int64(message[OBJECT_MESSAGE.VALUE_NUMBER])
    new = new_templates(A, np.int64(message[OBJECT_MESSAGE.NEW_VALUES]), number, 1)
    closes = 1
    later = np.int64(message[OBJECT_MESSAGE.BEYOND])  # member(i + 1), 0: nothing can come there
    if message[OBJECT_MESSAGE.OTHERS] != 0:
        other = template_at(first, 2 * n)
        following = template_at(first, 2 * n + 1)
        again = template_at(first, 2 * n + 2)
        A[following + TEMPLATE.IS_WATCHED] = 1
        A[again + TEMPLATE.IS_WATCHED] = 1
        key = other_key(A, H, S, message[OBJECT_MESSAGE.ANY_KEY], keys, top(S))
        value = value_of(message, values + n, new)
        A[other + TEMPLATE.ALTERNATIVES] = member_words(A, key, value, following, 0)
        A[again + TEMPLATE.ALTERNATIVES] = A[other + TEMPLATE.ALTERNATIVES]
        A[following + TEMPLATE.ALTERNATIVES] = following_words(A, 1, again)
        later = other if value != 0 else 0
    for i in range(n - 1, -1, -1):
        following = template_at(first, i)
        A[following + TEMPLATE.IS_ALONE] = 1
        A[following + TEMPLATE.ALTERNATIVES] = following_words(A, closes, later)
        key = intern4(A, H, TERMINAL.KIND, S[keys + i], 0, 0, 0)
        value = value_of(message, values + i, new)
        if message[required + i] != 0:
            later = np.int64(0)
            closes = 0
        here = template_at(first, n + i)
        A[here + TEMPLATE.IS_ALONE] = 1
        A[here + TEMPLATE.ALTERNATIVES] = member_words(A, key, value, following, later)
        later = here if value != 0 or later != 0 else 0
    set_top(S, keys)
    return first


@kernel("i(arena, arena)", entry=True, brief=True)
def make_array_templates(A, message):
    """Describe the nonterminals of an array. Returns the template of the whole; what follows an item is behind it, and
    then the item, if it is new.

    message: an ARRAY_MESSAGE.
    """
    first = new_templates(A, 2, np.int64(message[ARRAY_MESSAGE.NUMBER]), 0)
    following = template_at(first, 1)
    A[first + TEMPLATE.IS_WATCHED] = message[ARRAY_MESSAGE.IS_WATCHED]
    A[following + TEMPLATE.IS_WATCHED] = message[ARRAY_MESSAGE.IS_WATCHED]
    is_new = message[ARRAY_MESSAGE.VALUE] <= NEW_VALUE
    new = new_templates(A, 1 if is_new else 0, np.int64(message[ARRAY_MESSAGE.VALUE_NUMBER]), 1)
    value = value_of(message, ARRAY_MESSAGE.VALUE, new)
    begun = region(A, LIST.WORDS + 4)
    goes_on = region(A, LIST.WORDS + 7)
    new_alternative(A, goes_on, 1, -LAYOUT.CLOSE_ARRAY)
    if value != 0:
        append(A, new_alternative(A, begun, 3, value), -LAYOUT.BEHIND)
        append(A, begun, following)
        append(A, new_alternative(A, goes_on, 4, -LAYOUT.COMMA), value)
        append(A, goes_on, -LAYOUT.BEHIND)
        append(A, goes_on, following)
    A[first + TEMPLATE.ALTERNATIVES] = begun
    A[following + TEMPLATE.ALTERNATIVES] = goes_on
    return first
