"""What tokens do with the lexemes in progress, in the arena: blocks of trie nodes, and sets of tokens.

The idea: a walk (kernels/lineups.py) pushes a row (block, key, node, left) for each node where something is to be asked
of the parser, and sets the bits of the tokens where nothing is. Here rows are sorted and stored by block, and read
again for a walk that takes over most of them.

    inside   [base, n, tokens at, bitmap or 0, blocks at, m]     base: the inside of the first lexer state alone, or 0
    block    [i, t, ends, n, restarts, n, runs, n, forks, n]     runs: [byte, n, nodes at], forks: [byte, node, LEFT]
    TOKENSET(words of a bitmap)        equal sets of many tokens are one

Cost: linear in rows; a bitmap has a bit for each token of the vocabulary. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.arena import (
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
PAIR, ENDED_AS, ENDS, RESTARTS, RUNS, FORKS, BLOCK = 0, 1, 2, 4, 6, 8, 10  # each table's size is in the next word
MAX_PAIRS = 6
RESTART, END, FORK, NAME = 256, 257, 258, 514  # keys of rows; an exit's is its byte, a fork's FORK + its byte
KEYS = 515
FEW_ROWS = 64  # rows that are sorted in place


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


@kernel("i(arena, i, i, i)")
def order_rows(S, rows, stop, blocks):
    """Sort rows by block, key and node; where they are then.

    A counting sort, where rows are many: keys are few.
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
    return sorted_rows


@kernel("i(arena, arena, i, i, i, i)")
def store_nodes(A, S, row, stop, block, key):
    """Store the nodes of the sorted rows with this block and key, from `row` on: [where, n] at `block`; the next
    row."""
    end = row
    while end < stop and S[end] == S[row] and S[end + 1] == key:
        end += 4
    nodes = region(A, (end - row) // 4)
    A[block] = nodes
    A[block + 1] = (end - row) // 4
    for k in range(row, end, 4):
        A[nodes] = S[k + 2]
        nodes += 1
    return end


@kernel("i(arena, arena, i, i, i)")
def store_block(A, S, row, stop, block):
    """Store the sorted rows of one block, from `row` on; the next row."""
    number = np.int64(S[row])
    runs = 0
    forks = 0
    end = row
    while end < stop and S[end] == number:
        if FORK <= S[end + 1] < NAME:
            forks += 1
        elif S[end + 1] < 256 and (end == row or S[end + 1] != S[end - 3]):
            runs += 1
        end += 4
    run = region(A, 3 * runs)
    A[block + RUNS] = run
    A[block + RUNS + 1] = runs
    fork = region(A, 3 * forks)
    A[block + FORKS] = fork
    A[block + FORKS + 1] = forks
    while row < end:
        key = np.int64(S[row + 1])
        if key < 256:
            A[run] = key
            where = region(A, 2)
            row = store_nodes(A, S, row, end, where, key)
            A[run + 1] = A[where + 1]
            A[run + 2] = A[where]
            run += 3
        elif key == RESTART or key == END:
            row = store_nodes(A, S, row, end, block + (RESTARTS if key == RESTART else ENDS), key)
        elif key == NAME:
            A[block + PAIR] = S[row + 2]
            A[block + ENDED_AS] = S[row + 3]
            row += 4
        else:
            A[fork] = key - FORK
            A[fork + 1] = S[row + 2]
            A[fork + 2] = S[row + 3]
            fork += 3
            row += 4
    return end


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
        keep_nodes(A, S, number, END, A[block + ENDS], A[block + ENDS + 1])
        keep_nodes(A, S, number, RESTART, A[block + RESTARTS], A[block + RESTARTS + 1])
        for run in range(A[block + RUNS], A[block + RUNS] + 3 * A[block + RUNS + 1], 3):
            keep_nodes(A, S, number, A[run], A[run + 2], A[run + 1])
        for fork in range(A[block + FORKS], A[block + FORKS] + 3 * A[block + FORKS + 1], 3):
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
def store_few(A, S, bitmap, first, stop, where):
    """As `store_tokens`, if all are tokens of the nodes first..stop-1."""
    count = 0
    while True:  # count, then write
        out = np.int64(A[where + 1]) if count > 0 else 0
        for i in range(first, stop):
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
