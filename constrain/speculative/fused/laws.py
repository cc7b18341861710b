"""From logits to the target's distribution at every place: penalties, mask, min-p, temperature, top-k, top-p.

1. `summarise` (places × chunks of the vocabulary): largest score and Σ exp of each chunk, of what is refused and of
   what is allowed, and the likeliest allowed id. One pass over the logits, the masks as bits.
2. `penalise` (penalties), if there are any: changes single scores in place, between two runs of `summarise`.
3. `law` (places): joins the chunks; finds the thresholds of the filters; states the distribution in four
   numbers and a token.

With x the scores after penalties, T the temperature and A the allowed ids, the target is

    p(v) = exp(x_v / T − kept)  where v ∈ A and x_v ≥ least,  0 elsewhere;  one-hot where a token is forced, or T = 0

and log p_raw = x_v / T + raw, log p_sampled = x_v / T − kept, log Z as in `constrain.sampling.core.step`. Every filter
is a threshold on x, since exp(x / T) grows with x. Their order is the library's: penalties and min-p are processors,
which see the scores before the temperature and keep the mass of what is allowed; then temperature, top-k, top-p.

Top-k and top-p without a sort: the least number θ such that what lies above θ weighs less than k (counted) or p (of the
mass) is found by bisection over the bits of float32, in at most 32 passes, the same on every device. Ties stay whole,
as in `constrain.sampling.core.filters`. One difference: equal means equal scores here, equal probabilities in float32
there, so tokens that differ by less than that rounds are ties there only.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from constrain.speculative.fused import batch

NO = tl.constexpr(-1)  # no row, no token
DEAD = tl.constexpr(-2)  # in `only`: nothing that is allowed has any mass
FAULTY = tl.constexpr(-3)  # in `only`: the row is no logits
AT, FORCED, MASKS = (tl.constexpr(each) for each in (batch.AT, batch.FORCED, batch.MASKS))
COLUMNS = tl.constexpr(batch.COLUMNS)
OPTIONS, TEMPERATURE, TOP_K, TOP_P, MIN_P = (
    tl.constexpr(each) for each in (batch.OPTIONS, batch.TEMPERATURE, batch.TOP_K, batch.TOP_P, batch.MIN_P)
)
LARGEST = tl.constexpr(3.4028234663852886e38)


class Laws(NamedTuple):
    """The targets' distributions at B · P places, over C chunks.

    sums: float32[B · P, C, 4], for what is refused and for what the target keeps of the chunk: scale, Σ exp(· − scale)
    plain: the same at temperature 1, before penalties; used where processors act
    best: int32[B · P, C], the likeliest allowed id of each chunk
    `law`: float64[B · P, 4]: raw, kept, log Z, least (see the module)
    only: int32[B · P], the token that is forced or likeliest at temperature 0; or NO, DEAD, FAULTY
    """

    sums: torch.Tensor
    plain: torch.Tensor
    best: torch.Tensor
    law: torch.Tensor
    only: torch.Tensor
    chunks: int


@triton.jit
def numbers_of(trees, tree, column, P: tl.constexpr):
    """The address at which a column of a tree begins."""
    return trees.numbers + (tree * COLUMNS + column) * P


@triton.jit
def option(trees, tree, which):
    return tl.load(trees.reals + tree * (OPTIONS + trees.draws) + which)


@triton.jit
def temperature_of(trees, tree):
    """float32; 1 at temperature 0."""
    given = option(trees, tree, TEMPERATURE)
    return tl.where(given == 0, 1.0, given).to(tl.float32)


@triton.jit
def scores_at(scores, row, mask, ids):
    """(float32 scores of some ids of a row, -inf beyond the width; which of them are allowed)."""
    x = tl.load(scores.logits + row.to(tl.int64) * scores.stride + ids, mask=ids < scores.width, other=float("-inf"))
    allowed = ids < scores.width
    if mask != NO:
        allowed = ids < scores.size
        word = tl.load(scores.bitmask + mask.to(tl.int64) * scores.words + ids // 32, mask=allowed, other=0)
        allowed = allowed & (((word >> (ids % 32)) & 1) != 0)
    return x.to(tl.float32), allowed


@triton.jit
def exp_from(x, top):
    """exp(x − top), 0 where x is -inf."""
    return tl.where(x > float("-inf"), tl.exp(x - top), 0.0)


@triton.jit
def summarise(scores, trees, sums, best, chunks, P: tl.constexpr, CHUNK: tl.constexpr, PLAIN: tl.constexpr):
    """Stage 1; PLAIN: at temperature 1."""
    place, chunk = tl.program_id(0), tl.program_id(1)
    tree = place // P
    row = tl.load(numbers_of(trees, tree, AT, P) + place % P)
    if row != NO:
        mask = tl.load(numbers_of(trees, tree, MASKS, P) + place % P)
        ids = chunk * CHUNK + tl.arange(0, CHUNK)
        x, allowed = scores_at(scores, row, mask, ids)
        if not PLAIN:
            x = tl.math.div_rn(x, temperature_of(trees, tree) + tl.zeros([CHUNK], tl.float32))
        bad = tl.max((x != x).to(tl.int32), 0)
        kept, refused = tl.where(allowed, x, float("-inf")), tl.where(allowed, float("-inf"), x)
        top, top_refused = tl.max(kept, 0), tl.max(refused, 0)
        at = sums + 4 * (place.to(tl.int64) * chunks + chunk)
        tl.store(at, tl.where(bad != 0, float("inf"), top_refused))
        tl.store(at + 1, tl.sum(exp_from(refused, top_refused), 0))
        tl.store(at + 2, top)
        tl.store(at + 3, tl.sum(exp_from(kept, top), 0))
        tl.store(best + place.to(tl.int64) * chunks + chunk, tl.min(tl.where(kept == top, ids, 2147483647), 0))


@triton.jit
def penalise(scores, trees, penalties, count, P: tl.constexpr, BLOCK: tl.constexpr):
    """Stage 2, see `batch.Penalties`. scores: float32, changed in place."""
    entry = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(penalties.places + 2 * entry, mask=entry < count, other=-1)
    token = tl.load(penalties.places + 2 * entry + 1, mask=place >= 0, other=0)
    tree = place // P
    row = tl.load(numbers_of(trees, tree, AT, P) + place % P, mask=place >= 0, other=-1)
    mask = tl.load(numbers_of(trees, tree, MASKS, P) + place % P, mask=row >= 0, other=-1)
    word = tl.load(scores.bitmask + mask.to(tl.int64) * scores.words + token // 32, mask=mask >= 0, other=-1)
    allowed = (row >= 0) & ((mask < 0) | (token < scores.size)) & (((word >> (token % 32)) & 1) != 0)
    at = scores.logits + row.to(tl.int64) * scores.stride + token
    x = tl.load(at, mask=allowed, other=0.0)
    factor = tl.load(penalties.terms + 3 * entry + 1, mask=allowed, other=1.0)
    x += tl.load(penalties.terms + 3 * entry, mask=allowed, other=0.0)
    x = tl.where(x > 0, tl.math.div_rn(x, factor), x * factor)
    tl.store(at, x + tl.load(penalties.terms + 3 * entry + 2, mask=allowed, other=0.0), mask=allowed)


@triton.jit
def joined(at, pieces, chunks):
    """(the largest score, float32; log Σ exp over the chunks, float64; -inf where there is nothing)."""
    tops = tl.load(at + 4 * pieces, mask=pieces < chunks, other=float("-inf"))
    parts = tl.load(at + 4 * pieces + 1, mask=pieces < chunks, other=0.0)
    top = tl.max(tops, 0)
    total = tl.sum(tl.where(parts > 0, parts.to(tl.float64) * tl.exp((tops - top).to(tl.float64)), 0.0), 0)
    some = (total > 0) & (top < float("inf"))
    log_total = top.to(tl.float64) + tl.log(tl.where(some, total, 1.0))
    return top, tl.where(some, log_total, float("-inf"))


@triton.jit
def log_sum(one, other):
    """log(exp one + exp other) of float64, one of them finite."""
    top = tl.maximum(one, other)
    return top + tl.log(tl.exp(one - top) + tl.exp(other - top))


@triton.jit
def key_of(x):
    """int32 in the order of the floats; 0 and −0 alike."""
    bits = tl.where(x == 0, 0.0, x).to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


@triton.jit
def split_at(scores, here, top, key, chunks, COUNTED: tl.constexpr, CHUNK: tl.constexpr):
    """Allowed scores on both sides of a key: (float64: how many are above it, or Σ exp((x − top) / T) of them; the
    largest key that is not above, the least that is). top: over T."""
    row, mask, temperature = here
    total = tl.zeros([], tl.float64)
    below, above = key * 0 - 2147483647, key * 0 + 2147483647
    for chunk in range(chunks):
        x, allowed = scores_at(scores, row, mask, chunk * CHUNK + tl.arange(0, CHUNK))
        keys = key_of(x)
        more = allowed & (keys > key)
        below = tl.maximum(below, tl.max(tl.where(allowed & (keys <= key), keys, -2147483647), 0))
        above = tl.minimum(above, tl.min(tl.where(more, keys, 2147483647), 0))
        if COUNTED:
            total += tl.sum(more.to(tl.int32), 0)
        else:
            y = tl.math.div_rn(x, temperature + tl.zeros([CHUNK], tl.float32))
            total += tl.sum(tl.where(more, tl.exp(y - top), 0.0), 0)
    return total, below, above


@triton.jit
def threshold(scores, here, top, most, least, target, chunks, COUNTED: tl.constexpr, CHUNK: tl.constexpr):
    """float32: the least number from `least` on above which there is less than the target. most: the largest score."""
    low = key_of(tl.maximum(least, -LARGEST)).to(tl.int64)
    high = key_of(most).to(tl.int64)
    while low < high:  # bounds move to keys that occur, so that few scores, or coarse ones, take few passes
        middle = low + (high - low) // 2
        total, below, above = split_at(scores, here, top, middle.to(tl.int32), chunks, COUNTED, CHUNK)
        if total < target:
            high = tl.maximum(below.to(tl.int64), low)
        else:
            low = above.to(tl.int64)
    key = low.to(tl.int32)
    return tl.where(key < 0, key ^ 0x7FFFFFFF, key).to(tl.float32, bitcast=True)


@triton.jit
def keep(scores, here, sums, top, most, least, chunks, CHUNK: tl.constexpr):
    """Write what the chunks have from `least` on; float64: its Σ exp((x − most) / T), and Σ exp(x − most)."""
    row, mask, temperature = here
    total, plain = tl.zeros([], tl.float64), tl.zeros([], tl.float64)
    for chunk in range(chunks):
        x, allowed = scores_at(scores, row, mask, chunk * CHUNK + tl.arange(0, CHUNK))
        x = tl.where(allowed & (x >= least), x, float("-inf"))
        part = tl.sum(exp_from(tl.math.div_rn(x, temperature + tl.zeros([CHUNK], tl.float32)), top), 0)
        total += part
        plain += tl.sum(exp_from(x, most), 0)
        tl.store(sums + 4 * chunk + 2, top)
        tl.store(sums + 4 * chunk + 3, part)
    return total, plain


@triton.jit
def law(scores, trees, laws, P: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr, PROCESSED: tl.constexpr):
    """Stage 3, one program a place. PROCESSED: min-p or penalties act in some row, and `laws.plain` is filled."""
    place = tl.program_id(0)
    tree = place // P
    row = tl.load(numbers_of(trees, tree, AT, P) + place % P)
    if row != NO:
        mask = tl.load(numbers_of(trees, tree, MASKS, P) + place % P)
        forced = tl.load(numbers_of(trees, tree, FORCED, P) + place % P)
        here = (row, mask, temperature_of(trees, tree))
        pieces = tl.arange(0, CHUNKS)
        sums = laws.sums + 4 * place.to(tl.int64) * laws.chunks
        top_refused, log_refused = joined(sums, pieces, laws.chunks)
        top, log_kept = joined(sums + 2, pieces, laws.chunks)
        least = tl.zeros([], tl.float32) - float("inf")
        shift = tl.zeros([], tl.float64)
        log_allowed = log_kept
        only = forced
        most_any = tl.maximum(top, top_refused)
        if (most_any > float("-inf")) & (most_any < float("inf")):
            if forced == NO:
                only = tl.where(log_kept > float("-inf"), NO, DEAD)
        else:
            only = FAULTY + row * 0
            log_refused = shift  # any number
        if only == NO:
            tops = tl.load(sums + 4 * pieces + 2, mask=pieces < laws.chunks, other=float("-inf"))
            piece = tl.min(tl.where(tops == top, pieces, CHUNKS), 0)
            likeliest = tl.load(laws.best + place.to(tl.int64) * laws.chunks + piece)
            most, _ = scores_at(scores, row, mask, likeliest)
            if PROCESSED:
                plain = laws.plain + 4 * place.to(tl.int64) * laws.chunks
                _top, plain_refused = joined(plain, pieces, laws.chunks)
                _top, plain_allowed = joined(plain + 2, pieces, laws.chunks)
                base = option(trees, tree, MIN_P)
                if base > 0:
                    least = most + tl.log(base).to(tl.float32)
                total, unit = keep(scores, here, sums, top, most, least, laws.chunks, CHUNK)
                plain_total = log_sum(plain_refused, plain_allowed)
                temperature = here[2].to(tl.float64)
                shift = (plain_allowed - plain_total - most.to(tl.float64) - tl.log(unit)) / temperature
                log_refused -= plain_total / temperature
                log_kept = top.to(tl.float64) + tl.log(total)
                log_allowed = log_kept + shift
            if option(trees, tree, TEMPERATURE) == 0:
                only = likeliest
            else:
                k, share = option(trees, tree, TOP_K), option(trees, tree, TOP_P)
                if k > 0:
                    least = threshold(scores, here, top, most, least, k, laws.chunks, True, CHUNK)
                if (k > 0) | (share < 1):
                    total, unit = keep(scores, here, sums, top, most, least, laws.chunks, CHUNK)
                    if share < 1:
                        least = threshold(scores, here, top, most, least, share * total, laws.chunks, False, CHUNK)
                        total, unit = keep(scores, here, sums, top, most, least, laws.chunks, CHUNK)
                    log_kept = top.to(tl.float64) + tl.log(total)
        log_total = log_sum(log_refused, log_allowed)
        at = laws.law + 4 * place.to(tl.int64)
        tl.store(at, shift - log_total)
        tl.store(at + 1, log_kept)
        tl.store(at + 2, tl.minimum(log_allowed - log_total, 0.0))
        tl.store(at + 3, least.to(tl.float64))
        tl.store(laws.only + place, only)
