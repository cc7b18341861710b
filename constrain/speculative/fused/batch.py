"""What travels to the device for one step, and what comes back.

The idea: a batch of trees is a handful of flat arrays, so few copies carry all of them, and the verdicts of all
trees return in one. Rows are those of the logits: a tree of r nodes that were read has r + 1 rows, its root's first, so
"row first + 1 + i" is the place after its node i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from constrain.speculative.tree import NONE, ROOT, BuiltTree

INTS = 2  # of an entry: the node that was taken, or NONE at the end of the path; the token
FLOATS = 3  # log p_raw, log p_sampled, log Z
ENTRY = INTS + FLOATS


@dataclass(frozen=True)
class Trees:
    """B trees with R rows altogether, on the device of the logits.

    first: int32[B + 1], the row of each tree's root; the last is R
    tokens, parents: int32[R], of the node before each row, the parent as an index among the tree's own nodes that are
      read, or ROOT; at a root's own row (NONE, NONE)
    forced: int32[R], the only allowed token, or NONE
    masks: int32[R], which bitmask applies, or NONE
    bitmask: int32[N, words], bits as in `apply_bitmask_`; N may be 0
    uniform: float64[B, K] in [0, 1): entry k decides the k-th draw of a tree
    most: nodes of the largest tree
    """

    first: torch.Tensor
    tokens: torch.Tensor
    parents: torch.Tensor
    forced: torch.Tensor
    masks: torch.Tensor
    bitmask: torch.Tensor
    uniform: torch.Tensor
    most: int

    @property
    def steps(self) -> int:
        """K: entries that a tree can need, one more than tokens on its longest path."""
        return self.uniform.shape[1]


def packed(
    trees: Sequence[BuiltTree],
    mask_rows: Sequence[Sequence[int]],
    bitmask: np.ndarray | None,
    words: int,
    uniform: np.ndarray,
    device: torch.device,
) -> Trees:
    """Send trees to a device: three copies, from pinned memory where there is such, so that none waits.

    mask_rows: for each tree by place. bitmask: uint32[N, words] or None. uniform: float64[B, K]
    """
    sizes = [int(tree.read.sum()) + 1 for tree in trees]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    total = int(first[-1])
    columns = np.full((4, total), NONE, np.int32)  # tokens, parents, forced, masks
    for start, tree, masks in zip(first[:-1].tolist(), trees, mask_rows, strict=True):
        places = np.concatenate([[True], tree.read])
        end = start + int(places.sum())
        columns[0, start + 1 : end], columns[1, start + 1 : end] = tree.read_tokens, tree.read_parents
        columns[2, start:end], columns[3, start:end] = tree.forced[places], np.asarray(masks, np.int32)[places]
    numbers = sent(torch.from_numpy(np.concatenate([first, columns.ravel()])), device)
    masks_given = np.zeros((0, words), np.uint32) if bitmask is None else np.ascontiguousarray(bitmask)
    tokens, parents, forced, masks_of = numbers[len(first) :].view(4, total)
    return Trees(
        numbers[: len(first)],
        tokens,
        parents,
        forced,
        masks_of,
        bitmask=sent(torch.from_numpy(masks_given.view(np.int32)), device),
        uniform=sent(torch.from_numpy(uniform), device),
        most=max(sizes) - 1,
    )


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy on the device that the host does not wait for."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


@dataclass(frozen=True)
class Found:
    """The verdict on one tree. nodes: of the nodes that were read. tokens: one more than nodes; -1 is a dead end.

    log_prob_raw, log_prob_sampled, log_z: of each token, as in `constrain.sampling.core.step`
    """

    nodes: list[int]
    tokens: list[int]
    log_prob_raw: list[float]
    log_prob_sampled: list[float]
    log_z: list[float]


def unpacked(entries: torch.Tensor) -> list[Found]:
    """Verdicts from int32[B, K, ENTRY]: node, token, and the bits of three float32."""
    numbers = entries.cpu()
    floats = numbers[:, :, INTS:].contiguous().view(torch.float32).tolist()
    found = []
    for steps, logs in zip(numbers[:, :, :INTS].tolist(), floats, strict=True):
        end = next(k for k, (node, _) in enumerate(steps) if node == ROOT) + 1
        raw, sampled, z = (list(column) for column in zip(*logs[:end], strict=True))
        found.append(Found([node for node, _ in steps[: end - 1]], [t for _, t in steps[:end]], raw, sampled, z))
    return found
