"""Two Triton kernels: what all rows need of their logits, and the walk down each tree.

1. `summarise` (rows × chunks of the vocabulary): for each chunk the maximum and the sum of exponentials, over all ids
   and over the allowed ones, and the likeliest allowed id. One pass over the logits, the masks as bits.
2. `walk` (trees): from the root; joins the chunks of the place, finds the chunk in which the uniform number falls,
   reads that chunk again for the token, writes its numbers, and goes to the child that has the token, if one has.

So the vocabulary is read once for every row, whatever the walk does, and once more for one chunk of each place visited.
Sums over a chunk are in float32, what is drawn from is in float64: a float32 uniform would be too coarse for the tail.

Meaning: reference.py. Run here: by Triton's interpreter on a CPU (TRITON_INTERPRET=1), in tests; on no GPU so far.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from constrain.speculative.fused.batch import ENTRY, Trees

CHUNK = 4096  # ids, a multiple of 32
NO = tl.constexpr(-1)
SUMS = 4  # floats of a chunk: maximum and sum over all, maximum and sum over the allowed


def verify(logits: torch.Tensor, trees: Trees, *, temperature: float, size: int) -> torch.Tensor:
    """As `reference.verify`, for float32, float16 or bfloat16 logits with contiguous rows."""
    rows, width = logits.shape
    count, steps = trees.uniform.shape
    chunk = min(CHUNK, max(32, triton.next_power_of_2(width)))
    chunks = triton.cdiv(width, chunk)
    sums = torch.empty((rows, chunks, SUMS), dtype=torch.float32, device=logits.device)
    best = torch.empty((rows, chunks), dtype=torch.int32, device=logits.device)
    entries = torch.full((count, steps, ENTRY), -1, dtype=torch.int32, device=logits.device)
    scale = 1.0 / (temperature or 1.0)
    words = trees.bitmask.shape[1]
    summarise[rows, chunks](
        logits, logits.stride(0), trees.bitmask, trees.masks, sums, best, width, size, words, chunks, scale, chunk
    )
    walk[count,](
        logits, logits.stride(0), trees.bitmask, sums, best, trees.first, trees.tokens, trees.parents, trees.forced,
        trees.masks, trees.uniform, entries, width, size, words, chunks, scale, steps,
        temperature == 0, chunk, triton.next_power_of_2(chunks), triton.next_power_of_2(max(1, trees.most)), ENTRY,
    )  # fmt: skip
    return entries


@triton.jit
def _chunk(logits, stride, bitmask, mask, row, width, size, words, scale, ids):
    """float32: scaled logits of some ids of a row, -inf beyond the width; the same with what is not allowed -inf."""
    x = tl.load(logits + row.to(tl.int64) * stride + ids, mask=ids < width, other=float("-inf")).to(tl.float32) * scale
    allowed = ids < size
    if mask != NO:
        word = tl.load(bitmask + mask.to(tl.int64) * words + ids // 32, mask=allowed, other=0)
        allowed = allowed & (((word >> (ids % 32)) & 1) != 0)
    return x, tl.where(allowed, x, float("-inf"))


@triton.jit
def _exp_from(x, top):
    """exp(x - top), 0 everywhere when top is -inf."""
    return tl.where(x > float("-inf"), tl.exp(x - top), 0.0)


@triton.jit
def summarise(logits, stride, bitmask, masks, sums, best, width, size, words, chunks, scale, CHUNK: tl.constexpr):
    row, chunk = tl.program_id(0), tl.program_id(1)
    mask = tl.load(masks + row)
    ids = chunk * CHUNK + tl.arange(0, CHUNK)
    x, masked = _chunk(logits, stride, bitmask, mask, row, width, size, words, scale, ids)
    top, top_masked = tl.max(x, 0), tl.max(masked, 0)
    place = row.to(tl.int64) * chunks + chunk
    tl.store(sums + 4 * place, top)
    tl.store(sums + 4 * place + 1, tl.sum(_exp_from(x, top), 0))
    tl.store(sums + 4 * place + 2, top_masked)
    tl.store(sums + 4 * place + 3, tl.sum(_exp_from(masked, top_masked), 0))
    tl.store(best + place, tl.min(tl.where(masked == top_masked, ids, 2147483647), 0))


@triton.jit
def _log_of(tops, parts):
    """(maximum, Σ exp relative to it in float64, weight of each chunk in float64) from the sums of chunks."""
    top = tl.max(tops, 0)
    weights = tl.where(parts > 0, parts.to(tl.float64) * tl.exp((tops - top).to(tl.float64)), 0.0)
    return top, tl.sum(weights, 0), weights


@triton.jit
def _first_beyond(weights, target, n: tl.constexpr):
    """The first index whose cumulative weight exceeds a target, at most the last of positive weight; the sum before."""
    cumulative = tl.cumsum(weights, 0)
    index = tl.arange(0, n)
    last = tl.max(tl.where(weights > 0, index, 0), 0)
    found = tl.minimum(tl.sum((cumulative <= tl.maximum(target, 0.0)).to(tl.int32), 0), last)
    return found, tl.sum(tl.where(index < found, weights, 0.0), 0)


@triton.jit
def walk(
    logits, stride, bitmask, sums, best, first, tokens, parents, forced, masks, uniform, entries, width, size, words,
    chunks, scale, steps,
    GREEDY: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr, NODES: tl.constexpr, ENTRY: tl.constexpr,
):  # fmt: skip
    """Go down one tree: draw a token at a place, follow the node that has it, until no node has. One program a tree.

    A row is a place that the forward read, root first; the rows of tree i are first[i] … first[i + 1] − 1.

    Args:
        logits, stride: float[rows, width] and the distance of its rows; before temperature.
        bitmask: int32[masks, words], 1 = allowed.
        sums: float32[rows, chunks, 4], from `summarise`: largest logit and Σ exp of each chunk, of all and of what is
            allowed.
        best: int32[rows, chunks], from `summarise`: the likeliest allowed token of each chunk.
        first: int32[trees + 1], the first row of each tree.
        tokens, parents: int32[rows], of the node that leads to the row; parents count nodes of the tree, -1 the root.
        forced: int32[rows], the only allowed token, or -1.
        masks: int32[rows], the row of `bitmask`, or -1: everything is allowed.
        uniform: float64[trees, steps] in [0, 1), one for each draw.
        entries: int32[trees, steps, ENTRY], the result: node taken (-1 at the end), token (-1 at a dead end), and the
            bits of log p_raw, log p_sampled and log Z in float32, as in `constrain.sampling.core.step`.
        width, size, words, chunks: logits of a row, tokens of the vocabulary, words of a mask, chunks of a row.
        scale: 1 / temperature, or 1 if GREEDY.
        steps: the most places on a path.
        GREEDY: take the likeliest token instead of drawing.
        CHUNK: logits of a chunk. CHUNKS, NODES: chunks of a row and nodes of a tree, rounded up to powers of 2.
        ENTRY: words of an entry.
    """
    tree = tl.program_id(0)
    root = tl.load(first + tree)
    count = tl.load(first + tree + 1) - root - 1
    nodes = tl.arange(0, NODES)
    node_tokens = tl.load(tokens + root + 1 + nodes, mask=nodes < count, other=-2)
    node_parents = tl.load(parents + root + 1 + nodes, mask=nodes < count, other=-2)
    pieces = tl.arange(0, CHUNKS)
    node, step, drawn, going = root * 0 - 1, root * 0, root * 0, root * 0 + 1
    while going != 0:
        row = root + node + 1
        mask = tl.load(masks + row)
        only = tl.load(forced + row)
        at = sums + 4 * (row.to(tl.int64) * chunks + pieces)
        inside = pieces < chunks
        top, total, _ = _log_of(tl.load(at, mask=inside, other=float("-inf")), tl.load(at + 1, mask=inside, other=0.0))
        tops = tl.load(at + 2, mask=inside, other=float("-inf"))
        top_allowed, allowed, weights = _log_of(tops, tl.load(at + 3, mask=inside, other=0.0))
        log_total = top.to(tl.float64) + tl.log(total)
        log_allowed = top_allowed.to(tl.float64) + tl.log(tl.where(allowed > 0, allowed, 1.0))
        token = only
        if only == NO:
            if allowed > 0:
                if GREEDY:
                    piece = tl.min(tl.where(tops == top_allowed, pieces, CHUNKS), 0)
                    token = tl.load(best + row.to(tl.int64) * chunks + piece)
                else:
                    target = tl.load(uniform + tree * steps + drawn) * allowed
                    piece, before = _first_beyond(weights, target, CHUNKS)
                    ids = piece * CHUNK + tl.arange(0, CHUNK)
                    _, masked = _chunk(logits, stride, bitmask, mask, row, width, size, words, scale, ids)
                    inner = tl.where(masked > float("-inf"), tl.exp((masked - top_allowed).to(tl.float64)), 0.0)
                    index, _ = _first_beyond(inner, target - before, CHUNK)
                    token = piece * CHUNK + index
                    drawn += 1
        logit = tl.load(logits + row.to(tl.int64) * stride + tl.maximum(token, 0)).to(tl.float32) * scale
        raw = logit.to(tl.float64) - log_total
        sampled = logit.to(tl.float64) - log_allowed
        log_z = tl.minimum(log_allowed - log_total, 0.0)
        if only != NO:
            sampled = log_total * 0
            log_z = raw
            if logit == float("-inf"):
                token = token * 0 - 1
        if GREEDY:
            sampled = log_total * 0
        if token == NO:
            raw = log_total * 0 + float("-inf")
            sampled = log_total * 0
            log_z = raw
        child = tl.max(tl.where((node_parents == node) & (node_tokens == token), nodes, -1), 0)
        entry = entries + (tree * steps + step) * ENTRY
        tl.store(entry, child)
        tl.store(entry + 1, token)
        tl.store(entry + 2, raw.to(tl.float32).to(tl.int32, bitcast=True))
        tl.store(entry + 3, sampled.to(tl.float32).to(tl.int32, bitcast=True))
        tl.store(entry + 4, log_z.to(tl.float32).to(tl.int32, bitcast=True))
        node = child
        step += 1
        going = tl.where(child == NO, 0, 1)
