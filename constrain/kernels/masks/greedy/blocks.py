"""What tokens do with the lexemes in progress, in the arena: blocks of trie nodes, and sets of tokens.

The idea: a walk (lexer_lists.py) pushes a row (block, key, node, left) for each node where something is to be asked
of the parser, and sets the bits of the tokens where nothing is. Here rows are sorted and stored by block, and read
again for a walk that takes over most of them.

    inside   [base, n, tokens at, bitmap or 0, blocks at, m]     base: the inside of the first lexer state alone, or 0
    block    [i, t, ends, n, CONTENT or 0]
    CONTENT(k, m, f, k nodes: restarts, m runs: byte, n, n nodes, f forks: byte, node, LEFT)
    TOKENSET(words of a bitmap)        equal sets of many tokens are one

A block says of which lexeme it is, and its content where the next one begins. Contents of many blocks are the same.

Cost: linear in rows; a bitmap has a bit for each token of the vocabulary. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.records.arena import (
    CONTENT,
    KEY,
    LEFT,
    N_TOKENS,
    NEXT_SAME,
    NODE_SEEN,
    SERIAL,
    TOKENSET,
    TRIE,
    intern,
    intern_list,
    push,
    region,
    reserve,
    room,
    size,
    sort_groups,
)

MARK, NUMBERS = 1, 2  # memo words of TAGSET: serial of the walk that saw it; region: 1 + number of its block, by pair
BASE, N_INNER, INNER, INNER_BITS, BLOCKS, N_BLOCKS, HEAD = 0, 1, 2, 3, 4, 5, 6
PAIR, ENDED_AS, ENDS, N_ENDS, CONTENT_OF, BLOCK = 0, 1, 2, 3, 4, 5
N_RESTARTS, N_RUNS, N_FORKS, RESTARTS = KEY, KEY + 1, KEY + 2, KEY + 3  # of CONTENT
MAX_PAIRS = 6
RESTART, END, FORK, NAME = 256, 257, 258, 514  # keys of rows; an exit's is its byte, a fork's FORK + its byte
KEYS = 515
FEW_ROWS = 64  # rows that are sorted in place
FEW_NODES = 1024  # nodes of subtrees whose tokens are looked through one by one


@kernel("void(arena, arena, i, i)")
def set_tokens(A, S, bitmap, token):
    """Set the bits of a token and those with the same bytes."""
    while token >= 0:
        S[bitmap + (token >> 5)] |= np.int32(np.uint32(1) << np.uint32(token & 31))
        token = np.int64(A[A[NEXT_SAME] + token])


@kernel("void(arena, i, i, i, i)")
def push_row(S, block, key, node, left):
    push(S, block)
    push(S, key)
    push(S, node)
    push(S, left)


@kernel("i(arena, arena, i, i)")
def block_number(A, S, frame, n):
    """The number of the block for the lexeme that ended in a frame; n, and a row that names it, if it is new."""
    i = np.int64(S[frame + 1])
    t = np.int64(S[frame + 2])
    if A[t + MARK] != A[SERIAL]:
        A[t + NUMBERS] = region(A, MAX_PAIRS)
        A[t + MARK] = A[SERIAL]
    at = np.int64(A[t + NUMBERS]) + i
    if A[at] == 0:
        A[at] = n + 1
        push_row(S, n, NAME, i, t)
    return np.int64(A[at]) - 1


@kernel("void(arena, i, i)")
def order_nodes(S, rows, stop):
    """Sort the rows that have the same block and key by node."""
    first = rows
    while first < stop:
        end = first + 4
        ordered = True
        while end < stop and S[end] == S[first] and S[end + 1] == S[first + 1]:
            ordered = ordered and S[end - 2] < S[end + 2]
            end += 4
        if not ordered:
            sort_groups(S, first, end, 4)
        first = end


@kernel("i(arena, i, i, i)")
def order_rows(S, rows, stop, blocks):
    """Sort rows by block, key and node; where they are then.

    A counting sort by block and key, where rows are many: keys are few.
    """
    if stop - rows <= 4 * FEW_ROWS:
        sort_groups(S, rows, stop, 4)
        return rows
    room(S, blocks * KEYS + stop - rows + 8)
    table = stop
    sorted_rows = table + blocks * KEYS
    for k in range(table, sorted_rows):
        S[k] = 0
    for row in range(rows, stop, 4):
        S[table + S[row] * KEYS + S[row + 1]] += 4
    at = sorted_rows
    for k in range(table, sorted_rows):
        count = np.int64(S[k])
        S[k] = at
        at += count
    for row in range(rows, stop, 4):
        key = table + S[row] * KEYS + S[row + 1]
        for w in range(4):
            S[S[key] + w] = S[row + w]
        S[key] += 4
    order_nodes(S, sorted_rows, at)
    return sorted_rows


@kernel("i(arena, i, i)")
def end_of_key(S, row, stop):
    """The first of the sorted rows behind `row` that has another block or key."""
    end = row
    while end < stop and S[end] == S[row] and S[end + 1] == S[row + 1]:
        end += 4
    return end


@kernel("void(arena, i, i)")
def push_nodes(S, row, end):
    """Push the nodes of rows."""
    for k in range(row, end, 4):
        push(S, S[k + 2])


@kernel("i(arena, arena, arena, i, i, i)")
def store_content(A, H, S, row, stop, block):
    """Store the rows of one block, sorted, but its ends and its name; the row behind them."""
    start = np.int64(S[0])
    for _ in range(3):
        push(S, 0)
    number = np.int64(S[row])
    restarts = row
    while restarts < stop and S[restarts] == number and S[restarts + 1] < RESTART:
        restarts = end_of_key(S, restarts, stop)
    end = restarts
    if restarts < stop and S[restarts] == number and S[restarts + 1] == RESTART:
        end = end_of_key(S, restarts, stop)
    S[start] = (end - restarts) >> 2
    push_nodes(S, restarts, end)
    while row < restarts:
        last = end_of_key(S, row, stop)
        S[start + 1] += 1
        push(S, S[row + 1])
        push(S, (last - row) >> 2)
        push_nodes(S, row, last)
        row = last
    row = end
    while row < stop and S[row] == number and S[row + 1] < NAME:
        if S[row + 1] == END:
            last = end_of_key(S, row, stop)
            A[block + N_ENDS] = (last - row) >> 2
            A[block + ENDS] = region(A, A[block + N_ENDS])
            for k in range(A[block + N_ENDS]):
                A[A[block + ENDS] + k] = S[row + 4 * k + 2]
            row = last
            continue
        S[start + 2] += 1
        push(S, S[row + 1] - FORK)
        push(S, S[row + 2])
        push(S, S[row + 3])
        row += 4
    if S[0] == start + 3:
        S[0] = start
    else:
        A[block + CONTENT_OF] = intern_list(A, H, S, CONTENT, start)
    return row


@kernel("i(arena, arena, arena, i, i, i)")
def store_block(A, H, S, row, stop, block):
    """Store the sorted rows of one block, from `row` on; the next row."""
    number = np.int64(S[row])
    row = store_content(A, H, S, row, stop, block)
    if row < stop and S[row] == number:
        A[block + PAIR] = S[row + 2]
        A[block + ENDED_AS] = S[row + 3]
        row += 4
    return row


@kernel("void(arena, arena, i, i, i, i)")
def keep_nodes(A, S, number, key, nodes, n):
    """Push a row for each of the nodes A[nodes : nodes + n] without a mark."""
    mark = (A[SERIAL] & 0xFFFFFFF) * 4 + 3
    for k in range(nodes, nodes + n):
        if A[A[NODE_SEEN] + A[k]] != mark:
            push_row(S, number, key, A[k], 0)


@kernel("i(arena, arena, arena, i, i)")
def shifted(A, H, S, left, shift):
    """LEFT with its pairs counted from `shift` on."""
    if shift == 0:
        return left
    start = np.int64(S[0])
    for i in range(left + KEY, left + KEY + size(A, left), 2):
        push(S, A[i] + shift)
        push(S, A[i + 1])
    return intern_list(A, H, S, LEFT, start)


@kernel("i(arena, arena, arena, i, i, i, i)")
def keep_rows(A, H, S, head, frame, blocks, shift):
    """Push the rows of an inside whose nodes have no mark; the number of blocks then.

    frame: room for one. shift: the number of its first pair in the list that the rows are for.
    """
    mark = (A[SERIAL] & 0xFFFFFFF) * 4 + 3
    for block in range(A[head + BLOCKS], A[head + BLOCKS] + BLOCK * A[head + N_BLOCKS], BLOCK):
        S[frame + 1] = A[block + PAIR] + shift
        S[frame + 2] = A[block + ENDED_AS]
        number = block_number(A, S, frame, blocks)
        blocks = max(blocks, number + 1)
        keep_nodes(A, S, number, END, A[block + ENDS], A[block + N_ENDS])
        content = np.int64(A[block + CONTENT_OF])
        if content == 0:
            continue
        at = content + RESTARTS
        keep_nodes(A, S, number, RESTART, at, A[content + N_RESTARTS])
        at += A[content + N_RESTARTS]
        for _ in range(A[content + N_RUNS]):
            keep_nodes(A, S, number, A[at], at + 2, A[at + 1])
            at += 2 + A[at + 1]
        for fork in range(at, at + 3 * A[content + N_FORKS], 3):
            if A[A[NODE_SEEN] + A[fork + 1]] != mark:
                push_row(S, number, FORK + A[fork], A[fork + 1], shifted(A, H, S, A[fork + 2], shift))
    return blocks


@kernel("i(arena, arena, arena, i)")
def store_bitmap(A, H, S, bitmap):
    """The words of the TOKENSET record of S[bitmap ...]."""
    words = (A[N_TOKENS] + 31) >> 5
    top = reserve(A, KEY + words)
    kept, bits = A[top + KEY : top + KEY + words], S[bitmap : bitmap + words]
    for w in range(kept.size):
        kept[w] = bits[w]
    return intern(A, H, TOKENSET, words) + KEY


@kernel("i(i)")
def count_bits(bits):
    n = 0
    while bits != 0:
        bits &= bits - 1
        n += 1
    return n


@kernel("void(arena, arena, i, i)")
def list_tokens(A, S, bitmap, out):
    """Write the tokens of a bitmap to A[out] and on."""
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    bits = S[bitmap : bitmap + words]
    for group in range(0, words, 16):
        stop = min(group + 16, words)
        some = 0
        for w in range(group, stop):  # PERF: most groups are empty, and this loop is vectorised
            some |= bits[w]
        if some != 0:
            for w in range(group, stop):
                left = np.int64(bits[w]) & 0xFFFFFFFF
                token = w * 32
                while left != 0:
                    if left & 1:
                        A[out] = token
                        out += 1
                    left >>= 1
                    token += 1


@kernel("i(arena, arena, arena, i, i)")
def store_tokens(A, H, S, bitmap, where):
    """Store a set of tokens as [n, tokens at, bitmap or 0] at A[where]: a list if that is much shorter, else a bitmap.

    PERF: a bitmap is read at 16 words an instruction, a list at one bit.
    """
    words = (A[N_TOKENS] + 31) >> 5
    count = 0
    for w in range(words):
        if S[bitmap + w] != 0:
            count += count_bits(np.int64(S[bitmap + w]) & 0xFFFFFFFF)
    if 4 * count >= words:
        A[where + 2] = store_bitmap(A, H, S, bitmap)
        return 0
    out = region(A, count)
    A[where] = count
    A[where + 1] = out
    list_tokens(A, S, bitmap, out)
    return 0


@kernel("void(arena, arena, i, i, i, i)")
def store_few(A, S, bitmap, starts, stop, where):
    """As `store_tokens`, if all are tokens of the nodes that S[starts:stop] lists, pairs (first, behind the last)."""
    count = 0
    while True:  # count, then write
        out = np.int64(A[where + 1]) if count > 0 else 0
        for start in range(starts, stop, 2):
            for i in range(S[start], S[start + 1]):
                token = np.int64(A[A[TRIE] + 3 * i + 2])
                while token >= 0:
                    if (S[bitmap + (token >> 5)] >> (token & 31)) & 1 != 0:
                        if out != 0:
                            A[out] = token
                            out += 1
                        else:
                            count += 1
                    token = np.int64(A[A[NEXT_SAME] + token])
        if out != 0 or count == 0:
            break
        A[where] = count
        A[where + 1] = region(A, count)


@kernel("void(arena, arena, i, i)")
def add_inner(A, S, head, bitmap):
    """Set the tokens inside."""
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    if A[head + INNER_BITS] != 0:
        inner = A[A[head + INNER_BITS] : A[head + INNER_BITS] + words]
        out = S[bitmap : bitmap + words]  # slices: such a loop is vectorised
        for w in range(words):
            out[w] |= inner[w]
    for k in range(A[head + INNER], A[head + INNER] + A[head + N_INNER]):
        S[bitmap + (A[k] >> 5)] |= np.int32(np.uint32(1) << np.uint32(A[k] & 31))


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def store_inside(A, H, S, base, bitmap, starts, rows, blocks):
    """The inside of a walk: tokens in the bitmap, rows S[rows : S[0]]. Leaves words on the stack.

    Tokens are those of the nodes that S[starts:rows] lists, pairs (first, behind the last).
    """
    stop = np.int64(S[0])
    head = region(A, HEAD)
    A[head + BASE] = base
    nodes = 0
    for start in range(starts, rows, 2):
        nodes += S[start + 1] - S[start]
    if nodes <= FEW_NODES:
        store_few(A, S, bitmap, starts, rows, head + N_INNER)
    else:
        store_tokens(A, H, S, bitmap, head + N_INNER)
    A[head + BLOCKS] = region(A, BLOCK * blocks)
    A[head + N_BLOCKS] = blocks
    row = order_rows(S, rows, stop, blocks)
    last = row + stop - rows
    S[0] = max(stop, last)
    while row < last:
        row = store_block(A, H, S, row, last, A[head + BLOCKS] + BLOCK * S[row])
    return head
