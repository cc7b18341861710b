"""Token tables of lists of lexer states: what tokens do as long as the lexemes in progress are the same (greedy lexer).

The idea: which tokens can be read from a list of lexer states (a LEXER_LIST; a Pike machine has thread lists), and
where a lexeme ends on the way, does not depend on the parser. `table_of_list(node, configuration)` walks the trie below
a node once for a list, and is remembered:

* the tokens after which some lexeme is in progress;
* for each pair i and set t of terminals that its lexeme may end as: the *ends*, nodes of tokens that end with it; the
  *restarts*, nodes where it has ended and cannot go on, so that the next lexeme begins below; the *exits*, nodes whose
  byte the lexeme does not take, so that the next lexeme begins with it; and the *forks*, nodes whose byte the lexeme
  does take without ending again, so that it may be the next lexeme's after all (LEFT: the pairs in progress there).

A longer match drops what began after a shorter one: there nothing is to be asked.

Of the trie's root the child with the largest subtree (a space, in most vocabularies) is a start of its own (`hub`):
what follows a space hardly depends on what was before it.

Lexer states differ in operators and keywords, and have the names in common. So a list takes over what the table of its
first state says, the *base*, and what that of a *reference* says: of its other states, or of the part of a union that
takes nearly every word. Then the trie is walked only where these do not decide (modes BASED, TAIL, UNION of walk.py).

Records: records/greedy_tables.py. Cost: a walk of the trie, about 20 ns a node that is visited.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.lexer.derivatives import step
from constrain.kernels.lexer.unions import alt
from constrain.kernels.masks.common.slices import MIN_ALIKE, alike
from constrain.kernels.masks.common.tokens import add_tokens
from constrain.kernels.masks.greedy.blocks import FEW_NODES, keep_rows, store_table
from constrain.kernels.masks.greedy.walk import BASED, TAIL, UNION, WHOLE, new_walk, walk_nodes
from constrain.kernels.records.arena import HEADER, NO_TAGS, NONE, intern2, intern_list, key_end, key_start, kind, size
from constrain.kernels.records.configurations import (
    LEXER_LIST,
    PAIR,
    config_length,
    config_pair,
    last_pair,
    list_length,
    list_lexer,
    list_node,
)
from constrain.kernels.records.expressions import ALT
from constrain.kernels.records.greedy_tables import (
    GREEDY_FRAME,
    GREEDY_TABLE,
    UNION_FRAME,
    WALK,
    frame_at,
    set_frame_lexer,
    set_frame_number,
)
from constrain.kernels.records.stack import push, set_top, top
from constrain.kernels.records.vocabulary import node_depth, node_end, trie_of

HUB_SHARE = 8  # the hub has at least 1/8 of all nodes
LARGE = 4096  # nodes of a subtree for which a reference is looked for


@kernel("i(arena)")
def hub(A):
    """The root's child with the largest subtree, if it is large; else -1."""
    if A[HEADER.HUB] == 0:
        best = -1
        most = np.int64(A[HEADER.N_NODES]) // HUB_SHARE
        i = np.int64(0)
        while i < A[HEADER.N_NODES]:
            end = node_end(A, trie_of(A), i)
            if end - i > most:
                best = i
                most = end - i
            i = end
        A[HEADER.HUB] = best + 1 if best >= 0 else -1
    return np.int64(A[HEADER.HUB]) - 1 if A[HEADER.HUB] > 0 else np.int64(-1)


@kernel("i(arena, i)")
def subtree_end(A, node):
    """The first node behind the subtree of a node; -1: the root."""
    return node_end(A, trie_of(A), node) if node >= 0 else np.int64(A[HEADER.N_NODES])


@kernel("i(arena, i)")
def depth_of(A, node):
    """The depth of a node; -1: the root, 0."""
    return node_depth(A, trie_of(A), node) if node >= 0 else np.int64(0)


# --- tables -----------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i)")
def union_reference(A, H, S, node, lexer):
    """The alternatives of a union that take words, as a union, if nearly all words lead from both to the same states;
    else 0.

    All alternatives together: names, and what competes with names.
    """
    if kind(A, lexer) != ALT.KIND or subtree_end(A, node) - node < LARGE:
        return 0
    start = top(S)
    for i in range(key_start(lexer), key_end(A, lexer)):
        if step(A, H, S, A[i], 0x71) != NONE and step(A, H, S, A[i], 0x7A) != NONE:  # q and z: few keywords begin so
            push(S, A[i])
    n = top(S) - start
    if n == 0 or n == size(A, lexer):
        set_top(S, start)
        return 0
    part = alt(A, H, S, start)
    return part if alike(A, H, S, part, lexer) >= MIN_ALIKE else 0


