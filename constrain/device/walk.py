"""The verdict on each tree: all rules as one walk, one program a tree.

A walk is at a place q with the residual r of the target there, and asks its drawn children, kids, in turn. Kid j with
token x, drawn from s_j (normalised without earlier siblings, if it was drawn so):

    accepted with            min(1, share · r(x) / s_j(x))               share is 1 unless paths are taken as a whole
    else                     r ← (share · r − s_j)₊ / its sum
    k-seq                    the same with min(s_j, r / ρ) · cover for s_j, once for siblings of a row, and r / ρ for r
    none is left             a token is drawn from r, and followed where a child that was read has it

`whole` (block, traversal): a kid is gone down to first, with its chance as the share; the way back up rejects it; a
place whose kids are all rejected is accepted with share ← sum / (sum + 1 − share). What is rejected never comes again,
so r at any id follows from p at this id and four numbers for each kid: nothing as wide as the vocabulary is stored.

The uniform numbers are used in the order of `constrain.speculative.verifiers`, whose rules are the definition: the same
numbers give the same verdict, up to rounding. Cost: the vocabulary is read once for a rejected kid, twice for a draw
behind it (for K-SEQ 20 times more, to find ρ), and one chunk of it for a draw that follows none. Sums are float64.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from constrain.device.targets import (
    AT,
    DEAD,
    FAULTY,
    FORCED,
    MASKS,
    OPTIONS,
    TEMPERATURE,
    Laws,
    numbers_of,
    option,
    scores_at,
    temperature_of,
)
from constrain.sampling.fused import batch
from constrain.sampling.fused.batch import Drafts, FusedScores, Trees

TOKENS, PARENTS, SAME, SOURCES, KIDS, BEGINS, ENDS = (
    tl.constexpr(each)
    for each in (batch.TOKENS, batch.PARENTS, batch.SAME, batch.SOURCES, batch.KIDS, batch.BEGINS, batch.ENDS)
)
WITHOUT, ENTRY = tl.constexpr(batch.WITHOUT), tl.constexpr(batch.ENTRY)
HALVINGS = tl.constexpr(batch.HALVINGS)
TAKE, DRAW, END, DOWN, BACK, UP = (tl.constexpr(each) for each in range(6))  # what comes next at a place


class Out(NamedTuple):
    """Verdicts. entries: int32[B, 1 + P, ENTRY], of each tree (entries, draws used, faulty), then the entries. faulty:
    a row that was looked at is no logits (NaN, +inf, nothing but -inf). moved: int32[B, P], the nodes of the path as
    indices among the nodes that were read, then NONE: what a cache of keys and values is gathered by. spans: None, or
    float64[B, draws, 2], for each uniform number that was used, from where to where any other would have decided alike.
    """

    entries: torch.Tensor
    moved: torch.Tensor
    spans: torch.Tensor | None


class FusedInputs(NamedTuple):
    """All that a walk reads and writes.

    Inside the walk, three more tuples: *here*, the target at a place, is (row, mask, temperature, kept, least, only) as
    in `targets.py`; *place* is (tree, nodes, sources, begin, end), its kids being nodes[begin:end]; *kids* is what is
    known of drawn nodes, (scale, factor, inverse, cover), float64[P] each.
    """

    scores: FusedScores
    trees: Trees
    drafts: Drafts
    laws: Laws
    out: Out


@triton.jit
def _pick(values, place, P: tl.constexpr):
    """One number of a vector in registers."""
    return tl.sum(tl.where(tl.arange(0, P) == place, values, 0.0), 0)


@triton.jit
def _put(values, place, value, P: tl.constexpr):
    return tl.where(tl.arange(0, P) == place, value, values)


@triton.jit
def _drafted(drafts, source, ids):
    """float64: what a row of the draft distributions gives some ids."""
    at = drafts.probs + source.to(tl.int64) * drafts.stride + ids
    return tl.load(at, mask=ids < drafts.width, other=0.0).to(tl.float64)


@triton.jit
def _target(scores, here, ids):
    """float64: p of some ids."""
    row, mask, temperature, kept, least, only = here
    x, allowed = scores_at(scores, row, mask, ids)
    y = tl.math.div_rn(x, temperature + tl.zeros_like(x)).to(tl.float64)
    p = tl.where(allowed & (x >= least) & (x > float("-inf")), tl.exp(y - kept), 0.0)
    return tl.where(only >= 0, tl.where(ids == only, 1.0, 0.0), p)


@triton.jit
def _left(given, here, place, upto, kids, ids, P: tl.constexpr, DRAWN: tl.constexpr, SHARED: tl.constexpr):
    """float64: r of some ids, after the kids before `upto`."""
    r = _target(given.scores, here, ids)
    if DRAWN:
        scale, factor, inverse, cover = kids
        _tree, nodes, sources, begin, _end = place
        for j in range(begin, upto):
            node = tl.load(nodes + j)
            s = _drafted(given.drafts, tl.load(sources + node), ids) * _pick(factor, node, P)
            if SHARED:
                r = r - tl.minimum(s, r / _pick(scale, node, P)) * _pick(cover, node, P)
            else:
                r = r * _pick(scale, node, P) - s
            r = tl.maximum(r, 0.0) * _pick(inverse, node, P)
    return r


@triton.jit
def _weights(given, here, place, upto, kids, P: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
             SHARED: tl.constexpr):  # fmt: skip
    """(float64[CHUNKS], the sum of r over each chunk; how many ids have any)."""
    weights, some = tl.zeros([CHUNKS], tl.float64), tl.zeros([], tl.int32)
    for chunk in range(given.laws.chunks):
        ids = chunk * CHUNK + tl.arange(0, CHUNK)
        r = _left(given, here, place, upto, kids, ids, P, True, SHARED)
        weights = tl.where(tl.arange(0, CHUNKS) == chunk, tl.sum(r, 0), weights)
        some += tl.sum((r > 0).to(tl.int32), 0)
    return weights, some


@triton.jit
def _norm(given, place, j, P: tl.constexpr):
    """float64: 1 over what kid j's distribution has left, where siblings before it took their part."""
    tree, nodes, sources, begin, _end = place
    source = tl.load(sources + tl.load(nodes + j))
    total = tl.load(given.drafts.sums + source)
    if option(given.trees, tree, WITHOUT) != 0:
        for before in range(begin, j):
            sibling = tl.load(nodes + before)
            token = tl.load(numbers_of(given.trees, tree, TOKENS, P) + sibling)
            total -= tl.where(tl.load(sources + sibling) == source, _drafted(given.drafts, source, token), 0.0)
    return 1.0 / tl.where(total > 0, total, 1.0)


