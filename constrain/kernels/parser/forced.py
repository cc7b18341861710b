"""The bytes that must follow a text.

The idea: where one lexeme is open, its lexer state and that of the next lexeme say which bytes may follow, one try for
each class of bytes; so no configurations are made for what is forced (`leaps`). Elsewhere each byte is tried.

Where no byte must follow, one of a few texts may have to be completed once it is begun (`begun_texts`).

Cost: some steps of a lexer for each forced byte; a step for each text's first byte, and ten behind each that
may follow. Reference: `forced_byte` at each place (tests/masks/engine/test_forced.py); all texts of small languages
(tests/masks/derived/test_forced_cuts.py).
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import partition, step
from constrain.kernels.lexer.states import tags
from constrain.kernels.parser.advance import WATCH
from constrain.kernels.parser.configurations import accepts, is_complete, step_configuration
from constrain.kernels.parser.earley import scan
from constrain.kernels.parser.leaps import BOTH, READ_WATCHED, begin_leap, can_leap, leap_byte, leapt
from constrain.kernels.records.arena import NO_TAGS, NONE, is_of_epoch
from constrain.kernels.records.configurations import BEGINNINGS, BEGUN, CONFIG, LEAP, is_watched
from constrain.kernels.records.expressions import PARTITION, class_of, continues, representative
from constrain.kernels.records.grammars import GRAMMAR
from constrain.kernels.records.parser_states import PARSER
from constrain.kernels.records.stack import push, set_top, top

NO_BYTE, SEVERAL_BYTES = -1, -2  # instead of the only byte
MARK = 0xFF  # of tokens that are no text (languages/automata/marks.py)
FREE = 8  # bytes that may follow: a text is not a choice between a few
COMPLETE_TEXT = -1  # BEGUN.OTHERS
FORCED_BITS = 2  # of the word FORCED
NOTHING_FOLLOWS = 1 << 41  # added by `forced_run` where nothing may follow the bytes


@kernel("i(arena, i, i)")
def is_alone(A, p, b):
    """True if a byte, the least of its class of the PARTITION p, is the only one of it."""
    other = b + 1
    while other < 256 and class_of(A, p, other) != class_of(A, p, b):
        other += 1
    return other == 256


@kernel("i(arena, arena, arena, i, i)")
def only_byte(A, H, S, p, e):
    """The only byte with which a lexeme that began in the parser state p goes on in the lexer state e; NO_BYTE or
    SEVERAL_BYTES where there is no such one."""
    if e == NONE or not continues(A, e):
        return NO_BYTE
    only = np.int64(NO_BYTE)
    classes = partition(A, H, S, e)
    for number in range(A[classes + PARTITION.CLASSES]):
        b = representative(A, classes, number)
        d = step(A, H, S, e, b)
        if not continues(A, d):
            t = tags(A, H, S, d) if d != NONE else NO_TAGS
            if t == NO_TAGS or scan(A, H, S, p, t) == 0:
                continue
        if only != NO_BYTE or not is_alone(A, classes, b):
            return SEVERAL_BYTES
        only = b
    return only


@kernel("i(arena, arena, arena, i)")
def only_of_leap(A, H, S, here):
    """The only byte that may follow a LEAP region; NO_BYTE or SEVERAL_BYTES."""
    b = only_byte(A, H, S, LEAP.PARSER(S, here), LEAP.LEXER(S, here))
    if b == SEVERAL_BYTES or LEAP.NEXT(S, here) == 0:
        return b
    other = only_byte(A, H, S, LEAP.NEXT(S, here), LEAP.NEXT_LEXER(S, here))
    if b == NO_BYTE or other == b:
        return other
    return b if other == NO_BYTE else SEVERAL_BYTES


@kernel("i(arena, arena, arena, i)")
def forced_byte(A, H, S, c):
    """The only byte that may follow, when the text is not valid yet; else -1."""
    if accepts(A, H, S, c):
        return -1
    only = -1
    for b in range(256):
        if step_configuration(A, H, S, c, b) != NONE:
            if only >= 0:
                return -1
            only = b
    return only


@kernel("i(arena, arena, arena, i, arena, i, i)")
def walk_forced(A, H, S, c, text, length, watch):
    """`forced_run` by configurations, where `length` bytes are known, and c is the configuration after them."""
    watch = watch or is_watched(A, c)
    while length < text.size:
        b = forced_byte(A, H, S, c)
        if b < 0:
            break
        text[length] = b
        length += 1
        c = step_configuration(A, H, S, c, b)
        watch = watch or is_watched(A, c)
    return length + (WATCH if watch else 0) + (NOTHING_FOLLOWS if is_complete(A, H, S, c) else 0)


@kernel("i(arena, arena, arena, i, arena)", entry=True)
def forced_run(A, H, S, c, text):
    """Writes the bytes that must follow into `text`, one a word. Returns how many, and WATCH, and NOTHING_FOLLOWS."""
    if not can_leap(A, c) or GRAMMAR.CLOSING(A, CONFIG.GRAMMAR(A, c)) != 0 or accepts(A, H, S, c):
        return walk_forced(A, H, S, c, text, 0, False)
    watch = is_watched(A, c)
    here = begin_leap(A, S, c)
    length, is_valid = 0, False
    while length < text.size and not is_valid:
        b = only_of_leap(A, H, S, here)
        if b < 0:
            break
        read = leap_byte(A, H, S, here, b)
        if read == BOTH:
            return walk_forced(A, H, S, leapt(A, H, S, here), text, length, watch)
        text[length] = b
        length += 1
        watch = watch or read == READ_WATCHED
        q = LEAP.NEXT(S, here)
        is_valid = q != 0 and A[q + PARSER.ACCEPTS] == 2
    ends = is_valid and LEAP.LEXER(S, here) == NONE and LEAP.NEXT_LEXER(S, here) == NONE
    set_top(S, here)
    return length + (WATCH if watch else 0) + (NOTHING_FOLLOWS if ends else 0)


@kernel("i(arena, arena, arena, i, arena, i)")
def other_bytes(A, H, S, c, T, n):
    """The number, at most FREE, of bytes that may follow a configuration and lead to no beginning behind the n-th one.
    An end counts as a byte. Printable ones are tried first."""
    number = np.int64(accepts(A, H, S, c) != 0)
    for i in range(256):
        b = (i + 32) & 255
        k = BEGINNINGS.LONGER(T, n)
        while k < T[BEGINNINGS.COUNT] and BEGINNINGS.BEFORE(T, k) == n and BEGINNINGS.BYTE(T, k) != b:
            k += 1
        goes_on = k < T[BEGINNINGS.COUNT] and BEGINNINGS.BEFORE(T, k) == n
        if not goes_on and step_configuration(A, H, S, c, b) != NONE:
            number += 1
        if number == FREE:
            break
    return number


@kernel("i(arena, arena, arena, i, arena, arena)", entry=True)
def begun_texts(A, H, S, c, T, found):
    """Write into `found` the BEGINNINGS behind which one of the texts must be completed, as many as it holds. Returns
    how many there are.

    A beginning that FREE other bytes may follow is not gone on with: the text is free there.
    """
    here = top(S)
    push(S, c)
    push(S, 0)
    last = np.int64(0)
    n = np.int64(1)
    while n < T[BEGINNINGS.COUNT] and BEGINNINGS.BEFORE(T, n) <= last:
        before = here + BEGUN.WORDS * BEGINNINGS.BEFORE(T, n)
        d, others = np.int64(NONE), np.int64(0)
        if BEGUN.AFTER(S, before) != NONE and 0 <= BEGUN.OTHERS(S, before) < FREE:
            d = step_configuration(A, H, S, BEGUN.AFTER(S, before), BEGINNINGS.BYTE(T, n))
        if d != NONE:
            others = COMPLETE_TEXT if BEGINNINGS.IS_WHOLE(T, n) else other_bytes(A, H, S, d, T, n)
            last = n
        push(S, d)
        push(S, others)
        n += 1
    number = np.int64(0)
    while n > 1:
        n -= 1
        at, before = here + BEGUN.WORDS * n, here + BEGUN.WORDS * BEGINNINGS.BEFORE(T, n)
        if BEGUN.AFTER(S, at) == NONE or BEGUN.OTHERS(S, at) == COMPLETE_TEXT:
            continue
        if BEGUN.OTHERS(S, at) > 0:
            S[before + BEGUN.OTHERS] = max(BEGUN.OTHERS(S, before), 1)
            continue
        if number < found.size:
            found[number] = n
        number += 1
    set_top(S, here)
    return number


@kernel("i(arena, arena, arena, i, arena, arena)", entry=True)
def is_forced(A, H, S, c, text, T):
    """1 if fewer than two bytes must follow and none of the BEGINNINGS T, if T has some, leaves no choice but its
    texts; 3 if a place on the way is watched, else 2. Above FORCED_BITS: `forced_run`, of what is written into `text`,
    two words or more; 0 if T was asked."""
    run = forced_run(A, H, S, c, text)
    is_open = (run & (WATCH - 1)) < 2 or text[0] == MARK or text[1] == MARK
    if is_open and T.size:
        is_open = begun_texts(A, H, S, c, T, text) == 0
        run = 0
    A[c + CONFIG.FORCED] = 1 if is_open else 3 if run & WATCH else 2
    return (run << FORCED_BITS) + np.int64(A[c + CONFIG.FORCED])


@kernel("i(arena, i, i)", entry=True, brief=True)
def known_forced(A, epoch, c):
    """`is_forced` if it is known, else 0. Needs no lock: c is a configuration of this epoch."""
    return np.int64(A[c + CONFIG.FORCED]) if is_of_epoch(A, epoch) else 0
