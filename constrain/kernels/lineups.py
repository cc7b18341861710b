"""Insides of lineups: what tokens do as long as the lexemes in progress are the same, under the greedy lexer.

The idea: which tokens can be read from a list of lexer states (a LINEUP), and where a lexeme ends on the way, does not
depend on the parser. `inside(node, lexers)` walks the trie below a node once for a lineup, and is remembered:

* the tokens after which some lexeme is in progress;
* for each pair i and set t of terminals that its lexeme may end as: the *ends*, nodes of tokens that end with it; the
  *restarts*, nodes where it has ended and cannot go on, so that the next lexeme begins below; the *exits*, nodes whose
  byte the lexeme does not take, so that the next lexeme begins with it; and the *forks*, nodes whose byte the lexeme
  does take without ending again, so that it may be the next lexeme's after all (LEFT: the pairs in progress there).

A longer match drops what began after a shorter one: there nothing is to be asked.

Of the trie's root the child with the largest subtree (a space, in most vocabularies) is a start of its own (HUB):
what follows a space hardly depends on what was before it.

Lexer states differ in operators and keywords, and have the names in common. So where one part of a union takes nearly
every word (its *reference*), the inside of the part is taken over, and the trie is walked only where the union is in
another state than that part.

    LINEUP(node + 1, lexer state...)   node -1: the root without the hub     memo: inside, byte partition
    LEFT(i, lexer state, ...)
    TOKENSET(words of a bitmap)        of masks: those of many configurations are equal
    inside   [base, n, tokens at, bitmap or 0, blocks at, m]     base: the inside of the first lexer state alone, or 0
    block    [i, t, ends, n, restarts, n, runs, n, forks, n]     runs: [byte, n, nodes at], forks: [byte, node, LEFT]

Cost: a walk of the trie, about 20 ns a node that is visited. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.arena import (
    ALT,
    DEPTH,
    HUB,
    KEY,
    LEFT,
    LINEUP,
    N_INSIDE,
    N_NODES,
    N_TOKENS,
    N_VISITED,
    NEXT_SAME,
    NO_TAGS,
    NODE_SEEN,
    NONE,
    SERIAL,
    TOKENSET,
    TRIE,
    intern,
    intern2,
    intern_list,
    kind,
    push,
    region,
    reserve,
    room,
    size,
    sort_groups,
)
from constrain.kernels.expressions import continues, peek, step, tags

INSIDE = 1  # memo word of LINEUP
MARK, NUMBERS = 1, 2  # memo words of TAGSET: serial of the walk that saw it; region: 1 + number of its block, by pair
BASE, N_INNER, INNER, INNER_BITS, BLOCKS, N_BLOCKS, HEAD = 0, 1, 2, 3, 4, 5, 6
PAIR, ENDED_AS, ENDS, RESTARTS, RUNS, FORKS, BLOCK = 0, 1, 2, 4, 6, 8, 10  # each table's size is in the next word
MAX_PAIRS = 6
FRAME = 3 + 2 * MAX_PAIRS  # n pairs in progress; (i, t) of a lexeme that has ended, t = NO_TAGS: none; the pairs
STATE, REFERENCE, REFERENCE_ENDED = 4, 5, 6  # words of a frame of one pair: its state; its reference's, and tagset
RESTART, END, FORK, NAME = 256, 257, 258, 514  # keys of rows; an exit's is its byte, a fork's FORK + its byte
KEYS = 515
HUB_SHARE = 8  # the hub has at least 1/8 of all nodes
LARGE = 4096  # nodes of a subtree for which a reference is looked for
FEW_ROWS = 64  # rows that are sorted in place
FEW_NODES = 1024  # nodes of a subtree whose tokens are looked through one by one
MIN_ALIKE = 3  # small letters after which a state and its reference must be one


@kernel("void(arena, arena, i, i)")
def set_tokens(A, S, bitmap, token):
    """Set the bits of a token and those with the same bytes."""
    while token >= 0:
        S[bitmap + (token >> 5)] |= np.int32(np.uint32(1) << np.uint32(token & 31))
        token = np.int64(A[A[NEXT_SAME] + token])


@kernel("i(arena)")
def hub(A):
    """The root's child with the largest subtree, if it is large; else -1."""
    if A[HUB] == 0:
        best = -1
        most = np.int64(A[N_NODES]) // HUB_SHARE
        i = np.int64(0)
        while i < A[N_NODES]:
            end = np.int64(A[A[TRIE] + 3 * i + 1])
            if end - i > most:
                best = i
                most = end - i
            i = end
        A[HUB] = best + 1 if best >= 0 else -1
    return np.int64(A[HUB]) - 1 if A[HUB] > 0 else np.int64(-1)


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


