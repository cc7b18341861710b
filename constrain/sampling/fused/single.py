"""A step without drafts on the device: the next token of every row, as `constrain.sampling.core.step` chooses it.

Distribution: that of `step`, by the same uniform numbers: the same seed gives the same tokens, up to rounding of sums.
Cost: the kernels of a bucket of one-place trees, one graph on a GPU, and one small copy back.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from constrain.sampling.fused import batch
from constrain.sampling.fused.batch import (
    COLUMNS,
    EMPTY,
    NONE,
    OPTIONS,
    RULES,
    Drafts,
    FusedOptions,
    FusedStep,
    Trees,
    room_for,
    sent,
)

if TYPE_CHECKING:
    from constrain.sampling.fused.run import DeviceSteps

OLDEST = (3, 4)  # of Triton: before, the compiler does not take the tuples of the kernels


class _Own(threading.local):
    steps: DeviceSteps | None = None


_own = _Own()


@cache
def has_triton() -> bool:
    """A Triton that compiles the kernels is installed."""
    if importlib.util.find_spec("triton") is None:
        return False
    return tuple(map(int, version("triton").split(".")[:2])) >= OLDEST


def runs_on(device: torch.device, wanted: bool | None = None) -> bool:
    """The kernels run on a device. wanted: True: by Triton's interpreter, too; None: on a GPU; False: never."""
    if wanted is None:
        return device.type == "cuda" and has_triton()
    return wanted and (device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")


def options_of(settings: Any) -> FusedOptions:
    """The options with which a job's settings (`Settings`) shape a target."""
    return FusedOptions(settings.temperature, settings.top_k or 0, 1.0 if settings.top_p is None else settings.top_p)


def steps_of_thread() -> DeviceSteps:
    """The steps of this thread, whose graphs serve all its calls."""
    from constrain.sampling.fused.run import DeviceSteps

    _own.steps = _own.steps or DeviceSteps()
    return _own.steps


class Next(NamedTuple):
    """The next tokens of B rows.

    tokens: int32[B], -1 at a dead end. numbers: float32[B, 3], log p_raw, log p_sampled and log Z. used: int32[B],
    uniform numbers of each row. faulty: some row is no logits, and nothing else counts.
    """

    tokens: np.ndarray
    numbers: np.ndarray
    used: np.ndarray
    faulty: bool


def next_tokens(
    logits: torch.Tensor, bitmask: np.ndarray | None, options: FusedOptions, uniform: Sequence[float], size: int
) -> Next:
    """The next token of every row.

    logits: float[B, W]. bitmask: uint32[B, words], or None. uniform: B numbers in [0, 1). size: of the vocabulary.
    """
    rows = len(logits)
    count = room_for(rows)
    numbers = np.full((count, COLUMNS, 1), NONE, np.int32)
    numbers[:, [batch.KIDS, batch.BEGINS, batch.ENDS]] = 0
    numbers[rows:, [batch.TOKENS, batch.PARENTS]] = EMPTY
    numbers[:rows, batch.AT, 0] = np.arange(rows)
    if bitmask is not None:
        numbers[:rows, batch.MASKS, 0] = np.arange(rows)
    reals = np.zeros((count, OPTIONS + 1))
    reals[:rows, :OPTIONS] = *options, 0
    reals[:rows, OPTIONS] = uniform
    masks = np.zeros((0, 1), np.uint32) if bitmask is None else np.ascontiguousarray(bitmask)
    none = torch.zeros((1, 1), device=logits.device)
    step = FusedStep(
        Trees(sent(torch.from_numpy(numbers), logits.device), sent(torch.from_numpy(reals), logits.device), 1),
        Drafts(none, 1, 1, none[0].double()),
        sent(torch.from_numpy(masks.view(np.int32)), logits.device),
        None,
        options.min_p > 0,
        options.top_k > 0,
        options.top_p < 1,
    )
    entries = steps_of_thread()([logits], step, RULES["match"], size)[:rows]
    return Next(entries[:, 1, 1], entries[:, 1, 2:].view(np.float32), entries[:, 0, 1], bool(entries[:, 0, 2].any()))
