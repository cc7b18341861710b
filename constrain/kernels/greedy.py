"""Token masks under the greedy lexer.

The idea: a configuration is a list of pairs (parser state, lexer state), the longest lexeme in progress first. Which
tokens can be read from the lexer states alone, and where a lexeme ends on the way, does not depend on the parser:
`inside(node, lexers)` walks the trie below a node once for a list of lexer states (a LINEUP), and is remembered.

* the tokens after which some lexeme is in progress;
* for each pair i and set t of terminals that its lexeme may end as: the *ends*, nodes of tokens that end with it; the
  *restarts*, nodes where it has ended and cannot go on, so that the next lexeme begins below; the *exits*, nodes whose
  byte the lexeme does not take, so that the next lexeme begins with it; and the *forks*, nodes whose byte the lexeme
  does take without ending again, so that it may be the next lexeme's after all (LEFT: the pairs in progress there).

A longer match drops what began after a shorter one: there nothing is to be asked. A mask is then the tokens inside,
and for each of these places what the lexer states of the next lexeme say, by the same means. Few configurations are
made on the way, and where a subtree is small it is simply walked.

Of the trie's root the child with the largest subtree (a space, in most vocabularies) is a start of its own (HUB):
what follows a space hardly depends on what was before it.

    LINEUP(node + 1, lexer state...)   node -1: the root without the hub     memo: inside
    LEFT(i, lexer state, ...)
    TOKENSET(words of a bitmap)        of masks: those of many configurations are equal
    inside   [base, n, tokens at, bitmap or 0, blocks at, m]     base: the inside of the first lexer state alone, or 0
    block    [i, t, ends, n, restarts, n, runs, n, forks, n]     runs: [byte, n, nodes at], forks: [byte, node, LEFT]

Cost: a few microseconds and the look-ups of the next lexemes if the inside is known; a walk of the trie, about 20 ns a
node, if not. Twin: tests/naive_mask.py.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.arena import (
    CONFIG,
    DEPTH,
    EOS,
    HUB,
    KEY,
    LEFT,
    LINEUP,
    N_EOS,
    N_INSIDE,
    N_NODES,
    N_TOKENS,
    N_VISITED,
    N_WALKS,
    NEXT_SAME,
    NO_TAGS,
    NONE,
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
)
from constrain.kernels.configurations import (
    accepts,
    peek_configuration,
    push_fresh,
    step_configuration,
    whole,
)
from constrain.kernels.earley import LEXER, scan
from constrain.kernels.expressions import continues, peek, step, tags

INSIDE = 1  # memo word of LINEUP
MARK, NUMBERS = 1, 2  # memo words of TAGSET: serial of the walk that saw it; region: 1 + number of its block, by pair
BASE, N_INNER, INNER, INNER_BITS, BLOCKS, N_BLOCKS, HEAD = 0, 1, 2, 3, 4, 5, 6
PAIR, ENDED_AS, ENDS, RESTARTS, RUNS, FORKS, BLOCK = 0, 1, 2, 4, 6, 8, 10  # each table's size is in the next word
MAX_PAIRS = 6
FRAME = 3 + 2 * MAX_PAIRS  # n pairs in progress; (i, t) of a lexeme that has ended, t = NO_TAGS: none; the pairs
RESTART, END, FORK, NAME = 256, 257, 258, 514  # keys of rows; an exit's is its byte, a fork's FORK + its byte
KEYS = 515
SMALL = 48  # nodes of a subtree that is walked with configurations
HUB_SHARE = 8  # the hub has at least 1/8 of all nodes


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


# --- the inside of a lineup -------------------------------------------------------------------------------------------


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


@kernel("i(arena, i, i, i)")
def order_rows(S, rows, stop, blocks):
    """Sort rows by block and key, keeping the order of nodes, to above `stop`; where they begin.

    A counting sort: rows are many, keys are few.
    """
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


@kernel("i(arena, arena, arena, i, i)")
def make_inside(A, H, S, lineup, base):
    """The inside of a LINEUP; base: that of its first lexer state alone, if there are more."""
    node = np.int64(A[lineup + KEY]) - 1
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    A[SERIAL] += 1
    A[N_INSIDE] += 1
    bitmap = np.int64(S[0])
    frames = bitmap + words
    above = words + FRAME * (A[DEPTH] + 2)
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
    blocks = walk_lineup(A, H, S, node, frames, bitmap, 1 if base != 0 else 0, hub(A) if node < 0 else -1)
    stop = np.int64(S[0])
    head = region(A, HEAD)
    A[head + BASE] = base
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


@kernel("i(arena, arena, arena, i, i, i)")
def lineup_of(A, H, S, node, c, n):
    """The LINEUP of the first n lexer states of a configuration."""
    start = np.int64(S[0])
    push(S, node + 1)
    for i in range(c + KEY + 2, c + KEY + 1 + 2 * n, 2):
        push(S, A[i])
    return intern_list(A, H, S, LINEUP, start)


@kernel("i(arena, arena, arena, i, i)")
def inside(A, H, S, node, c):
    """The inside of a configuration's lexer states below a node."""
    n = (size(A, c) - 1) // 2
    lineup = lineup_of(A, H, S, node, c, n)
    if A[lineup + INSIDE] != 0:
        return np.int64(A[lineup + INSIDE])
    base = np.int64(0)
    if n > 1:
        first = lineup_of(A, H, S, node, c, 1)
        base = np.int64(A[first + INSIDE]) if A[first + INSIDE] != 0 else make_inside(A, H, S, first, 0)
    return make_inside(A, H, S, lineup, base)


