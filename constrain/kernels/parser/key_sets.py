"""Rules of a JSON object whose members come in any order, made as texts reach them.

The idea: n declared keys have 2^n sets that may be read so far, and each of them has up to n members that may come
next. So a set of keys is one symbol, a KEYS record, and is looked for by one expression, a trie (lexer/key_tries.py).
A lexeme that ended as a key *takes* it out: the trie changes on the path of the key alone, and the item goes on with
the value of this key and the situation behind it. No other key is looked at.

    next(s)    -> close                          if every required key was read, and the number of members is allowed
                | separator member(s)            if a member may come
    member(s)  -> key after_key value after_value next(s')      for each declared key in s: the symbol KEYS
                | open_key after_key value after_value next(s') for each class of open keys

Records: records/key_sets.py. Cost: the letters of a key and the branches of the trie beside them.
Reference: tests/engine/test_key_sets.py, which compares the rules with those that `expand` gives.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import alt2, cat
from constrain.kernels.lexer.key_tries import key_trie, note_tags, without_key
from constrain.kernels.lexer.spelling import push_strings
from constrain.kernels.parser.object_rules import (
    new_suffix,
    new_suffixes,
    other_key,
    store_alternatives,
    suffix_of_symbols,
)
from constrain.kernels.parser.rules import suffix_of
from constrain.kernels.records.arena import NONE, intern, intern2, key_start, region, reserve
from constrain.kernels.records.expressions import TAGSET, cat_head, cat_tail
from constrain.kernels.records.grammars import (
    LIST,
    NONTERMINAL,
    SUFFIX,
    keys_of,
    list_end,
    new_nonterminal_head,
    terminal_excluded,
)
from constrain.kernels.records.key_sets import (
    DECLARED_KEY,
    KEYS,
    MAY_NOT_COME,
    OPEN_CLASS,
    TAKEN,
    UNORDERED,
    keys_object,
    keys_trie,
    object_values,
)
from constrain.kernels.records.messages import (
    SITUATION_MESSAGE,
    UNORDERED_MESSAGE,
    nonterminal_at,
    symbols_end,
)
from constrain.kernels.records.stack import push, set_top, top

# --- situations -------------------------------------------------------------------------------------------------------


@kernel("i(arena, i, i)")
def size_after(A, rules, size):
    """The number of members after one more, as far as it matters."""
    if A[rules + UNORDERED.HIGH] >= 0:
        return size + 1
    return min(size + 1, np.int64(A[rules + UNORDERED.LOW]))


@kernel("i(arena, arena, i, i, i, i, i, i)")
def situation(A, H, rules, trie, required, left, size, is_open):
    """The KEYS record of a situation. trie, required: the declared keys that were not read, and the required ones;
    left: the number of these.

    Where only the required keys still fit into the largest number of members, the others may not come.
    """
    high = np.int64(A[rules + UNORDERED.HIGH])
    if high >= 0 and size + left >= high:
        trie = required
    first = key_start(reserve(A, KEYS.WORDS))
    A[first] = rules
    A[first + 1] = trie
    A[first + 2] = required
    A[first + 3] = left
    A[first + 4] = size
    A[first + 5] = is_open
    keys = intern(A, H, KEYS.KIND, KEYS.KEY_WORDS)
    has_others = A[rules + UNORDERED.N_CLASSES] != 0 and (high < 0 or size + left < high)
    A[keys + KEYS.HAS_OTHERS] = has_others
    if has_others and A[rules + UNORDERED.IS_COVERED] != 0:
        A[keys + KEYS.LOOKED_FOR] = 0
    else:
        note_tags(A, H, trie)
        A[keys + KEYS.LOOKED_FOR] = trie
    return keys


@kernel("i(arena, i)")
def place(A, keys):
    """A new nonterminal whose alternatives a situation says."""
    r = region(A, NONTERMINAL.WORDS)
    new_nonterminal_head(A, r)
    A[r + NONTERMINAL.RIGHT_RECURSIVE] = 1
    A[r + NONTERMINAL.IS_WATCHED] = A[keys + KEYS.IS_OPEN]
    A[r + NONTERMINAL.NUMBER] = A[keys_object(A, keys) + UNORDERED.NUMBER]
    A[r + NONTERMINAL.KEYS] = keys
    return r


@kernel("i(arena, i)")
def next_of(A, keys):
    """The nonterminal of what follows a member in a situation."""
    if A[keys + KEYS.NEXT] == 0:
        A[keys + KEYS.NEXT] = place(A, keys)
    return np.int64(A[keys + KEYS.NEXT])


@kernel("i(arena, i)")
def member_of(A, keys):
    """The nonterminal of the next member in a situation."""
    if A[keys + KEYS.MEMBER] == 0:
        A[keys + KEYS.MEMBER] = place(A, keys)
    return np.int64(A[keys + KEYS.MEMBER])


@kernel("i(arena, arena, arena, i, i)")
def after_declared(A, H, S, keys, key):
    """The situation after a declared key; 0 if it may not come."""
    trie = without_key(A, H, S, keys_trie(A, keys), key)
    if trie == 0:
        return np.int64(0)
    rules = keys_object(A, keys)
    required = np.int64(A[keys + KEYS.REQUIRED])
    left = np.int64(A[keys + KEYS.LEFT])
    if A[intern2(A, H, DECLARED_KEY.KIND, rules, key) + DECLARED_KEY.IS_REQUIRED] != 0:
        required = without_key(A, H, S, required, key)
        left -= 1
    size = size_after(A, rules, np.int64(A[keys + KEYS.SIZE]))
    return situation(A, H, rules, trie, required, left, size, np.int64(A[keys + KEYS.IS_OPEN]))


@kernel("i(arena, arena, i)")
def after_open(A, H, keys):
    """The situation after an open key."""
    rules = keys_object(A, keys)
    size = size_after(A, rules, np.int64(A[keys + KEYS.SIZE]))
    trie, required, left = keys_trie(A, keys), np.int64(A[keys + KEYS.REQUIRED]), np.int64(A[keys + KEYS.LEFT])
    return situation(A, H, rules, trie, required, left, size, 1)


@kernel("i(arena, arena, i, i, i)")
def value_and_rest(A, H, rules, value, following):
    """The SUFFIX of what stands behind a key: the value, and the situation after it.

    Whatever was read before, it is one record, so that the parser states after it are one too.
    """
    rest = suffix_of_symbols(A, H, A, A[rules + UNORDERED.BEHIND], suffix_of(A, H, next_of(A, following), 0))
    return suffix_of_symbols(A, H, A, A[rules + UNORDERED.BETWEEN], suffix_of(A, H, value, rest))


@kernel("i(arena, arena, arena, i, i)", entry=True)
def take(A, H, S, keys, key):
    """The SUFFIX of what comes behind a key in a situation; MAY_NOT_COME if the key is none of it."""
    taken = intern2(A, H, TAKEN.KIND, keys, key)
    if A[taken + TAKEN.SUFFIX] == 0:
        following = after_declared(A, H, S, keys, key)
        suffix = np.int64(MAY_NOT_COME)
        if following != 0:
            rules = keys_object(A, keys)
            value = np.int64(A[intern2(A, H, DECLARED_KEY.KIND, rules, key) + DECLARED_KEY.VALUE])
            suffix = value_and_rest(A, H, rules, value, following)
        A[taken + TAKEN.SUFFIX] = suffix
    return np.int64(A[taken + TAKEN.SUFFIX])


# --- their alternatives -----------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i)")
def endings(A, H, keys):
    """The LIST of alternatives of `next_of`: the end, and another member."""
    rules = keys_object(A, keys)
    ended = np.int64(0)
    goes_on = np.int64(0)
    if A[keys + KEYS.LEFT] == 0 and A[keys + KEYS.SIZE] >= A[rules + UNORDERED.LOW]:
        ended = suffix_of_symbols(A, H, A, A[rules + UNORDERED.CLOSE], 0)
    if keys_trie(A, keys) != NONE or A[keys + KEYS.HAS_OTHERS] != 0:
        goes_on = new_suffixes(A, A, A[rules + UNORDERED.SEPARATOR], new_suffix(A, member_of(A, keys), 0))
    return store_alternatives(A, ended, goes_on)


@kernel("i(arena, arena, i)")
def next_members(A, H, keys):
    """The LIST of alternatives of `member_of`: the declared keys as one symbol, and each class of open keys."""
    rules = keys_object(A, keys)
    classes = np.int64(A[rules + UNORDERED.N_CLASSES]) if A[keys + KEYS.HAS_OTHERS] != 0 else np.int64(0)
    out = region(A, LIST.WORDS + 1 + classes)
    if keys_trie(A, keys) != NONE:
        suffix = new_suffix(A, keys, 0)
        A[suffix + SUFFIX.HOLDS_WATCHED] = A[keys + KEYS.IS_OPEN]
        A[list_end(A, out)] = suffix
        A[out + LIST.COUNT] += 1
    first = np.int64(A[rules + UNORDERED.CLASSES])
    for each in range(first, first + OPEN_CLASS.WORDS * classes, OPEN_CLASS.WORDS):
        rest = value_and_rest(A, H, rules, np.int64(A[each + OPEN_CLASS.VALUE]), after_open(A, H, keys))
        A[list_end(A, out)] = new_suffix(A, np.int64(A[each + OPEN_CLASS.KEY]), rest)
        A[out + LIST.COUNT] += 1
    return out


@kernel("i(arena, arena, i)")
def alternatives_by_keys(A, H, nonterminal):
    """The LIST of alternatives of a nonterminal that a situation says."""
    if A[nonterminal + NONTERMINAL.ALTERNATIVES] == 0:
        keys = keys_of(A, nonterminal)
        is_next = A[keys + KEYS.NEXT] == nonterminal
        A[nonterminal + NONTERMINAL.ALTERNATIVES] = endings(A, H, keys) if is_next else next_members(A, H, keys)
    return np.int64(A[nonterminal + NONTERMINAL.ALTERNATIVES])


# --- objects ----------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i)")
def kept_symbols(A, message, symbols):
    """A region with a list of symbols of a message."""
    n = symbols_end(message, symbols) - symbols
    out = region(A, n)
    for k in range(n):
        A[out + k] = message[symbols + k]
    return out


@kernel("i(arena, i, i)")
def value_in(message, word, first):
    """The record of a value of a message. first: the first of the new values."""
    value = np.int64(message[word])
    return value if value >= 0 else nonterminal_at(first, -1 - value)


@kernel("void(arena, arena)")
def new_values(A, message):
    """Records for the values of a message that are new nonterminals."""
    n = np.int64(message[UNORDERED_MESSAGE.NEW_VALUES])
    first = region(A, NONTERMINAL.WORDS * n)
    for k in range(n):
        new_nonterminal_head(A, nonterminal_at(first, k))
        A[nonterminal_at(first, k) + NONTERMINAL.NUMBER] = message[UNORDERED_MESSAGE.VALUE_NUMBER]


@kernel("i(arena, arena, arena, i, i)")
def united(A, H, S, first, second):
    """An expression of the keys of two tries, which begin with the same unit; NONE: there are none."""
    if first == NONE or second == NONE:
        return second if first == NONE else first
    return cat(A, H, cat_head(A, first), alt2(A, H, S, cat_tail(A, first), cat_tail(A, second)))


@kernel("i(arena, arena)")
def new_object(A, message):
    """The UNORDERED region of a message, without its classes; new values are behind its last word."""
    rules = region(A, UNORDERED.WORDS)
    new_values(A, message)
    A[rules + UNORDERED.LOW] = message[UNORDERED_MESSAGE.LOW]
    A[rules + UNORDERED.HIGH] = message[UNORDERED_MESSAGE.HIGH]
    A[rules + UNORDERED.NUMBER] = message[UNORDERED_MESSAGE.NUMBER]
    separator = symbols_end(message, UNORDERED_MESSAGE.LISTS)
    close = symbols_end(message, separator)
    between = symbols_end(message, close)
    A[rules + UNORDERED.SEPARATOR] = kept_symbols(A, message, separator)
    A[rules + UNORDERED.CLOSE] = kept_symbols(A, message, close)
    A[rules + UNORDERED.BETWEEN] = kept_symbols(A, message, between)
    A[rules + UNORDERED.BEHIND] = kept_symbols(A, message, symbols_end(message, between))
    return rules


@kernel("void(arena, arena, arena, arena, i, i, i)")
def push_declared(A, H, S, message, rules, keys, required):
    """Push the keys from S[keys] on whose members have values, and note these. required: where the message says which
    members must come; behind it are the terminals of classes, and the values."""
    n = np.int64(message[UNORDERED_MESSAGE.MEMBERS])
    values = required + n + message[UNORDERED_MESSAGE.CLASSES]
    for i in range(n):
        value = value_in(message, values + i, object_values(rules))
        if value != 0:
            declared = intern2(A, H, DECLARED_KEY.KIND, rules, S[keys + i])
            A[declared + DECLARED_KEY.VALUE] = value
            A[declared + DECLARED_KEY.IS_REQUIRED] = message[required + i]
            push(S, S[keys + i])


@kernel("i(arena, arena, arena, i, i)")
def required_trie(A, H, S, rules, keys):
    """The trie of the required keys among those from S[keys] to the top of the stack."""
    stop = top(S)
    for i in range(keys, stop):
        if A[intern2(A, H, DECLARED_KEY.KIND, rules, S[i]) + DECLARED_KEY.IS_REQUIRED] != 0:
            push(S, S[i])
    trie = key_trie(A, H, S, stop, top(S))
    set_top(S, stop)
    return trie


@kernel("i(arena, arena, arena, arena, i, i, i)")
def key_but(A, H, S, message, rules, keys, stop):
    """The TERMINAL of any key but those at S[keys:stop], the first of which are the members.

    One expression finds all that it excludes.
    """
    key = other_key(A, H, S, message[UNORDERED_MESSAGE.ANY_KEY], keys, stop)
    excluded = terminal_excluded(A, key)
    if excluded != 0:
        n = np.int64(message[UNORDERED_MESSAGE.MEMBERS])
        start = top(S)
        for i in range(keys, keys + n):
            if A[intern2(A, H, DECLARED_KEY.KIND, rules, S[i]) + DECLARED_KEY.VALUE] == 0:
                push(S, S[i])
        finds = united(A, H, S, A[rules + UNORDERED.TRIE], key_trie(A, H, S, start, top(S)))
        set_top(S, start)
        finds = united(A, H, S, finds, key_trie(A, H, S, keys + n, stop))
        note_tags(A, H, finds)
        A[excluded + TAGSET.TRIE] = finds
    return key


@kernel("void(arena, arena, arena, arena, i, i, i, i)")
def add_classes(A, H, S, message, rules, terminals, keys, stop):
    """Add the classes of open keys of a message. terminals: where theirs are; keys, stop: as in `key_but`."""
    classes = np.int64(message[UNORDERED_MESSAGE.CLASSES])
    values = terminals + classes + message[UNORDERED_MESSAGE.MEMBERS]
    out = region(A, OPEN_CLASS.WORDS * classes)
    A[rules + UNORDERED.CLASSES] = out
    for k in range(classes):
        terminal = np.int64(message[terminals + k])
        value = value_in(message, values + k, object_values(rules))
        if terminal < 0:
            terminal = key_but(A, H, S, message, rules, keys, stop)
            A[rules + UNORDERED.IS_COVERED] = value != 0
        if terminal != 0 and value != 0:
            A[out + OPEN_CLASS.KEY] = terminal
            A[out + OPEN_CLASS.VALUE] = value
            A[rules + UNORDERED.N_CLASSES] += 1
            out += OPEN_CLASS.WORDS


@kernel("i(arena, i)")
def count_required(message, required):
    """How many members must come. required: where the message says which."""
    n = 0
    for i in range(message[UNORDERED_MESSAGE.MEMBERS]):
        n += message[required + i]
    return n


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def make_unordered_rules(A, H, S, head, message):
    """Give the nonterminal of a whole object its alternatives, `head`. Returns the UNORDERED region; the records of new
    values are behind it.

    message: an UNORDERED_MESSAGE.
    """
    opening = UNORDERED_MESSAGE.LISTS
    close = symbols_end(message, symbols_end(message, opening))
    required = symbols_end(message, symbols_end(message, symbols_end(message, close)))
    terminals = required + message[UNORDERED_MESSAGE.MEMBERS]
    texts = terminals + message[UNORDERED_MESSAGE.MEMBERS] + 2 * np.int64(message[UNORDERED_MESSAGE.CLASSES])
    rules = new_object(A, message)
    keys = top(S)
    push_strings(A, H, S, message, texts, message[UNORDERED_MESSAGE.TEXTS])
    stop = top(S)
    push_declared(A, H, S, message, rules, keys, required)
    trie = key_trie(A, H, S, stop, top(S))
    must = required_trie(A, H, S, rules, stop)
    left = count_required(message, required)
    A[rules + UNORDERED.TRIE] = trie
    A[rules + UNORDERED.REQUIRED] = must
    A[rules + UNORDERED.LEFT] = left
    add_classes(A, H, S, message, rules, terminals, keys, stop)
    set_top(S, keys)
    start = situation(A, H, rules, trie, must, left, 0, 0)
    ended = np.int64(0)
    begun = np.int64(0)
    if left == 0 and A[rules + UNORDERED.LOW] == 0:
        ended = suffix_of_symbols(A, H, message, close, 0)
    if keys_trie(A, start) != NONE or A[start + KEYS.HAS_OTHERS] != 0:
        begun = new_suffixes(A, message, opening, new_suffix(A, member_of(A, start), 0))
    A[head + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, ended, begun)
    return rules


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def situation_of(A, H, S, rules, message):
    """The KEYS record after some keys of an object. message: a SITUATION_MESSAGE."""
    trie = np.int64(A[rules + UNORDERED.TRIE])
    required = np.int64(A[rules + UNORDERED.REQUIRED])
    left = np.int64(A[rules + UNORDERED.LEFT])
    for i in range(SITUATION_MESSAGE.WRITTEN, message.size):
        trie = without_key(A, H, S, trie, message[i])
        if A[intern2(A, H, DECLARED_KEY.KIND, rules, message[i]) + DECLARED_KEY.IS_REQUIRED] != 0:
            required = without_key(A, H, S, required, message[i])
            left -= 1
    return situation(
        A, H, rules, trie, required, left, message[SITUATION_MESSAGE.SIZE], message[SITUATION_MESSAGE.IS_OPEN]
    )


@kernel("i(arena, arena, arena, i, i)", entry=True)
def place_of(A, H, S, keys, is_member):
    """The nonterminal of the next member in a situation, or of what follows a member."""
    return member_of(A, keys) if is_member else next_of(A, keys)
