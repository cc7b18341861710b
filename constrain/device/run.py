"""One step on the device: the kernels in their order, and the same as a CUDA graph.

    laws_of     penalties, masks and filters: the target's distribution at every place
    verdicts    distributions, then the walks
    Replayed    `verdicts` of one bucket, captured once and replayed; what travels is copied into `Buffers`
    DeviceSteps       the one that callers use: chooses between the two

Run by Triton's interpreter on a CPU, in tests, and on an H200 with Triton 3.6 (`make gpu`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
import triton

from constrain.device import targets, walk
from constrain.device.graphs import USES, Captured, Kept
from constrain.device.targets import Laws
from constrain.device.walk import Out
from constrain.sampling.fused.batch import ENTRY, FusedScores, FusedStep, Penalties, Rule, room_for

CHUNK = 4096  # ids that a program takes at a time, a multiple of 32
ENTRIES = 64  # penalties of a program
TURNS, BOUNDS = targets.TURNS.value, targets.BOUNDS.value
GRAPH_BYTES = 2 << 30  # of the buffers of all graphs that are kept
WARPS = 16  # of a program that reads rows: PERF: an estimate; one program a tree has a multiprocessor for itself


def scores_of(logits: torch.Tensor, bitmask: torch.Tensor, size: int) -> FusedScores:
    """Rows of logits and of masks, as kernels see them."""
    return FusedScores(logits, logits.stride(0), logits.shape[1], size, bitmask, bitmask.shape[1])


def laws_of(scores: FusedScores, step: FusedStep, *, chunk: int = CHUNK) -> Laws:
    """The target's distribution at every place that was read. Penalties change the logits, float32 then, in place."""
    count, _, places = step.trees.numbers.shape
    total, device = count * places, scores.logits.device
    chunk = chunk_for(scores.width, chunk)
    chunks = triton.cdiv(scores.width, chunk)

    def room(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device=device)

    found = Laws(
        room(total, chunks, 4),
        room(total if step.processed else 0, chunks, 4),
        room(total, chunks, dtype=torch.int32),
        room(total, 4, dtype=torch.float64),
        room(total, dtype=torch.int32),
        chunks,
    )
    sizes = {"P": places, "CHUNK": chunk}
    if step.processed:
        targets.summarise[total, chunks](scores, step.trees, found.plain, found.best, chunks, **sizes, PLAIN=True)
    if step.penalties is not None and len(step.penalties.places):
        entries = len(step.penalties.places)
        programs = triton.cdiv(entries, ENTRIES)
        targets.penalise[(programs,)](scores, step.trees, step.penalties, entries, P=places, BLOCK=ENTRIES)
    targets.summarise[total, chunks](scores, step.trees, found.sums, found.best, chunks, **sizes, PLAIN=False)
    joins = {"CHUNKS": triton.next_power_of_2(chunks)}
    targets.law[(total,)](
        scores, step.trees, found, **sizes, **joins, PROCESSED=step.processed, num_warps=WARPS
    )  # fmt: skip
    if step.counted or step.weighed:
        search = targets.Search(
            room(TURNS + 1, total, dtype=torch.int64), room(2, total, chunks, BOUNDS), room(total, chunks, 2), total
        )
        for counted in [each for each, wanted in ((True, step.counted), (False, step.weighed)) if wanted]:
            given = (scores, step.trees, found, search)
            for turn in range(TURNS):
                targets.narrow[total, chunks](*given, turn, **sizes, **joins, COUNTED=counted)
            targets.cut[total, chunks](*given, **sizes, **joins, COUNTED=counted)
            targets.rejoin[(total,)](step.trees, found, search, P=places, **joins, COUNTED=counted)
    return found


def verdicts(scores: FusedScores, step: FusedStep, rule: Rule, *, chunk: int = CHUNK, spans: bool = False) -> Out:
    """The verdicts on all trees of a step. spans: also what each uniform number could have been."""
    trees = step.trees
    found = laws_of(scores, step, chunk=chunk)
    count, _, places = trees.numbers.shape
    device = scores.logits.device
    out = Out(
        torch.full((count, 1 + places, ENTRY), -1, dtype=torch.int32, device=device),
        torch.full((count, places), -1, dtype=torch.int32, device=device),
        torch.zeros((count, trees.draws, 2), dtype=torch.float64, device=device) if spans else None,
    )
    walk.walk[(count,)](
        walk.FusedInputs(scores, trees, step.drafts, found, out), P=places, CHUNK=chunk_for(scores.width, chunk),
        CHUNKS=triton.next_power_of_2(found.chunks), DRAWN=rule.drawn, WHOLE=rule.whole, SHARED=rule.shared,
        num_warps=WARPS,
    )  # fmt: skip
    return out


def chunk_for(width: int, chunk: int) -> int:
    """The ids of a chunk: no more than a row has, rounded up to a power of two."""
    return min(chunk, max(32, int(triton.next_power_of_2(width))))


