"""Configurations: all lexemes that may be in progress after some bytes, one hash-consed record.

A pair (p, l) is a lexeme that began in the parser state p and whose lexer is in l; a *fresh* pair has read nothing yet.

* dynamic: the pairs are a set (sorted). After a byte, every lexeme that may end there leads to one common parser state
  (`scan_all`), which joins as a fresh pair. Every segmentation counts.
* greedy: the pairs are a list. The first is the longest lexeme in progress; what follows is where the text stands if
  that lexeme ends at its last possible end (maximal munch falls back there when no longer match comes). A new end
  drops older ones.

A fresh pair behind others is most often dropped before anybody asks what may begin there: `foob` ends a name four
times. Under the greedy lexer its lexer state is 0, *open*, and its parser state is not closed, until the pairs before
it leave a byte to it; then the configuration that is `whole` answers in its place.

`NONE` is the dead configuration. Records: records/configurations.py. Cost: a step is one table look-up once known.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import partition, partition_of_fronts, push_fronts, step
from constrain.kernels.lexer.states import tags
from constrain.kernels.parser.closure import close
from constrain.kernels.parser.earley import scan, scan_all
from constrain.kernels.records.arena import HEADER, NO_TAGS, NONE, intern_list, key_end, key_start, publish_word, region
from constrain.kernels.records.configurations import (
    ASK_WHOLE,
    CONFIG,
    LEXER_LIST,
    PAIR,
    config_is_greedy,
    config_pair,
    config_pairs,
    config_successor_cell,
    fresh_word,
    last_pair,
    pair_begun,
    pair_is_fresh,
    pair_parser,
)
from constrain.kernels.records.expressions import PARTITION, continues
from constrain.kernels.records.grammars import GRAMMAR
from constrain.kernels.records.parser_states import PARSER
from constrain.kernels.records.stack import push, set_top, sort_groups, top, unique_groups


@kernel("void(arena, arena, arena, i)")
def push_fresh(A, H, S, p):
    """Push the pair of a lexeme that begins in the parser state p."""
    push(S, fresh_word(p))
    push(S, close(A, H, S, p))


@kernel("i(arena, arena, arena, i)")
def fresh(A, H, S, p):
    """The configuration at the beginning of a lexeme in the parser state p."""
    start = top(S)
    push(S, PARSER.GRAMMAR(A, p))
    push_fresh(A, H, S, p)
    return intern_list(A, H, S, CONFIG.KIND, start)


@kernel("i(arena, arena, arena, i, i, i)", entry=True)
def start_configuration(A, H, S, grammar, lhs, suffix):
    """The configuration before the first byte; `lhs` is a nonterminal that stands for the whole text."""
    start = top(S)
    for word in (grammar, 0, lhs, suffix, 0):
        push(S, word)
    return fresh(A, H, S, intern_list(A, H, S, PARSER.KIND, start))


@kernel("i(arena, arena, arena, i, i)")
def step_dynamic(A, H, S, c, b):
    """The successor under the dynamic lexer."""
    start = top(S)
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        t = tags(A, H, S, step(A, H, S, PAIR.LEXER(A, pair), b))
        if t != NO_TAGS:
            push(S, pair_parser(A, pair))
            push(S, t)
    p = scan_all(A, H, S, start) if top(S) > start else 0
    push(S, CONFIG.GRAMMAR(A, c))
    pairs = start + 1
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        e = step(A, H, S, PAIR.LEXER(A, pair), b)
        if continues(A, e):
            push(S, pair_begun(A, pair))
            push(S, e)
    if p != 0:
        push_fresh(A, H, S, p)
    if top(S) == pairs:
        set_top(S, start)
        return NONE
    sort_groups(S, pairs, top(S), PAIR.WORDS)
    set_top(S, unique_groups(S, pairs, top(S), PAIR.WORDS))
    return intern_list(A, H, S, CONFIG.KIND, start)


@kernel("i(arena, i)")
def is_open(A, c):
    """1 if the last pair is open, else 0."""
    return 1 if PAIR.LEXER(A, last_pair(A, c)) == 0 else 0


@kernel("i(arena, arena, arena, i)")
def whole(A, H, S, c):
    """The configuration c with the lexer state of its open pair."""
    if not is_open(A, c):
        return c
    if A[c + CONFIG.WHOLE] == 0:
        start = top(S)
        for i in range(key_start(c), key_end(A, c)):
            push(S, A[i])
        last = top(S) - PAIR.WORDS
        S[last + PAIR.LEXER] = close(A, H, S, pair_parser(S, last))
        A[c + CONFIG.WHOLE] = intern_list(A, H, S, CONFIG.KIND, start)
    return np.int64(A[c + CONFIG.WHOLE])


@kernel("i(arena, i, i)")
def has_lexer(S, start, lexer):
    """1 if one of the pairs from S[start] on is in this lexer state, else 0."""
    for pair in range(start, top(S), PAIR.WORDS):
        if PAIR.LEXER(S, pair) == lexer:
            return 1
    return 0


@kernel("i(arena, arena, arena, i, i)")
def step_greedy(A, H, S, c, b):
    """The successor under the greedy lexer; ASK_WHOLE if it depends on the open pair."""
    start = top(S)
    push(S, CONFIG.GRAMMAR(A, c))
    pairs = start + 1
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        if PAIR.LEXER(A, pair) == 0:
            set_top(S, start)
            return ASK_WHOLE
        e = step(A, H, S, PAIR.LEXER(A, pair), b)
        if e == NONE:
            continue  # the lexeme cannot go on: fall back to the next
        if has_lexer(S, pairs, e):
            continue  # a longer lexeme is in the same state, and will always decide before this one
        if continues(A, e):
            push(S, pair_begun(A, pair))
            push(S, e)
        t = tags(A, H, S, e)
        if t != NO_TAGS:
            p = scan(A, H, S, pair_parser(A, pair), t)
            if p != 0 and top(S) > pairs:
                push(S, fresh_word(p))
                push(S, 0)
            elif p != 0:
                push_fresh(A, H, S, p)
            break  # a longer match than any fallback, also where it only matched what a terminal excludes
    if top(S) == pairs:
        set_top(S, start)
        return NONE
    return intern_list(A, H, S, CONFIG.KIND, start)


@kernel("i(arena, i, i)")
def peek_configuration(A, c, b):
    """`step_configuration` if it is known, else 0; inlined into hot loops."""
    return max(A[config_successor_cell(A, c, b)], 0) if A[c + CONFIG.ROW] != 0 else 0


@kernel("void(arena, i)")
def note_watching(A, c):
    """Find out whether a configuration is watched: some lexeme in progress began in a watched parser state."""
    watched = 1
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        if A[pair_parser(A, pair) + PARSER.WATCHED] == 2:
            watched = 2
    A[c + CONFIG.WATCHED] = watched


@kernel("void(arena, arena, arena, i)")
def prepare_row(A, H, S, c):
    """Give a configuration its byte partition, that of its lexer states, and a row of successors, all unknown."""
    stop = key_end(A, c) - PAIR.WORDS * is_open(A, c)
    if stop == config_pair(c, 1):
        p = partition(A, H, S, PAIR.LEXER(A, config_pair(c, 0)))
    else:
        start = top(S)
        push(S, 0)
        for pair in range(config_pairs(c), stop, PAIR.WORDS):
            push(S, PAIR.LEXER(A, pair))
        lexers = intern_list(A, H, S, LEXER_LIST.KIND, start)
        if A[lexers + LEXER_LIST.PARTITION] == 0:
            for pair in range(config_pairs(c), stop, PAIR.WORDS):
                push_fronts(A, S, PAIR.LEXER(A, pair))
            A[lexers + LEXER_LIST.PARTITION] = partition_of_fronts(A, H, S, start)
        p = np.int64(A[lexers + LEXER_LIST.PARTITION])
    A[c + CONFIG.PARTITION] = p
    publish_word(A, c + CONFIG.ROW, region(A, A[p + PARTITION.CLASSES]))


@kernel("i(arena, arena, arena, i, i)")
def step_configuration(A, H, S, c, b):
    """The configuration after byte b; NONE if no valid text begins so."""
    while True:
        if A[c + CONFIG.ROW] == 0:
            prepare_row(A, H, S, c)
        successor = np.int64(A[config_successor_cell(A, c, b)])
        if successor > 0:
            return successor
        if successor == 0:
            if config_is_greedy(A, c):
                successor = step_greedy(A, H, S, c, b)
            else:
                successor = step_dynamic(A, H, S, c, b)
            if successor > NONE and A[successor + CONFIG.WATCHED] == 0:
                note_watching(A, successor)
            publish_word(A, config_successor_cell(A, c, b), successor)
            A[HEADER.STEPS_MADE] += 1
        if successor != ASK_WHOLE:
            return successor
        c = whole(A, H, S, c)


@kernel("i(arena, arena, arena, i)")
def accepts_as_it_is(A, H, S, c):
    """1 if the text so far is valid, nothing added; else 0."""
    first = last_pair(A, c) if config_is_greedy(A, c) else config_pairs(c)
    for pair in range(first, key_end(A, c), PAIR.WORDS):
        if pair_is_fresh(A, pair):
            close(A, H, S, pair_parser(A, pair))
            if A[pair_parser(A, pair) + PARSER.ACCEPTS] == 2:
                return 1
    return 0


@kernel("i(arena, arena, arena, i)", entry=True)
def accepts(A, H, S, c):
    """1 if the text so far is valid, as it is or with the grammar's closing byte; else 0."""
    if A[c + CONFIG.ACCEPTS] == 0:
        is_member = accepts_as_it_is(A, H, S, c)
        closing = GRAMMAR.CLOSING(A, CONFIG.GRAMMAR(A, c))
        if closing != 0 and not is_member:
            d = step_configuration(A, H, S, c, closing - 1)
            is_member = 1 if d != NONE and accepts_as_it_is(A, H, S, d) else 0
        A[c + CONFIG.ACCEPTS] = 1 + is_member
    return A[c + CONFIG.ACCEPTS] - 1


@kernel("i(arena, arena, arena, i)", entry=True)
def is_complete(A, H, S, c):
    """1 if the text so far is valid and nothing can follow, else 0."""
    for pair in range(config_pairs(c), key_end(A, c), PAIR.WORDS):
        if PAIR.LEXER(A, pair) != NONE:
            return 0
    return accepts(A, H, S, c)
