"""The inputs of one step on the device, and its results, packed.

The idea: a ragged batch of trees lies in a bucket of fixed size, so that shapes repeat from step to step and a CUDA
graph can be captured for each: B trees of P places each (`room_for`). Place 0 of a tree is its root, place i + 1
follows its node i, what is beyond the tree is empty; a step without drafts is trees of one place. Two buffers carry all
of it but masks and penalties: integers (`COLUMNS` a place) and float64 (options of the tree, then its uniform numbers).
On the host a `TreeBatch` holds them; a verdict comes back as int32[1 + P, ENTRY] a tree (`walk.Out.entries`).

Options are data too: each tree has its own temperature, top-k, top-p and min-p, and a graph serves all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@cache
def _nothing(places: int) -> np.ndarray:
    """int32[COLUMNS, P]: no tree."""
    numbers = np.full((COLUMNS, places), NONE, np.int32)
    numbers[[TOKENS, PARENTS]] = EMPTY
    numbers[[KIDS, BEGINS, ENDS]] = 0
    return numbers


@cache
def _no_drafts(device: torch.device) -> Drafts:
    return Drafts(torch.zeros((1, 1), device=device), 1, 1, torch.zeros(1, dtype=torch.float64, device=device))


@dataclass
class TreeBatch:
    """B trees on the host, in the arrays of their bucket.

    count: B; the bucket has room for more. numbers, reals: as in `Trees`.
    """

    count: int
    numbers: np.ndarray
    reals: np.ndarray

    @classmethod
    def of(cls, trees: Sequence[np.ndarray], masks: Sequence[np.ndarray], draws: int) -> TreeBatch:
        """Of int32[COLUMNS, n + 1] by tree (`BuiltTree.numbers`), whose logits lie one after the other.

        masks: by tree, int32[n + 1], the row of the bitmask of each place. draws: uniform numbers of a place, at most
        """
        places = room_for(max(map(len, masks)))
        batch = cls.empty(len(trees), places, draws * places)
        for own, each, rows in zip(batch.numbers, trees, masks, strict=False):
            own[:, : len(rows)] = each
            own[MASKS, : len(rows)] = rows
        if len(trees) > 1:
            at = batch.numbers[: len(trees), AT]
            counts = at.max(1, keepdims=True) + 1
            at += np.where(at == NONE, 0, counts.cumsum(0, np.int32) - counts)
        return batch

    @classmethod
    def empty(cls, count: int, places: int, draws: int) -> TreeBatch:
        """A bucket with room for so many trees."""
        numbers = np.empty((room_for(count), COLUMNS, places), np.int32)
        numbers[:] = _nothing(places)
        return cls(count, numbers, np.zeros((len(numbers), OPTIONS + draws)))

    def sent(
        self, options: Sequence[FusedOptions], bitmask: np.ndarray | None, device: torch.device,
        drafts: torch.Tensor | None = None,
    ) -> FusedStep:  # fmt: skip
        """The step on a device, from pinned memory where there is such, so that no copy waits.

        options: of each tree, or one of all. bitmask: uint32[N, words] or None. drafts: distributions, if some are
        """
        self.reals[: self.count, :WITHOUT] = options
        masks = np.zeros((0, 1), np.uint32) if bitmask is None else np.ascontiguousarray(bitmask)
        numbers, reals, words = (
            sent(torch.from_numpy(each), device) for each in (self.numbers, self.reals, masks.view(np.int32))
        )
        return FusedStep(
            Trees(numbers, reals, self.reals.shape[1] - OPTIONS),
            _no_drafts(device) if drafts is None else Drafts(
                drafts, drafts.stride(0), drafts.shape[1], drafts.sum(-1, dtype=torch.float64)
            ),
            words,
            penalties=None,
            processed=any(each.min_p > 0 for each in options),
            counted=any(each.top_k > 0 for each in options),
            weighed=any(each.top_p < 1 for each in options),
        )  # fmt: skip
