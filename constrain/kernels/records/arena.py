"""One arena of hash-consed records: expressions, rules, parser states and configurations all live here.

The idea: a *record* is a few int32 words in one growing array A, and its id is its offset. Records with equal keys are
one record (found through the open-addressing table H), so ids compare like values, states that mean the same have the
same id, and every answer can be remembered in the record itself. Nothing is ever changed but memo words, and those
only from "unknown" to their one true value: a kernel that stops half-way (no space) is simply run again.

    record:  A[r]                     kind | number of key words << KIND_BITS
             A[r + 1 .. r + MEMO]     memo words, 0 = unknown; their meaning depends on the kind
             A[r + KEY ...]           key words
    region:  any run of words that a memo word points to (rows, lists, masks); not hash-consed

The kinds are declared in the other files of this folder (schema.py says how).

Cost: a lookup is one hash of the key. Limit: 2^30 words (4 GiB) an arena. Kernels raise `ArenaFull`, `ScratchFull`,
`HashFull` or `OutOfTime`; the owner (automata/store.py) makes space and calls again.
Reference: tests/kernels/test_arena.py.
"""

import numpy as np

from constrain.kernels import kernel, release_fence, thread_clock
from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import KEY, KIND_BITS, KIND_MASK, Region, column, word
from constrain.kernels.records.stack import set_top, top


class ArenaFull(Exception):
    """A is full; A[HEADER.NEED] says how many words were asked for."""


class HashFull(Exception):
    """H is more than half full."""


class OutOfTime(Exception):
    """A kernel looked at the clock, and found the deadline behind it, or HEADER.STOPPED."""


class HEADER(Region, size=64):
    """The first words of A. Owner: automata/store.py; engine/arena_image.py writes what describes the vocabulary."""

    TOP = word("the first free word")
    RECORDS = word("number of records")
    NEED = word("how many words the kernel asked for that raised ArenaFull")
    SERIAL = word("number of the latest walk or mask; marks with another number do not count")
    EPOCH = word("1 + how often all was forgotten; 0 while that is being done: nobody reads then without the lock")
    UNEXPANDED = word("region: nonterminals that wait for their alternatives")
    N_UNEXPANDED = word("how many of them there are")
    SEARCH_LIMIT = word("states that one liveness search may visit")
    SEARCH = word("number of the latest liveness search")
    SPELLED = word("region: the expressions of ASCII characters inside a JSON string, and of a quote (spelling.py)")

    TRIE = word("region: the trie of all tokens, one NODE each")
    N_NODES = word("number of its nodes")
    DEPTH = word("bytes of the longest token")
    ROOT_CHILDREN = word("region: the child of the trie's root by each byte, or -1; 0: not known yet")
    HUB = word("1 + the child of the trie's root with the largest subtree; -1: none is large; 0: not known yet")
    NODE_SEEN = column("region: by node, the mark of the walk that met it last")
    N_TOKENS = word("number of tokens")
    NEXT_SAME = column("region: by token, the next token with the same bytes, or -1")
    TOKEN_AT = column("region: by token, where its bytes begin; one word more for the end")
    TOKEN_BYTES = word("region: the bytes of all tokens, four a word")
    SEEN = word("region: by token, the SERIAL of the mask that pushed it last")
    EOS = word("region: the end-of-sequence tokens")
    N_EOS = word("number of end-of-sequence tokens")
    SLICES = word("region: the slices of the vocabulary, one SLICE each")
    N_SLICES = word("number of slices")

    STEPS_MADE = word("counter: successors of configurations")
    NODES_VISITED = word("counter: trie nodes")
    TABLES_MADE = word("counter: token tables")
    MASKS_MADE = word("counter: masks")
    WHOLE_WALKS = word("counter: walks of the trie with configurations")

    FUEL = word("steps until a kernel looks at the clock")
    DEADLINE = word("CPU time of the thread, in ms, at which kernels raise OutOfTime; 0: known at the next look")
    ALLOWED = word("ms from the look that finds no deadline to the deadline")
    STOPPED = word("set by any thread: kernels raise OutOfTime at the next look")


