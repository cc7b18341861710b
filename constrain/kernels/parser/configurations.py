"""Configurations: all lexemes that may be in progress after some bytes, one hash-consed record.

    CONFIG(grammar, (2 p + fresh, lexer state)...)     memo: byte partition, row of successors, mask, accepts, watched,
                                                       whole

A pair (p, l) is a lexeme that began in the parser state p and whose lexer is in l; a *fresh* pair has read nothing yet.

* dynamic: the pairs are a set (sorted). After a byte, every lexeme that may end there leads to one common parser state
  (`scan_all`), which joins as a fresh pair. Every segmentation counts.
* greedy: the pairs are a list. The first is the longest lexeme in progress; what follows is where the text stands if
  that lexeme ends at its last possible end (maximal munch falls back there when no longer match comes). A new end
  drops older ones.

A fresh pair behind others is most often dropped before anybody asks what may begin there: `foob` ends a name four
times. Under the greedy lexer its lexer state is 0, *open*, and its parser state is not closed, until the pairs before
it leave a byte to it; then the configuration that is `whole` answers in its place.

`NONE` is the dead configuration. Cost: a step is one table look-up once known.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.expressions import (
    CLASSES,
    class_of,
    continues,
    partition,
    partition_of_fronts,
    push_fronts,
    step,
    tags,
)
from constrain.kernels.parser.earley import ACCEPTS, CLOSING, GREEDY, WATCHED, close, scan, scan_all
from constrain.kernels.records.arena import (
    CONFIG,
    KEY,
    LINEUP,
    N_STEPS,
    NO_TAGS,
    NONE,
    PARSER,
    TOKEN_AT,
    TOKEN_BYTES,
    TOP,
    intern_list,
    push,
    region,
    size,
    sort_groups,
    unique_groups,
)

PART_OF, ROW_OF, MASK_OF, ACCEPTING, WATCHING, WHOLE = 1, 2, 3, 4, 5, 6  # memo words; ACCEPTING, WATCHING: 1 no, 2 yes
PARTITION_OF = 2  # memo word of LINEUP
ASK_WHOLE = -1  # in rows: the open pair has to be asked
MIN_LEAP = 3  # bytes of a token for which no configurations are made at first
WATCH = 1 << 40  # added by `advance` to a configuration if one on the way to it is watched


@kernel("void(arena, arena, arena, i)")
def push_fresh(A, H, S, p):
    push(S, 2 * p + 1)
    push(S, close(A, H, S, p))


@kernel("i(arena, arena, arena, i)")
def fresh(A, H, S, p):
    """The configuration at the beginning of a lexeme in the parser state p."""
    start = np.int64(S[0])
    push(S, A[p + KEY])
    push_fresh(A, H, S, p)
    return intern_list(A, H, S, CONFIG, start)


@kernel("i(arena, arena, arena, i, i, i)", entry=True)
def start_configuration(A, H, S, grammar, lhs, suffix):
    """The configuration before the first byte; `lhs` is a nonterminal that stands for the whole text."""
    start = np.int64(S[0])
    for word in (grammar, 0, lhs, suffix, 0):
        push(S, word)
    return fresh(A, H, S, intern_list(A, H, S, PARSER, start))


@kernel("i(arena, arena, arena, i, i)")
def step_dynamic(A, H, S, c, b):
    start = np.int64(S[0])
    last = c + KEY + size(A, c)
    for i in range(c + KEY + 1, last, 2):
        t = tags(A, H, S, step(A, H, S, A[i + 1], b))
        if t != NO_TAGS:
            push(S, A[i] >> 1)
            push(S, t)
    p = scan_all(A, H, S, start) if S[0] > start else 0
    push(S, A[c + KEY])
    for i in range(c + KEY + 1, last, 2):
        e = step(A, H, S, A[i + 1], b)
        if continues(A, e):
            push(S, A[i] & ~1)
            push(S, e)
    if p != 0:
        push_fresh(A, H, S, p)
    if S[0] == start + 1:
        S[0] = start
        return NONE
    sort_groups(S, start + 1, S[0], 2)
    S[0] = unique_groups(S, start + 1, S[0], 2)
    return intern_list(A, H, S, CONFIG, start)


@kernel("i(arena, i)")
def is_open(A, c):
    """Whether the last pair is open."""
    return 1 if A[c + KEY + size(A, c) - 1] == 0 else 0


@kernel("i(arena, arena, arena, i)")
def whole(A, H, S, c):
    """The configuration c with the lexer state of its open pair."""
    if not is_open(A, c):
        return c
    if A[c + WHOLE] == 0:
        start = np.int64(S[0])
        for i in range(c + KEY, c + KEY + size(A, c)):
            push(S, A[i])
        S[S[0] - 1] = close(A, H, S, S[S[0] - 2] >> 1)
        A[c + WHOLE] = intern_list(A, H, S, CONFIG, start)
    return np.int64(A[c + WHOLE])


@kernel("i(arena, i, i)")
def has_lexer(S, start, lexer):
    """Whether one of the pairs S[start : S[0]] is in this lexer state."""
    for i in range(start + 1, S[0], 2):
        if S[i] == lexer:
            return 1
    return 0


@kernel("i(arena, arena, arena, i, i)")
def step_greedy(A, H, S, c, b):
    """The successor under the greedy lexer; ASK_WHOLE if it depends on the open pair."""
    start = np.int64(S[0])
    push(S, A[c + KEY])
    for i in range(c + KEY + 1, c + KEY + size(A, c), 2):
        if A[i + 1] == 0:
            S[0] = start
            return ASK_WHOLE
        e = step(A, H, S, A[i + 1], b)
        if e == NONE:
            continue  # the lexeme cannot go on: fall back to the next
        if has_lexer(S, start + 1, e):
            continue  # a longer lexeme is in the same state, and will always decide before this one
        if continues(A, e):
            push(S, A[i] & ~1)
            push(S, e)
        t = tags(A, H, S, e)
        if t != NO_TAGS:
            p = scan(A, H, S, A[i] >> 1, t)
            if p != 0 and S[0] > start + 1:
                push(S, 2 * p + 1)
                push(S, 0)
            elif p != 0:
                push_fresh(A, H, S, p)
            break  # a longer match than any fallback, also where it only matched what a terminal excludes
    if S[0] == start + 1:
        S[0] = start
        return NONE
    return intern_list(A, H, S, CONFIG, start)


@kernel("i(arena, i, i)")
def peek_configuration(A, c, b):
    """`step_configuration` if it is known, else 0; inlined into hot loops."""
    row = A[c + ROW_OF]
    return max(A[row + class_of(A, A[c + PART_OF], b)], 0) if row != 0 else 0


@kernel("void(arena, i)")
def note_watching(A, c):
    """Find out whether a configuration is watched: some lexeme in progress began in a watched parser state."""
    found = 1
    for i in range(c + KEY + 1, c + KEY + size(A, c), 2):
        if A[(A[i] >> 1) + WATCHED] == 2:
            found = 2
    A[c + WATCHING] = found


@kernel("void(arena, arena, arena, i)")
def prepare_row(A, H, S, c):
    """Give a configuration its byte partition, that of its lexer states, and a row of successors, all unknown."""
    stop = c + KEY + size(A, c) - 2 * is_open(A, c)
    if stop == c + KEY + 3:
        p = partition(A, H, S, A[c + KEY + 2])
    else:
        start = np.int64(S[0])
        push(S, 0)
        for i in range(c + KEY + 2, stop, 2):
            push(S, A[i])
        lineup = intern_list(A, H, S, LINEUP, start)
        if A[lineup + PARTITION_OF] == 0:
            for i in range(c + KEY + 2, stop, 2):
                push_fronts(A, S, A[i])
            A[lineup + PARTITION_OF] = partition_of_fronts(A, H, S, start)
        p = np.int64(A[lineup + PARTITION_OF])
    A[c + PART_OF] = p
    A[c + ROW_OF] = region(A, A[p + CLASSES])


@kernel("i(arena, arena, arena, i, i)")
def step_configuration(A, H, S, c, b):
    """The configuration after byte b; NONE if no member of the language begins so."""
    while True:
        if A[c + ROW_OF] == 0:
            prepare_row(A, H, S, c)
        known = np.int64(A[A[c + ROW_OF] + class_of(A, A[c + PART_OF], b)])
        if known > 0:
            return known
        if known == 0:
            if A[A[c + KEY] + GREEDY]:
                known = step_greedy(A, H, S, c, b)
            else:
                known = step_dynamic(A, H, S, c, b)
            if known > NONE and A[known + WATCHING] == 0:
                note_watching(A, known)
            A[A[c + ROW_OF] + class_of(A, A[c + PART_OF], b)] = known
            A[N_STEPS] += 1
        if known != ASK_WHOLE:
            return known
        c = whole(A, H, S, c)


@kernel("i(arena, arena, arena, i)")
def accepts_as_it_is(A, H, S, c):
    """Whether the text so far is a member, nothing added."""
    last = c + KEY + size(A, c)
    first = last - 2 if A[A[c + KEY] + GREEDY] else c + KEY + 1
    for i in range(first, last, 2):
        if A[i] & 1:
            close(A, H, S, A[i] >> 1)
            if A[(A[i] >> 1) + ACCEPTS] == 2:
                return 1
    return 0


@kernel("i(arena, arena, arena, i)", entry=True)
def accepts(A, H, S, c):
    """Whether the text so far is a member, as it is or with the grammar's closing byte."""
    if A[c + ACCEPTING] == 0:
        found = accepts_as_it_is(A, H, S, c)
        closing = np.int64(A[A[c + KEY] + CLOSING])
        if closing != 0 and not found:
            d = step_configuration(A, H, S, c, closing - 1)
            found = 1 if d != NONE and accepts_as_it_is(A, H, S, d) else 0
        A[c + ACCEPTING] = 1 + found
    return A[c + ACCEPTING] - 1