@kernel("void(arena, arena, i, i)")
def set_first_frame(A, S, walk, lexers):
    """Write the frame with which the walk of a LEXER_LIST begins."""
    node = list_node(A, lexers)
    S[walk + WALK.TOP_DEPTH] = depth_of(A, node) + 1
    S[walk + WALK.SKIP] = hub(A) if node < 0 else -1
    frame = frame_at(S, walk, depth_of(A, node))
    S[frame + GREEDY_FRAME.COUNT] = list_length(A, lexers)
    S[frame + GREEDY_FRAME.ENDED_AS] = NO_TAGS
    for k in range(list_length(A, lexers)):
        set_frame_number(S, frame, k, k)
        set_frame_lexer(S, frame, k, list_lexer(A, lexers, k))


@kernel("i(arena, arena, arena, i, i, i)")
def make_table(A, H, S, lexers, base, reference):
    """Make the token table of a LEXER_LIST.

    base: the table of its first lexer state alone, if there are more. reference: a LEXER_LIST whose table is known, of
    a part of its only lexer state, or of all but the first; 0: none.
    """
    node = list_node(A, lexers)
    if reference != 0:
        mode = TAIL if base != 0 else UNION
    else:
        mode = BASED if base != 0 else WHOLE
    walk = new_walk(A, S, mode)
    set_first_frame(A, S, walk, lexers)
    starts = top(S)
    push(S, node + 1)
    push(S, subtree_end(A, node))
    rows = top(S)
    known = LEXER_LIST.TABLE(A, reference) if reference != 0 else np.int64(0)
    table = known
    while table != 0:
        add_tokens(A, S, table, S[walk + WALK.BITMAP])
        table = GREEDY_TABLE.BASE(A, table)
    if mode == UNION:
        frame = frame_at(S, walk, depth_of(A, node))
        S[frame + UNION_FRAME.REFERENCE] = list_lexer(A, reference, 0)
        S[frame + UNION_FRAME.REFERENCE_ENDED] = NO_TAGS
    walk_nodes(A, H, S, walk, node + 1, subtree_end(A, node))
    table = known
    while table != 0:
        keep_rows(A, H, S, walk, table, 1 if mode == TAIL else 0)
        table = GREEDY_TABLE.BASE(A, table)
    A[lexers + LEXER_LIST.TABLE] = store_table(A, H, S, walk, base, starts, rows)
    set_top(S, S[walk + WALK.BITMAP])
    return LEXER_LIST.TABLE(A, lexers)


@kernel("i(arena, arena, arena, i, i)")
def table_of_one(A, H, S, node, lexer):
    """The token table of one lexer state below a node."""
    lexers = intern2(A, H, LEXER_LIST.KIND, node + 1, lexer)
    if LEXER_LIST.TABLE(A, lexers) == 0:
        part = union_reference(A, H, S, node, lexer)
        reference = 0
        if part != 0:
            reference = intern2(A, H, LEXER_LIST.KIND, node + 1, part)
            if LEXER_LIST.TABLE(A, reference) == 0:
                make_table(A, H, S, reference, 0, 0)
        make_table(A, H, S, lexers, 0, reference)
    return LEXER_LIST.TABLE(A, lexers)


@kernel("i(arena, arena, arena, i, i, i)")
def list_from(A, H, S, node, c, k):
    """The LEXER_LIST of a configuration's lexer states from the pair k on."""
    start = top(S)
    push(S, node + 1)
    for pair in range(config_pair(c, k), key_end(A, c), PAIR.WORDS):
        push(S, PAIR.LEXER(A, pair))
    return intern_list(A, H, S, LEXER_LIST.KIND, start)


@kernel("i(arena, arena, arena, i, i)")
def table_of_list(A, H, S, node, c):
    """The token table of a configuration's lexer states below a node."""
    n = config_length(A, c)
    first = PAIR.LEXER(A, config_pair(c, 0))
    if n == 1:
        return table_of_one(A, H, S, node, first)
    lexers = list_from(A, H, S, node, c, 0)
    if LEXER_LIST.TABLE(A, lexers) != 0:
        return LEXER_LIST.TABLE(A, lexers)
    if subtree_end(A, node) - node < FEW_NODES:
        return make_table(A, H, S, lexers, table_of_one(A, H, S, node, first), 0)
    table_of_one(A, H, S, node, PAIR.LEXER(A, last_pair(A, c)))
    for k in range(n - 2, -1, -1):
        lexers = list_from(A, H, S, node, c, k)
        if LEXER_LIST.TABLE(A, lexers) == 0:
            base = table_of_one(A, H, S, node, PAIR.LEXER(A, config_pair(c, k)))
            make_table(A, H, S, lexers, base, list_from(A, H, S, node, c, k + 1))
    return LEXER_LIST.TABLE(A, lexers)
