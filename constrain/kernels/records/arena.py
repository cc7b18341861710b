"""One arena of hash-consed records: expressions, rules, parser states and configurations all live here.

The idea: a *record* is a few int32 words in one growing array A, and its id is its offset. Records with equal keys are
one record (found through the open-addressing table H), so ids compare like values, states that mean the same have the
same id, and every answer can be remembered in the record itself. Nothing is ever changed but memo words, and those
only from "unknown" to their one true value: a kernel that stops half-way (no room) is simply run again.

    record:  A[r]                     kind | number of key words << KIND_BITS
             A[r + 1 .. r + MEMO]     memo words, 0 = unknown; their meaning depends on the kind
             A[r + KEY ...]           key words
    region:  any run of words that a memo word points to (rows, lists, masks); not hash-consed

S is a stack of scratch words: S[0] is the first free index, S[1] how far `advance_bytes` came; its last quarter is a
hash table.

Cost: a lookup is one hash of the key. Limit: 2^30 words (4 GiB) an arena. Kernels raise `ArenaFull`, `ScratchFull`
or `HashFull`; the owner (automata/store.py) makes room and calls again.
"""

from __future__ import annotations

import numpy as np

from constrain.kernels import kernel


class ArenaFull(Exception):
    """A has no room; A[NEED] says how many words were asked for."""


class HashFull(Exception):
    """H is more than half full."""


class ScratchFull(Exception):
    """S has no room."""


# header words of A
TOP, RECORDS, NEED, SERIAL = 0, 1, 2, 3
UNEXPANDED, N_UNEXPANDED = 4, 5  # region of nonterminals that wait for their alternatives
TRIE, N_NODES, DEPTH, NEXT_SAME, TOKEN_AT, TOKEN_BYTES, SEEN, N_TOKENS, EOS, N_EOS = 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
SEARCH_LIMIT, SEARCH = 16, 17  # states that one liveness search may visit; number of the latest search
SLICES, N_SLICES = 18, 19
NODE_SEEN = 25
HUB = 26  # 1 + the child of the trie's root with the largest subtree, -1: none is large, 0: not known yet (greedy.py)
ROOT = 27  # region: the trie's child of the root by each byte, or -1; 0: not known yet (walks.py)
SPELLED = 28  # region: the expressions of ASCII characters inside a JSON string, and of a quote (spelling.py)
N_STEPS, N_VISITED, N_INSIDE, N_MASKS, N_WALKS = 20, 21, 22, 23, 24  # counters: work done, for tests and reports
HEADER = 64

KIND_BITS = 6
KIND_MASK = 63
MEMO = 8
WORDS_A_SLOT = 4  # of A, in bits, as `near_slot` spreads records over H
NEAR, NEAR_PROBES = 32, 8  # slots among which the hash chooses; how many are tried before any slot of H may be meant
KEY = MEMO + 1

# kinds of records
EMPTY, EPSILON, BYTES, CAT, ALT, AND, NOT, REP, TAG = 1, 2, 3, 4, 5, 6, 7, 8, 9  # expressions
PARTITION, TAGSET = 10, 11
TERMINAL, NONTERMINAL, SUFFIX, GRAMMAR, PARSER, SCAN, CONFIG = 12, 13, 14, 15, 16, 17, 18
UNIFORM = 19  # successors of a whole class of characters (slices.py)
REMAINDER = 20  # expressions again
TERMINALS = 24  # what parser states wait for (earley.py)
LINEUP, LEFT, TOKENSET, PLACE = 21, 22, 23, 27  # masks under the greedy lexer (greedy.py)
CONTENT, FOLLOWING, LOOPS = 28, 29, 30  # likewise (blocks.py, following.py)
PREDICTION, AWAITED = 25, 26  # what parser states share (earley.py)
FRONTS, ENDED = 31, 32  # byte sets with which an expression can begin; a terminal with its tag (expressions.py)
LENGTHS = 33  # of an expression's texts (counters.py)

# records at fixed places, made by `init`
NONE = HEADER  # the expression without any text; also "dead" for configurations
EPS = NONE + KEY  # the empty text
ALL = EPS + KEY  # NOT(NONE): every byte string
NO_TAGS = ALL + KEY + 1
OWN = NO_TAGS + KEY  # the tagset that stands for the only terminal of a lexer state, whichever it is (walks.py)


@kernel("i(arena, i)")
def kind(A, r):
    return A[r] & KIND_MASK


@kernel("i(arena, i)")
def size(A, r):
    """Number of key words."""
    return A[r] >> KIND_BITS


@kernel("i(arena, i)")
def reserve(A, n):
    """Make sure that n words can be written at the top of A; the index of the first."""
    top = A[TOP]
    if top + n + 64 > A.size:
        A[NEED] = n + 64
        raise ArenaFull()
    return top


@kernel("i(arena, i)", entry=True, brief=True)
def region(A, n):
    """n fresh zero words."""
    top = reserve(A, n)
    for i in range(top, top + n):
        A[i] = 0
    A[TOP] = top + n
    return top


@kernel("i(arena, i, i)")
def hash_key(A, start, n):
    h = 0x2545F491
    for i in range(start, start + n):
        h = (h ^ (np.int64(A[i]) & 0xFFFFFFFF)) * 0x5BD1E995  # below 2^63: no overflow in plain Python either
        h = (h ^ (h >> 29)) & 0xFFFFFFFF
    return h


