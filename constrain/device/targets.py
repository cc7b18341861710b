"""From logits to the target's distribution at every place: penalties, mask, min-p, temperature, top-k, top-p.

1. `summarise` (places × chunks of the vocabulary): largest score and Σ exp of each chunk, of what is refused and of
   what is allowed, and the likeliest allowed id. One pass over the logits, the masks as bits.
2. `penalise` (penalties), if there are any: changes single scores in place, between two runs of `summarise`.
3. `law` (places): joins the chunks, and states the distribution in four numbers and a token.
4. `narrow`, `cut` (places × chunks) and `rejoin` (places), once for top-k and once for top-p, if some tree has it.

With x the scores after penalties, T the temperature and A the allowed ids, the target is

    p(v) = exp(x_v / T − kept)  where v ∈ A and x_v ≥ least,  0 elsewhere;  one-hot where a token is forced, or T = 0

and log p_raw = x_v / T + raw, log p_sampled = x_v / T − kept, log Z as in `constrain.sampling.core.step`. Every filter
is a threshold on x, since exp(x / T) grows with x. Their order is the library's: penalties and min-p are processors,
which see the scores before the temperature and keep the mass of what is allowed; then temperature, top-k, top-p.

Top-k and top-p without a sort: the least number θ such that what lies above θ weighs less than k (counted) or p (of the
mass) is found in the order of float32, four bits a pass: `narrow` weighs what lies above each of 16 bounds, chunk by
chunk, and the next pass, each program for itself, takes the first bound above which there is less. So no program waits
for another, all chunks are read at once, and the passes are a fixed row of launches that a graph can hold. PERF: one
program a place, which halved the interval 32 times, took 1.1 ms for 17 places of 128k logits on an H200. Ties stay
whole, as in `constrain.sampling.core.filters`. One difference: equal means equal scores here, equal probabilities in
float32 there, so tokens that differ by less than that rounds are ties there only.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from constrain.sampling.fused import batch

NO = tl.constexpr(-1)  # no row, no token
DEAD = tl.constexpr(-2)  # in `only`: nothing that is allowed has any mass
FAULTY = tl.constexpr(-3)  # in `only`: the row is no logits
AT, FORCED, MASKS = (tl.constexpr(each) for each in (batch.AT, batch.FORCED, batch.MASKS))
COLUMNS = tl.constexpr(batch.COLUMNS)
OPTIONS, TEMPERATURE, TOP_K, TOP_P, MIN_P = (
    tl.constexpr(each) for each in (batch.OPTIONS, batch.TEMPERATURE, batch.TOP_K, batch.TOP_P, batch.MIN_P)
)
BITS = tl.constexpr(4)  # of a score that a pass of `narrow` decides. PERF: with 5, many places take longer (note 0036)
BOUNDS = tl.constexpr(16)  # 2 ** BITS
TURNS = tl.constexpr(8)  # passes, for 32 bits
PART = tl.constexpr(512)  # ids of a chunk that are compared with all bounds at a time


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
        # PERF: by words of 32 ids, so that a word of the mask is read once; one exponential a logit, from the top of
        # its own side, which gives the same sums as two. For sm_90 and bfloat16: 8 loads a thread instead of 39.
        words = chunk * (CHUNK // 32) + tl.arange(0, CHUNK // 32)[:, None]
        ids = 32 * words + tl.arange(0, 32)[None, :]
        inside = ids < scores.width
        x = tl.load(scores.logits + row.to(tl.int64) * scores.stride + ids, mask=inside, other=float("-inf"))
        x, allowed = x.to(tl.float32), inside
        if mask != NO:
            at_word = scores.bitmask + mask.to(tl.int64) * scores.words + words
            word = tl.load(at_word, mask=32 * words < scores.size, other=0)
            allowed = (ids < scores.size) & (((word >> tl.arange(0, 32)[None, :]) & 1) != 0)
        if not PLAIN:
            temperature = temperature_of(trees, tree)
            if temperature != 1:
                x = tl.math.div_rn(x, temperature + tl.zeros([CHUNK // 32, 32], tl.float32))
        bad = tl.max((x != x).to(tl.int32))
        kept = tl.where(allowed, x, float("-inf"))
        top, top_refused = tl.max(kept), tl.max(tl.where(allowed, float("-inf"), x))
        parts = exp_from(x, tl.where(allowed, top, top_refused))
        at = sums + 4 * (place.to(tl.int64) * chunks + chunk)
        tl.store(at, tl.where(bad != 0, float("inf"), top_refused))
        tl.store(at + 1, tl.sum(tl.where(allowed, 0.0, parts)))
        tl.store(at + 2, top)
        tl.store(at + 3, tl.sum(tl.where(allowed, parts, 0.0)))
        tl.store(best + place.to(tl.int64) * chunks + chunk, tl.min(tl.where(kept == top, ids, 2147483647)))


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
        log_total = log_sum(log_refused, log_allowed)
        at = laws.law + 4 * place.to(tl.int64)
        tl.store(at, shift - log_total)
        tl.store(at + 1, log_kept)
        tl.store(at + 2, tl.minimum(log_allowed - log_total, 0.0))
        tl.store(at + 3, least.to(tl.float64))
        tl.store(laws.only + place, only)


class Search(NamedTuple):
    """The search for the thresholds of B · P places.

    lows: int64[TURNS + 1, B · P], the least key that θ may be before each pass; keys are scores in order, from 0 on
    above: float32[2, B · P, C, BOUNDS], what of each chunk lies above each bound, of one pass and of the one before
    kept: float32[B · P, C, 2], as `Laws.sums`, for what is kept
    places: B · P
    """

    lows: torch.Tensor
    above: torch.Tensor
    kept: torch.Tensor
    places: int


@triton.jit
def filtered_at(trees, laws, place, P: tl.constexpr, COUNTED: tl.constexpr):
    """(row of the logits, NO where this filter changes nothing; k or p)."""
    tree = place // P
    row = tl.load(numbers_of(trees, tree, AT, P) + place % P)
    wanted = option(trees, tree, TOP_K if COUNTED else TOP_P)
    only = tl.load(laws.only + place, mask=row != NO, other=0)
    filters = wanted > 0 if COUNTED else wanted < 1
    return tl.where((only == NO) & filters, row, NO), wanted


@triton.jit
def shift_of(turn):
    """The number of bits below the ones of a pass."""
    return tl.maximum(32 - BITS * (turn + 1), 0).to(tl.int64)


@triton.jit
def lowest(laws, search, place, turn, wanted, CHUNKS: tl.constexpr, COUNTED: tl.constexpr):
    """int64: the least key that θ may be before a pass, by what the one before weighed."""
    low = tl.zeros([], tl.int64)
    if turn > 0:
        low = tl.load(search.lows + (turn - 1) * search.places + place)
        pieces, bounds = tl.arange(0, CHUNKS), tl.arange(0, BOUNDS)
        total = wanted
        if not COUNTED:
            _top, log_total = joined(laws.sums + 4 * place.to(tl.int64) * laws.chunks + 2, pieces, laws.chunks)
            total = wanted * tl.exp(log_total - _top.to(tl.float64))
        at = ((turn - 1) % 2) * search.places + place
        above = search.above + (at.to(tl.int64) * laws.chunks + pieces[:, None]) * BOUNDS + bounds[None, :]
        weights = tl.load(above, mask=pieces[:, None] < laws.chunks, other=0.0).to(tl.float64)
        first = tl.min(tl.where(tl.sum(weights, 0) < total, bounds, BOUNDS - 1), 0)
        low += first.to(tl.int64) << shift_of(turn - 1)
    return low


@triton.jit
def top_of(laws, place, CHUNKS: tl.constexpr):
    """float32: the largest allowed score of a place, over the temperature."""
    pieces = tl.arange(0, CHUNKS)
    sums = laws.sums + 4 * place.to(tl.int64) * laws.chunks + 4 * pieces
    return tl.max(tl.load(sums + 2, mask=pieces < laws.chunks, other=float("-inf")), 0)


@triton.jit(do_not_specialize=["turn"])
def narrow(scores, trees, laws, search, turn, P: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
           COUNTED: tl.constexpr):  # fmt: skip
    """Stage 4, one pass: what of a chunk lies above each bound, counted or weighed."""
    place, chunk = tl.program_id(0), tl.program_id(1)
    row, wanted = filtered_at(trees, laws, place, P, COUNTED)
    if row != NO:
        tree = place // P
        low = lowest(laws, search, place, turn, wanted, CHUNKS, COUNTED)
        tl.store(search.lows + turn * search.places + place, low, mask=chunk == 0)
        bounds = low + ((tl.arange(0, BOUNDS) + 1).to(tl.int64) << shift_of(turn)) - 1
        ends = tl.minimum(bounds - 2147483648, 2147483647).to(tl.int32)
        mask = tl.load(numbers_of(trees, tree, MASKS, P) + place % P)
        temperature = temperature_of(trees, tree)
        top = top_of(laws, place, CHUNKS)
        least = tl.load(laws.law + 4 * place.to(tl.int64) + 3).to(tl.float32)
        part: tl.constexpr = PART if PART < CHUNK else CHUNK
        weights = tl.zeros([BOUNDS, part], tl.float32)
        for start in range(0, CHUNK, part):
            x, allowed = scores_at(scores, row, mask, chunk * CHUNK + start + tl.arange(0, part))
            kept = allowed & (x >= least)
            weight = kept.to(tl.float32)
            if not COUNTED:
                y = tl.math.div_rn(x, temperature + tl.zeros([part], tl.float32))
                weight = tl.where(kept, tl.exp(y - top), 0.0)
            weights += tl.where(key_of(x)[None, :] > ends[:, None], weight[None, :], 0.0)
        at = (turn % 2) * search.places + place
        above = search.above + (at.to(tl.int64) * laws.chunks + chunk) * BOUNDS + tl.arange(0, BOUNDS)
        tl.store(above, tl.sum(weights, 1))


@triton.jit
def cut(scores, trees, laws, search, P: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
        COUNTED: tl.constexpr):  # fmt: skip
    """Stage 4: what of a chunk lies from θ on. `least`, which a program writes, others may read as new or old."""
    place, chunk = tl.program_id(0), tl.program_id(1)
    row, wanted = filtered_at(trees, laws, place, P, COUNTED)
    if row != NO:
        tree = place // P
        low = lowest(laws, search, place, row * 0 + TURNS, wanted, CHUNKS, COUNTED)
        key = (low - 2147483648).to(tl.int32)
        theta = tl.where(key < 0, key ^ 0x7FFFFFFF, key).to(tl.float32, bitcast=True)
        at = laws.law + 4 * place.to(tl.int64) + 3
        least = tl.load(at).to(tl.float32)
        least = tl.where(theta > least, theta, least)  # θ is NaN where all are kept
        tl.store(at, least.to(tl.float64), mask=chunk == 0)
        mask = tl.load(numbers_of(trees, tree, MASKS, P) + place % P)
        x, allowed = scores_at(scores, row, mask, chunk * CHUNK + tl.arange(0, CHUNK))
        x = tl.where(allowed & (x >= least), x, float("-inf"))
        y = tl.math.div_rn(x, temperature_of(trees, tree) + tl.zeros([CHUNK], tl.float32))
        top = top_of(laws, place, CHUNKS)
        kept = search.kept + 2 * (place.to(tl.int64) * laws.chunks + chunk)
        tl.store(kept, top)
        tl.store(kept + 1, tl.sum(exp_from(y, top), 0))


@triton.jit
def rejoin(trees, laws, search, P: tl.constexpr, CHUNKS: tl.constexpr, COUNTED: tl.constexpr):
    """Stage 4, one program a place: what is kept is the distribution."""
    place = tl.program_id(0)
    row, _wanted = filtered_at(trees, laws, place, P, COUNTED)
    if row != NO:
        pieces = tl.arange(0, CHUNKS)
        some = pieces < laws.chunks
        kept = search.kept + 2 * (place.to(tl.int64) * laws.chunks + pieces)
        sums = laws.sums + 4 * (place.to(tl.int64) * laws.chunks + pieces)
        tl.store(sums + 2, tl.load(kept, mask=some, other=0.0), mask=some)
        tl.store(sums + 3, tl.load(kept + 1, mask=some, other=0.0), mask=some)
        tops = tl.load(kept, mask=some, other=float("-inf"))
        total = tl.sum(tl.load(kept + 1, mask=some, other=0.0).to(tl.float64), 0)
        tl.store(laws.law + 4 * place.to(tl.int64) + 1, tl.max(tops, 0).to(tl.float64) + tl.log(total))