@triton.jit
def _shares_row(place, j, other):
    """1 if two kids were drawn from the same row."""
    _tree, nodes, sources, _begin, _end = place
    return (tl.load(sources + tl.load(nodes + j)) == tl.load(sources + tl.load(nodes + other))).to(tl.int32)


@triton.jit
def _share(given, here, place, j, kids, factor, P: tl.constexpr, CHUNK: tl.constexpr):
    """K-SEQ's ρ and cover of the siblings that begin with kid j, by bisection (verifying/kseq.py)."""
    _tree, nodes, sources, _begin, end = place
    source = tl.load(sources + tl.load(nodes + j))
    k = j * 0
    for other in range(j, end):
        k += _shares_row(place, j, other)
    low, high = tl.zeros([], tl.float64) + 1.0, k.to(tl.float64)
    covered = tl.zeros([], tl.float64)
    for turn in range(HALVINGS + 1):
        rho = tl.where(turn == HALVINGS, high, (low + high) / 2)  # the last turn is for the cover
        beta = tl.zeros([], tl.float64)
        for chunk in range(given.laws.chunks):
            ids = chunk * CHUNK + tl.arange(0, CHUNK)
            s = _drafted(given.drafts, source, ids) * factor
            r = _left(given, here, place, j, kids, ids, P, True, True)
            beta += tl.sum(tl.where(s > 0, tl.minimum(s, r / rho), 0.0), 0)
        missed = tl.zeros([], tl.float64) + 1.0
        for _ in range(k):
            missed *= tl.maximum(1.0 - beta, 0.0)
        if turn < HALVINGS:
            more = 1.0 - missed > rho * beta
            low, high = tl.where(more, rho, low), tl.where(more, high, rho)
        covered = tl.where(beta > 0, (1.0 - missed) / tl.where(beta > 0, beta, 1.0), 0.0)
    return high, covered