@kernel("i(arena, i, i, i)")
def near_slot(A, start, n, h):
    """Where to look for a record first: near the records with almost the same key words.

    PERF: H does not fit into a cache, and to wait for it was two thirds of the time of `intern`. Records made one after
    the other have nearly the same addresses in their keys, so that their slots are often in one line of the cache.
    """
    total = 0
    for i in range(start, start + n):
        total += np.int64(A[i])
    return (total >> WORDS_A_SLOT) + (h & (NEAR - 1))


@kernel("i(arena, arena, i, i)")
def intern(A, H, what, n):
    """The record of kind `what` whose n key words were written at A[top + KEY ...], after `reserve(A, KEY + n)`."""
    top = np.int64(A[TOP])
    key = top + KEY
    head = what | (n << KIND_BITS)
    mask = H.size - 1
    h = hash_key(A, key, n) + what * 0x9E3779B1
    slot = near_slot(A, key, n, h) & mask
    left = NEAR_PROBES
    while True:
        r = np.int64(H[slot])
        if r == 0:
            break
        if A[r] == head:
            same = True
            for i in range(n):
                if A[r + KEY + i] != A[key + i]:
                    same = False
                    break
            if same:
                return r
        left -= 1
        slot = (slot + 1 if left != 0 else h) & mask
    if A[RECORDS] * 2 >= H.size:
        raise HashFull()
    for i in range(1, KEY):
        A[top + i] = 0
    A[top] = head
    A[RECORDS] += 1
    A[TOP] = key + n
    H[slot] = top
    return top


@kernel("i(arena, arena, i, i)", entry=True)
def intern1(A, H, what, a):
    top = reserve(A, KEY + 1)
    A[top + KEY] = a
    return intern(A, H, what, 1)


@kernel("i(arena, arena, i, i, i)", entry=True)
def intern2(A, H, what, a, b):
    top = reserve(A, KEY + 2)
    A[top + KEY] = a
    A[top + KEY + 1] = b
    return intern(A, H, what, 2)


@kernel("i(arena, arena, i, i, i, i)", entry=True)
def intern3(A, H, what, a, b, c):
    top = reserve(A, KEY + 3)
    A[top + KEY] = a
    A[top + KEY + 1] = b
    A[top + KEY + 2] = c
    return intern(A, H, what, 3)


@kernel("i(arena, arena, i, i, i, i, i)", entry=True)
def intern4(A, H, what, a, b, c, d):
    top = reserve(A, KEY + 4)
    A[top + KEY] = a
    A[top + KEY + 1] = b
    A[top + KEY + 2] = c
    A[top + KEY + 3] = d
    return intern(A, H, what, 4)


@kernel("i(arena, arena, arena, i, i)", entry=True)
def intern_list(A, H, S, what, start):
    """The record whose key is S[start : S[0]]; pops those words."""
    n = S[0] - start
    top = reserve(A, KEY + n)
    for i in range(n):
        A[top + KEY + i] = S[start + i]
    S[0] = start
    return intern(A, H, what, n)


@kernel("void(arena, arena, arena)", entry=True)
def move_hash(A, old, new):
    """Enter every record of the table `old` into the larger, zeroed table `new`."""
    mask = new.size - 1
    for i in range(old.size):
        r = np.int64(old[i])
        if r != 0:
            h = hash_key(A, r + KEY, size(A, r)) + kind(A, r) * 0x9E3779B1
            slot = near_slot(A, r + KEY, size(A, r), h) & mask
            left = NEAR_PROBES
            while new[slot] != 0:
                left -= 1
                slot = (slot + 1 if left != 0 else h) & mask
            new[slot] = r


@kernel("void(arena, i)")
def room(S, n):
    """Make sure that n words can be written above the top of the stack."""
    if S[0] + n > S.size - (S.size >> 2):
        raise ScratchFull()


@kernel("void(arena, i)")
def push(S, value):
    top = S[0]
    if top + 1 > S.size - (S.size >> 2):
        raise ScratchFull()
    S[top] = value
    S[0] = top + 1


@kernel("void(arena, i, i, i)")
def sort_groups(S, start, stop, width):
    """Sort S[start:stop] as rows of `width` words (at most 4), lexicographically; Shell's method, in place."""
    n = (stop - start) // width
    gap = 1
    while gap < n // 3:
        gap = gap * 3 + 1
    while gap > 0:
        for i in range(gap, n):
            j = i
            while j >= gap:
                a = start + (j - gap) * width
                b = start + j * width
                less = False
                for k in range(width):
                    if S[b + k] != S[a + k]:
                        less = S[b + k] < S[a + k]
                        break
                if not less:
                    break
                for k in range(width):
                    swap = S[a + k]
                    S[a + k] = S[b + k]
                    S[b + k] = swap
                j -= gap
        gap //= 3


@kernel("i(arena, i, i, i)")
def unique_groups(S, start, stop, width):
    """Drop repeated rows of the sorted S[start:stop]; the new stop."""
    out = start
    for row in range(start, stop, width):
        same = out > start
        if same:
            for k in range(width):
                if S[row + k] != S[out - width + k]:
                    same = False
                    break
        if not same:
            for k in range(width):
                S[out + k] = S[row + k]
            out += width
    return out


@kernel("void(arena, arena)", entry=True)
def init(A, H):
    """Lay out the header and the records at fixed places in a fresh arena; H must be zero."""
    for i in range(HEADER):
        A[i] = 0
    A[TOP] = HEADER
    intern(A, H, EMPTY, 0)
    intern(A, H, EPSILON, 0)
    intern1(A, H, NOT, NONE)
    intern(A, H, TAGSET, 0)
    intern1(A, H, TAGSET, 0)
    A[SEARCH_LIMIT] = 200_000
