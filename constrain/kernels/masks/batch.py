"""Many sequences in one call: find their masks, write them as rows, advance them by a token each.

The idea: finding a mask may make states, and is done by one thread at a time. What is found, a mask record, never
changes again: it is looked up without a lock, and rows are written from records by any number of threads at once, each
of which takes the next row from a shared counter and says when it has written it. So no thread waits for one that was
late to wake.

A finished sequence has the configuration 0 and the mask 0: nothing is allowed.

Cost: some 50 ns a row whose mask is known, and what writing it takes (0.1 µs for 128k tokens).
Reference: tests/masks/engine/test_batch.py.
"""

from constrain.kernels import atomic_add, kernel
from constrain.kernels.masks.fill import IS_ACCEPTING, IS_WATCHED, known_mask, mask, write_mask
from constrain.kernels.parser.advance import advance, known_step
from constrain.kernels.parser.configurations import accepts
from constrain.kernels.records.arena import NONE, is_of_epoch
from constrain.kernels.records.configurations import CONFIG, is_watched
from constrain.kernels.records.masks import ROW_COUNTER

add = atomic_add()


@kernel("i(arena, i, ids, ids, ids)", entry=True, brief=True)
def known_masks(A, epoch, configurations, records, flags):
    """Look up masks: records[i] = the MASK region of configurations[i]; flags[i] = IS_WATCHED and IS_ACCEPTING, added
    up, as they apply. Returns whether all are known. Needs no lock: configurations are of this epoch."""
    if not is_of_epoch(A, epoch):
        return 0
    for i in range(configurations.size):
        c = configurations[i]
        records[i] = 0
        flags[i] = 0
        if c != 0:
            if CONFIG.MASK(A, c) == 0 or A[c + CONFIG.ACCEPTS] == 0:
                return 0
            records[i] = CONFIG.MASK(A, c)
            flags[i] = (IS_WATCHED if is_watched(A, c) else 0) + (IS_ACCEPTING if A[c + CONFIG.ACCEPTS] == 2 else 0)
    return 1


@kernel("i(arena, i, ids, ids, rows, ids)", entry=True, brief=True)
def write_known_masks(A, epoch, configurations, places, rows, flags):
    """`known_mask` of every configuration, into rows[places[i]]. Returns whether all are known; if not, some rows may
    have been written.

    PERF: a thread that gives the interpreter's lock away for some microseconds may wait milliseconds for it, if others
    run Python. While it is kept no flush begins, so what was looked up is there when it is written.
    """
    for i in range(configurations.size):
        flags[i] = 0
        if configurations[i] == 0:
            rows[places[i]][:] = 0
        else:
            flags[i] = known_mask(A, epoch, configurations[i], rows[places[i]])
            if flags[i] < 0:
                return 0
    return 1


@kernel("i(arena, arena, arena, ids)", entry=True)
def find_masks(A, H, S, configurations):
    """Find the masks of configurations, and whether they accept: all are known then."""
    for i in range(configurations.size):
        if configurations[i] != 0:
            mask(A, H, S, configurations[i])
            accepts(A, H, S, configurations[i])
    return 0


@kernel("i(arena, ids, ids, rows, ids)", entry=True)
def write_masks(A, records, places, rows, counter):
    """Write the mask records[i] to rows[places[i]], for every i that no other thread takes. Returns how many all have
    written.

    counter: int64[2], zeros when the first thread begins. Changes nothing in A.
    """
    i = add(counter, ROW_COUNTER.NEXT, 1)
    while i < records.size:
        if records[i] != 0:
            write_mask(A, records[i], rows[places[i]])
        else:
            rows[places[i]][:] = 0
        add(counter, ROW_COUNTER.WRITTEN, 1)
        i = add(counter, ROW_COUNTER.NEXT, 1)
    return add(counter, ROW_COUNTER.WRITTEN, 0)


@kernel("i(ids)", entry=True, brief=True)
def written(counter):
    """Number of rows that are written; what other threads wrote can be read then."""
    return add(counter, ROW_COUNTER.WRITTEN, 0)


@kernel("i(arena, i, ids, ids, ids)", entry=True, brief=True)
def known_steps(A, epoch, configurations, tokens, results):
    """`advance_all` where every state on the way is known, else results[i] = 0. Returns how many are not known. Needs
    no lock: configurations are of this epoch."""
    unknown = 0
    for i in range(configurations.size):
        results[i] = known_step(A, epoch, configurations[i], tokens[i]) if configurations[i] != 0 else NONE
        unknown += results[i] == 0
    return unknown


@kernel("i(arena, arena, arena, ids, ids, ids)", entry=True)
def advance_all(A, H, S, configurations, tokens, results):
    """Advance sequences: results[i] = `advance` of configurations[i] by tokens[i]; NONE for a finished one."""
    for i in range(configurations.size):
        results[i] = advance(A, H, S, configurations[i], tokens[i]) if configurations[i] != 0 else NONE
    return 0