@triton.jit
def _first_beyond(weights, target, N: tl.constexpr):
    """(the first index whose cumulative weight exceeds a target, at most the last with any; the sum before)."""
    index = tl.arange(0, N)
    last = tl.max(tl.where(weights > 0, index, 0), 0)
    beyond = tl.sum((tl.cumsum(weights, 0) <= tl.maximum(target, 0.0)).to(tl.int32), 0)
    found = tl.minimum(beyond, last)
    return found, tl.sum(tl.where(index < found, weights, 0.0), 0)


@triton.jit
def _uniform(given, tree, drawn):
    return tl.load(given.trees.reals + tree * (OPTIONS + given.trees.draws) + OPTIONS + drawn)


@triton.jit
def _spanned(given, tree, drawn, low, high):
    if given.out.spans is not None:
        to = given.out.spans + 2 * (tree * given.trees.draws + drawn)
        tl.store(to, low)
        tl.store(to + 1, high)


@triton.jit
def _accepts(given, tree, drawn, chance):
    """(1 with this probability, else 0; how many numbers are used by now). Nothing is drawn where nothing is open."""
    yes = (chance >= 1).to(tl.int32)
    if (chance > 0) & (chance < 1):
        yes = (_uniform(given, tree, drawn) < chance).to(tl.int32)
        _spanned(given, tree, drawn, tl.where(yes != 0, 0.0, chance), tl.where(yes != 0, chance, 1.0))
        drawn += 1
    return yes, drawn


@triton.jit
def _report(given, tree, place, token, drawn, faulty, P: tl.constexpr):
    """Write the path to a place, the token after it, and the numbers of all tokens."""
    scores, trees, laws, out = given.scores, given.trees, given.laws, given.out
    parents, tokens = numbers_of(trees, tree, PARENTS, P), numbers_of(trees, tree, TOKENS, P)
    root = tl.load(numbers_of(trees, tree, AT, P))
    depth, above = place * 0, place
    while above > 0:
        depth += 1
        above = tl.load(parents + above)
    to = out.entries + tree * (1 + P) * ENTRY
    tl.store(to, depth + 1)
    tl.store(to + 1, drawn)
    tl.store(to + 2, faulty)
    temperature = temperature_of(trees, tree)
    after = place * 0  # the place that was gone on to
    k, here = depth, place
    while k >= 0:
        row = tl.load(numbers_of(trees, tree, AT, P) + here)
        at = laws.law + 4 * (tree * P + here).to(tl.int64)
        x, _ = scores_at(scores, row, row * 0 - 1, tl.maximum(token, 0))
        y = tl.math.div_rn(x, temperature).to(tl.float64)
        raw, sampled, log_z = y + tl.load(at), y - tl.load(at + 1), tl.load(at + 2)
        forced = tl.load(numbers_of(trees, tree, FORCED, P) + here) == token
        if (option(trees, tree, TEMPERATURE) == 0) | (forced & (token >= 0)) | (token < 0):
            sampled = raw * 0 + 0.0
        if token < 0:
            raw = tl.zeros([], tl.float64) - float("inf")
            sampled, log_z = tl.zeros([], tl.float64), raw
        elif forced:
            sampled, log_z = tl.zeros([], tl.float64), raw
        entry = to + (1 + k) * ENTRY
        tl.store(entry, after - 1)
        tl.store(entry + 1, token)
        tl.store(entry + 2, raw.to(tl.float32).to(tl.int32, bitcast=True))
        tl.store(entry + 3, sampled.to(tl.float32).to(tl.int32, bitcast=True))
        tl.store(entry + 4, log_z.to(tl.float32).to(tl.int32, bitcast=True))
        if k > 0:
            tl.store(out.moved + tree * P + k - 1, row - root - 1)
            token = tl.load(tokens + here)
            after = here
            here = tl.load(parents + here)
        k -= 1


