"""Token masks under the greedy lexer.

The idea: a configuration is a list of pairs (parser state, lexer state), the longest lexeme in progress first. What
tokens do until a lexeme has ended is said by the lexer states alone (their token table, lexer_lists.py). What they do
then, from whatever node on, is said by the lexer state of the parser state that the lexeme leads to (following.py),
until a lexeme leads to another one. A mask is these, and no configuration is made on the way but for forks.

Records: records/greedy_tables.py. Cost: a few microseconds and the look-ups of the next lexemes if the tables are
known; a walk of the trie for each that is not. Reference: tests/reading_oracle.py, test_greedy_masks.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.masks.common.tokens import add_tokens, set_tokens, store_tokens
from constrain.kernels.masks.common.whole import walk_configuration
from constrain.kernels.masks.greedy.following import following
from constrain.kernels.masks.greedy.lexer_lists import hub, subtree_end, table_of_list
from constrain.kernels.masks.greedy.walk import is_loop
from constrain.kernels.parser.closure import close
from constrain.kernels.parser.configurations import accepts, push_fresh, step_configuration, whole
from constrain.kernels.parser.earley import scan
from constrain.kernels.records.arena import HEADER, NONE, intern2, intern_list, key_end, key_start, region
from constrain.kernels.records.configurations import (
    CONFIG,
    config_length,
    config_pair,
    config_pairs,
    pair_begun,
    pair_parser,
)
from constrain.kernels.records.grammars import LIST, list_end, list_start
from constrain.kernels.records.greedy_tables import (
    BRANCH,
    FOLLOWING,
    FORK,
    GREEDY_BLOCK,
    GREEDY_TABLE,
    LOOPS,
    MAX_PAIRS,
    PLACE,
    greedy_blocks_end,
    has_something,
    left_count,
    left_lexer,
    left_number,
)
from constrain.kernels.records.masks import BLOCK, MASK, TABLE, TOKENS, ends_end, own_start, set_own_count
from constrain.kernels.records.parser_states import PARSER
from constrain.kernels.records.stack import push, room, set_top, sort_groups, top, unique_groups
from constrain.kernels.records.vocabulary import eos_end, eos_start, mask_words, node_byte, node_token, set_bit, trie_of

FEW = 2  # nodes of a subtree that is walked with configurations


@kernel("i(arena, arena, arena, i, i)")
def fresh_as(A, H, S, grammar, p):
    """The configuration of a grammar at the beginning of a lexeme in the parser state p."""
    c = np.int64(A[p + PARSER.FRESH])
    if c == 0 or CONFIG.GRAMMAR(A, c) != grammar:
        start = top(S)
        push(S, grammar)
        push_fresh(A, H, S, p)
        c = intern_list(A, H, S, CONFIG.KIND, start)
        A[p + PARSER.FRESH] = c
    return c


@kernel("i(arena, arena, arena, i, i, i)")
def forked(A, H, S, c, left, d):
    """The configuration of the pairs LEFT of c, and after them those of d."""
    start = top(S)
    push(S, CONFIG.GRAMMAR(A, c))
    for k in range(left_count(A, left)):
        push(S, pair_begun(A, config_pair(c, left_number(A, left, k))))
        push(S, left_lexer(A, left, k))
    for k in range(config_pairs(d), key_end(A, d)):
        push(S, A[k])
    return intern_list(A, H, S, CONFIG.KIND, start)


@kernel("void(arena, i, i)")
def push_place(S, node, state):
    """Push a PLACE to go on from: a node, and the configuration there; or a FOLLOWING, negative, and a parser state."""
    push(S, node)
    push(S, state)


@kernel("void(arena, arena, arena, i, i, i)")
def add_forks(A, H, S, record, c, q):
    """Push the places where a lexeme may begin, in the parser state q, while pairs of c are still in progress."""
    alive = np.int64(A[record + FOLLOWING.ALIVE])
    for k in range(list_start(alive), list_end(A, alive)):
        fork = np.int64(A[k])
        d = step_configuration(A, H, S, fresh_as(A, H, S, CONFIG.GRAMMAR(A, c), q), FORK.BYTE(A, fork))
        d = forked(A, H, S, c, FORK.LEFT(A, fork), d)
        branch = intern2(A, H, BRANCH.KIND, FORK.NODE(A, fork), d)
        if A[branch + BRANCH.MET] != A[HEADER.MASKS_MADE]:  # of ten backslashes any may be the first
            A[branch + BRANCH.MET] = A[HEADER.MASKS_MADE]
            push_place(S, FORK.NODE(A, fork), d)


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def add_next(A, H, S, block, p, c, grammar, bitmap):
    """Set the tokens with which a lexeme of the parser state p ends as the block says; push what follows.

    c: the configuration that the block is of; 0: the pair (p, its lexer state) alone.
    """
    content = GREEDY_BLOCK.CONTENT(A, block)
    if content == 0 and A[block + BLOCK.N_ENDS] == 0:
        return 0
    q = scan(A, H, S, p, BLOCK.TAGSET(A, block))
    if q == 0:  # as what a terminal excludes
        return 0
    for i in range(BLOCK.ENDS(A, block), ends_end(A, block)):
        set_tokens(A, S, bitmap, node_token(A, trie_of(A), A[i]))
    if content == 0 or close(A, H, S, q) == NONE:
        return 0
    record = following(A, H, S, content, PARSER.LEXER(A, q), 0)
    if A[np.int64(A[record + FOLLOWING.ALIVE]) + LIST.COUNT] != 0:
        add_forks(A, H, S, record, c if c != 0 else fresh_as(A, H, S, grammar, p), q)
    if has_something(A, FOLLOWING.TABLE(A, record)):
        push_place(S, -record, q)
    return 0


@kernel("i(arena, arena, arena, i, i)")
def stays(A, H, S, q, loops):
    """1 if the parser state q is the same after each of the LOOPS, else 0."""
    for k in range(key_start(loops), key_end(A, loops)):
        if scan(A, H, S, q, A[k]) != q:
            return 0
    return 1


@kernel("i(arena, arena, arena, i, i)")
def table_with_loops(A, H, S, record, q):
    """The token table of a FOLLOWING without LOOPS, with those of the parser state q that matter there."""
    content, lexer = np.int64(A[record + FOLLOWING.CONTENT]), np.int64(A[record + FOLLOWING.LEXER])
    loops = np.int64(A[record + FOLLOWING.LATEST])
    if loops == 0 or not stays(A, H, S, q, loops):
        loops = 0
    while True:
        table = FOLLOWING.TABLE(A, following(A, H, S, content, lexer, loops))
        start = top(S)
        for block in range(TABLE.BLOCKS(A, table), greedy_blocks_end(A, table), GREEDY_BLOCK.WORDS):
            t = BLOCK.TAGSET(A, block)
            if scan(A, H, S, q, t) == q and not is_loop(A, loops, t):
                push(S, t)
        if top(S) == start:
            A[record + FOLLOWING.LATEST] = loops
            return table
        if loops != 0:
            for k in range(key_start(loops), key_end(A, loops)):
                push(S, A[k])
        sort_groups(S, start, top(S), 1)
        set_top(S, unique_groups(S, start, top(S), 1))
        loops = intern_list(A, H, S, LOOPS.KIND, start)


@kernel("void(arena, arena, arena, i, i, i, i)")
def add_place(A, H, S, node, c, bitmap, states):
    """Set the tokens that may be read below a node from the configuration c, as far as its lexemes go; push what
    follows. Below the root without the hub."""
    if subtree_end(A, node) - node <= FEW or config_length(A, c) > MAX_PAIRS:
        A[HEADER.WHOLE_WALKS] += 1
        walk_configuration(A, H, S, states, node + 1, subtree_end(A, node), c, bitmap)
        return
    c = whole(A, H, S, c)
    table = table_of_list(A, H, S, node, c)
    while table != 0:
        add_tokens(A, S, table, bitmap)
        for block in range(TABLE.BLOCKS(A, table), greedy_blocks_end(A, table), GREEDY_BLOCK.WORDS):
            p = pair_parser(A, config_pair(c, GREEDY_BLOCK.PAIR(A, block)))
            add_next(A, H, S, block, p, c, CONFIG.GRAMMAR(A, c), bitmap)
        table = GREEDY_TABLE.BASE(A, table)


@kernel("void(arena, arena, arena, i, i, i, i)")
def gather(A, H, S, bottom, grammar, bitmap, states):
    """Set the tokens that may be read at the places from S[bottom] on; pops them."""
    while top(S) > bottom:
        place = top(S) - PLACE.WORDS
        set_top(S, place)
        node, state = np.int64(S[place + PLACE.NODE]), np.int64(S[place + PLACE.STATE])
        if node >= -1:
            add_place(A, H, S, node, state, bitmap, states)
            continue
        table = table_with_loops(A, H, S, -node, state)
        add_tokens(A, S, table, bitmap)
        for block in range(TABLE.BLOCKS(A, table), greedy_blocks_end(A, table), GREEDY_BLOCK.WORDS):
            add_next(A, H, S, block, state, 0, grammar, bitmap)


@kernel("i(arena, arena, arena, i)")
def mask_of_bitmap(A, H, S, bitmap):
    """The MASK region of a bitmap."""
    tokens = region(A, TOKENS.WORDS)
    store_tokens(A, H, S, bitmap, tokens)
    if TOKENS.BITMAP(A, tokens) != 0:  # PERF: its three words are a mask with one source and no own tokens
        source_words = TOKENS.BITMAP(A, tokens)
        A[tokens + MASK.N_SOURCES] = 1
        A[tokens + MASK.SOURCES] = source_words
        set_own_count(A, tokens, 0)
        return tokens
    n = TOKENS.COUNT(A, tokens)
    mask = region(A, MASK.WORDS + 1 + n)
    set_own_count(A, mask, n)
    for k in range(n):
        A[own_start(A, mask) + k] = A[TOKENS.LIST(A, tokens) + k]
    return mask


@kernel("i(arena, arena, arena, i)")
def greedy_mask(A, H, S, c):
    """The MASK region of a configuration under the greedy lexer."""
    words = mask_words(A)
    bitmap = top(S)
    states = bitmap + words
    levels = np.int64(A[HEADER.DEPTH]) + 8
    room(S, words + levels)
    S[bitmap : bitmap + words] = 0
    set_top(S, states + levels)
    bottom = top(S)
    push_place(S, -1, c)
    space = hub(A)
    if space >= 0:
        d = step_configuration(A, H, S, c, node_byte(A, trie_of(A), space))
        if d != NONE:
            set_tokens(A, S, bitmap, node_token(A, trie_of(A), space))
            push_place(S, space, d)
    gather(A, H, S, bottom, CONFIG.GRAMMAR(A, c), bitmap, states)
    if accepts(A, H, S, c):
        for i in range(eos_start(A), eos_end(A)):
            set_bit(S, bitmap, A[i])
    mask = mask_of_bitmap(A, H, S, bitmap)
    set_top(S, bitmap)
    return mask
