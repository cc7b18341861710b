"""Parser states: hash-consed Earley sets over lexemes.

The idea (Earley, "An efficient context-free parsing algorithm", CACM 1970): an *item* (lhs, suffix, origin) says that
`lhs` was begun in the parser state `origin` and that `suffix` — a list of symbols, so that rules with equal ends share
it — is still to come. A parser state is the set of items after a lexeme, finished items already carried back to their
origins (*completed*). Since an origin is itself such a state, equal situations are one record: the second element of a
list leads to the same state as the first, and `scan` is remembered.

    NONTERMINAL(number)       memo: alternatives [n, suffix...] (0: ask the owner, Unexpanded), right-recursive?,
                              does the grammar's guard watch it? Not in the hash table: each is its own. The number
                              says whose it is.
    TERMINAL(expression, excluded TAGSET or 0, rank, GRAMMAR or 0)       the GRAMMAR holds after it; 0: no change
    SUFFIX(symbol, next)      next = 0: the last symbol. The empty suffix is 0. memo: does it hold a watched symbol?
    GRAMMAR(index)            memo: ignored terminals [n, TERMINAL...], greedy?, closing: byte + 1 or 0
    PARSER(grammar, accepting, items...)   memo: closure, lexer state, accepts, watched?
    TERMINALS(expression...)  memo: the lexer state that looks for all of them
    PREDICTION(nonterminal...)        memo: what they predict together
    AWAITED(grammar, predicted, TERMINAL...)      memo: the lexer state of parser states that wait for these
    closure                   [n, m, n items that wait for a nonterminal, m items that wait for a terminal]
    predicted                 [may be empty?, n, m, n pairs (lhs, suffix) that wait for a nonterminal, m for a terminal]

What a nonterminal *predicts* does not depend on where it is predicted, but for the origin, so it is found once. The
closure of a state is its own items, with what completions make of them; `predicted` is shared.

An item whose last symbol is a right-recursive nonterminal is replaced by that nonterminal's alternatives under its own
lhs and origin: a tail call. So lists written right-recursively need constant space, as with Leo's rule ("A general
context-free parsing algorithm running in linear time on every LR(k) grammar without using lookahead", TCS 1991).

A parser state is *watched* while some symbol that the grammar's guard has to watch (rules.py) is still to come in what
was begun: in one of its own items or of those that wait for them.

Cost: linear in the items of a state, once a state. Twin: tests/naive_grammar.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import lexer_state
from constrain.kernels.records.arena import (
    AWAITED,
    KEY,
    KIND_BITS,
    N_UNEXPANDED,
    NONTERMINAL,
    PARSER,
    PREDICTION,
    SCAN,
    SUFFIX,
    TERMINALS,
    UNEXPANDED,
    ScratchFull,
    intern,
    intern2,
    intern_list,
    kind,
    push,
    region,
    reserve,
    room,
    size,
    sort_groups,
    unique_groups,
)

ALTERNATIVES, RIGHT_RECURSIVE, IS_WATCHED, PREDICTS = 1, 2, 3, 4  # memo words of nonterminals
IGNORED, GREEDY, CLOSING = 1, 2, 3  # of grammars; CLOSING: a text is a member if it is one with this byte at its end
HOLDS_WATCHED = 1  # of suffixes: 0 no, 1 yes; set when they are made
CLOSURE, LEXER, ACCEPTS, WATCHED, PREDICTED = 1, 2, 3, 4, 5  # of parser states; ACCEPTS, WATCHED: 1 no, 2 yes
FRESH = 6  # of parser states: the CONFIG of a grammar at the beginning of a lexeme there
TARGET = 1  # of SCAN records; 1 = dead
LEXER_OF = 1  # of TERMINALS and AWAITED
TOGETHER = 1  # of PREDICTION
HERE = 1  # the origin of predicted items: the state in which they are predicted
MAX_UNEXPANDED = 1024


class Unexpanded(Exception):
    """Nonterminals without alternatives were reached; they stand in the region A[UNEXPANDED]."""


# --- rules ------------------------------------------------------------------------------------------------------------


@kernel("i(arena, i, i, i)", entry=True, brief=True)
def nonterminal(A, number, right_recursive, is_watched):
    """A new nonterminal without alternatives. number: for its owner (`anatomy`)."""
    r = region(A, KEY + 1)
    A[r] = NONTERMINAL | (1 << KIND_BITS)
    A[r + RIGHT_RECURSIVE] = right_recursive
    A[r + IS_WATCHED] = is_watched
    A[r + KEY] = number
    return r


@kernel("void(arena, i)")
def mark_watched(A, suffix):
    """Note in a new SUFFIX whether a watched nonterminal is in it."""
    symbol = np.int64(A[suffix + KEY])
    following = np.int64(A[suffix + KEY + 1])
    watched = kind(A, symbol) == NONTERMINAL and A[symbol + IS_WATCHED] != 0
    if watched or (following != 0 and A[following + HOLDS_WATCHED] != 0):
        A[suffix + HOLDS_WATCHED] = 1


@kernel("i(arena, arena, i, i)", entry=True, brief=True)
def suffix_of(A, H, symbol, following):
    """The SUFFIX of a symbol and what follows it."""
    suffix = intern2(A, H, SUFFIX, symbol, following)
    mark_watched(A, suffix)
    return suffix


@kernel("i(arena, arena, i, arena)", entry=True)
def set_alternatives(A, H, symbol, words):
    """Give a nonterminal its alternatives; words: for each the number of its symbols, and these; their number."""
    n = 0
    i = 0
    while i < words.size:
        n += 1
        i += 1 + words[i]
    out = region(A, 1 + n)
    A[out] = n
    n = 0
    i = 0
    while i < words.size:
        suffix = 0
        for k in range(i + words[i], i, -1):
            suffix = suffix_of(A, H, words[k], suffix)
        n += 1
        A[out + n] = suffix
        i += 1 + words[i]
    A[symbol + ALTERNATIVES] = out
    return n


# --- a set of items on the scratch stack ------------------------------------------------------------------------------
# Rows of four words (lhs, suffix, origin, slot) from `base` to S[0]. The table in the last quarter of S maps a slot to
# a row and is never cleared: an entry counts only if it points at a row of this set that names the slot (Briggs and
# Torczon 1993).


@kernel("i(arena, i, i, i, i)")
def find_item(S, base, lhs, suffix, origin):
    """The free slot of an item that is not in the set, or -1 if it is."""
    table = S.size - (S.size >> 2)
    mask = (S.size >> 2) - 1
    h = (lhs * 0x9E3779B1 + suffix * 0x85EBCA6B + origin * 0x27D4EB2F) & 0x7FFFFFFFFFFF
    slot = (h ^ (h >> 15)) & mask
    while True:
        row = np.int64(S[table + slot])
        if row < base or row >= S[0] or (row - base) & 3 != 0 or S[row + 3] != slot:
            return slot
        if S[row] == lhs and S[row + 1] == suffix and S[row + 2] == origin:
            return -1
        slot = (slot + 1) & mask


@kernel("void(arena, i, i, i, i)")
def add_item(S, base, lhs, suffix, origin):
    slot = find_item(S, base, lhs, suffix, origin)
    if slot < 0:
        return
    row = np.int64(S[0])
    room(S, 4)
    if (row - base) >> 1 > S.size >> 2:  # rows are four words: the table is half full
        raise ScratchFull()
    S[row] = lhs
    S[row + 1] = suffix
    S[row + 2] = origin
    S[row + 3] = slot
    S[S.size - (S.size >> 2) + slot] = row
    S[0] = row + 4


@kernel("void(arena, arena, i, i, i)")
def add_completed(A, S, base, lhs, origin):
    """Add the items of the closed state `origin` that wait for lhs, one symbol further."""
    closure = np.int64(A[origin + CLOSURE])
    for i in range(closure + 2, closure + 2 + 3 * A[closure], 3):
        suffix = np.int64(A[i + 1])
        if A[suffix + KEY] == lhs:
            add_item(S, base, A[i], A[suffix + KEY + 1], A[i + 2])
    predicted = np.int64(A[origin + PREDICTED])
    if predicted != 0:
        for i in range(predicted + 3, predicted + 3 + 2 * A[predicted + 1], 2):
            suffix = np.int64(A[i + 1])
            if A[suffix + KEY] == lhs:
                add_item(S, base, A[i], A[suffix + KEY + 1], origin)


@kernel("void(arena, arena, i, i, i, i)")
def add_alternatives(A, S, base, symbol, lhs, origin):
    """Add an item (lhs, alternative, origin) for each alternative of the nonterminal `symbol`."""
    alternatives = np.int64(A[symbol + ALTERNATIVES])
    if alternatives == 0:
        n = np.int64(A[N_UNEXPANDED])
        if n == MAX_UNEXPANDED:
            raise Unexpanded()
        A[A[UNEXPANDED] + n] = symbol
        A[N_UNEXPANDED] = n + 1
        return
    for i in range(alternatives + 1, alternatives + 1 + A[alternatives]):
        add_item(S, base, lhs, A[i], origin)


# --- what is predicted ------------------------------------------------------------------------------------------------


@kernel("void(arena, arena, i)")
def predict_items(A, S, base):
    """Predict until nothing is new in the set at `base`, all of whose items begin here."""
    i = base
    while i < S[0]:
        lhs = np.int64(S[i])
        suffix = np.int64(S[i + 1])
        i += 4
        if suffix == 0:  # lhs derives the empty text; items that come later look for this one
            j = base
            while j < S[0]:
                waiting = np.int64(S[j + 1])
                if waiting != 0 and A[waiting + KEY] == lhs:
                    add_item(S, base, S[j], A[waiting + KEY + 1], HERE)
                j += 4
            continue
        symbol = np.int64(A[suffix + KEY])
        if kind(A, symbol) == NONTERMINAL:
            rest = np.int64(A[suffix + KEY + 1])
            if rest == 0 and A[symbol + RIGHT_RECURSIVE]:
                add_alternatives(A, S, base, symbol, lhs, HERE)
            else:
                first = A[symbol + ALTERNATIVES] + 1
                if first == 1 or find_item(S, base, symbol, A[first], HERE) >= 0:  # not predicted before
                    add_alternatives(A, S, base, symbol, symbol, HERE)
                if find_item(S, base, symbol, 0, HERE) < 0:
                    add_item(S, base, lhs, rest, HERE)


@kernel("i(arena, arena, i, i, i)")
def store_predicted(A, S, start, width, nullable):
    """The `predicted` region of the rows S[start : S[0]], which begin with (lhs, suffix); pops them."""
    waiting = 0
    scanning = 0
    for i in range(start, S[0], width):
        if S[i + 1] != 0:
            if kind(A, A[S[i + 1] + KEY]) == NONTERMINAL:
                waiting += 1
            else:
                scanning += 1
    out = region(A, 3 + 2 * (waiting + scanning))
    A[out] = nullable
    A[out + 1] = waiting
    A[out + 2] = scanning
    wait = out + 3
    scan_at = wait + 2 * waiting
    for i in range(start, S[0], width):
        if S[i + 1] != 0:
            if kind(A, A[S[i + 1] + KEY]) == NONTERMINAL:
                A[wait] = S[i]
                A[wait + 1] = S[i + 1]
                wait += 2
            else:
                A[scan_at] = S[i]
                A[scan_at + 1] = S[i + 1]
                scan_at += 2
    S[0] = start
    return out


@kernel("i(arena, arena, i)")
def predict(A, S, symbol):
    """What a nonterminal predicts."""
    base = np.int64(S[0])
    add_alternatives(A, S, base, symbol, symbol, HERE)
    predict_items(A, S, base)
    if A[N_UNEXPANDED] > 0:
        raise Unexpanded()
    nullable = 1 if find_item(S, base, symbol, 0, HERE) < 0 else 0
    A[symbol + PREDICTS] = store_predicted(A, S, base, 4, nullable)
    return np.int64(A[symbol + PREDICTS])


@kernel("i(arena, arena, arena, i, i)")
def predict_together(A, H, S, base, stop):
    """What the nonterminals predict that the own items S[base:stop] wait for; 0 if there are none."""
    start = np.int64(S[0])
    for i in range(base, stop, 4):
        if S[i + 1] != 0:
            symbol = np.int64(A[S[i + 1] + KEY])
            is_tail_call = A[S[i + 1] + KEY + 1] == 0 and A[symbol + RIGHT_RECURSIVE] != 0
            if kind(A, symbol) == NONTERMINAL and not is_tail_call:
                push(S, symbol)
    sort_groups(S, start, S[0], 1)
    S[0] = unique_groups(S, start, S[0], 1)
    n = S[0] - start
    if n <= 1:
        S[0] = start
        return np.int64(A[S[start] + PREDICTS]) if n == 1 else np.int64(0)
    known = intern_list(A, H, S, PREDICTION, start)
    if A[known + TOGETHER] == 0:
        for i in range(known + KEY, known + KEY + n):
            rows = np.int64(A[A[i] + PREDICTS])
            for k in range(rows + 3, rows + 3 + 2 * (A[rows + 1] + A[rows + 2])):
                push(S, A[k])
        sort_groups(S, start, S[0], 2)
        S[0] = unique_groups(S, start, S[0], 2)
        A[known + TOGETHER] = store_predicted(A, S, start, 2, 0)
    return np.int64(A[known + TOGETHER])


# --- closures ---------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, i)")
def close_items(A, S, base):
    """Complete until nothing is new in the set at `base`, the own items of a state.

    1 if the whole text may end; a nonterminal of which is not known yet what it predicts; or 0.
    """
    accepts = 0
    i = base
    while i < S[0]:
        lhs = np.int64(S[i])
        suffix = np.int64(S[i + 1])
        origin = np.int64(S[i + 2])
        i += 4
        if suffix == 0:
            if origin == 0:
                accepts = 1
            else:
                add_completed(A, S, base, lhs, origin)
            continue
        symbol = np.int64(A[suffix + KEY])
        if kind(A, symbol) == NONTERMINAL:
            rest = np.int64(A[suffix + KEY + 1])
            if rest == 0 and A[symbol + RIGHT_RECURSIVE]:
                add_alternatives(A, S, base, symbol, lhs, origin)
            elif A[symbol + PREDICTS] == 0:
                return symbol
            elif A[A[symbol + PREDICTS]] != 0:
                add_item(S, base, lhs, rest, origin)
    return accepts


@kernel("void(arena, arena, i)")
def push_terminal(A, S, symbol):
    if kind(A, symbol) == NONTERMINAL:
        return
    push(S, A[symbol + KEY])
    excluded = np.int64(A[symbol + KEY + 1])
    if excluded != 0:
        for i in range(excluded + KEY, excluded + KEY + size(A, excluded)):
            push(S, A[i])


@kernel("i(arena, arena, arena, i, i, i, i)")
def lexer_of_items(A, H, S, grammar, base, stop, predicted):
    """The lexer state that looks for every terminal the items S[base:stop] and the predicted ones wait for, what they
    exclude, and the ignored."""
    start = np.int64(S[0])
    push(S, grammar)
    push(S, predicted)
    for i in range(base, stop, 4):
        if S[i + 1] != 0 and kind(A, A[S[i + 1] + KEY]) != NONTERMINAL:
            push(S, A[S[i + 1] + KEY])
    same = intern_list(A, H, S, AWAITED, start)
    if A[same + LEXER_OF] != 0:
        return np.int64(A[same + LEXER_OF])
    for i in range(same + KEY + 2, same + KEY + size(A, same)):
        push_terminal(A, S, A[i])
    if predicted != 0:
        first = predicted + 3 + 2 * A[predicted + 1]
        for i in range(first, first + 2 * A[predicted + 2], 2):
            push_terminal(A, S, A[A[i + 1] + KEY])
    ignored = np.int64(A[grammar + IGNORED])
    for i in range(ignored + 1, ignored + 1 + A[ignored]):
        push_terminal(A, S, A[i])
    sort_groups(S, start, S[0], 1)
    S[0] = unique_groups(S, start, S[0], 1)
    n = S[0] - start
    top = reserve(A, KEY + n)
    for k in range(n):
        A[top + KEY + k] = S[start + k]
    known = intern(A, H, TERMINALS, n)
    if A[known + LEXER_OF] == 0:
        A[known + LEXER_OF] = lexer_state(A, H, S, start)
    S[0] = start
    A[same + LEXER_OF] = A[known + LEXER_OF]
    return np.int64(A[known + LEXER_OF])


@kernel("void(arena, arena, i, i, i)")
def store_closure(A, S, p, base, stop):
    """Store the own items S[base:stop] of a state that wait for something."""
    waiting = 0
    scanning = 0
    for i in range(base, stop, 4):
        if S[i + 1] != 0:
            if kind(A, A[S[i + 1] + KEY]) == NONTERMINAL:
                waiting += 1
            else:
                scanning += 1
    closure = region(A, 2 + 3 * (waiting + scanning))
    A[closure] = waiting
    A[closure + 1] = scanning
    wait = closure + 2
    scan_at = wait + 3 * waiting
    for i in range(base, stop, 4):
        if S[i + 1] != 0:
            if kind(A, A[S[i + 1] + KEY]) == NONTERMINAL:
                out = wait
                wait += 3
            else:
                out = scan_at
                scan_at += 3
            for k in range(3):
                A[out + k] = S[i + k]
    A[p + CLOSURE] = closure


@kernel("i(arena, arena, arena, i)", entry=True)
def close(A, H, S, p):
    """Close a parser state: find what it waits for and whether it accepts; its lexer state."""
    if A[p + CLOSURE] != 0:
        return np.int64(A[p + LEXER])
    base = np.int64(S[0])
    while True:
        for i in range(p + KEY + 2, p + KEY + size(A, p), 3):
            add_item(S, base, A[i], A[i + 1], A[i + 2])
        found = close_items(A, S, base)
        if found <= 1:
            break
        S[0] = base
        predict(A, S, found)
    if A[N_UNEXPANDED] > 0:
        raise Unexpanded()
    stop = np.int64(S[0])
    predicted = predict_together(A, H, S, base, stop)
    A[p + LEXER] = lexer_of_items(A, H, S, A[p + KEY], base, stop, predicted)
    A[p + PREDICTED] = predicted
    A[p + ACCEPTS] = 2 if found == 1 or A[p + KEY + 1] != 0 else 1
    store_closure(A, S, p, base, stop)
    S[0] = base
    return np.int64(A[p + LEXER])


@kernel("i(arena, i, i)")
def admits(A, tagset, terminal):
    """Whether a lexeme that ended as every terminal of the TAGSET counts as this terminal."""
    found = False
    excluded = np.int64(A[terminal + KEY + 1])
    for i in range(tagset + KEY, tagset + KEY + size(A, tagset)):
        if A[i] == A[terminal + KEY]:
            found = True
        elif excluded != 0:
            for j in range(excluded + KEY, excluded + KEY + size(A, excluded)):
                if A[j] == A[i]:
                    return 0
    return 1 if found else 0


@kernel("i(arena, i, i)")
def best_rank(A, p, tagset):
    """Under maximal munch, the highest rank of the terminals of p that a lexeme ended as."""
    best = -(1 << 30)
    closure = np.int64(A[p + CLOSURE])
    start = closure + 2 + 3 * A[closure]
    for i in range(start, start + 3 * A[closure + 1], 3):
        terminal = np.int64(A[A[i + 1] + KEY])
        if A[terminal + KEY + 2] > best and admits(A, tagset, terminal):
            best = np.int64(A[terminal + KEY + 2])
    predicted = np.int64(A[p + PREDICTED])
    if predicted != 0:
        start = predicted + 3 + 2 * A[predicted + 1]
        for i in range(start, start + 2 * A[predicted + 2], 2):
            terminal = np.int64(A[A[i + 1] + KEY])
            if A[terminal + KEY + 2] > best and admits(A, tagset, terminal):
                best = np.int64(A[terminal + KEY + 2])
    ignored = np.int64(A[A[p + KEY] + IGNORED])
    for i in range(ignored + 1, ignored + 1 + A[ignored]):
        if A[A[i] + KEY + 2] > best and admits(A, tagset, A[i]):
            best = np.int64(A[A[i] + KEY + 2])
    return best


@kernel("void(arena, arena, i, i, i, i, i, i)")
def add_shifted(A, S, base, lhs, suffix, origin, tagset, lowest):
    """Add the item behind the terminal that (lhs, suffix, origin) waits for, if the tagset is one of its and it ranks
    so high."""
    terminal = np.int64(A[suffix + KEY])
    if A[terminal + KEY + 2] >= lowest and admits(A, tagset, terminal):
        add_item(S, base, lhs, A[suffix + KEY + 1], origin)
        if A[terminal + KEY + 3] != 0:
            S[base - 2] = A[terminal + KEY + 3]


@kernel("i(arena, arena, i, i, i)")
def add_scanned(A, S, base, p, tagset):
    """Add the items of p after a lexeme that ended as the tagset; 1 if p itself accepts and the lexeme is ignored.

    S[base - 2]: the grammar, replaced by that which holds after the lexeme.
    """
    lowest = -(1 << 30)
    if A[A[p + KEY] + GREEDY]:
        lowest = best_rank(A, p, tagset)
    closure = np.int64(A[p + CLOSURE])
    start = closure + 2 + 3 * A[closure]
    for i in range(start, start + 3 * A[closure + 1], 3):
        add_shifted(A, S, base, A[i], A[i + 1], A[i + 2], tagset, lowest)
    predicted = np.int64(A[p + PREDICTED])
    if predicted != 0:
        start = predicted + 3 + 2 * A[predicted + 1]
        for i in range(start, start + 2 * A[predicted + 2], 2):
            add_shifted(A, S, base, A[i], A[i + 1], p, tagset, lowest)
    ignored = np.int64(A[A[p + KEY] + IGNORED])
    for i in range(ignored + 1, ignored + 1 + A[ignored]):
        if A[A[i] + KEY + 2] >= lowest and admits(A, tagset, A[i]):
            for k in range(p + KEY + 2, p + KEY + size(A, p), 3):
                add_item(S, base, A[k], A[k + 1], A[k + 2])
            return np.int64(A[p + KEY + 1])
    return 0


@kernel("void(arena, i)")
def note_watched(A, p):
    """Find out whether a parser state is watched; its origins know already."""
    found = 1
    for i in range(p + KEY + 2, p + KEY + size(A, p), 3):
        if A[A[i + 1] + HOLDS_WATCHED] != 0 or (A[i + 2] != 0 and A[A[i + 2] + WATCHED] == 2):
            found = 2
    A[p + WATCHED] = found


@kernel("i(arena, arena, arena, i, i)")
def finish_items(A, H, S, accepts, base):
    """Complete the set at `base`, pop it and two words below it; its parser state, or 0 if it is empty and not
    accepting. S[base - 2]: its grammar."""
    i = base
    while i < S[0]:
        if S[i + 1] == 0:
            if S[i + 2] == 0:
                accepts = 1
            else:
                add_completed(A, S, base, S[i], S[i + 2])
        i += 4
    out = base
    for i in range(base, S[0], 4):
        if S[i + 1] != 0:
            for k in range(3):
                S[out + k] = S[i + k]
            out += 3
    start = base - 2
    if out == base and accepts == 0:
        S[0] = start
        return 0
    sort_groups(S, base, out, 3)
    S[start + 1] = accepts
    S[0] = out
    p = intern_list(A, H, S, PARSER, start)
    if A[p + WATCHED] == 0:
        note_watched(A, p)
    return p


@kernel("i(arena, arena, arena, i, i)")
def scan(A, H, S, p, tagset):
    """The parser state after a lexeme of the closed state p that ended as the tagset; 0 if there is none."""
    memo = intern2(A, H, SCAN, p, tagset)
    if A[memo + TARGET] == 0:
        push(S, A[p + KEY])
        push(S, 0)
        base = np.int64(S[0])
        accepts = add_scanned(A, S, base, p, tagset)
        target = finish_items(A, H, S, accepts, base)
        A[memo + TARGET] = target if target != 0 else 1
    return np.int64(A[memo + TARGET]) if A[memo + TARGET] != 1 else 0


@kernel("i(arena, arena, arena, i)")
def scan_all(A, H, S, start):
    """The one parser state after lexemes that end at the same place, S[start : S[0]] = (p, tagset)...; pops them.

    The union of what each leads to: segmentations of one text share a state from here on, so their number never
    matters.
    """
    stop = np.int64(S[0])
    if stop - start == 2:
        S[0] = start
        return scan(A, H, S, S[start], S[start + 1])
    push(S, A[S[start] + KEY])
    push(S, 0)
    base = np.int64(S[0])
    accepts = 0
    for i in range(start, stop, 2):
        accepts |= add_scanned(A, S, base, S[i], S[i + 1])
    target = finish_items(A, H, S, accepts, base)
    S[0] = start
    return target