@triton.jit
def _at(given, tree, q, P: tl.constexpr):
    """(here, place) of place q."""
    trees, laws = given.trees, given.laws
    begin, end = tl.load(numbers_of(trees, tree, BEGINS, P) + q), tl.load(numbers_of(trees, tree, ENDS, P) + q)
    law = laws.law + 4 * (tree * P + q).to(tl.int64)
    only = tl.load(laws.only + tree * P + q)
    row, mask = tl.load(numbers_of(trees, tree, AT, P) + q), tl.load(numbers_of(trees, tree, MASKS, P) + q)
    least = tl.load(law + 3).to(tl.float32)
    here = (row, mask, temperature_of(trees, tree), tl.load(law + 1), least, only)
    place = (tree, numbers_of(trees, tree, KIDS, P), numbers_of(trees, tree, SOURCES, P), begin, end)
    return here, place


@triton.jit
def _before_kids(only, is_start, has_kids, token, WHOLE: tl.constexpr):
    """(what comes next at a place, DRAW if its kids decide; the token; 1 if the row is faulty)."""
    act, faulty = only * 0 + DRAW, only * 0
    if only == FAULTY:
        act, faulty = only * 0 + END, only * 0 + 1
    else:
        if (only >= 0) & (is_start | (not WHOLE)):
            act, token = only * 0 + TAKE, only
        elif (not WHOLE) | (is_start & (not has_kids)):
            if only == DEAD:
                act, token = only * 0 + END, only * 0 - 1
    return act, token, faulty


@triton.jit
def _take_out(given, here, place, state, kids, P: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
              WHOLE: tl.constexpr, SHARED: tl.constexpr):  # fmt: skip
    """(kids, share) once what the rejected kid j covers is taken out of r; of K-SEQ's siblings, behind the last."""
    j, share, rho, covered = state
    _tree, nodes, _sources, _begin, end = place
    scale, factor, inverse, cover = kids
    node = tl.load(nodes + j)
    last = j * 0 + 1
    if SHARED:
        if j + 1 < end:
            last = 1 - _shares_row(place, j, j + 1)
    if last != 0:
        factor = _put(factor, node, _norm(given, place, j, P), P)
        scale = _put(scale, node, rho if SHARED else share, P)
        cover = _put(cover, node, covered, P)
        weights, _some = _weights(
            given, here, place, j + 1, (scale, factor, inverse, cover), P, CHUNK, CHUNKS, SHARED
        )  # fmt: skip
        mass = tl.sum(weights, 0)
        if mass > 0:
            inverse = _put(inverse, node, 1.0 / mass, P)
            if WHOLE:
                share = mass / (mass + (1.0 - share))
        else:  # but for rounding, r is s: nothing is taken out
            factor, scale = _put(factor, node, 0.0, P), _put(scale, node, 1.0, P)
            cover = _put(cover, node, 0.0, P)
            if WHOLE:
                share = tl.where(share < 1, 0.0, share)
    return (scale, factor, inverse, cover), share


