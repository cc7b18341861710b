"""The rules of a list of pairs, an object, made at once from a list of words (`Chain` in cfg/rules.py), and of a
list of equals, an array (`Repetition`).

Python says which symbols stand in them, by their records, and which texts the keys have; the keys are spelled here.

Cost: some microseconds and thirty words a pair, and the letters of its key.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.spelling import push_strings
from constrain.kernels.parser.earley import ALTERNATIVES, IS_WATCHED, RIGHT_RECURSIVE, mark_watched, suffix_of
from constrain.kernels.records.arena import (
    KEY,
    KIND_BITS,
    NONTERMINAL,
    SUFFIX,
    TAGSET,
    TERMINAL,
    intern4,
    intern_list,
    push,
    region,
    sort_groups,
    unique_groups,
)

PLACE = KEY + 1  # words of a NONTERMINAL

# The words of a chain. BEYOND: the record of member(n), 0: there is none here. CLOSES: may any place close the list?
# BEGINS: is the head `first`, not member(0)? PAIRS: n. REST: 1 if there are keys that are not listed. TEXTS: how many
# texts there are, at least n; the others belong to keys that must not come. FRESH: how many values are new.
# NUMBER, VALUE_NUMBER: of the places and of new values.
BEYOND, CLOSES, BEGINS, PAIRS, REST, TEXTS, FRESH, NUMBER, VALUE_NUMBER = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Then the punctuation: the expression of any key, and four lists, each with its length before it: the separator, the
# close, what is between a key and its value, what is behind them. Then n times whether the member must be there; the
# values, those of the rest last, -1 - k being the new value k; and the texts (spelling.py).
PUNCTUATION = 9


@kernel("i(arena, i, i)")
def new_suffix(A, symbol, following):
    """The SUFFIX of a symbol and what follows it, for lists that end with a new nonterminal.

    PERF: no other list is equal, so that it need not be looked up, nor be found: 41 → 24 µs for twenty keys.
    """
    suffix = region(A, KEY + 2)
    A[suffix] = SUFFIX | (2 << KIND_BITS)
    A[suffix + KEY] = symbol
    A[suffix + KEY + 1] = following
    mark_watched(A, suffix)
    return suffix


@kernel("i(arena, arena, i, i, i)")
def new_suffixes(A, words, start, stop, following):
    """The SUFFIX of the symbols words[start:stop] and what follows them, which is new."""
    for k in range(stop, start, -1):
        following = new_suffix(A, words[k - 1], following)
    return following


@kernel("i(arena, i, i)")
def store_alternatives(A, first, second):
    """The region of at most two alternatives; 0: none."""
    out = region(A, 3)
    for suffix in (first, second):
        if suffix != 0:
            A[out] += 1
            A[out + A[out]] = suffix
    return out


@kernel("i(arena, arena, arena, i, i, i)")
def suffix_of_words(A, H, words, start, stop, following):
    """The SUFFIX of the symbols words[start:stop] and what follows them."""
    for k in range(stop, start, -1):
        following = suffix_of(A, H, words[k - 1], following)
    return following


@kernel("i(arena, arena, arena, i, i, i)")
def other_key(A, H, S, any_key, start, stop):
    """The TERMINAL of any key but those with the expressions S[start:stop]."""
    excluded = 0
    if stop > start:
        top = np.int64(S[0])
        for i in range(start, stop):
            push(S, S[i])
        sort_groups(S, top, S[0], 1)
        S[0] = unique_groups(S, top, S[0], 1)
        excluded = intern_list(A, H, S, TAGSET, top)
    return intern4(A, H, TERMINAL, any_key, excluded, 0, 0)


@kernel("i(arena, arena, i, i, i, i, i)")
def pair(A, words, between, behind, key, value, following):
    """The SUFFIX of a pair and what follows it, a new nonterminal; 0 if no text is such a value."""
    if value == 0:
        return 0
    rest = new_suffixes(A, words, behind, behind + words[behind - 1], new_suffix(A, following, 0))
    rest = new_suffixes(A, words, between, between + words[between - 1], new_suffix(A, value, rest))
    return new_suffix(A, key, rest)


@kernel("i(arena, arena)")
def new_places(A, words):
    """Records for the nonterminals of a chain, without alternatives: next(1) to next(n), member(0) to member(n - 1),
    the three of the rest (member(n), next(n + 1), member(n) again), new values."""
    others = 2 * np.int64(words[PAIRS]) + 3 * words[REST]
    places = region(A, (others + words[FRESH]) * PLACE)
    for i in range(others + words[FRESH]):
        r = places + i * PLACE
        A[r] = NONTERMINAL | (1 << KIND_BITS)
        A[r + RIGHT_RECURSIVE] = i < others
        A[r + KEY] = words[NUMBER] if i < others else words[VALUE_NUMBER]
    return places


@kernel("i(arena, i, i)")
def value_of(words, value, places):
    """The record of a value, from its word."""
    record = np.int64(words[value])
    if record >= 0:
        return record
    return places + (2 * words[PAIRS] + 3 * words[REST] - 1 - record) * PLACE


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def make_chain(A, H, S, head, words):
    """Make the places of a chain whose first nonterminal is `head`. Returns the first of their records (`new_places`).

    words: see above.
    """
    n, closes = np.int64(words[PAIRS]), np.int64(words[CLOSES])
    separator = PUNCTUATION + 2
    close = separator + words[separator - 1] + 1
    between = close + words[close - 1] + 1
    behind = between + words[between - 1] + 1
    must = behind + words[behind - 1]
    values = must + n
    keys = np.int64(S[0])
    push_strings(A, H, S, words, values + n + words[REST], words[TEXTS])
    places = new_places(A, words)
    members = places + n * PLACE
    ended = suffix_of_words(A, H, words, close, close + words[close - 1], 0)
    later = np.int64(words[BEYOND])  # member(i + 1), 0: nothing can come there
    if words[REST] != 0:
        other = members + n * PLACE
        following = other + PLACE
        again = following + PLACE
        A[following + IS_WATCHED] = 1
        A[again + IS_WATCHED] = 1
        key = other_key(A, H, S, words[PUNCTUATION], keys, S[0])
        written = pair(A, words, between, behind, key, value_of(words, values + n, places), following)
        A[other + ALTERNATIVES] = store_alternatives(A, written, 0)
        A[again + ALTERNATIVES] = A[other + ALTERNATIVES]
        goes_on = new_suffixes(A, words, separator, close - 1, new_suffix(A, again, 0))
        A[following + ALTERNATIVES] = store_alternatives(A, ended, goes_on)
        later = other if written != 0 else 0
    for i in range(n - 1, -1, -1):
        following = places + i * PLACE
        skipped = 0
        goes_on = 0
        if later != 0:
            skipped = new_suffix(A, later, 0)
            goes_on = new_suffixes(A, words, separator, close - 1, skipped)
        A[following + ALTERNATIVES] = store_alternatives(A, ended if closes else 0, goes_on)
        key = intern4(A, H, TERMINAL, S[keys + i], 0, 0, 0)
        written = pair(A, words, between, behind, key, value_of(words, values + i, places), following)
        if words[must + i] != 0:
            skipped = 0
            closes = 0
        here = members + i * PLACE if i != 0 or words[BEGINS] else head
        A[here + ALTERNATIVES] = store_alternatives(A, written, skipped)
        later = here if written != 0 or skipped != 0 else 0
    if words[BEGINS]:
        first = new_suffix(A, later, 0) if later != 0 else 0
        A[head + ALTERNATIVES] = store_alternatives(A, ended if closes else 0, first)
    S[0] = keys
    return places


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def make_repetition(A, H, S, head, words):
    """Make the nonterminal `next` of a repetition whose `first` is the head. Returns its record; that of the value, if
    it is new, is behind it.

    words: whether the list may be empty; whether the value is new; the numbers of both; the separator, the close, and
    what is behind a value, each with its length before it; the record of the value.
    """
    separator = 5
    close = separator + words[separator - 1] + 1
    behind = close + words[close - 1] + 1
    last = behind + words[behind - 1]
    following = region(A, (1 + words[1]) * PLACE)
    A[following] = NONTERMINAL | (1 << KIND_BITS)
    A[following + RIGHT_RECURSIVE] = 1
    A[following + IS_WATCHED] = A[head + IS_WATCHED]
    A[following + KEY] = words[2]
    value = np.int64(words[last])
    if words[1]:
        value = following + PLACE
        A[value] = NONTERMINAL | (1 << KIND_BITS)
        A[value + KEY] = words[3]
    ended = suffix_of_words(A, H, words, close, behind - 1, 0)
    written = 0
    if value != 0:
        written = new_suffix(A, value, new_suffixes(A, words, behind, last, new_suffix(A, following, 0)))
    again = new_suffixes(A, words, separator, close - 1, written) if written != 0 else 0
    A[following + ALTERNATIVES] = store_alternatives(A, ended, again)
    A[head + ALTERNATIVES] = store_alternatives(A, ended if words[0] else 0, written)
    return following