@kernel("i(arena, arena, arena, i, i, i)")
def step_lineup(A, H, S, before, after, b):
    """The frame after byte b, by the rules of `step_greedy`; 1 if a lexeme ended here."""
    n = 0
    S[after + 2] = NO_TAGS
    for k in range(S[before]):
        e = np.int64(peek(A, S[before + 4 + 2 * k], b))
        if e == 0:
            e = step(A, H, S, S[before + 4 + 2 * k], b)
        if e == NONE:
            continue
        if continues(A, e):
            S[after + 3 + 2 * n] = S[before + 3 + 2 * k]
            S[after + 4 + 2 * n] = e
            n += 1
        t = tags(A, H, S, e)
        if t != NO_TAGS:
            S[after + 1] = S[before + 3 + 2 * k]
            S[after + 2] = t
            S[after] = n
            return 1
    S[after] = n
    return 0


@kernel("i(arena, arena, arena, i, i)")
def left_of(A, H, S, frame, n):
    """The LEFT record of the n pairs of a frame."""
    start = np.int64(S[0])
    for w in range(2 * n):
        push(S, S[frame + 3 + w])
    return intern_list(A, H, S, LEFT, start)


@kernel("i(arena, arena, arena, i, i, i, i, i)")
def walk_lineup(A, H, S, node, frames, bitmap, has_base, skip):
    """Walk the trie below a node from the lexer states in the frame of its depth; set bits, push rows.

    has_base: what the first lexer state does alone is known, and left out where it is all that happens. skip: a node
    to leave out, with its subtree. Returns the number of blocks.
    """
    trie = np.int64(A[TRIE])
    i = node + 1
    stop = np.int64(A[trie + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    top = 1 + (np.int64(A[trie + 3 * node]) >> 8) if node >= 0 else np.int64(1)
    blocks = 0
    visited = 0
    while i < stop:
        end = np.int64(A[trie + 3 * i + 1])
        if i == skip:
            i = end
            continue
        word = np.int64(A[trie + 3 * i])
        b = word & 255
        after = frames + FRAME * (word >> 8)
        before = after - FRAME
        ended = step_lineup(A, H, S, before, after, b)
        n = np.int64(S[after])
        visited += 1
        if not ended and S[before + 2] != NO_TAGS:  # the byte may be the next lexeme's
            number = block_number(A, S, before, blocks)
            blocks = max(blocks, number + 1)
            push_row(S, number, b if n == 0 else FORK + b, i, left_of(A, H, S, after, n) if n > 0 else 0)
        if n == 0 and not ended:
            i = end
            continue
        if has_base and word >> 8 == top:
            first = S[after + 1] if n == 0 else S[after + 3]
            if first == 0 and (S[after + 1] == 0 if ended else n == 1):
                i = end
                continue
        if n > 0:
            set_tokens(A, S, bitmap, A[trie + 3 * i + 2])
            i += 1
            continue
        number = block_number(A, S, after, blocks)
        blocks = max(blocks, number + 1)
        if A[trie + 3 * i + 2] >= 0:
            push_row(S, number, END, i, 0)
        if end > i + 1:
            push_row(S, number, RESTART, i, 0)
        i = end
    A[N_VISITED] += visited
    return blocks


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


# A union and its reference: the reference is a part of the union, so what it has inside, the union has too.


@kernel("i(arena, arena, arena, i, i)")
def reference_of(A, H, S, node, lexer):
    """The part of a union that takes most words, if the union takes them the same way; else 0."""
    stop = np.int64(A[A[TRIE] + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    if kind(A, lexer) != ALT or stop - node < LARGE:
        return 0
    best = 0
    most = MIN_ALIKE - 1
    for i in range(lexer + KEY, lexer + KEY + size(A, lexer)):
        part = np.int64(A[i])
        if step(A, H, S, part, 0x71) == NONE or step(A, H, S, part, 0x7A) == NONE:  # q and z: few keywords begin so
            continue
        n = 0
        for letter in range(0x61, 0x7B):
            if step(A, H, S, part, letter) == step(A, H, S, lexer, letter):
                n += 1
        if n > most:
            best = part
            most = n
    return best


@kernel("i(arena, arena, arena, i, i, i, i)")
def walk_union(A, H, S, node, frames, bitmap, skip):
    """As `walk_lineup`, for one lexer state, but only where it is in another state than its reference.

    Marks the nodes where the reference's rows no longer count, as `walk_difference` does (masks.py).
    """
    mark = (A[SERIAL] & 0xFFFFFFF) * 4 + 3
    trie = np.int64(A[TRIE])
    i = node + 1
    stop = np.int64(A[trie + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    blocks = 0
    visited = 0
    while i < stop:
        end = np.int64(A[trie + 3 * i + 1])
        if i == skip:
            i = end
            continue
        word = np.int64(A[trie + 3 * i])
        b = word & 255
        after = frames + FRAME * (word >> 8)
        before = after - FRAME
        e = step(A, H, S, S[before + STATE], b)
        r = step(A, H, S, S[before + REFERENCE], b) if S[before + REFERENCE] != NONE else NONE
        t = tags(A, H, S, e)
        visited += 1
        if e == r and (t != NO_TAGS or S[before + 2] == S[before + REFERENCE_ENDED]):
            i = end
            continue
        A[A[NODE_SEEN] + i] = mark
        n = 1 if continues(A, e) else 0
        S[after] = n
        S[after + 1] = 0
        S[after + 2] = t
        S[after + 3] = 0
        S[after + STATE] = e
        S[after + REFERENCE] = r
        S[after + REFERENCE_ENDED] = tags(A, H, S, r)
        if t == NO_TAGS and S[before + 2] != NO_TAGS:
            number = block_number(A, S, before, blocks)
            blocks = max(blocks, number + 1)
            push_row(S, number, b if n == 0 else FORK + b, i, left_of(A, H, S, after, n) if n > 0 else 0)
        if n > 0:
            set_tokens(A, S, bitmap, A[trie + 3 * i + 2])
            i += 1
            continue
        if t != NO_TAGS:
            number = block_number(A, S, after, blocks)
            blocks = max(blocks, number + 1)
            if A[trie + 3 * i + 2] >= 0:
                push_row(S, number, END, i, 0)
            if end > i + 1:
                push_row(S, number, RESTART, i, 0)
        i = end
    A[N_VISITED] += visited
    return blocks


@kernel("void(arena, arena, i, i, i, i)")
def keep_nodes(A, S, number, key, nodes, n):
    """Push a row for each of the nodes A[nodes : nodes + n] without a mark."""
    mark = (A[SERIAL] & 0xFFFFFFF) * 4 + 3
    for k in range(nodes, nodes + n):
        if A[A[NODE_SEEN] + A[k]] != mark:
            push_row(S, number, key, A[k], 0)


@kernel("i(arena, arena, i, i, i)")
def keep_rows(A, S, head, frame, blocks):
    """Push the rows of an inside whose nodes have no mark; the number of blocks then. frame: room for one."""
    mark = (A[SERIAL] & 0xFFFFFFF) * 4 + 3
    for block in range(A[head + BLOCKS], A[head + BLOCKS] + BLOCK * A[head + N_BLOCKS], BLOCK):
        S[frame + 1] = A[block + PAIR]
        S[frame + 2] = A[block + ENDED_AS]
        number = block_number(A, S, frame, blocks)
        blocks = max(blocks, number + 1)
        keep_nodes(A, S, number, END, A[block + ENDS], A[block + ENDS + 1])
        keep_nodes(A, S, number, RESTART, A[block + RESTARTS], A[block + RESTARTS + 1])
        for run in range(A[block + RUNS], A[block + RUNS] + 3 * A[block + RUNS + 1], 3):
            keep_nodes(A, S, number, A[run], A[run + 2], A[run + 1])
        for fork in range(A[block + FORKS], A[block + FORKS] + 3 * A[block + FORKS + 1], 3):
            if A[A[NODE_SEEN] + A[fork + 1]] != mark:
                push_row(S, number, FORK + A[fork], A[fork + 1], A[fork + 2])
    return blocks


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


@kernel("i(arena, arena, arena, i, i)")
def store_tokens(A, H, S, bitmap, where):
    """Store a set of tokens as [n, tokens at, bitmap or 0] at A[where]: a list if that is shorter, else a bitmap."""
    words = (A[N_TOKENS] + 31) >> 5
    count = 0
    for w in range(words):
        if S[bitmap + w] != 0:
            count += count_bits(np.int64(S[bitmap + w]) & 0xFFFFFFFF)
    if count >= words:
        A[where + 2] = store_bitmap(A, H, S, bitmap)
        return 0
    out = region(A, count)
    A[where] = count
    A[where + 1] = out
    for w in range(words):
        bits = np.int64(S[bitmap + w]) & 0xFFFFFFFF
        token = w * 32
        while bits != 0:
            if bits & 1:
                A[out] = token
                out += 1
            bits >>= 1
            token += 1
    return 0


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


@kernel("i(arena, arena, arena, i, i, i)")
def make_inside(A, H, S, lineup, base, reference):
    """The inside of a LINEUP. base: that of its first lexer state alone, if there are more; reference: a LINEUP whose
    inside is known, of a part of its only lexer state; 0: none."""
    node = np.int64(A[lineup + KEY]) - 1
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    A[SERIAL] += 1
    A[N_INSIDE] += 1
    bitmap = np.int64(S[0])
    frames = bitmap + words
    above = words + FRAME * (A[DEPTH] + 3)
    room(S, above)
    S[bitmap : bitmap + words] = 0
    S[0] = bitmap + above
    start = frames + (FRAME * (np.int64(A[A[TRIE] + 3 * node]) >> 8) if node >= 0 else 0)
    S[start] = size(A, lineup) - 1
    S[start + 2] = NO_TAGS
    for k in range(S[start]):
        S[start + 3 + 2 * k] = k
        S[start + 4 + 2 * k] = A[lineup + KEY + 1 + k]
    rows = np.int64(S[0])
    skip = hub(A) if node < 0 else np.int64(-1)
    if reference != 0:
        S[start + REFERENCE] = A[reference + KEY + 1]
        S[start + REFERENCE_ENDED] = NO_TAGS
        add_inner(A, S, A[reference + INSIDE], bitmap)
        blocks = walk_union(A, H, S, node, frames, bitmap, skip)
        blocks = keep_rows(A, S, A[reference + INSIDE], bitmap + above - FRAME, blocks)
    else:
        blocks = walk_lineup(A, H, S, node, frames, bitmap, 1 if base != 0 else 0, skip)
    stop = np.int64(S[0])
    head = region(A, HEAD)
    A[head + BASE] = base
    end = np.int64(A[A[TRIE] + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    if end - node <= FEW_NODES:
        store_few(A, S, bitmap, node + 1, end, head + N_INNER)
    else:
        store_tokens(A, H, S, bitmap, head + N_INNER)
    A[head + BLOCKS] = region(A, BLOCK * blocks)
    A[head + N_BLOCKS] = blocks
    row = order_rows(S, rows, stop, blocks)
    last = row + stop - rows
    while row < last:
        block = A[head + BLOCKS] + BLOCK * S[row]
        row = store_block(A, S, row, last, block)
    S[0] = bitmap
    A[lineup + INSIDE] = head
    return head


@kernel("i(arena, arena, arena, i, i)")
def inside_of_one(A, H, S, node, lexer):
    """The inside of one lexer state below a node."""
    lineup = intern2(A, H, LINEUP, node + 1, lexer)
    if A[lineup + INSIDE] == 0:
        part = reference_of(A, H, S, node, lexer)
        known = 0
        if part != 0:
            known = intern2(A, H, LINEUP, node + 1, part)
            if A[known + INSIDE] == 0:
                make_inside(A, H, S, known, 0, 0)
        make_inside(A, H, S, lineup, 0, known)
    return np.int64(A[lineup + INSIDE])


@kernel("i(arena, arena, arena, i, i)")
def inside(A, H, S, node, c):
    """The inside of a configuration's lexer states below a node."""
    if size(A, c) == 3:
        return inside_of_one(A, H, S, node, A[c + KEY + 2])
    start = np.int64(S[0])
    push(S, node + 1)
    for i in range(c + KEY + 2, c + KEY + size(A, c), 2):
        push(S, A[i])
    lineup = intern_list(A, H, S, LINEUP, start)
    if A[lineup + INSIDE] != 0:
        return np.int64(A[lineup + INSIDE])
    return make_inside(A, H, S, lineup, inside_of_one(A, H, S, node, A[c + KEY + 2]), 0)
