"""Token tables of lists of lexer states, in the arena: rows that a walk pushes become blocks of trie nodes.

The idea: a walk (lexer_lists.py) pushes a ROW for each node where something is to be asked of the parser, and sets the
bits of the tokens where nothing is. Here rows are sorted and stored by block, and read again for a walk that takes over
most of them. A block says of which lexeme it is, and its content where the next one begins. Contents of many blocks are
the same.

Records: records/greedy_tables.py. Cost: linear in rows; a bitmap has a bit for each token of the vocabulary.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.masks.common.blocks import end_of_key, store_ends
from constrain.kernels.masks.common.tokens import store_tokens
from constrain.kernels.records.arena import HEADER, intern_list, region
from constrain.kernels.records.expressions import TAGSET
from constrain.kernels.records.greedy_tables import (
    CONTENT,
    END,
    EXITS,
    FORK,
    FORK_KEY,
    GREEDY_BLOCK,
    GREEDY_TABLE,
    KEYS,
    LEFT,
    MAX_PAIRS,
    NAME,
    RESTART,
    ROW,
    START,
    WALK,
    exits_end,
    exits_start,
    greedy_block_at,
    greedy_blocks_end,
    left_count,
    left_lexer,
    left_number,
    restarts_end,
    restarts_start,
)
from constrain.kernels.records.masks import BLOCK, MARK_ALL, TABLE, TOKENS, ends_end
from constrain.kernels.records.stack import push, room, set_key, set_top, sort_groups, top
from constrain.kernels.records.vocabulary import has_bit, node_token, serial_mark, trie_of

FEW_ROWS = 64  # rows that are sorted in place
FEW_NODES = 1024  # nodes of subtrees whose tokens are looked through one by one


@kernel("void(arena, i, i, i, i)")
def push_row(S, block, key, node, left):
    """Push a ROW."""
    push(S, block)
    push(S, key)
    push(S, node)
    push(S, left)


@kernel("i(arena, arena, i, i, i)")
def block_number(A, S, walk, pair, t):
    """The number of the block for the lexeme of a pair that ended as a tagset; a row names it if it is new."""
    if A[t + TAGSET.MARK] != A[HEADER.SERIAL]:
        A[t + TAGSET.NUMBER] = region(A, MAX_PAIRS)
        A[t + TAGSET.MARK] = A[HEADER.SERIAL]
    at = np.int64(A[t + TAGSET.NUMBER]) + pair
    if A[at] == 0:
        S[walk + WALK.BLOCKS] += 1
        A[at] = S[walk + WALK.BLOCKS]
        push_row(S, A[at] - 1, NAME, pair, t)
    return np.int64(A[at]) - 1


# --- sorted rows ------------------------------------------------------------------------------------------------------


@kernel("void(arena, i, i)")
def order_nodes(S, rows, stop):
    """Sort the rows that have the same block and key by node."""
    first = rows
    while first < stop:
        end = end_of_key(S, first, stop, ROW.WORDS)
        ordered = True
        for row in range(first + ROW.WORDS, end, ROW.WORDS):
            ordered = ordered and S[row - ROW.WORDS + ROW.NODE] < S[row + ROW.NODE]
        if not ordered:
            sort_groups(S, first, end, ROW.WORDS)
        first = end


@kernel("i(arena, i, i, i)")
def order_rows(S, rows, stop, blocks):
    """Sort rows by block, key and node. Returns where they are then.

    A counting sort by block and key, where rows are many: keys are few.
    """
    if stop - rows <= ROW.WORDS * FEW_ROWS:
        sort_groups(S, rows, stop, ROW.WORDS)
        return rows
    room(S, blocks * KEYS + stop - rows + 8)
    table = stop
    sorted_rows = table + blocks * KEYS
    for k in range(table, sorted_rows):
        S[k] = 0
    for row in range(rows, stop, ROW.WORDS):
        S[table + S[row + ROW.NUMBER] * KEYS + S[row + ROW.KEY]] += ROW.WORDS
    at = sorted_rows
    for k in range(table, sorted_rows):
        count = np.int64(S[k])
        S[k] = at
        at += count
    for row in range(rows, stop, ROW.WORDS):
        key = table + S[row + ROW.NUMBER] * KEYS + S[row + ROW.KEY]
        for w in range(ROW.WORDS):
            S[S[key] + w] = S[row + w]
        S[key] += ROW.WORDS
    order_nodes(S, sorted_rows, at)
    return sorted_rows


@kernel("void(arena, i, i)")
def push_nodes(S, row, end):
    """Push the nodes of rows."""
    for k in range(row, end, ROW.WORDS):
        push(S, S[k + ROW.NODE])


@kernel("i(arena, i, i, i)")
def end_of_exits(S, row, stop, number):
    """The first of the sorted rows from `row` on that is no exit of the block with this number."""
    while row < stop and S[row + ROW.NUMBER] == number and S[row + ROW.KEY] < RESTART:
        row += ROW.WORDS
    return row


# --- blocks -----------------------------------------------------------------------------------------------------------


@kernel("i(arena, arena, arena, i, i, i)")
def store_content(A, H, S, row, stop, block):
    """Store the rows of one block, sorted, but its name. Returns the row behind them."""
    number = np.int64(S[row + ROW.NUMBER])
    start = top(S)
    runs = 0
    forks = 0
    for _ in range(CONTENT.KEY_WORDS):
        push(S, 0)
    body = top(S)
    restarts = end_of_exits(S, row, stop, number)
    end = restarts
    if restarts < stop and S[restarts + ROW.NUMBER] == number and S[restarts + ROW.KEY] == RESTART:
        end = end_of_key(S, restarts, stop, ROW.WORDS)
    push_nodes(S, restarts, end)
    while row < restarts:
        last = end_of_key(S, row, stop, ROW.WORDS)
        runs += 1
        push(S, S[row + ROW.KEY])
        push(S, (last - row) // ROW.WORDS)
        push_nodes(S, row, last)
        row = last
    row = end
    while row < stop and S[row + ROW.NUMBER] == number and S[row + ROW.KEY] < NAME:
        if S[row + ROW.KEY] == END:
            last = end_of_key(S, row, stop, ROW.WORDS)
            store_ends(A, S, row, last, ROW.WORDS, block)
            row = last
            continue
        forks += 1
        push(S, S[row + ROW.KEY] - FORK_KEY)
        push(S, S[row + ROW.NODE])
        push(S, S[row + ROW.LEFT])
        row += ROW.WORDS
    if top(S) == body:
        set_top(S, start)
    else:
        set_key(S, start, CONTENT.N_RESTARTS, (end - restarts) // ROW.WORDS)
        set_key(S, start, CONTENT.N_RUNS, runs)
        set_key(S, start, CONTENT.N_FORKS, forks)
        A[block + GREEDY_BLOCK.CONTENT] = intern_list(A, H, S, CONTENT.KIND, start)
    return row


@kernel("i(arena, arena, arena, i, i, i)")
def store_named_block(A, H, S, row, stop, block):
    """Store the sorted rows of one block, from `row` on. Returns the next row."""
    number = np.int64(S[row + ROW.NUMBER])
    row = store_content(A, H, S, row, stop, block)
    if row < stop and S[row + ROW.NUMBER] == number:
        A[block + GREEDY_BLOCK.PAIR] = S[row + ROW.NODE]
        A[block + BLOCK.TAGSET] = S[row + ROW.LEFT]
        row += ROW.WORDS
    return row


# --- what is taken over from another table ----------------------------------------------------------------------------


@kernel("void(arena, arena, i, i, i, i)")
def keep_nodes(A, S, number, key, start, stop):
    """Push a row for each of the nodes A[start:stop] without a mark."""
    mark = serial_mark(A) + MARK_ALL
    for k in range(start, stop):
        if HEADER.NODE_SEEN(A, A[k]) != mark:
            push_row(S, number, key, A[k], 0)


@kernel("i(arena, arena, arena, i, i)")
def shifted(A, H, S, left, shift):
    """LEFT with its pairs counted from `shift` on."""
    if shift == 0:
        return left
    start = top(S)
    for k in range(left_count(A, left)):
        push(S, left_number(A, left, k) + shift)
        push(S, left_lexer(A, left, k))
    return intern_list(A, H, S, LEFT.KIND, start)


@kernel("void(arena, arena, arena, i, i, i)")
def keep_rows(A, H, S, walk, table, shift):
    """Push the rows of a token table whose nodes have no mark. shift: the number of its first pair in the list that the
    rows are for."""
    mark = serial_mark(A) + MARK_ALL
    for block in range(TABLE.BLOCKS(A, table), greedy_blocks_end(A, table), GREEDY_BLOCK.WORDS):
        number = block_number(A, S, walk, GREEDY_BLOCK.PAIR(A, block) + shift, BLOCK.TAGSET(A, block))
        keep_nodes(A, S, number, END, BLOCK.ENDS(A, block), ends_end(A, block))
        content = GREEDY_BLOCK.CONTENT(A, block)
        if content == 0:
            continue
        keep_nodes(A, S, number, RESTART, restarts_start(content), restarts_end(A, content))
        exits = restarts_end(A, content)
        for _ in range(A[content + CONTENT.N_RUNS]):
            keep_nodes(A, S, number, EXITS.BYTE(A, exits), exits_start(exits), exits_end(A, exits))
            exits = exits_end(A, exits)
        for fork in range(exits, exits + FORK.WORDS * CONTENT.N_FORKS(A, content), FORK.WORDS):
            if HEADER.NODE_SEEN(A, FORK.NODE(A, fork)) != mark:
                left = shifted(A, H, S, FORK.LEFT(A, fork), shift)
                push_row(S, number, FORK_KEY + FORK.BYTE(A, fork), FORK.NODE(A, fork), left)


# --- tables -----------------------------------------------------------------------------------------------------------


@kernel("void(arena, arena, i, i, i, i)")
def store_few(A, S, bitmap, starts, stop, tokens):
    """As `store_tokens`, if all are tokens of the nodes in the ranges START at S[starts:stop]."""
    count = 0
    while True:  # count, then write
        out = TOKENS.LIST(A, tokens) if count > 0 else 0
        for start in range(starts, stop, START.WORDS):
            for i in range(S[start + START.FIRST], S[start + START.END]):
                token = node_token(A, trie_of(A), i)
                while token >= 0:
                    if has_bit(S, bitmap, token) != 0:
                        if out != 0:
                            A[out] = token
                            out += 1
                        else:
                            count += 1
                    token = HEADER.NEXT_SAME(A, token)
        if out != 0 or count == 0:
            break
        A[tokens + TOKENS.COUNT] = count
        A[tokens + TOKENS.LIST] = region(A, count)


@kernel("i(arena, arena, arena, i, i, i, i)")
def store_table(A, H, S, walk, base, starts, rows):
    """The token table of a walk: tokens in its bitmap, rows from S[rows] on. Leaves words on the stack.

    Tokens are those of the nodes in the ranges START at S[starts:rows].
    """
    stop = top(S)
    bitmap, blocks = np.int64(S[walk + WALK.BITMAP]), np.int64(S[walk + WALK.BLOCKS])
    table = region(A, GREEDY_TABLE.WORDS)
    A[table + GREEDY_TABLE.BASE] = base
    nodes = 0
    for start in range(starts, rows, START.WORDS):
        nodes += S[start + START.END] - S[start + START.FIRST]
    if nodes <= FEW_NODES:
        store_few(A, S, bitmap, starts, rows, table)
    else:
        store_tokens(A, H, S, bitmap, table)
    A[table + TABLE.BLOCKS] = region(A, GREEDY_BLOCK.WORDS * blocks)
    A[table + TABLE.N_BLOCKS] = blocks
    row = order_rows(S, rows, stop, blocks)
    last = row + stop - rows
    set_top(S, max(stop, last))
    while row < last:
        row = store_named_block(A, H, S, row, last, greedy_block_at(A, table, S[row + ROW.NUMBER]))
    return table