@kernel("i(arena, arena, arena, i)", entry=True)
def is_complete(A, H, S, c):
    """Whether the text so far is a member and nothing can follow."""
    for i in range(c + KEY + 2, c + KEY + size(A, c), 2):
        if A[i] != NONE:
            return 0
    return accepts(A, H, S, c)


@kernel("i(arena, i)")
def token_byte(A, at):
    """A byte of the text of all tokens."""
    return (A[A[TOKEN_BYTES] + (at >> 2)] >> ((at & 3) << 3)) & 255


@kernel("i(arena, arena, arena, i, i, i, i)")
def configuration_of(A, H, S, p, e, q, lexer):
    """The configuration of a lexeme of p that the lexer goes on with in e, if any (else NONE), and of the next lexeme,
    of q in this lexer state, if one may begin (else q is 0)."""
    start = np.int64(S[0])
    push(S, A[p + KEY])
    if continues(A, e):
        push(S, 2 * p)
        push(S, e)
    if q != 0:
        push(S, 2 * q + 1)
        push(S, lexer)
    sort_groups(S, start + 1, S[0], 2)
    c = intern_list(A, H, S, CONFIG, start)
    if A[c + WATCHING] == 0:
        note_watching(A, c)
    return c


@kernel("i(arena, i)")
def is_cut(A, c):
    """Whether a configuration of the dynamic lexer is one lexeme in progress, and the beginning of the next or not."""
    n = size(A, c)
    return n == 3 or (n == 5 and (A[c + KEY + 1] ^ A[c + KEY + 3]) & 1 != 0)