@triton.jit
def _ask(given, here, place, state, drawn, kids, P: tl.constexpr, CHUNK: tl.constexpr, WHOLE: tl.constexpr,
         SHARED: tl.constexpr):  # fmt: skip
    """Ask kid j: (BACK if it is rejected, END if it is accepted, DOWN if it is gone down to; numbers used by now; the
    state, with the kid's chance in place of the share)."""
    j, share, rho, covered = state
    tree, nodes, sources, begin, _end = place
    node = tl.load(nodes + j)
    x = tl.load(numbers_of(given.trees, tree, TOKENS, P) + node)
    norm = _norm(given, place, j, P)
    if SHARED:
        fresh = (j == begin).to(tl.int32)
        if j > begin:
            fresh = 1 - _shares_row(place, j - 1, j)
        if fresh != 0:
            rho, covered = _share(given, here, place, j, kids, norm, P, CHUNK)
    r = _left(given, here, place, j, kids, x, P, True, SHARED)
    claim = share * r / (_drafted(given.drafts, tl.load(sources + node), x) * norm * (rho if SHARED else rho * 0 + 1.0))
    claim = tl.minimum(claim, 1.0)
    same = tl.load(numbers_of(given.trees, tree, SAME, P) + node)
    readable = j * 0
    if same >= 0:
        readable = (tl.load(numbers_of(given.trees, tree, AT, P) + same) >= 0).to(tl.int32)
    yes = j * 0 + 1
    if (readable == 0) | (not WHOLE):
        yes, drawn = _accepts(given, tree, drawn, claim)
    act = tl.where(yes == 0, BACK, tl.where(readable == 0, END, DOWN))
    return act, drawn, (j, claim, rho, covered)


@triton.jit
def _without_kids(given, here, place, is_start, share, drawn, token, WHOLE: tl.constexpr):
    """(DRAW, UP or END; the kids behind which r is drawn from; numbers used; token) once all kids are rejected."""
    tree, _nodes, _sources, begin, end = place
    act, upto = begin * 0 + DRAW, end
    if WHOLE:
        if (not is_start) | (begin != end):
            yes, drawn = _accepts(given, tree, drawn, share)
            if yes == 0:
                if is_start:  # the share of the root is 1 but for rounding
                    upto = begin
                else:
                    act = begin * 0 + UP
        if (act == DRAW) & (here[5] == DEAD):
            token = begin * 0 - 1
            act = begin * 0 + END
    return act, upto, drawn, token


@triton.jit
def _draw(given, here, place, state, kids, P: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
          DRAWN: tl.constexpr, SHARED: tl.constexpr):  # fmt: skip
    """Draw a token from r: (it; numbers used by now). state: (place q, after which kids, numbers used, is_start)."""
    q, upto, drawn, is_start = state
    tree, _nodes, _sources, begin, _end = place
    laws = given.laws
    pieces = tl.arange(0, CHUNKS)
    sums = laws.sums + 4 * (tree * P + q).to(tl.int64) * laws.chunks + 4 * pieces
    parts = tl.load(sums + 3, mask=pieces < laws.chunks, other=0.0).to(tl.float64)
    tops = tl.load(sums + 2, mask=pieces < laws.chunks, other=float("-inf")).to(tl.float64)
    weights = tl.where(parts > 0, parts * tl.exp(tops - here[3]), 0.0)
    some = q * 0 + 2
    if DRAWN:
        if (upto != begin) | (not is_start):
            weights, some = _weights(given, here, place, upto, kids, P, CHUNK, CHUNKS, SHARED)
    total = tl.sum(weights, 0)
    number = _uniform(given, tree, drawn) if not DRAWN else tl.where(some > 1, _uniform(given, tree, drawn), 0.0)
    target = number * total
    piece, before = _first_beyond(weights, target, CHUNKS)
    ids = piece * CHUNK + tl.arange(0, CHUNK)
    inner = _left(given, here, place, upto, kids, ids, P, DRAWN, SHARED)
    index, inside = _first_beyond(inner, target - before, CHUNK)
    if some > 1:
        through = before + inside + tl.sum(tl.where(tl.arange(0, CHUNK) == index, inner, 0.0), 0)
        _spanned(given, tree, drawn, (before + inside) / total, through / total)
        drawn += 1
    return piece * CHUNK + index, drawn


