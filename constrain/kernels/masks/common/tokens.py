"""Sets of tokens: bitmaps on the scratch stack, lists and bitmaps in the arena, and tokens pushed for a mask.

The idea: a set is kept as a list if that is much shorter than a bitmap, which has a bit for each token of the
vocabulary. Equal bitmaps are one record.

Records: records/masks.py. Cost: linear in the words of a bitmap, or in the tokens of a list.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.records.arena import HEADER, intern, key_start, region, reserve
from constrain.kernels.records.masks import TOKENS, TOKENSET, tokens_end
from constrain.kernels.records.stack import push
from constrain.kernels.records.vocabulary import clear_bit, mask_words, set_bit


@kernel("void(arena, arena, i)")
def push_tokens(A, S, token):
    """Push a token and those with the same bytes, each once a mask."""
    while token >= 0:
        if A[A[HEADER.SEEN] + token] != A[HEADER.SERIAL]:
            A[A[HEADER.SEEN] + token] = A[HEADER.SERIAL]
            push(S, token)
        token = HEADER.NEXT_SAME(A, token)


@kernel("void(arena, arena, i, i)")
def set_tokens(A, S, bitmap, token):
    """Set the bits of a token and those with the same bytes."""
    while token >= 0:
        set_bit(S, bitmap, token)
        token = HEADER.NEXT_SAME(A, token)


@kernel("void(arena, arena, i, i)")
def clear_tokens(A, S, bitmap, token):
    """Clear the bits of a token and those with the same bytes."""
    while token >= 0:
        clear_bit(S, bitmap, token)
        token = HEADER.NEXT_SAME(A, token)


@kernel("void(arena, arena, i, i)")
def add_tokens(A, S, tokens, bitmap):
    """Set the bits of a TOKENS region in a bitmap on the stack."""
    words = mask_words(A)
    if TOKENS.BITMAP(A, tokens) != 0:
        source = A[TOKENS.BITMAP(A, tokens) : TOKENS.BITMAP(A, tokens) + words]
        out = S[bitmap : bitmap + words]  # PERF: a loop over slices is vectorised
        for w in range(words):
            out[w] |= source[w]
    for k in range(TOKENS.LIST(A, tokens), tokens_end(A, tokens)):
        set_bit(S, bitmap, A[k])


@kernel("i(arena, arena, arena, i)")
def store_bitmap(A, H, S, bitmap):
    """Store a bitmap as a TOKENSET record. Returns where its words are."""
    words = mask_words(A)
    first = key_start(reserve(A, TOKENSET.WORDS + words))
    kept, bits = A[first : first + words], S[bitmap : bitmap + words]
    for w in range(kept.size):
        kept[w] = bits[w]
    return key_start(intern(A, H, TOKENSET.KIND, words))


@kernel("i(i)")
def count_bits(bits):
    """Number of bits that are set."""
    n = 0
    while bits != 0:
        bits &= bits - 1
        n += 1
    return n


@kernel("void(arena, arena, i, i)")
def list_tokens(A, S, bitmap, out):
    """Write the tokens of a bitmap to A[out] and on."""
    words = mask_words(A)
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
def store_tokens(A, H, S, bitmap, tokens):
    """Store a bitmap in a TOKENS region: as a list if that is much shorter, else as a bitmap.

    PERF: a bitmap is read at 16 words an instruction, a list at one bit.
    """
    words = mask_words(A)
    count = 0
    for w in range(words):
        if S[bitmap + w] != 0:
            count += count_bits(np.int64(S[bitmap + w]) & 0xFFFFFFFF)
    if 4 * count >= words:
        A[tokens + TOKENS.BITMAP] = store_bitmap(A, H, S, bitmap)
        return 0
    out = region(A, count)
    A[tokens + TOKENS.COUNT] = count
    A[tokens + TOKENS.LIST] = out
    list_tokens(A, S, bitmap, out)
    return 0
