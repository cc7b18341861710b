"""The scratch stack S: words that a kernel pushes and pops, and the sorting of rows on it.

The last quarter of S is a hash table (parser/items.py), so the stack ends before it. A kernel that raises leaves words
behind; the owner starts again with an empty stack.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import KEY, Region, word


class ScratchFull(Exception):
    """S is full."""


class STACK(Region, size=8):
    """The first words of S; the stack begins behind them."""

    TOP = word("the first free index")
    READ = word("how many bytes `advance_bytes` has read")


@accessor
def top(S):
    """The first free index of the stack."""
    return np.int64(S[STACK.TOP])


@accessor
def set_top(S, index):
    """Pop the words from `index` on, or keep those below it that were written without `push`."""
    S[STACK.TOP] = index


@accessor
def set_key(S, start, field, value):
    """Write a key word of a record whose key words stand from S[start] on."""
    S[start + field - KEY] = value


@accessor
def stack_end(S):
    """The end of the stack, where the hash table begins."""
    return S.size - (S.size >> 2)


@kernel("void(arena, i)")
def room(S, n):
    """Raise ScratchFull unless n words can be written above the top of the stack."""
    if S[STACK.TOP] + n > stack_end(S):
        raise ScratchFull()


@kernel("void(arena, i)")
def push(S, value):
    """Push a word."""
    index = S[STACK.TOP]
    if index + 1 > stack_end(S):
        raise ScratchFull()
    S[index] = value
    S[STACK.TOP] = index + 1


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
    """Drop the repeated rows of the sorted S[start:stop]. Returns the new stop."""
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