class Bucket(tuple[Any, ...]):
    """The key of a captured graph: all sizes and types that its kernels know at capture."""

    @classmethod
    def of(cls, logits: list[torch.Tensor], step: FusedStep, rule: Rule, size: int) -> Bucket:
        """The bucket of a step. Buffers have room for more rows of logits, masks, drafts and penalties."""
        rows = [sum(map(len, logits)), len(step.bitmask), len(step.drafts.probs)]
        penalties = None if step.penalties is None else room_for(len(step.penalties.places))
        return cls((
            tuple(step.trees.numbers.shape), step.trees.draws, tuple(map(room_for, rows)), logits[0].shape[1],
            logits[0].dtype, logits[0].device,
            size, step.bitmask.shape[1], step.drafts.width, penalties, step.flags, rule,
        ))  # fmt: skip


class Buffers:
    """Tensors that the kernels of a bucket read, at the same addresses. Memory: the bucket's logits once more."""

    def __init__(self, logits: list[torch.Tensor], step: FusedStep, size: int) -> None:
        """Allocates tensors for steps of the same bucket as this one."""
        rows = sum(map(len, logits))
        self.logits = _buffer(logits[0], rows)
        drafts = step.drafts._replace(probs=_buffer(step.drafts.probs), sums=_buffer(step.drafts.sums))
        penalties = step.penalties and Penalties(*map(_buffer, step.penalties))
        trees = step.trees._replace(numbers=step.trees.numbers.clone(), reals=step.trees.reals.clone())
        self.step = FusedStep(trees, drafts, _buffer(step.bitmask), penalties, *step.flags)
        self.scores = scores_of(self.logits, self.step.bitmask, size)

    def fill(self, logits: list[torch.Tensor], step: FusedStep) -> None:
        """Copy a step of the bucket in; nothing waits."""
        own = self.step
        pairs = [
            (own.trees.numbers, step.trees.numbers),
            (own.trees.reals, step.trees.reals),
            (own.drafts.probs, step.drafts.probs),
            (own.drafts.sums, step.drafts.sums),
            (own.bitmask, step.bitmask),
        ]
        if own.penalties is not None and step.penalties is not None:
            own.penalties.places.fill_(-1)
            pairs += zip(own.penalties, step.penalties, strict=True)
        start = 0
        for rows in logits:
            pairs.append((self.logits[start : start + len(rows)], rows))
            start += len(rows)
        for buffer, given in pairs:
            buffer[: len(given)].copy_(given, non_blocking=True)


class Replayed:
    """`verdicts` for one bucket as a CUDA graph: a step is copied into its buffers, and one launch runs all kernels."""

    def __init__(self, logits: list[torch.Tensor], step: FusedStep, rule: Rule, size: int) -> None:
        """Raises RuntimeError: as `Captured`."""
        self.buffers = Buffers(logits, step, size)
        self.buffers.fill(logits, step)
        self.graph = Captured(lambda: verdicts(self.buffers.scores, self.buffers.step, rule))

    def __call__(self, logits: list[torch.Tensor], step: FusedStep) -> Out:
        """Verdicts on a step of the same bucket; valid until the next call."""
        self.buffers.fill(logits, step)
        return self.graph()


def bytes_of(logits: list[torch.Tensor], step: FusedStep) -> int:
    """The bytes that the buffers of a step's bucket take: its logits, masks and draft distributions; little else."""
    drafts = step.drafts.probs
    tables = [(sum(map(len, logits)), logits[0]), (len(step.bitmask), step.bitmask), (len(drafts), drafts)]
    return sum(room_for(rows) * like.shape[1] * like.element_size() for rows, like in tables)


def _buffer(like: torch.Tensor, rows: int = 0) -> torch.Tensor:
    """Zeros with room for more rows than there are, or than `rows`."""
    return torch.zeros((room_for(rows or len(like)), *like.shape[1:]), dtype=like.dtype, device=like.device)


class DeviceSteps:
    """Runs steps; on a GPU each bucket is captured at its third step, and replayed from then on. For one thread.

    captured: the buckets used last, as many as fit into `GRAPH_BYTES`. run: how many steps were.
    """

    def __init__(self, graphs: bool = True) -> None:
        self.graphs, self.run = graphs, 0
        self.captured: Kept[Bucket, Replayed] = Kept(GRAPH_BYTES, USES)

    def __call__(self, logits: list[torch.Tensor], step: FusedStep, rule: Rule, size: int) -> np.ndarray:
        """int32[B, 1 + P, ENTRY]: the verdicts on all trees of the bucket, by the one copy back (`walk.Out`).

        logits: float[·, width] of each tree, in their order.
        """
        self.run += 1
        if self.graphs and logits[0].device.type == "cuda":
            bucket = Bucket.of(logits, step, rule, size)
            made = partial(Replayed, logits, step, rule, size)
            replayed = self.captured.get(bucket, bytes_of(logits, step), made)
            if replayed is not None:
                return replayed(logits, step).entries.cpu().numpy()
        whole = logits[0] if len(logits) == 1 else torch.cat(logits)
        return verdicts(scores_of(whole, step.bitmask, size), step, rule).entries.cpu().numpy()