# records at fixed places, made by `init` (expressions.py)
NONE = HEADER.WORDS  # the expression without any text; also "dead" for configurations
EPS = NONE + KEY  # the empty text
ALL = EPS + KEY  # NOT(NONE): every byte string
NO_TAGS = ALL + KEY + 1
OWN = NO_TAGS + KEY  # the tagset that stands for the only terminal of a lexer state, whichever it is

fence = release_fence()
clock = thread_clock()

STEPS_A_LOOK = 1 << 15  # steps, of some 20 ns, between two looks at the clock

WORDS_A_SLOT = 4  # of A, in bits, as `near_slot` spreads records over H
NEAR, NEAR_PROBES = 32, 8  # slots among which the hash chooses; how many are tried before any slot of H may be meant


@accessor
def kind(A, r):
    """The kind of a record."""
    return np.int64(A[r] & KIND_MASK)


@accessor
def size(A, r):
    """Number of key words."""
    return np.int64(A[r] >> KIND_BITS)


@accessor
def key_start(r):
    """The index of the first key word."""
    return r + KEY


@accessor
def key_end(A, r):
    """The index behind the last key word."""
    return r + KEY + (A[r] >> KIND_BITS)


@accessor
def key_word(A, r, k):
    """The k-th key word."""
    return np.int64(A[r + KEY + k])


@accessor
def set_head(A, r, what, n):
    """Make the words at r a record of a kind with n key words that is in no hash table: nothing can be equal to it."""
    A[r] = what | (n << KIND_BITS)


@accessor
def arena_top(A):
    """The first free word."""
    return np.int64(A[HEADER.TOP])


@accessor
def is_of_epoch(A, epoch):
    """True if what is known of an epoch's states may be read without the lock. epoch: as in `TokenAutomaton`."""
    return A[HEADER.EPOCH] == epoch + 1


@kernel("void(arena, i, i)")
def publish_word(A, at, value):
    """Set a memo word that other threads read without the lock, after all that it leads to was written."""
    fence()
    A[at] = value


@kernel("i(arena, i)")
def reserve(A, n):
    """Make sure that n words can be written at the top of A. Returns the index of the first."""
    first = arena_top(A)
    if first + n + 64 > A.size:
        A[HEADER.NEED] = n + 64
        raise ArenaFull()
    return first


@kernel("void(arena)", apart=True)
def look(A):
    """Look at the clock. Raises OutOfTime."""
    A[HEADER.FUEL] = STEPS_A_LOOK
    if A[HEADER.STOPPED] != 0:
        raise OutOfTime()
    now = clock()
    if A[HEADER.DEADLINE] == 0:
        A[HEADER.DEADLINE] = now + A[HEADER.ALLOWED]
    elif now > A[HEADER.DEADLINE]:
        raise OutOfTime()


@kernel("void(arena, i)")
def spend(A, n):
    """Note n steps of work; now and then look at the clock. Raises OutOfTime."""
    A[HEADER.FUEL] -= n
    if A[HEADER.FUEL] < 0:
        look(A)


@kernel("void(arena, i)")
def note_visits(A, nodes):
    """Note that nodes of a trie were visited. Raises OutOfTime."""
    A[HEADER.NODES_VISITED] += nodes
    spend(A, nodes >> 2)


@kernel("i(arena, i)", entry=True, brief=True)
def region(A, n):
    """Make a region of n zero words."""
    first = reserve(A, n)
    for i in range(first, first + n):
        A[i] = 0
    A[HEADER.TOP] = first + n
    return first


@kernel("i(arena, i, i)")
def hash_key(A, start, n):
    """The hash of n key words."""
    h = 0x2545F491
    for i in range(start, start + n):
        h = (h ^ (np.int64(A[i]) & 0xFFFFFFFF)) * 0x5BD1E995  # below 2^63: no overflow in plain Python either
        h = (h ^ (h >> 29)) & 0xFFFFFFFF
    return h


@kernel("i(arena, i, i, i)")
def near_slot(A, start, n, h):
    """The slot in which to look for a record first: near the records with almost the same key words.

    PERF: H does not fit into a cache, and to wait for it was two thirds of the time of `intern`. Records made one after
    the other have nearly the same addresses in their keys, so that their slots are often in one line of the cache.
    """
    total = 0
    for i in range(start, start + n):
        total += np.int64(A[i])
    return (total >> WORDS_A_SLOT) + (h & (NEAR - 1))