@kernel("i(arena, arena, arena, i, i, i)")
def leap(A, H, S, c, first, stop):
    """The configuration after the bytes first..stop-1 of the text of all tokens, and WATCH, without those in between.
    NONE if there is none; 0 if a byte both goes on with a lexeme and begins the next."""
    p, e, q, lexer = np.int64(0), np.int64(NONE), np.int64(0), np.int64(NONE)
    for k in range(c + KEY + 1, c + KEY + size(A, c), 2):
        if A[k] & 1 and size(A, c) == 5:
            q, lexer = np.int64(A[k] >> 1), np.int64(A[k + 1])
        else:
            p, e = np.int64(A[k] >> 1), np.int64(A[k + 1])
    watch = False
    for at in range(first, stop):
        b = token_byte(A, at)
        e = step(A, H, S, e, b)
        f = step(A, H, S, lexer, b)
        if f != NONE:
            if e != NONE:
                return 0
            p, e = q, f
        t = tags(A, H, S, e)
        q = scan(A, H, S, p, t) if t != NO_TAGS else 0
        if not continues(A, e):
            if q == 0:
                return NONE
            e = np.int64(NONE)
        lexer = close(A, H, S, q) if q != 0 else NONE
        watch = watch or (e != NONE and A[p + WATCHED] == 2) or (q != 0 and A[q + WATCHED] == 2)
    d = configuration_of(A, H, S, p, e, q, lexer)
    return d + WATCH if watch else d


