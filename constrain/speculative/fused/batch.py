"""The inputs of one step on the device, and its results, packed.

The idea: a ragged batch of trees lies in a bucket of fixed size, so that shapes repeat from step to step and a CUDA
graph can be captured for each: B trees of P places each, P a power of two. Place 0 of a tree is its root, place i + 1
follows its node i, what is beyond the tree is empty. Two buffers carry all of it but masks and penalties: integers
(`COLUMNS` a place) and float64 (options of the tree, then its uniform numbers).

Options are data too: each tree has its own temperature, top-k, top-p and min-p, and a graph serves all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from constrain.speculative.tree import NONE, BuiltTree

# Columns of a place. at: row of logits, NONE if not read; masks: row of the bitmask, NONE: all is allowed; sources: row
# of the draft distributions, NONE if not drawn; kids: drawn nodes (as places) in the order of their parents; begins,
# ends: which of these are the place's own.
TOKENS, PARENTS, AT, FORCED, MASKS, SAME, SOURCES, KIDS, BEGINS, ENDS = range(10)
COLUMNS = 10
TEMPERATURE, TOP_K, TOP_P, MIN_P, WITHOUT = range(5)  # options of a tree; 0, 0, 1, 0, 0 change nothing but temperature
OPTIONS = 5
EMPTY = -2  # the token of a place beyond the tree
ENTRY = 5  # of a verdict: node taken, or NONE at the end; token; bits of log p_raw, log p_sampled, log Z in float32


class Rule(NamedTuple):
    """A verifier's rule as data. drawn: drawn siblings are accepted or not; else a token is drawn, and followed.
    whole: paths are accepted as a whole, from the leaves up. shared: siblings share the target between them (K-SEQ)."""

    drawn: bool = True
    whole: bool = False
    shared: bool = False


RULES = {
    "match": Rule(drawn=False),
    "token": Rule(),
    "recursive": Rule(),
    "recursive-without": Rule(),
    "k-seq": Rule(shared=True),
    "block": Rule(whole=True),
    "traversal": Rule(whole=True),
}


class FusedScores(NamedTuple):
    """Logits and masks of all rows. logits: float[R, width], `stride` apart; bitmask: int32[N, words], bits as in
    `apply_bitmask_`; it allows no id from `size` on."""

    logits: torch.Tensor
    stride: int
    width: int
    size: int
    bitmask: torch.Tensor
    words: int


class Trees(NamedTuple):
    """The bucket. numbers: int32[B, COLUMNS, P]. reals: float64[B, OPTIONS + draws]; a tree's k-th draw is decided by
    the k-th number after its options."""

    numbers: torch.Tensor
    reals: torch.Tensor
    draws: int


class Drafts(NamedTuple):
    """Draft distributions of all trees. probs: float32[M, width], `stride` apart. sums: float64[M], of its rows."""

    probs: torch.Tensor
    stride: int
    width: int
    sums: torch.Tensor


class Penalties(NamedTuple):
    """Changes of single scores by processors, a sparse list of E entries, applied before any filter:

        f(x) = r(x + before) + after,  r(y) = y / factor if y > 0 else y · factor

    A repetition penalty has a factor; presence, frequency and bias are sums. Tokens that the mask forbids stay.

    places: int32[E, 2], the place (tree · P + place) or -1, and the token, each pair at most once.
    terms: float32[E, 3], before, factor, after.
    """

    places: torch.Tensor
    terms: torch.Tensor


class FusedStep(NamedTuple):
    """One step on the device, but for the logits. penalties: None where there are none.

    processed: min-p or penalties act, so the mass of what is allowed is to be kept (processors/core/model.py).
    """

    trees: Trees
    drafts: Drafts
    bitmask: torch.Tensor
    penalties: Penalties | None
    processed: bool


class FusedOptions(NamedTuple):
    """Options that shape a target: temperature, top-k (0: none), top-p (1: none), min-p (0: none)."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0


class Ragged(NamedTuple):
    """One tree of a batch: which row of the bitmask each place has, its options, and its uniform numbers."""

    tree: BuiltTree
    masks: Sequence[int]
    options: FusedOptions
    uniform: np.ndarray


def places_for(trees: Sequence[BuiltTree]) -> int:
    """P: the least power of two that holds the places of the largest tree."""
    return 1 << max(len(tree) for tree in trees).bit_length()


def most_draws(tree: BuiltTree, rule: Rule) -> int:
    """Uniform numbers that a verdict can use: one for each token of a path; or one a proposal, and two a place."""
    if not rule.drawn:
        return int(tree.depths.max(initial=0)) + 1
    return int((tree.draft_rows != NONE).sum()) + 2 * (len(tree) + 1)


