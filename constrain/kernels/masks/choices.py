"""A step for one row of logits on a CPU: sums of exponentials, of all and of what is allowed, and a token.

The idea: two passes, a part of the row at a time, so that nothing is written that does not stay in the first cache. The
first finds the largest logit, the likeliest allowed token and faults; floats are compared as integers, which are in the
same order once those of negative numbers are turned round. The second adds the exponentials up. Where the allowed
weights are so small beside the largest that they have lost digits, it runs again from the likeliest allowed token.

Numbers: float32, sums of parts and rows float64. Each of 32 lanes is added up by itself, then the lanes one after the
other: processors do the lanes at once, and the sums are the same on all of them. The exponential is Cephes' polynomial
`expf` (relative error 2e-7), and 0 below exp(-87).

Cost: 49k logits 60 to 70 µs, 262k 280 to 360, by the mask and whether a token is drawn (`benchmarks/sampling_step.py`).
Reference: constrain/sampling/core/logits.py.
"""

import numpy as np

from constrain.kernels import kernel

PART = 1024  # ids at a time, and the words of a mask for them
WORDS = PART // 32
ROOM = 2 * PART + WORDS  # int32 of scratch: a part, another one, words of a mask
FAULTY, NOTHING = -2, -1  # what `measure` says beside a token
TEMPERATURE, UNIFORM, TOP, BASE, TOTAL, MASS, LIMIT, KEPT, FLOOR, CUT = range(10)  # of a row: float64, but CUT
NUMBERS = 10
DIGIT = 11  # bits of an order, doubled, that a turn of `cut_off` decides
DIGITS = 1 << DIGIT
BINS = 2 * DIGITS  # int64 of scratch: counts by digit, then masses
FAINT_LOG = -57.0  # the log of a weight that may have lost digits in float32, beside a largest of 0
INFINITY = 0x7F800000  # the bits of inf; those of NaN are above it, but for the sign
LEAST = -0x7F800001  # -inf in the order of `order_part`
BROKEN = 1 << 40
NONE, SOME, ALL = 0, 1, 2  # ids of a part that a mask allows


@kernel("void(arena, i, arena)")
def take_part(logits, start, room):
    """Copy the part of a row that begins at `start`, filled up with -inf."""
    n = min(PART, len(logits) - start)
    for j in range(n):
        room[j] = logits[start + j]
    room[n:PART] = np.int32(-0x800000)


@kernel("i(row, i, i, arena)")
def take_mask(words, start, size, room):
    """Copy the words of a mask for the part that begins at `start`, without ids from `size` on. Without a mask all
    others are allowed. Returns NONE, SOME or ALL."""
    bits = room[2 * PART :]
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
    return NONE if either == 0 else ALL if both == -1 else SOME


@kernel("i(arena)")
def order_part(room):
    """Turn the floats of a part into integers of the same order, in place. Returns the largest; BROKEN beside NaN, inf.

    Both zeros are 0.
    """
    worst = np.int32(0)
    top = np.int32(LEAST)
    for j in range(PART):
        bits = room[j]
        size = bits & np.int32(0x7FFFFFFF)
        worst = max(worst, size)
        order = bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))
        order = order if size != 0 else np.int32(0)
        room[j] = order
        top = max(top, order)
    return BROKEN if worst > INFINITY or top == INFINITY else np.int64(top)


@kernel("void(arena, i)")
def keep_allowed(room, otherwise):
    """Copy a part to the other one; where the words of the mask have no bit, put a number instead."""
    for w in range(WORDS):
        bits = room[2 * PART + w]
        part, other = room[32 * w : 32 * w + 32], room[PART + 32 * w : PART + 32 * w + 32]
        for j in range(32):
            keep = -((bits >> np.int32(j)) & np.int32(1))  # all ones, or 0
            other[j] = (part[j] & keep) | (np.int32(otherwise) & ~keep)


@kernel("i(arena, row, i, ids, arena)")
def find_tops(logits, words, size, numbers, room):
    """The likeliest allowed token, of equals the lowest id; NOTHING if none is finite; FAULTY for NaN, inf and a row of
    nothing but -inf. The numbers TOP and BASE become the largest logit and the largest allowed one."""
    top, best, token = np.int64(LEAST), np.int64(LEAST), np.int64(NOTHING)
    for start in range(0, len(logits), PART):
        take_part(logits, start, room)
        largest = order_part(room)
        if largest == BROKEN:
            return FAULTY
        top = max(top, largest)
        if largest <= best or take_mask(words, start, size, room) == NONE:
            continue
        keep_allowed(room, LEAST)
        for j in range(PART):
            if room[PART + j] > best:
                best = np.int64(room[PART + j])
                token = start + j
    if top == LEAST:
        return FAULTY
    for place, order in ((TOP, top), (BASE, best)):
        room[0] = order ^ ((order >> 31) & 0x7FFFFFFF)
        numbers.view(np.float64)[place] = room.view(np.float32)[0]
    return token