@kernel("i(arena, arena, arena, i, i, i)")
def advance_slowly(A, H, S, c, first, stop):
    """`advance`, for bytes whose configurations are not all known: made when the one after them is met again."""
    if stop - first >= MIN_LEAP and not A[A[c + KEY] + GREEDY] and is_cut(A, c):
        top = np.int64(A[TOP])
        d = leap(A, H, S, c, first, stop)
        if d == NONE or (d & (WATCH - 1)) >= top:
            return d
    watch = False
    for i in range(first, stop):
        c = step_configuration(A, H, S, c, token_byte(A, i))
        if c == NONE:
            return NONE
        watch = watch or A[c + WATCHING] == 2
    return c + WATCH if watch else c


@kernel("i(arena, arena, arena, i, i)", entry=True)
def advance(A, H, S, c, token):
    """The configuration after the bytes of a token, and WATCH; NONE if it is not allowed (or has no bytes)."""
    start = np.int64(A[A[TOKEN_AT] + token])
    stop = np.int64(A[A[TOKEN_AT] + token + 1])
    if start == stop:
        return NONE
    watch = A[c + WATCHING] == 2
    for i in range(start, stop):
        d = peek_configuration(A, c, token_byte(A, i))
        if d == 0:
            d = advance_slowly(A, H, S, c, i, stop)
            return d if d == NONE or not watch else d | WATCH
        if d == NONE:
            return NONE
        c = d
        watch = watch or A[c + WATCHING] == 2
    return c + WATCH if watch else c


@kernel("i(arena, i, i)", entry=True, brief=True)
def known_step(A, c, token):
    """`advance` where every state on the way is known, else 0. PERF: an array less costs 60 ns less in a call."""
    start = np.int64(A[A[TOKEN_AT] + token])
    stop = np.int64(A[A[TOKEN_AT] + token + 1])
    if start == stop:
        return NONE
    watch = A[c + WATCHING] == 2
    for i in range(start, stop):
        c = peek_configuration(A, c, token_byte(A, i))
        if c <= NONE:
            return c
        watch = watch or A[c + WATCHING] == 2
    return c + WATCH if watch else c


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def advance_bytes(A, H, S, c, text):
    """The configuration after the bytes (one a word) of `text`, and WATCH, or NONE; S[1] = bytes that were read before
    it died."""
    watch = A[c + WATCHING] == 2
    for i in range(text.size):
        c = step_configuration(A, H, S, c, text[i])
        if c == NONE:
            S[1] = i
            return NONE
        watch = watch or A[c + WATCHING] == 2
    S[1] = text.size
    return c + WATCH if watch else c


@kernel("i(arena, arena, arena, i)", entry=True)
def forced_byte(A, H, S, c):
    """The only byte that may follow, when the text is no member yet; else -1."""
    if accepts(A, H, S, c):
        return -1
    found = -1
    for b in range(256):
        if step_configuration(A, H, S, c, b) != NONE:
            if found >= 0:
                return -1
            found = b
    return found
