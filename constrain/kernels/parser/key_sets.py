"""Rules of a JSON object with many ways to go on, made as texts reach them.

The idea: n declared keys have 2^n sets that may be read so far, and each of them has up to n members that may come
next. So a set of keys is one symbol, a KEY_SET record, and is looked for by one expression, a trie
(lexer/key_tries.py). A lexeme that ended as a key *takes* it out: the trie changes on the path of the key alone, and
the item goes on with the value of this key and the key set behind it. No other key is looked at.

    next(s)    -> close                          if every required key was read, and the number of members is allowed
                | separator member(s)            if a member may come
    member(s)  -> key after_key value after_value next(s')      for each declared key in s: the symbol KEY_SET
                | open_key after_key value after_value next(s') for each class of open keys

The same for members in the order of the declaration: all up to the next required one may come.

Records: records/key_sets.py; objects are made by key_set_rules.py. Cost: the letters of a key and the branches of the
trie beside them; in order, also of the keys that are skipped. Reference: tests/masks/engine/test_key_sets.py, which
compares
the rules with what `expand` gives.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.key_tries import key_trie, note_tags, without_key
from constrain.kernels.parser.object_rules import new_suffix, new_suffixes, store_alternatives, suffix_of_symbols
from constrain.kernels.parser.rules import suffix_of
from constrain.kernels.records.arena import NONE, intern, intern2, region, reserve
from constrain.kernels.records.grammars import LIST, NONTERMINAL, SUFFIX, list_end, new_nonterminal_head
from constrain.kernels.records.key_sets import (
    DECLARED_KEY,
    KEY_SET,
    KEY_SET_RULES,
    MAY_NOT_COME,
    OPEN_CLASS,
    ORDERED,
    TAKEN,
    is_in_order,
    ordered,
)
from constrain.kernels.records.stack import push, set_top, top

# --- key sets ---------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i, i, i, i, i, i)")
def new_key_set(A, H, rules, keys, required, left, size, is_open):
    """The KEY_SET record with these key words."""
    r = reserve(A, KEY_SET.WORDS)
    A[r + KEY_SET.OBJECT] = rules
    A[r + KEY_SET.SET] = keys
    A[r + KEY_SET.REQUIRED] = required
    A[r + KEY_SET.LEFT] = left
    A[r + KEY_SET.SIZE] = size
    A[r + KEY_SET.IS_OPEN] = is_open
    return intern(A, H, KEY_SET.KIND, KEY_SET.KEY_WORDS)


@kernel("i(arena, arena, i, i, i, i, i, i)")
def key_set(A, H, rules, trie, required, left, size, is_open):
    """A key set in any order. trie, required: the declared keys that were not read, and the required ones; left: the
    number of these.

    Where only the required keys still fit into the largest number of members, the others may not come.
    """
    high = np.int64(A[rules + KEY_SET_RULES.HIGH])
    if high >= 0 and size + left >= high:
        trie = required
    keys = new_key_set(A, H, rules, trie, required, left, size, is_open)
    A[keys + KEY_SET.HAS_OTHERS] = A[rules + KEY_SET_RULES.N_CLASSES] != 0 and (high < 0 or size + left < high)
    A[keys + KEY_SET.TRIE] = trie
    note_tags(A, H, trie)
    return keys


@kernel("i(arena, arena, i, i, i)")
def ordered_key_set(A, H, rules, index, is_open):
    """The key set where `index` keys were passed."""
    left = np.int64(0)
    if index < A[rules + KEY_SET_RULES.MEMBERS]:
        left = np.int64(A[ordered(A, rules, index) + ORDERED.LEFT])
    keys = new_key_set(A, H, rules, 0, index, left, 0, is_open)
    A[keys + KEY_SET.HAS_OTHERS] = A[rules + KEY_SET_RULES.N_CLASSES] != 0 and left == 0
    return keys


@kernel("i(arena, i)")
def passed(A, keys):
    """In order: the index of the next declared key that may come; the number of all if none may."""
    rules = KEY_SET.OBJECT(A, keys)
    index = np.int64(A[keys + KEY_SET.REQUIRED])
    if index < A[rules + KEY_SET_RULES.MEMBERS] and A[ordered(A, rules, index) + ORDERED.LIVE] != 0:
        return index
    return np.int64(A[rules + KEY_SET_RULES.MEMBERS])


@kernel("i(arena, i)")
def may_go_on(A, keys):
    """True if a declared key may come next."""
    if is_in_order(A, keys) != 0:
        return passed(A, keys) < A[KEY_SET.OBJECT(A, keys) + KEY_SET_RULES.MEMBERS]
    return A[keys + KEY_SET.SET] != NONE


@kernel("i(arena, arena, arena, i, i)")
def trie_of_run(A, H, S, rules, index):
    """The trie of a declared key and of those behind it in its run."""
    start = top(S)
    own = ordered(A, rules, index)
    for k in range(A[own + ORDERED.FIRST], A[own + ORDERED.STOP]):
        key = np.int64(A[ordered(A, rules, A[k]) + ORDERED.KEY])
        if A[k] >= index and key != 0:
            push(S, key)
    trie = key_trie(A, H, S, start, top(S))
    set_top(S, start)
    return trie


@kernel("i(arena, arena, arena, i, i, i)")
def trie_of_rest(A, H, S, rules, before, index):
    """`trie_of_run`, by way of the trie of a key set before it; 0 if this is not the shorter way."""
    trie = np.int64(A[before + KEY_SET.TRIE]) if before != 0 else np.int64(0)
    first = np.int64(A[before + KEY_SET.REQUIRED]) if trie != 0 else np.int64(index)
    own = ordered(A, rules, index)
    if first >= index or A[ordered(A, rules, first) + ORDERED.FIRST] != A[own + ORDERED.FIRST]:
        return np.int64(0)
    if index - first > (A[own + ORDERED.STOP] - A[own + ORDERED.FIRST]) >> 1:
        return np.int64(0)
    for k in range(first, index):
        key = np.int64(A[ordered(A, rules, k) + ORDERED.KEY])
        if key != 0:
            trie = without_key(A, H, S, trie, key)
    return trie


@kernel("i(arena, arena, arena, i)", entry=True)
def trie_of_keys(A, H, S, keys):
    """The trie of the declared keys that may come next in a key set; NONE: there are none."""
    if A[keys + KEY_SET.TRIE] == 0:
        rules = KEY_SET.OBJECT(A, keys)
        index = passed(A, keys)
        trie = np.int64(NONE)
        if index < A[rules + KEY_SET_RULES.MEMBERS]:
            trie = trie_of_rest(A, H, S, rules, np.int64(A[keys + KEY_SET.BEFORE]), index)
            if trie == 0:
                trie = trie_of_run(A, H, S, rules, index)
        note_tags(A, H, trie)
        A[keys + KEY_SET.TRIE] = trie
    return np.int64(A[keys + KEY_SET.TRIE])


@kernel("i(arena, i)")
def place(A, keys):
    """A new nonterminal whose alternatives a key set says."""
    r = region(A, NONTERMINAL.WORDS)
    new_nonterminal_head(A, r)
    A[r + NONTERMINAL.RIGHT_RECURSIVE] = 1
    A[r + NONTERMINAL.IS_WATCHED] = A[keys + KEY_SET.IS_OPEN]
    A[r + NONTERMINAL.NUMBER] = A[KEY_SET.OBJECT(A, keys) + KEY_SET_RULES.NUMBER]
    A[r + NONTERMINAL.KEY_SET] = keys
    return r


@kernel("i(arena, i)")
def next_of(A, keys):
    """The nonterminal of what follows a member in a key set."""
    if A[keys + KEY_SET.NEXT] == 0:
        A[keys + KEY_SET.NEXT] = place(A, keys)
    return np.int64(A[keys + KEY_SET.NEXT])


@kernel("i(arena, i)")
def member_of(A, keys):
    """The nonterminal of the next member in a key set."""
    if A[keys + KEY_SET.MEMBER] == 0:
        A[keys + KEY_SET.MEMBER] = place(A, keys)
    return np.int64(A[keys + KEY_SET.MEMBER])


# --- the key set after a member ---------------------------------------------------------------------------------------


@kernel("i(arena, i, i)")
def size_after(A, rules, size):
    """The number of members after one more, as far as it matters."""
    if A[rules + KEY_SET_RULES.HIGH] >= 0:
        return size + 1
    return min(size + 1, np.int64(A[rules + KEY_SET_RULES.LOW]))


@kernel("i(arena, arena, i, i)")
def after_ordered(A, H, keys, declared):
    """The key set after a declared key, in order; 0 if it may not come."""
    rules = KEY_SET.OBJECT(A, keys)
    first = passed(A, keys)
    index = np.int64(A[declared + DECLARED_KEY.INDEX])
    if first > index or A[declared + DECLARED_KEY.VALUE] == 0:
        return np.int64(0)
    if A[ordered(A, rules, index) + ORDERED.FIRST] != A[ordered(A, rules, first) + ORDERED.FIRST]:
        return np.int64(0)
    following = ordered_key_set(A, H, rules, index + 1, 0)
    if A[following + KEY_SET.BEFORE] == 0:
        A[following + KEY_SET.BEFORE] = keys
    return following


@kernel("i(arena, arena, arena, i, i)")
def after_declared(A, H, S, keys, key):
    """The key set after a declared key; 0 if it may not come."""
    rules = KEY_SET.OBJECT(A, keys)
    declared = intern2(A, H, DECLARED_KEY.KIND, rules, key)
    if is_in_order(A, keys) != 0:
        return after_ordered(A, H, keys, declared)
    trie = without_key(A, H, S, np.int64(A[keys + KEY_SET.SET]), key)
    if trie == 0:
        return np.int64(0)
    required = np.int64(A[keys + KEY_SET.REQUIRED])
    left = np.int64(A[keys + KEY_SET.LEFT])
    if A[declared + DECLARED_KEY.IS_REQUIRED] != 0:
        required = without_key(A, H, S, required, key)
        left -= 1
    size = size_after(A, rules, np.int64(A[keys + KEY_SET.SIZE]))
    return key_set(A, H, rules, trie, required, left, size, np.int64(A[keys + KEY_SET.IS_OPEN]))


@kernel("i(arena, arena, i)")
def after_open(A, H, keys):
    """The key set after an open key."""
    rules = KEY_SET.OBJECT(A, keys)
    if is_in_order(A, keys) != 0:
        return ordered_key_set(A, H, rules, np.int64(A[rules + KEY_SET_RULES.MEMBERS]), 1)
    size = size_after(A, rules, np.int64(A[keys + KEY_SET.SIZE]))
    required, left = np.int64(A[keys + KEY_SET.REQUIRED]), np.int64(A[keys + KEY_SET.LEFT])
    return key_set(A, H, rules, np.int64(A[keys + KEY_SET.SET]), required, left, size, 1)


@kernel("i(arena, arena, i, i, i)")
def value_and_rest(A, H, rules, value, following):
    """The SUFFIX of what stands behind a key: the value, and the key set after it.

    Whatever was read before, it is one record, so that the parser states after it are one too.
    """
    rest = suffix_of_symbols(A, H, A, A[rules + KEY_SET_RULES.BEHIND], suffix_of(A, H, next_of(A, following), 0))
    return suffix_of_symbols(A, H, A, A[rules + KEY_SET_RULES.BETWEEN], suffix_of(A, H, value, rest))


@kernel("i(arena, arena, arena, i, i)", entry=True)
def take(A, H, S, keys, key):
    """The SUFFIX of what comes behind a key in a key set; MAY_NOT_COME if the key is none of it."""
    taken = intern2(A, H, TAKEN.KIND, keys, key)
    if A[taken + TAKEN.SUFFIX] == 0:
        following = after_declared(A, H, S, keys, key)
        suffix = np.int64(MAY_NOT_COME)
        if following != 0:
            rules = KEY_SET.OBJECT(A, keys)
            value = np.int64(A[intern2(A, H, DECLARED_KEY.KIND, rules, key) + DECLARED_KEY.VALUE])
            suffix = value_and_rest(A, H, rules, value, following)
        A[taken + TAKEN.SUFFIX] = suffix
    return np.int64(A[taken + TAKEN.SUFFIX])


# --- alternatives -----------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i)")
def endings(A, H, keys):
    """The LIST of alternatives of `next_of`: the end, and another member."""
    rules = KEY_SET.OBJECT(A, keys)
    ended = np.int64(0)
    goes_on = np.int64(0)
    if A[keys + KEY_SET.LEFT] == 0 and A[keys + KEY_SET.SIZE] >= A[rules + KEY_SET_RULES.LOW]:
        ended = suffix_of_symbols(A, H, A, A[rules + KEY_SET_RULES.CLOSE], 0)
    if may_go_on(A, keys) or A[keys + KEY_SET.HAS_OTHERS] != 0:
        goes_on = new_suffixes(A, A, A[rules + KEY_SET_RULES.SEPARATOR], new_suffix(A, member_of(A, keys), 0))
    return store_alternatives(A, ended, goes_on)


@kernel("i(arena, arena, i)")
def next_members(A, H, keys):
    """The LIST of alternatives of `member_of`: the declared keys as one symbol, and each class of open keys."""
    rules = KEY_SET.OBJECT(A, keys)
    classes = np.int64(A[rules + KEY_SET_RULES.N_CLASSES]) if A[keys + KEY_SET.HAS_OTHERS] != 0 else np.int64(0)
    out = region(A, LIST.WORDS + 1 + classes)
    if may_go_on(A, keys):
        suffix = new_suffix(A, keys, 0)
        A[suffix + SUFFIX.HOLDS_WATCHED] = A[keys + KEY_SET.IS_OPEN]
        A[list_end(A, out)] = suffix
        A[out + LIST.COUNT] += 1
    first = np.int64(A[rules + KEY_SET_RULES.CLASSES])
    for each in range(first, first + OPEN_CLASS.WORDS * classes, OPEN_CLASS.WORDS):
        rest = value_and_rest(A, H, rules, np.int64(A[each + OPEN_CLASS.VALUE]), after_open(A, H, keys))
        A[list_end(A, out)] = new_suffix(A, np.int64(A[each + OPEN_CLASS.KEY]), rest)
        A[out + LIST.COUNT] += 1
    return out


@kernel("i(arena, arena, i)")
def alternatives_by_keys(A, H, nonterminal):
    """The LIST of alternatives of a nonterminal that a key set says."""
    if A[nonterminal + NONTERMINAL.ALTERNATIVES] == 0:
        keys = NONTERMINAL.KEY_SET(A, nonterminal)
        is_next = A[keys + KEY_SET.NEXT] == nonterminal
        A[nonterminal + NONTERMINAL.ALTERNATIVES] = endings(A, H, keys) if is_next else next_members(A, H, keys)
    return np.int64(A[nonterminal + NONTERMINAL.ALTERNATIVES])