@kernel("void(arena, i, ids)")
def weigh_part(room, base, numbers):
    """Turn the logits of a part into exp((logit - base) / temperature), in place. base: a place of `numbers`."""
    weights = room.view(np.float32)
    temperature = np.float32(numbers.view(np.float64)[TEMPERATURE])
    top = np.float32(numbers.view(np.float64)[base])
    if temperature != np.float32(1.0):
        top /= temperature
        for j in range(PART):
            weights[j] /= temperature
    for j in range(PART):
        given = weights[j] - top
        x = given if given > np.float32(-87.0) else np.float32(-87.0)
        power = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
        x -= power * np.float32(0.693359375)  # ln 2 in two parts, so that the rest is exact
        x += power * np.float32(2.12194440e-4)
        y = np.float32(1.9875691500e-4) * x + np.float32(1.3981999507e-3)
        y = y * x + np.float32(8.3334519073e-3)
        y = y * x + np.float32(4.1665795894e-2)
        y = y * x + np.float32(1.6666665459e-1)
        y = y * x + np.float32(5.0000001201e-1)
        weights[j] = y * x * x + x + np.float32(1.0)
        bits = room[j] + (np.int32(power) << np.int32(23))
        room[j] = bits if given > np.float32(-87.0) else np.int32(0)


@kernel("void(arena, i, ids, i)")
def fold(room, n, sums, place):
    """Add up n floats of the other part, a power of two, halves on halves: the number at a place of `sums`."""
    weights = room.view(np.float32)
    while n > 1:
        n >>= 1
        for j in range(n):
            weights[PART + j] += weights[PART + n + j]
    sums.view(np.float64)[place] = np.float64(weights[PART])


