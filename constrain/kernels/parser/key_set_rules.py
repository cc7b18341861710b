"""Objects whose declared keys are looked for as sets (key_sets.py), made in one call from an int32 message.

Python says which symbols stand in the rules, by their records, and which texts the keys have (engine/bulk_rules.py
packs the message); the keys are spelled here.

Messages: records/messages.py. Cost: fifteen words a member, and the letters of its key twice. Reference:
tests/masks/engine/test_key_sets.py, which compares the rules with those of cfg/bulk_rules.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import cat
from constrain.kernels.lexer.key_tries import key_trie, note_tags, without_key
from constrain.kernels.lexer.spelling import push_strings
from constrain.kernels.lexer.unions import alt2
from constrain.kernels.parser.key_sets import (
    key_set,
    may_go_on,
    member_of,
    next_of,
    ordered_key_set,
    trie_of_keys,
)
from constrain.kernels.parser.object_rules import (
    new_suffix,
    new_templates,
    other_key,
    store_alternatives,
)
from constrain.kernels.parser.placed import placed
from constrain.kernels.records.arena import NONE, intern2, kind, region
from constrain.kernels.records.expressions import CAT, TAGSET
from constrain.kernels.records.grammars import NONTERMINAL, TEMPLATE, TERMINAL, template_at
from constrain.kernels.records.key_sets import (
    DECLARED_KEY,
    KEY_SET,
    KEY_SET_RULES,
    OPEN_CLASS,
    ORDERED,
    object_values,
    open_keys_find_all,
    ordered,
)
from constrain.kernels.records.messages import KEY_SET_MESSAGE, NEW_VALUE, WRITTEN_KEYS_MESSAGE, symbols_end
from constrain.kernels.records.stack import push, set_top, top

# --- places in a message ----------------------------------------------------------------------------------------------


@kernel("i(arena)")
def indices_by_text(message):
    """The start of the indices of members, which follow four lists of symbols."""
    at = np.int64(KEY_SET_MESSAGE.LISTS)
    for _ in range(4):
        at = symbols_end(message, at)
    return at


@kernel("i(arena)")
def requirements(message):
    """The start of the words that say which members must come; terminals of classes, values, and texts follow."""
    orders = 2 if message[KEY_SET_MESSAGE.IN_ORDER] else 1
    return indices_by_text(message) + orders * message[KEY_SET_MESSAGE.MEMBERS]


@kernel("i(arena, arena, arena, i, i)")
def value_in(A, H, message, word, first):
    """The symbol of a value of a message. first: the first of the new values."""
    value = np.int64(message[word])
    if value < 0:
        value = template_at(first, NEW_VALUE - value)
    if value != 0 and kind(A, value) == TEMPLATE.KIND:
        return placed(A, H, value, np.int64(message[KEY_SET_MESSAGE.TEXT_PLACE]))
    return value


# --- an object --------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i)")
def kept_symbols(A, message, symbols):
    """A region with a list of symbols of a message."""
    n = symbols_end(message, symbols) - symbols
    out = region(A, n)
    for k in range(n):
        A[out + k] = message[symbols + k]
    return out


@kernel("i(arena, arena)")
def new_object(A, message):
    """The KEY_SET_RULES region of a message, without keys and classes; the templates of new values are behind it."""
    rules = region(A, KEY_SET_RULES.WORDS)
    new_templates(A, np.int64(message[KEY_SET_MESSAGE.NEW_VALUES]), np.int64(message[KEY_SET_MESSAGE.VALUE_NUMBER]), 1)
    A[rules + KEY_SET_RULES.LOW] = message[KEY_SET_MESSAGE.LOW]
    A[rules + KEY_SET_RULES.HIGH] = message[KEY_SET_MESSAGE.HIGH]
    A[rules + KEY_SET_RULES.NUMBER] = message[KEY_SET_MESSAGE.NUMBER]
    A[rules + KEY_SET_RULES.MEMBERS] = message[KEY_SET_MESSAGE.MEMBERS]
    separator = np.int64(KEY_SET_MESSAGE.LISTS)
    close = symbols_end(message, separator)
    between = symbols_end(message, close)
    A[rules + KEY_SET_RULES.SEPARATOR] = kept_symbols(A, message, separator)
    A[rules + KEY_SET_RULES.CLOSE] = kept_symbols(A, message, close)
    A[rules + KEY_SET_RULES.BETWEEN] = kept_symbols(A, message, between)
    A[rules + KEY_SET_RULES.BEHIND] = kept_symbols(A, message, symbols_end(message, between))
    required = requirements(message)
    for i in range(message[KEY_SET_MESSAGE.MEMBERS]):
        A[rules + KEY_SET_RULES.LEFT] += message[required + i]
    return rules


@kernel("void(arena, arena, arena, arena, i, i)")
def push_declared(A, H, S, message, rules, keys):
    """Note the members that have values, and push their keys by text. keys: where all keys are on the stack."""
    n = np.int64(message[KEY_SET_MESSAGE.MEMBERS])
    by_text = indices_by_text(message)
    required = requirements(message)
    values = required + n + message[KEY_SET_MESSAGE.CLASSES]
    for k in range(by_text, by_text + n):
        i = np.int64(message[k])
        value = value_in(A, H, message, values + i, object_values(rules))
        if value != 0:
            declared = intern2(A, H, DECLARED_KEY.KIND, rules, S[keys + i])
            A[declared + DECLARED_KEY.VALUE] = value
            A[declared + DECLARED_KEY.IS_REQUIRED] = message[required + i]
            A[declared + DECLARED_KEY.INDEX] = i
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


@kernel("void(arena, arena, i)")
def note_runs(A, message, rules):
    """Say of each declared key, whose KEY is known, what may come from it on."""
    n = np.int64(message[KEY_SET_MESSAGE.MEMBERS])
    required = requirements(message)
    by_run = region(A, n)
    for k in range(n):
        A[by_run + k] = message[indices_by_text(message) + n + k]
    left = np.int64(0)
    live = np.int64(0)
    stop = n
    for i in range(n - 1, -1, -1):
        row = ordered(A, rules, i)
        if message[required + i] != 0:
            left += 1
            live = np.int64(0)
            stop = i + 1
        if A[row + ORDERED.KEY] != 0 and live == 0:
            live = np.int64(i + 1)
        A[row + ORDERED.LEFT] = left
        A[row + ORDERED.LIVE] = live
        A[row + ORDERED.STOP] = by_run + stop
    first = np.int64(0)
    for i in range(n):
        A[ordered(A, rules, i) + ORDERED.FIRST] = by_run + first
        if message[required + i] != 0:
            first = np.int64(i + 1)


@kernel("void(arena, arena, arena, arena, i, i)")
def note_order(A, H, S, message, rules, keys):
    """Give the declared keys, S[keys ...] by index, their places in the order."""
    n = np.int64(message[KEY_SET_MESSAGE.MEMBERS])
    A[rules + KEY_SET_RULES.ORDER] = region(A, ORDERED.WORDS * n + 1)
    for i in range(n):
        if A[intern2(A, H, DECLARED_KEY.KIND, rules, S[keys + i]) + DECLARED_KEY.VALUE] != 0:
            A[ordered(A, rules, i) + ORDERED.KEY] = S[keys + i]
    note_runs(A, message, rules)


# --- open keys --------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i)")
def united(A, H, S, first, second):
    """An expression of the keys of two tries, which begin with the same unit; NONE: there are none."""
    if first == NONE or second == NONE:
        return second if first == NONE else first
    return cat(A, H, CAT.HEAD(A, first), alt2(A, H, S, CAT.TAIL(A, first), CAT.TAIL(A, second)))


@kernel("i(arena, arena, arena, arena, i, i, i)")
def key_but(A, H, S, message, rules, keys, stop):
    """The TERMINAL of any key but those at S[keys:stop], the first of which are the members.

    One expression finds all that it excludes.
    """
    key = other_key(A, H, S, message[KEY_SET_MESSAGE.ANY_KEY], keys, stop)
    excluded = TERMINAL.EXCLUDED(A, key)
    if excluded != 0:
        n = np.int64(message[KEY_SET_MESSAGE.MEMBERS])
        by_text = indices_by_text(message)
        start = top(S)
        for k in range(by_text, by_text + n):
            if A[intern2(A, H, DECLARED_KEY.KIND, rules, S[keys + message[k]]) + DECLARED_KEY.VALUE] == 0:
                push(S, S[keys + message[k]])
        finds = united(A, H, S, A[rules + KEY_SET_RULES.TRIE], key_trie(A, H, S, start, top(S)))
        set_top(S, start)
        finds = united(A, H, S, finds, key_trie(A, H, S, keys + n, stop))
        note_tags(A, H, finds)
        A[excluded + TAGSET.TRIE] = finds
    return key


@kernel("void(arena, arena, arena, arena, i, i, i)")
def add_classes(A, H, S, message, rules, keys, stop):
    """Add the classes of open keys of a message. keys, stop: as in `key_but`."""
    classes = np.int64(message[KEY_SET_MESSAGE.CLASSES])
    terminals = requirements(message) + message[KEY_SET_MESSAGE.MEMBERS]
    values = terminals + classes + message[KEY_SET_MESSAGE.MEMBERS]
    out = region(A, OPEN_CLASS.WORDS * classes)
    A[rules + KEY_SET_RULES.CLASSES] = out
    for k in range(classes):
        terminal = np.int64(message[terminals + k])
        value = value_in(A, H, message, values + k, object_values(rules))
        if terminal < 0:
            terminal = key_but(A, H, S, message, rules, keys, stop)
            A[rules + KEY_SET_RULES.IS_COVERED] = value != 0
        if terminal != 0 and value != 0:
            A[out + OPEN_CLASS.KEY] = terminal
            A[out + OPEN_CLASS.VALUE] = value
            A[rules + KEY_SET_RULES.N_CLASSES] += 1
            out += OPEN_CLASS.WORDS


# --- entry points -----------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i)")
def start_of(A, H, S, rules, is_in_order):
    """The key set before the first member."""
    if is_in_order:
        return ordered_key_set(A, H, rules, 0, 0)
    trie, required = np.int64(A[rules + KEY_SET_RULES.TRIE]), np.int64(A[rules + KEY_SET_RULES.REQUIRED])
    return key_set(A, H, rules, trie, required, np.int64(A[rules + KEY_SET_RULES.LEFT]), 0, 0)


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def make_key_set_rules(A, H, S, head, message):
    """Give the nonterminal of a whole object its alternatives, `head`. Returns the KEY_SET_RULES region; the templates
    of new values are behind it.

    message: a KEY_SET_MESSAGE.
    """
    n = np.int64(message[KEY_SET_MESSAGE.MEMBERS])
    texts = requirements(message) + 2 * n + 2 * np.int64(message[KEY_SET_MESSAGE.CLASSES])
    rules = new_object(A, message)
    keys = top(S)
    push_strings(A, H, S, message, texts, message[KEY_SET_MESSAGE.TEXTS])
    stop = top(S)
    push_declared(A, H, S, message, rules, keys)
    if not message[KEY_SET_MESSAGE.IN_ORDER] or message[KEY_SET_MESSAGE.CLASSES] != 0:
        A[rules + KEY_SET_RULES.TRIE] = key_trie(A, H, S, stop, top(S))
    if message[KEY_SET_MESSAGE.IN_ORDER]:
        note_order(A, H, S, message, rules, keys)
    else:
        A[rules + KEY_SET_RULES.REQUIRED] = required_trie(A, H, S, rules, stop)
    add_classes(A, H, S, message, rules, keys, stop)
    set_top(S, keys)
    start = start_of(A, H, S, rules, message[KEY_SET_MESSAGE.IN_ORDER])
    if not open_keys_find_all(A, start):
        trie_of_keys(A, H, S, start)
    begun = np.int64(0)
    if may_go_on(A, start) or A[start + KEY_SET.HAS_OTHERS] != 0:
        begun = new_suffix(A, member_of(A, start), 0)
    A[head + NONTERMINAL.ALTERNATIVES] = store_alternatives(A, begun, 0)
    return rules


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def key_set_of(A, H, S, rules, message):
    """The KEY_SET record of a key set. message: a WRITTEN_KEYS_MESSAGE."""
    size = np.int64(message[WRITTEN_KEYS_MESSAGE.SIZE])
    is_open = np.int64(message[WRITTEN_KEYS_MESSAGE.IS_OPEN])
    if A[rules + KEY_SET_RULES.ORDER] != 0:
        return ordered_key_set(A, H, rules, size, is_open)
    trie = np.int64(A[rules + KEY_SET_RULES.TRIE])
    required = np.int64(A[rules + KEY_SET_RULES.REQUIRED])
    left = np.int64(A[rules + KEY_SET_RULES.LEFT])
    for i in range(WRITTEN_KEYS_MESSAGE.WRITTEN, message.size):
        trie = without_key(A, H, S, trie, message[i])
        if A[intern2(A, H, DECLARED_KEY.KIND, rules, message[i]) + DECLARED_KEY.IS_REQUIRED] != 0:
            required = without_key(A, H, S, required, message[i])
            left -= 1
    return key_set(A, H, rules, trie, required, left, size, is_open)


@kernel("i(arena, arena, arena, i, i)", entry=True)
def place_of(A, H, S, keys, is_member):
    """The nonterminal of the next member in a key set, or of what follows a member."""
    return member_of(A, keys) if is_member else next_of(A, keys)
