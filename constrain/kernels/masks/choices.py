"""A step for one row of logits on a CPU: sums of exponentials, of all and of what is allowed, and a token.

The idea: two passes, a part of the row at a time, so that nothing is written that does not stay in the first cache. The
first finds the largest logit, the likeliest allowed token and faults; floats are compared as integers, which are in the
same order once those of negative numbers are turned round. The second adds the exponentials up. Where the allowed
weights are so small beside the largest that they have lost digits, it runs again from the likeliest allowed token.

Numbers: float32; a part is added up by halves on halves, as processors do at once, and parts in float64, so that the
sums are the same on all processors. The exponential is Cephes' polynomial `expf` (relative error 2e-7), and 0 below
exp(-87). Top-k and top-p are thresholds on logits, found digit by digit; equal means equal logits here.

Cost: 49k logits 60 to 70 µs, 262k 280 to 360, by the mask and whether a token is drawn; truncation 4 to 5 times that.
Reference: tests/sampling/test_measure.py; for other types and devices constrain/sampling/core/logits.py.
"""

import numpy as np

from constrain.kernels import kernel

SPAN = 1024  # ids of a part
WORDS = SPAN // 32  # of a mask, for a part
SCRATCH = 2 * SPAN + WORDS  # int32 of scratch: a part, another one, words of a mask
FAULTY, NOTHING = -2, -1  # what `measure` says beside a token
# Numbers of a row, float64, but for LEAST_KEPT, an int64.
TEMPERATURE, QUANTILE, TOP, BASE, TOTAL, MASS, LIMIT, KEPT_MASS, FLOOR, LEAST_KEPT = range(10)
NUMBERS = 10
DIGIT = 11  # bits of an order, doubled, that a turn of `cut_off` decides
RADIX = 1 << DIGIT
BINS = 2 * RADIX  # int64 of scratch: counts by digit, then masses
FAINT_LOG = -57.0  # the log of a weight that may have lost digits in float32, beside a largest of 0
INFINITY = 0x7F800000  # the bits of inf; those of NaN are above it, but for the sign
LEAST = -0x7F800001  # -inf in the order of `order_part`
BROKEN = 1 << 40
NEAREST = np.float32(12582912.0)  # 1.5 · 2^23: what is added to it is rounded to a whole number
NO_IDS, SOME_IDS, ALL_IDS = 0, 1, 2  # ids of a part that a mask allows


@kernel("void(arena, i, arena)")
def take_part(logits, start, scratch):
    """Copy the part of a row that begins at `start`, filled up with -inf."""
    n = min(SPAN, len(logits) - start)
    for j in range(n):
        scratch[j] = logits[start + j]
    scratch[n:SPAN] = np.int32(-0x800000)


@kernel("i(row, i, i, arena)")
def take_mask(words, start, size, scratch):
    """Copy the words of a mask for the part that begins at `start`, without ids from `size` on. Without a mask all
    others are allowed. Returns NO_IDS, SOME_IDS or ALL_IDS.
    """
    bits = scratch[2 * SPAN :]
    either, both = np.int32(0), np.int32(-1)
    for w in range(WORDS):
        left = size - start - 32 * w
        bits[w] = 0
        if left > 0:
            bits[w] = np.int32(words[start // 32 + w]) if len(words) else np.int32(-1)
            if left < 32:
                bits[w] &= (np.int32(1) << np.int32(left)) - np.int32(1)
        either |= bits[w]
        both &= bits[w]
    return NO_IDS if either == 0 else ALL_IDS if both == -1 else SOME_IDS


@kernel("i(arena)")
def order_part(scratch):
    """Turn the floats of a part into integers of the same order, in place. Returns the largest; BROKEN beside NaN, inf.

    Both zeros are 0.
    """
    worst = np.int32(0)
    top = np.int32(LEAST)
    for j in range(SPAN):
        bits = scratch[j]
        size = bits & np.int32(0x7FFFFFFF)
        worst = max(worst, size)
        order = bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))
        order = order if size != 0 else np.int32(0)
        scratch[j] = order
        top = max(top, order)
    return BROKEN if worst > INFINITY or top == INFINITY else np.int64(top)