def packed(
    ragged: Sequence[Ragged], bitmask: np.ndarray | None, rule: Rule, device: torch.device, *, batch: int = 0
) -> FusedStep:
    """Send a batch to a device, from pinned memory where there is such, so that no copy waits.

    ragged: B trees, whose logits lie one after the other. bitmask: uint32[N, words] or None. batch: trees of the
    bucket, at least B; the others are empty
    """
    count, places = max(batch, len(ragged)), places_for([each.tree for each in ragged])
    draws = (3 if rule.drawn else 1) * places
    numbers = np.full((count, COLUMNS, places), NONE, np.int32)
    numbers[:, [KIDS, BEGINS, ENDS]] = 0
    numbers[:, [TOKENS, PARENTS]] = EMPTY
    reals = np.zeros((count, OPTIONS + draws))
    row = source = 0
    probs: list[torch.Tensor] = []
    for tree_numbers, tree_reals, each in zip(numbers, reals, ragged, strict=False):
        _columns(tree_numbers, each, rule, row, source)
        tree_reals[:OPTIONS] = *each.options, not each.tree.replacement
        tree_reals[OPTIONS : OPTIONS + len(each.uniform)] = each.uniform
        row += int(each.tree.read.sum()) + 1
        if rule.drawn and each.tree.draft_probs is not None:
            probs.append(each.tree.draft_probs.to(device, torch.float32))
            source += len(probs[-1])
    masks = np.zeros((0, 1), np.uint32) if bitmask is None else np.ascontiguousarray(bitmask)
    drafts = torch.cat(probs) if probs else torch.zeros((1, 1), device=device)
    return FusedStep(
        Trees(sent(torch.from_numpy(numbers), device), sent(torch.from_numpy(reals), device), draws),
        Drafts(drafts, drafts.stride(0), drafts.shape[1], drafts.sum(-1, dtype=torch.float64)),
        sent(torch.from_numpy(masks.view(np.int32)), device),
        penalties=None,
        processed=any(each.options.min_p > 0 for each in ragged),
    )


def _columns(numbers: np.ndarray, given: Ragged, rule: Rule, row: int, source: int) -> None:
    """Fill int32[COLUMNS, P] of one tree, whose logits begin at `row` and draft distributions at `source`."""
    tree = given.tree
    n = len(tree) + 1
    numbers[TOKENS, 0], numbers[TOKENS, 1:n] = NONE, tree.tokens
    numbers[PARENTS, 0], numbers[PARENTS, 1:n] = NONE, tree.parents + 1
    numbers[AT, :n] = np.where(tree.logits_rows == NONE, NONE, tree.logits_rows + row)
    numbers[FORCED, :n], numbers[MASKS, :n] = tree.forced, given.masks
    numbers[SAME, 1:n] = np.where(tree.same == NONE, NONE, tree.same + 1)
    if not rule.drawn or not tree.drawn:
        return
    numbers[SOURCES, 1:n] = np.where(tree.draft_rows == NONE, NONE, tree.draft_rows + source)
    place = 0
    for here, nodes in enumerate(tree.children()):
        drawn = [node for node in nodes if tree.draft_rows[node] != NONE]
        if rule.shared:  # siblings of a row are taken together
            order = {int(row): i for i, row in reversed(list(enumerate(tree.draft_rows[drawn])))}
            drawn.sort(key=lambda node: order[int(tree.draft_rows[node])])
        numbers[BEGINS, here], numbers[ENDS, here] = place, place + len(drawn)
        numbers[KIDS, place : place + len(drawn)] = [node + 1 for node in drawn]
        place += len(drawn)


@cache
def _copies(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy on the device that only its users wait for: from pinned memory, on a stream of its own, so that it goes
    beside the forward pass. Not run on a GPU yet."""
    if device.type != "cuda":
        return tensor.to(device)
    with torch.cuda.stream(_copies(device)):
        copy = tensor.pin_memory().to(device, non_blocking=True)
    here = torch.cuda.current_stream(device)
    here.wait_stream(_copies(device))
    copy.record_stream(here)
    return copy


class Found(NamedTuple):
    """The verdict on one tree. nodes: of the tree. tokens: one more than nodes; -1 is a dead end. used: so many uniform
    numbers. faulty: a row that was looked at is no logits (NaN, +inf, nothing but -inf), and nothing else counts.

    log_prob_raw, log_prob_sampled, log_z: of each token, as in `constrain.sampling.core.step`
    """

    nodes: list[int]
    tokens: list[int]
    log_prob_raw: list[float]
    log_prob_sampled: list[float]
    log_z: list[float]
    used: int
    faulty: bool


def unpacked(entries: torch.Tensor) -> list[Found]:
    """Verdicts from int32[B, 1 + P, ENTRY]: (entries, draws used, faulty), then the entries. The one copy back."""
    numbers = entries.cpu()
    found = []
    for tree in numbers:
        count, used, faulty = tree[0, :3].tolist()
        steps = tree[1 : 1 + count]
        raw, sampled, log_z = steps[:, 2:].contiguous().view(torch.float32).T.tolist() if count else ([], [], [])
        nodes, tokens = steps[: max(count - 1, 0), 0].tolist(), steps[:, 1].tolist()
        found.append(Found(nodes, tokens, raw, sampled, log_z, used, bool(faulty)))
    return found