@kernel("i(i, i, i)")
def next_slot(slot, left, h):
    """The slot in which to look next, when `left` more slots near the first one may be tried.

    Beyond these, steps are as the hash says: a long literal fills all slots of its neighbourhood, and a record that is
    sent into it by its hash would walk to the end of it.
    """
    if left > 0:
        return slot + 1
    return h if left == 0 else slot + ((h >> 5) | 1)


@kernel("i(arena, arena, i, i)")
def intern(A, H, what, n):
    """The record of a kind whose n key words were written above the top of A, after `reserve(A, KEY + n)`."""
    spend(A, 1)
    new = arena_top(A)
    start = key_start(new)
    head = what | (n << KIND_BITS)
    mask = H.size - 1
    h = hash_key(A, start, n) + what * 0x9E3779B1
    slot = near_slot(A, start, n, h) & mask
    left = NEAR_PROBES
    while True:
        r = np.int64(H[slot])
        if r == 0:
            break
        if A[r] == head:
            same = True
            for i in range(n):
                if A[key_start(r) + i] != A[start + i]:
                    same = False
                    break
            if same:
                return r
        left -= 1
        slot = next_slot(slot, left, h) & mask
    if A[HEADER.RECORDS] * 2 >= H.size:
        raise HashFull()
    for i in range(new + 1, start):
        A[i] = 0
    A[new] = head
    A[HEADER.RECORDS] += 1
    A[HEADER.TOP] = start + n
    H[slot] = new
    return new


@kernel("i(arena, arena, i, i)", entry=True, brief=True)
def intern1(A, H, what, a):
    """The record of a kind with one key word."""
    start = key_start(reserve(A, KEY + 1))
    A[start] = a
    return intern(A, H, what, 1)


@kernel("i(arena, arena, i, i, i)", entry=True, brief=True)
def intern2(A, H, what, a, b):
    """The record of a kind with two key words."""
    start = key_start(reserve(A, KEY + 2))
    A[start] = a
    A[start + 1] = b
    return intern(A, H, what, 2)


@kernel("i(arena, arena, i, i, i, i)", entry=True, brief=True)
def intern3(A, H, what, a, b, c):
    """The record of a kind with three key words."""
    start = key_start(reserve(A, KEY + 3))
    A[start] = a
    A[start + 1] = b
    A[start + 2] = c
    return intern(A, H, what, 3)


@kernel("i(arena, arena, i, i, i, i, i)", entry=True, brief=True)
def intern4(A, H, what, a, b, c, d):
    """The record of a kind with four key words."""
    start = key_start(reserve(A, KEY + 4))
    A[start] = a
    A[start + 1] = b
    A[start + 2] = c
    A[start + 3] = d
    return intern(A, H, what, 4)


@kernel("i(arena, arena, arena, i, i)")
def intern_copy(A, H, S, what, start):
    """The record whose key words are those from S[start] to the top of the stack, which stay there."""
    n = top(S) - start
    first = key_start(reserve(A, KEY + n))
    for i in range(n):
        A[first + i] = S[start + i]
    return intern(A, H, what, n)


@kernel("i(arena, arena, arena, i, i)", entry=True, brief=True)
def intern_list(A, H, S, what, start):
    """The record whose key words are those from S[start] to the top of the stack; pops them."""
    n = top(S) - start
    first = key_start(reserve(A, KEY + n))
    for i in range(n):
        A[first + i] = S[start + i]
    set_top(S, start)
    return intern(A, H, what, n)


@kernel("void(arena, arena, arena)", entry=True)
def move_hash(A, old, new):
    """Enter every record of the table `old` into the larger, zeroed table `new`."""
    mask = new.size - 1
    for i in range(old.size):
        r = np.int64(old[i])
        if r != 0:
            h = hash_key(A, key_start(r), size(A, r)) + kind(A, r) * 0x9E3779B1
            slot = near_slot(A, key_start(r), size(A, r), h) & mask
            left = NEAR_PROBES
            while new[slot] != 0:
                left -= 1
                slot = next_slot(slot, left, h) & mask
            new[slot] = r
