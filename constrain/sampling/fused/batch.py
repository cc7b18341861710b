"""The inputs of one step on the device, and its results, packed.

The idea: a ragged batch of trees lies in a bucket of fixed size, so that shapes repeat from step to step and a CUDA
graph can be captured for each: B trees of P places each (`room_for`). Place 0 of a tree is its root, place i + 1
follows its node i, what is beyond the tree is empty; a step without drafts is trees of one place. Two buffers carry all
of it but masks and penalties: integers (`COLUMNS` a place) and float64 (options of the tree, then its uniform numbers).

Options are data too: each tree has its own temperature, top-k, top-p and min-p, and a graph serves all of them.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import torch

# Columns of a place. at: row of logits, NONE if not read; masks: row of the bitmask, NONE: all is allowed; sources: row
# of the draft distributions, NONE if not drawn; kids: drawn nodes (as places) in the order of their parents; begins,
# ends: which of these are the place's own.
TOKENS, PARENTS, AT, FORCED, MASKS, SAME, SOURCES, KIDS, BEGINS, ENDS = range(10)
COLUMNS = 10
NONE = -1  # no row, no token, no place
TEMPERATURE, TOP_K, TOP_P, MIN_P, WITHOUT = range(5)  # options of a tree; 0, 0, 1, 0, 0 change nothing but temperature
OPTIONS = 5
EMPTY = -2  # the token of a place beyond the tree
HALVINGS = 20  # of the interval of ρ in K-SEQ, to 1e-6; what is lost by that is acceptance, not the distribution
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
    counted, weighed: some tree has top-k, top-p.
    """

    trees: Trees
    drafts: Drafts
    bitmask: torch.Tensor
    penalties: Penalties | None
    processed: bool
    counted: bool
    weighed: bool

    @property
    def flags(self) -> tuple[bool, bool, bool]:
        """The stages that run."""
        return self.processed, self.counted, self.weighed


def room_for(count: int) -> int:
    """The size of a bucket that holds so many: 1, or 8 · 4ᵏ. Few sizes, since each is compiled and captured anew."""
    room = 1 if count <= 1 else 8
    while room < count:
        room *= 4
    return room


class FusedOptions(NamedTuple):
    """Options that shape a target: temperature, top-k (0: none), top-p (1: none), min-p (0: none)."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0


@cache
def _copies(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy on the device that only its users wait for: from pinned memory, on a stream of its own, so that it goes
    beside the forward pass."""
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


def unpacked(entries: np.ndarray) -> list[Found]:
    """Verdicts from int32[B, 1 + P, ENTRY]: of each tree (entries, draws used, faulty), then the entries."""
    reals = entries.view(np.float32)
    found = []
    for tree, (count, used, faulty) in enumerate(entries[:, 0, :3].tolist()):
        nodes, tokens = entries[tree, 1 : 1 + count, :2].T.tolist()
        raw, sampled, log_z = reals[tree, 1 : 1 + count, 2:].T.tolist()
        found.append(Found(nodes[: max(count - 1, 0)], tokens, raw, sampled, log_z, used, bool(faulty)))
    return found