# --- masks ------------------------------------------------------------------------------------------------------------


@kernel("void(arena, arena, arena, i, i, i, i)")
def walk(A, H, S, node, c, bitmap, states):
    """Set the tokens below a node that keep the configuration c alive."""
    trie = np.int64(A[TRIE])
    i = node + 1
    stop = np.int64(A[trie + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
    S[states + (np.int64(A[trie + 3 * node]) >> 8 if node >= 0 else 0)] = c
    visited = 0
    while i < stop:
        word = A[trie + 3 * i]
        here = states + (word >> 8)
        d = np.int64(peek_configuration(A, S[here - 1], word & 255))
        if d == 0:
            d = step_configuration(A, H, S, S[here - 1], word & 255)
        visited += 1
        if d == NONE:
            i = np.int64(A[trie + 3 * i + 1])
            continue
        S[here] = d
        set_tokens(A, S, bitmap, A[trie + 3 * i + 2])
        i += 1
    A[N_VISITED] += visited


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


@kernel("i(arena, arena, arena, i, i)")
def fresh_as(A, H, S, grammar, p):
    """The configuration of a grammar at the beginning of a lexeme in the parser state p."""
    start = np.int64(S[0])
    push(S, grammar)
    push_fresh(A, H, S, p)
    return intern_list(A, H, S, CONFIG, start)


@kernel("i(arena, arena, arena, i, i, i)")
def forked(A, H, S, c, left, d):
    """The configuration of the pairs LEFT of c, and after them those of d."""
    start = np.int64(S[0])
    push(S, A[c + KEY])
    for k in range(left + KEY, left + KEY + size(A, left), 2):
        push(S, A[c + KEY + 1 + 2 * A[k]] & ~1)
        push(S, A[k + 1])
    for k in range(d + KEY + 1, d + KEY + size(A, d)):
        push(S, A[k])
    return intern_list(A, H, S, CONFIG, start)


@kernel("void(arena, i, i)")
def push_place(S, node, c):
    """A place to go on from: a node, and the configuration there."""
    push(S, node)
    push(S, c)


@kernel("i(arena, arena, arena, i, i, i)")
def add_next(A, H, S, block, c, bitmap):
    """Set the tokens with which a lexeme ends as the block says; push the places where the next lexeme goes on."""
    trie = np.int64(A[TRIE])
    more = A[block + RESTARTS + 1] + A[block + RUNS + 1] + A[block + FORKS + 1]
    if A[block + ENDS + 1] + more == 0:
        return 0
    q = scan(A, H, S, A[c + KEY + 1 + 2 * A[block + PAIR]] >> 1, A[block + ENDED_AS])
    if q == 0:  # as what a terminal excludes
        return 0
    for i in range(A[block + ENDS], A[block + ENDS] + A[block + ENDS + 1]):
        set_tokens(A, S, bitmap, A[trie + 3 * A[i] + 2])
    if more == 0:
        return 0
    f = fresh_as(A, H, S, A[c + KEY], q)
    for i in range(A[block + RESTARTS], A[block + RESTARTS] + A[block + RESTARTS + 1]):
        push_place(S, A[i], f)
    for run in range(A[block + RUNS], A[block + RUNS] + 3 * A[block + RUNS + 1], 3):
        if step(A, H, S, A[q + LEXER], A[run]) == NONE:
            continue
        for i in range(A[run + 2], A[run + 2] + A[run + 1]):
            node = np.int64(A[i])
            set_tokens(A, S, bitmap, A[trie + 3 * node + 2])
            if A[trie + 3 * node + 1] > node + 1:
                push_place(S, node, step_configuration(A, H, S, f, A[run]))
    for fork in range(A[block + FORKS], A[block + FORKS] + 3 * A[block + FORKS + 1], 3):
        node = np.int64(A[fork + 1])
        if A[trie + 3 * node + 1] > node + 1 and step(A, H, S, A[q + LEXER], A[fork]) != NONE:
            d = step_configuration(A, H, S, f, A[fork])
            push_place(S, node, forked(A, H, S, c, A[fork + 2], d))
    return 0


@kernel("void(arena, arena, arena, i, i, i)")
def gather(A, H, S, bottom, bitmap, states):
    """Set the tokens that may be read at the places S[bottom : S[0]], pairs (node, configuration), below each node; of
    the root, but for the hub. Pops them."""
    while S[0] > bottom:
        S[0] -= 2
        node = np.int64(S[S[0]])
        c = np.int64(S[S[0] + 1])
        stop = np.int64(A[A[TRIE] + 3 * node + 1]) if node >= 0 else np.int64(A[N_NODES])
        if stop - node <= SMALL or size(A, c) > 1 + 2 * MAX_PAIRS:
            A[N_WALKS] += 1
            walk(A, H, S, node, c, bitmap, states)
            continue
        c = whole(A, H, S, c)
        head = inside(A, H, S, node, c)
        while head != 0:
            add_inner(A, S, head, bitmap)
            for n in range(A[head + N_BLOCKS]):
                add_next(A, H, S, A[head + BLOCKS] + BLOCK * n, c, bitmap)
            head = np.int64(A[head + BASE])


@kernel("i(arena, arena, arena, i)")
def greedy_mask(A, H, S, c):
    """The mask record of a configuration under the greedy lexer: [bitmaps, ..., n, tokens...], as in masks.py."""
    words = np.int64((A[N_TOKENS] + 31) >> 5)
    bitmap = np.int64(S[0])
    states = bitmap + words
    room(S, words + A[DEPTH] + 8)
    S[bitmap : bitmap + words] = 0
    S[0] = states + A[DEPTH] + 8
    bottom = np.int64(S[0])
    push_place(S, -1, c)
    space = hub(A)
    if space >= 0:
        d = step_configuration(A, H, S, c, A[A[TRIE] + 3 * space] & 255)
        if d != NONE:
            set_tokens(A, S, bitmap, A[A[TRIE] + 3 * space + 2])
            push_place(S, space, d)
    gather(A, H, S, bottom, bitmap, states)
    if accepts(A, H, S, c):
        for i in range(A[EOS], A[EOS] + A[N_EOS]):
            S[bitmap + (A[i] >> 5)] |= np.int32(np.uint32(1) << np.uint32(A[i] & 31))
    found = region(A, 3)
    store_tokens(A, H, S, bitmap, found)
    n = np.int64(A[found])
    if A[found + 2] != 0:
        A[found + 1] = A[found + 2]
        A[found] = 1
        A[found + 2] = 0
    else:
        record = region(A, 2 + n)
        A[record + 1] = n
        for k in range(n):
            A[record + 2 + k] = A[A[found + 1] + k]
        found = record
    S[0] = bitmap
    return found
