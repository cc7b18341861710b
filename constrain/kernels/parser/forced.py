"""The bytes that must follow a text.

The idea: where one lexeme is open, its lexer state and that of the next lexeme say which bytes may follow, one try for
each class of bytes; so no configurations are made for what is forced (`leaps`). Elsewhere each byte is tried.

Cost: some steps of a lexer for each forced byte. Reference: `forced_byte` at each place
(tests/masks/engine/test_forced.py).
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import partition, step
from constrain.kernels.lexer.states import tags
from constrain.kernels.parser.advance import WATCH
from constrain.kernels.parser.configurations import accepts, is_complete, step_configuration
from constrain.kernels.parser.earley import scan
from constrain.kernels.parser.leaps import BOTH, READ_WATCHED, begin_leap, can_leap, leap_byte, leapt
from constrain.kernels.parser.spelling import spelling_tokens
from constrain.kernels.records.arena import NO_TAGS, NONE, is_of_epoch
from constrain.kernels.records.configurations import CONFIG, LEAP, is_watched
from constrain.kernels.records.expressions import PARTITION, class_of, continues, representative
from constrain.kernels.records.grammars import GRAMMAR
from constrain.kernels.records.parser_states import PARSER
from constrain.kernels.records.stack import set_top

NO_BYTE, SEVERAL_BYTES = -1, -2  # instead of the only byte
MARK = 0xFF  # of tokens that are no text (languages/automata/marks.py)
FORCED_BITS = 3  # of the word FORCED
NOTHING_FOLLOWS = 1 << 41  # added by `forced_run` where nothing may follow the bytes
NOT_FORCED, FORCED, FORCED_IF_CLEAR, SPELLING = 1, 2, 3, 4  # CONFIG.FORCED


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


@kernel("i(arena, arena, arena, i, arena, arena, arena)", entry=True)
def is_forced(A, H, S, c, text, T, K):
    """Say what restricts the next token: FORCED, FORCED_IF_CLEAR where a place on the way is watched; SPELLING where
    some of the SPELLINGS K spell one of the BEGINNINGS T, if T has some; or NOT_FORCED.

    Above FORCED_BITS: `forced_run`, of what is written into `text`, two words or more; 0 if T was asked.
    """
    run = forced_run(A, H, S, c, text)
    asked = FORCED_IF_CLEAR if run & WATCH else FORCED
    if (run & (WATCH - 1)) < 2 or text[0] == MARK or text[1] == MARK:
        asked = SPELLING if T.size and spelling_tokens(A, H, S, c, T, K, text) else NOT_FORCED
        run = 0 if T.size else run
    A[c + CONFIG.FORCED] = asked
    return (run << FORCED_BITS) + np.int64(asked)


@kernel("i(arena, i, i)", entry=True, brief=True)
def known_forced(A, epoch, c):
    """`is_forced` if it is known, else 0. Needs no lock: c is a configuration of this epoch."""
    return np.int64(A[c + CONFIG.FORCED]) if is_of_epoch(A, epoch) else 0