@kernel("void(arena, row, i, i, ids, ids, arena)")
def add_up(logits, words, size, base, numbers, sums, room):
    """Σ exp((logit - base) / temperature): the numbers TOTAL, of all logits, and MASS, of those that are allowed; and
    MASS by parts, in `sums`. base: a place of `numbers`."""
    values, masses, weights = numbers.view(np.float64), sums.view(np.float64), room.view(np.float32)
    total, mass = np.float64(0.0), np.float64(0.0)
    for start in range(0, len(logits), PART):
        part = start // PART
        take_part(logits, start, room)
        weigh_part(room, base, numbers)
        for j in range(PART // 2):
            weights[PART + j] = weights[j] + weights[PART // 2 + j]
        fold(room, PART // 2, sums, part)
        total += masses[part]
        allowed = take_mask(words, start, size, room)
        if allowed == SOME:
            keep_allowed(room, 0)
            fold(room, PART, sums, part)
        elif allowed == NONE:
            masses[part] = 0.0
        mass += masses[part]
    values[TOTAL], values[MASS] = total, mass


@kernel("i(arena, row, i, ids, ids, arena)", entry=True)
def measure(logits, words, size, numbers, sums, room):
    """Measure a row of logits at a temperature, and what is allowed of it.

    logits: the bits of float32[W]. words: uint32[ceil(size / 32)], low bit first, 1 = allowed; none: all are allowed.
    numbers: the bits of float64[NUMBERS]. TEMPERATURE is given. TOP, the largest logit, TOTAL, the weights of all from
    TOP, BASE, a logit near the largest allowed one, and MASS, the weights of what is allowed from BASE, are told.
    sums: int64[ceil(W / PART)], and room: int32[ROOM], are scratch that `draw_token` goes on with.

    returns: the likeliest allowed token; NOTHING if none has any weight, FAULTY if this is no row of logits
    """
    token = find_tops(logits, words, size, numbers, room)
    if token == FAULTY:
        return token
    add_up(logits, words, size, TOP, numbers, sums, room)
    values = numbers.view(np.float64)
    if token == NOTHING:
        return token
    if (values[BASE] - values[TOP]) / values[TEMPERATURE] < FAINT_LOG:
        total = values[TOTAL]
        add_up(logits, words, size, BASE, numbers, sums, room)
        values[TOTAL] = total
    else:
        values[BASE] = values[TOP]
    return token


@kernel("i(arena, row, i, ids, ids, arena)", entry=True)
def draw_token(logits, words, size, numbers, sums, room):
    """The allowed token at which the sum of weights exceeds the number UNIFORM, in [0, 1), of their MASS.

    After `measure` found some. Should rounding leave none, the last one of positive weight.
    """
    target = numbers.view(np.float64)[UNIFORM] * numbers.view(np.float64)[MASS]
    chosen, reached = np.int64(0), np.float64(0.0)
    for part in range((len(logits) + PART - 1) // PART):
        own = sums.view(np.float64)[part]
        if own > 0.0:
            chosen = np.int64(part)
            if reached + own > target:
                break
            reached += own
    start = chosen * PART
    take_part(logits, start, room)
    weigh_part(room, BASE, numbers)
    take_mask(words, start, size, room)
    keep_allowed(room, 0)
    token = np.int64(NOTHING)
    for j in range(PART):
        weight = room.view(np.float32)[PART + j]
        if weight > 0.0:
            token = start + j
            reached += np.float64(weight)
            if reached > target:
                break
    return token


@kernel("void(arena, row, i, i, i, ids, arena, ids)")
def fill_bins(logits, words, size, prefix, shift, numbers, room, bins):
    """Count and weigh the allowed tokens by the digit of their doubled order above `shift`, where what is above it is
    `prefix`. Those below CUT, and those of less weight than FLOOR, are left out."""
    values, masses = numbers.view(np.float64), bins.view(np.float64)
    least = np.float32(values[FLOOR])
    bins[:] = 0
    other = room[PART : 2 * PART]
    for start in range(0, len(logits), PART):
        if take_mask(words, start, size, room) == NONE:
            continue
        take_part(logits, start, room)
        if order_part(room) < numbers[CUT]:
            continue
        take_part(logits, start, other)
        weigh_part(other, BASE, numbers)
        for j in range(PART):
            weight = other.view(np.float32)[j]
            if weight < least or room[j] < numbers[CUT]:
                continue
            place = (np.int64(room[j]) + (1 << 31)) * 2
            if place >> (shift + DIGIT) == prefix and (room[2 * PART + (j >> 5)] >> np.int32(j & 31)) & 1:
                digit = (place >> shift) & (DIGITS - 1)
                bins[digit] += 1
                masses[DIGITS + digit] += np.float64(weight)


@kernel("void(arena, row, i, i, ids, arena, ids)", entry=True)
def cut_off(logits, words, size, is_counted, numbers, room, bins):
    """Keep the likeliest of the tokens that are allowed and not below CUT, after `measure`: LIMIT of them, if they are
    counted, else so many that their weights reach the share LIMIT of KEPT. CUT and KEPT, the weights of what is kept,
    become less. Tokens as likely as the last one are kept.

    The threshold is found digit by digit of the order. Tokens of less weight than half of what may be lost, over the
    number of tokens, are never needed.
    """
    values, masses = numbers.view(np.float64), bins.view(np.float64)
    limit = values[LIMIT] if is_counted else values[LIMIT] * values[KEPT]
    values[FLOOR] = 0.0 if is_counted else 0.5 * (values[KEPT] - limit) / len(logits)
    reached, mass = np.float64(0.0), np.float64(0.0)
    prefix, shift = np.int64(0), np.int64(3 * DIGIT)
    while shift > 0:
        shift -= DIGIT
        fill_bins(logits, words, size, prefix, shift, numbers, room, bins)
        chosen, is_enough = np.int64(NOTHING), False
        for digit in range(DIGITS - 1, -1, -1):
            if bins[digit] == 0:
                continue
            if chosen != NOTHING:
                reached += np.float64(bins[chosen]) if is_counted else masses[DIGITS + chosen]
                mass += masses[DIGITS + chosen]
            chosen = np.int64(digit)
            is_enough = reached + (np.float64(bins[digit]) if is_counted else masses[DIGITS + digit]) >= limit
            if is_enough:
                break
        if prefix == 0 and shift == 2 * DIGIT and not is_enough:
            return  # all of them are not too many
        prefix = prefix * DIGITS + chosen
        if bins[chosen] == 1:
            break
    numbers[CUT] = ((prefix << shift) >> 1) - (1 << 31)
    values[KEPT] = mass + masses[DIGITS + chosen]


@kernel("i(arena, row, i, ids, arena)", entry=True)
def draw_kept(logits, words, size, numbers, room):
    """`draw_token` of the tokens that `cut_off` keeps: their weights from UNIFORM of KEPT on."""
    target = numbers.view(np.float64)[UNIFORM] * numbers.view(np.float64)[KEPT]
    token, reached = np.int64(NOTHING), np.float64(0.0)
    other = room[PART : 2 * PART]
    for start in range(0, len(logits), PART):
        take_part(logits, start, room)
        if order_part(room) < numbers[CUT] or take_mask(words, start, size, room) == NONE:
            continue
        take_part(logits, start, other)
        weigh_part(other, BASE, numbers)
        for j in range(PART):
            weight = other.view(np.float32)[j]
            if room[j] < numbers[CUT] or weight <= 0.0 or not (room[2 * PART + (j >> 5)] >> np.int32(j & 31)) & 1:
                continue
            token = start + j
            reached += np.float64(weight)
            if reached > target:
                return token
    return token