@kernel("void(arena, i)")
def keep_allowed(scratch, otherwise):
    """Copy a part to the other one; where the words of the mask have no bit, put a number instead."""
    for w in range(WORDS):
        bits = scratch[2 * SPAN + w]
        part, other = scratch[32 * w : 32 * w + 32], scratch[SPAN + 32 * w : SPAN + 32 * w + 32]
        for j in range(32):
            keep = -((bits >> np.int32(j)) & np.int32(1))  # all ones, or 0
            other[j] = (part[j] & keep) | (np.int32(otherwise) & ~keep)


@kernel("i(arena, row, i, ids, arena)")
def find_tops(logits, words, size, numbers, scratch):
    """The likeliest allowed token, of equals the lowest id; NOTHING if none is finite; FAULTY for NaN, inf and a row of
    nothing but -inf. The numbers TOP and BASE become the largest logit and the largest allowed one."""
    top, best, token = np.int64(LEAST), np.int64(LEAST), np.int64(NOTHING)
    for start in range(0, len(logits), SPAN):
        take_part(logits, start, scratch)
        largest = order_part(scratch)
        if largest == BROKEN:
            return FAULTY
        top = max(top, largest)
        if largest <= best or take_mask(words, start, size, scratch) == NO_IDS:
            continue
        keep_allowed(scratch, LEAST)
        for j in range(SPAN):
            if scratch[SPAN + j] > best:
                best = np.int64(scratch[SPAN + j])
                token = start + j
    if top == LEAST:
        return FAULTY
    for place, order in ((TOP, top), (BASE, best)):
        scratch[0] = order ^ ((order >> 31) & 0x7FFFFFFF)
        numbers.view(np.float64)[place] = scratch.view(np.float32)[0]
    return token


@kernel("void(arena, i, ids)")
def weigh_part(scratch, base, numbers):
    """Turn the logits of a part into exp((logit - base) / temperature), in place. base: a place of `numbers`."""
    weights = scratch.view(np.float32)
    temperature = np.float32(numbers.view(np.float64)[TEMPERATURE])
    top = np.float32(numbers.view(np.float64)[base])
    if temperature != np.float32(1.0):
        top /= temperature
        for j in range(SPAN):
            weights[j] /= temperature
    for j in range(SPAN):
        given = weights[j] - top
        x = given if given > np.float32(-87.0) else np.float32(-87.0)
        power = (x * np.float32(1.44269504) + NEAREST) - NEAREST
        x -= power * np.float32(0.693359375)  # ln 2 in two parts, so that the rest is exact
        x += power * np.float32(2.12194440e-4)
        y = np.float32(1.9875691500e-4) * x + np.float32(1.3981999507e-3)
        y = y * x + np.float32(8.3334519073e-3)
        y = y * x + np.float32(4.1665795894e-2)
        y = y * x + np.float32(1.6666665459e-1)
        y = y * x + np.float32(5.0000001201e-1)
        weights[j] = y * x * x + x + np.float32(1.0)
        bits = scratch[j] + (np.int32(power) << np.int32(23))
        scratch[j] = bits if given > np.float32(-87.0) else np.int32(0)


@kernel("void(arena, i, ids, i)")
def fold(scratch, n, sums, place):
    """Add up n floats of the other part, a power of two, halves on halves: the number at a place of `sums`."""
    weights = scratch.view(np.float32)
    while n > 1:
        n >>= 1
        for j in range(n):
            weights[SPAN + j] += weights[SPAN + n + j]
    sums.view(np.float64)[place] = np.float64(weights[SPAN])


