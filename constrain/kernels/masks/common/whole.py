"""Walks of the trie with whole configurations: right for any lexer, and slow; where nothing else says enough.

Records: records/configurations.py. Cost: one step of a configuration a node. Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.masks.common.tokens import push_tokens, set_tokens
from constrain.kernels.parser.configurations import peek_configuration, step_configuration
from constrain.kernels.records.arena import NONE, note_visits
from constrain.kernels.records.vocabulary import (
    node_depth,
    node_end,
    node_token,
    node_word,
    trie_of,
    word_byte,
    word_depth,
)


@kernel("void(arena, arena, arena, i, i, i, i, i)")
def walk_configuration(A, H, S, states, first, stop, c, bitmap):
    """Find the tokens of nodes first..stop-1, a subtree's children (or the whole trie), that keep c alive: set them in
    the bitmap on the stack, or push them if it is 0. states: a stack of configurations by depth."""
    trie = trie_of(A)
    visited = 0
    i = first
    if i < stop:
        S[states + node_depth(A, trie, i) - 1] = c
    while i < stop:
        word = node_word(A, trie, i)
        above = states + word_depth(word) - 1
        d = np.int64(peek_configuration(A, S[above], word_byte(word)))
        if d == 0:
            d = step_configuration(A, H, S, S[above], word_byte(word))
        visited += 1
        if d == NONE:
            i = node_end(A, trie, i)
            continue
        S[above + 1] = d
        token = node_token(A, trie, i)
        if token >= 0 and bitmap != 0:
            set_tokens(A, S, bitmap, token)
        elif token >= 0:
            push_tokens(A, S, token)
        i += 1
    note_visits(A, visited)