@triton.jit
def _child(given, tree, q, token, P: tl.constexpr):
    """The place that a token leads to from place q, if it was read; else 0."""
    places = tl.arange(0, P)
    is_child = tl.load(numbers_of(given.trees, tree, PARENTS, P) + places) == q
    is_child = is_child & (tl.load(numbers_of(given.trees, tree, TOKENS, P) + places) == token)
    is_child = is_child & (tl.load(numbers_of(given.trees, tree, AT, P) + places) >= 0)
    return tl.max(tl.where(is_child, places, 0), 0)


@triton.jit
def walk(given, P: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr, DRAWN: tl.constexpr, WHOLE: tl.constexpr,
         SHARED: tl.constexpr):  # fmt: skip
    """The verdict on one tree, see the module. CHUNKS: chunks rounded up to a power of 2.

    q: the place; start: where the rule began, or the last token was drawn; j: its next kid; share: what q may claim.
    rejected: kid j of q is, and the residual is still to be taken
    """
    tree = tl.program_id(0)
    zero = tree * 0
    one, ones = tl.zeros([], tl.float64) + 1.0, tl.zeros([P], tl.float64) + 1.0
    kids = (ones, ones * 0.0, ones, ones * 0.0)
    shares, cursors = ones, tl.zeros([P], tl.int32)
    q, start, drawn, faulty, rejected, token = zero, zero, zero, zero, zero, zero - 1
    j = tl.load(numbers_of(given.trees, tree, BEGINS, P))
    share, rho, covered = one, one, one
    some_tree = (tl.load(numbers_of(given.trees, tree, AT, P)) >= 0).to(tl.int32)
    going = some_tree
    while going != 0:
        here, place = _at(given, tree, q, P)
        end, only, is_start = place[4], here[5], q == start
        act, token, faulty = _before_kids(only, is_start, place[3] != end, token, WHOLE)
        below, upto = zero, end
        if DRAWN:
            if (act == DRAW) & (rejected != 0):
                kids, share = _take_out(
                    given, here, place, (j, share, rho, covered), kids, P, CHUNK, CHUNKS, WHOLE, SHARED
                )  # fmt: skip
                j += 1
                rejected = zero
                act = zero + BACK  # look again at q
            elif (act == DRAW) & (j < end) & (only != DEAD):
                act, drawn, asked = _ask(
                    given, here, place, (j, share, rho, covered), drawn, kids, P, CHUNK, WHOLE, SHARED
                )  # fmt: skip
                _j, claim, rho, covered = asked  # in two steps for Triton before 3.7
                node = tl.load(place[1] + j)
                if act == BACK:
                    rejected = zero + 1
                elif act == END:
                    token = tl.load(numbers_of(given.trees, tree, TOKENS, P) + node)
                else:
                    below = tl.load(numbers_of(given.trees, tree, SAME, P) + node)
                    if WHOLE:
                        shares, cursors = _put(shares, q, share, P), _put(cursors, q, j, P)
                        share = claim
            elif act == DRAW:
                act, upto, drawn, token = _without_kids(given, here, place, is_start, share, drawn, token, WHOLE)
        if act == DRAW:
            token, drawn = _draw(given, here, place, (q, upto, drawn, is_start), kids, P, CHUNK, CHUNKS, DRAWN, SHARED)
            act = zero + TAKE
        if act == TAKE:
            below = _child(given, tree, q, token, P)
            act = tl.where(below > 0, DOWN, END)
            start, share = tl.where(below > 0, below, start), tl.where(below > 0, one, share)
        if act == DOWN:
            q = below
            j = tl.load(numbers_of(given.trees, tree, BEGINS, P) + q)
        elif act == UP:
            q = tl.load(numbers_of(given.trees, tree, PARENTS, P) + q)
            share = _pick(shares, q, P)
            j = tl.sum(tl.where(tl.arange(0, P) == q, cursors, 0), 0)
            rejected = zero + 1
        elif act == END:
            going = zero
    if some_tree != 0:
        _report(given, tree, q, token, drawn, faulty, P)