@kernel("void(arena, row, i, i, ids, ids, arena)")
def add_up(logits, words, size, base, numbers, sums, scratch):
    """Σ exp((logit - base) / temperature): the numbers TOTAL, of all logits, and MASS, of the allowed ones; and
    MASS by parts, in `sums`. base: a place of `numbers`."""
    values, masses, weights = numbers.view(np.float64), sums.view(np.float64), scratch.view(np.float32)
    total, mass = np.float64(0.0), np.float64(0.0)
    for start in range(0, len(logits), SPAN):
        part = start // SPAN
        take_part(logits, start, scratch)
        weigh_part(scratch, base, numbers)
        for j in range(SPAN // 2):
            weights[SPAN + j] = weights[j] + weights[SPAN // 2 + j]
        fold(scratch, SPAN // 2, sums, part)
        total += masses[part]
        allowed = take_mask(words, start, size, scratch)
        if allowed == SOME_IDS:
            keep_allowed(scratch, 0)
            fold(scratch, SPAN, sums, part)
        elif allowed == NO_IDS:
            masses[part] = 0.0
        mass += masses[part]
    values[TOTAL], values[MASS] = total, mass


@kernel("i(arena, row, i, ids, ids, arena)", entry=True)
def measure(logits, words, size, numbers, sums, scratch):
    """Measure a row of logits at a temperature, and what is allowed of it.

    logits: the bits of float32[W]. words: uint32[ceil(size / 32)], low bit first, 1 = allowed; none: all are allowed.
    numbers: the bits of float64[NUMBERS]. TEMPERATURE is given. TOP, the largest logit, TOTAL, the weights of all from
    TOP, BASE, a logit near the largest allowed one, and MASS, the weights of what is allowed from BASE, are told.
    sums: int64[ceil(W / SPAN)], and scratch: int32[SCRATCH], are scratch that `draw_token` goes on with.

    returns: the likeliest allowed token; NOTHING if none has any weight, FAULTY if this is no row of logits
    """
    token = find_tops(logits, words, size, numbers, scratch)
    if token == FAULTY:
        return token
    add_up(logits, words, size, TOP, numbers, sums, scratch)
    values = numbers.view(np.float64)
    if values[TOTAL] == 0.0:
        return FAULTY  # over the temperature the largest logit is infinite
    if token == NOTHING:
        return token
    if (values[BASE] - values[TOP]) / values[TEMPERATURE] < FAINT_LOG:
        total = values[TOTAL]
        add_up(logits, words, size, BASE, numbers, sums, scratch)
        values[TOTAL] = total
        return token if values[MASS] > 0.0 else NOTHING  # over the temperature it may be -inf
    values[BASE] = values[TOP]
    return token


@kernel("void(arena, row, i, i, ids, ids, arena)", entry=True)
def take_out(logits, words, size, token, numbers, sums, scratch):
    """Refuse an allowed token from now on: its bit of the mask goes, MASS and `sums` become those of what is left.

    After `measure` found some. Its part is added up anew, so that nothing is a difference.
    """
    words[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))
    part = token // SPAN
    take_part(logits, part * SPAN, scratch)
    weigh_part(scratch, BASE, numbers)
    take_mask(words, part * SPAN, size, scratch)
    keep_allowed(scratch, 0)
    fold(scratch, SPAN, sums, part)
    mass = np.float64(0.0)
    for other in range((len(logits) + SPAN - 1) // SPAN):
        mass += sums.view(np.float64)[other]
    numbers.view(np.float64)[MASS] = mass


@kernel("i(arena, row, i, ids, ids, arena)", entry=True)
def draw_token(logits, words, size, numbers, sums, scratch):
    """The allowed token at which the sum of weights exceeds the number QUANTILE, in [0, 1), of their MASS.

    After `measure` found some. Should rounding leave none, the last one of positive weight.
    """
    target = numbers.view(np.float64)[QUANTILE] * numbers.view(np.float64)[MASS]
    chosen, reached = np.int64(0), np.float64(0.0)
    for part in range((len(logits) + SPAN - 1) // SPAN):
        own = sums.view(np.float64)[part]
        if own > 0.0:
            chosen = np.int64(part)
            if reached + own > target:
                break
            reached += own
    start = chosen * SPAN
    take_part(logits, start, scratch)
    weigh_part(scratch, BASE, numbers)
    take_mask(words, start, size, scratch)
    keep_allowed(scratch, 0)
    token = np.int64(NOTHING)
    for j in range(SPAN):
        weight = scratch.view(np.float32)[SPAN + j]
        if weight > 0.0:
            token = start + j
            reached += np.float64(weight)
            if reached > target:
                break
    return token


@kernel("void(arena, row, i, i, i, ids, arena, ids)")
def fill_bins(logits, words, size, prefix, shift, numbers, scratch, bins):
    """Count and weigh the allowed tokens by the digit of their doubled order above `shift`, where what is above it is
    `prefix`. Those below LEAST_KEPT, and those of less weight than FLOOR, are left out."""
    values, masses = numbers.view(np.float64), bins.view(np.float64)
    least = np.float32(values[FLOOR])
    bins[:] = 0
    other = scratch[SPAN : 2 * SPAN]
    for start in range(0, len(logits), SPAN):
        if take_mask(words, start, size, scratch) == NO_IDS:
            continue
        take_part(logits, start, scratch)
        if order_part(scratch) < numbers[LEAST_KEPT]:
            continue
        take_part(logits, start, other)
        weigh_part(other, BASE, numbers)
        for j in range(SPAN):
            weight = other.view(np.float32)[j]
            if weight < least or scratch[j] < numbers[LEAST_KEPT]:
                continue
            place = (np.int64(scratch[j]) + (1 << 31)) * 2
            if place >> (shift + DIGIT) == prefix and (scratch[2 * SPAN + (j >> 5)] >> np.int32(j & 31)) & 1:
                digit = (place >> shift) & (RADIX - 1)
                bins[digit] += 1
                masses[RADIX + digit] += np.float64(weight)


@kernel("void(arena, row, i, i, ids, arena, ids)", entry=True)
def cut_off(logits, words, size, is_counted, numbers, scratch, bins):
    """Keep the likeliest of the allowed tokens that are not below LEAST_KEPT.

    After `measure`. LIMIT of them are kept, if they are counted, else so many that their weights reach the share LIMIT
    of KEPT_MASS, and tokens as likely as the last one. LEAST_KEPT and KEPT_MASS, the weights of what is kept, are given
    and changed.

    The threshold is found digit by digit of the order. Tokens of less weight than half of what may be lost, over the
    number of tokens, are never needed.
    """
    values, masses = numbers.view(np.float64), bins.view(np.float64)
    limit = values[LIMIT] if is_counted else values[LIMIT] * values[KEPT_MASS]
    values[FLOOR] = 0.0 if is_counted else 0.5 * (values[KEPT_MASS] - limit) / len(logits)
    reached, mass = np.float64(0.0), np.float64(0.0)
    prefix, shift = np.int64(0), np.int64(3 * DIGIT)
    while shift > 0:
        shift -= DIGIT
        fill_bins(logits, words, size, prefix, shift, numbers, scratch, bins)
        chosen, is_enough = np.int64(NOTHING), False
        for digit in range(RADIX - 1, -1, -1):
            if bins[digit] == 0:
                continue
            if chosen != NOTHING:
                reached += np.float64(bins[chosen]) if is_counted else masses[RADIX + chosen]
                mass += masses[RADIX + chosen]
            chosen = np.int64(digit)
            is_enough = reached + (np.float64(bins[digit]) if is_counted else masses[RADIX + digit]) >= limit
            if is_enough:
                break
        if prefix == 0 and shift == 2 * DIGIT and not is_enough:
            return  # all of them are not too many
        prefix = prefix * RADIX + chosen
        if bins[chosen] == 1:
            break
    numbers[LEAST_KEPT] = ((prefix << shift) >> 1) - (1 << 31)
    values[KEPT_MASS] = mass + masses[RADIX + chosen]


@kernel("i(arena, row, i, ids, arena)", entry=True)
def draw_kept(logits, words, size, numbers, scratch):
    """`draw_token` of the tokens that `cut_off` keeps: their weights from QUANTILE of KEPT_MASS on."""
    target = numbers.view(np.float64)[QUANTILE] * numbers.view(np.float64)[KEPT_MASS]
    token, reached = np.int64(NOTHING), np.float64(0.0)
    other = scratch[SPAN : 2 * SPAN]
    for start in range(0, len(logits), SPAN):
        take_part(logits, start, scratch)
        if order_part(scratch) < numbers[LEAST_KEPT] or take_mask(words, start, size, scratch) == NO_IDS:
            continue
        take_part(logits, start, other)
        weigh_part(other, BASE, numbers)
        for j in range(SPAN):
            weight = other.view(np.float32)[j]
            if (
                scratch[j] < numbers[LEAST_KEPT]
                or weight <= 0.0
                or not (scratch[2 * SPAN + (j >> 5)] >> np.int32(j & 31)) & 1
            ):
                continue
            token = start + j
            reached += np.float64(weight)
            if reached > target:
                return token
    return token
