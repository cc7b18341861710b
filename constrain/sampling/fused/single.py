"""A step without drafts on the device: the next token of every row, as `constrain.sampling.core.step` chooses it.

Distribution: that of `step`, by the same uniform numbers: the same seed gives the same tokens, up to rounding of sums.
Cost: the kernels of a bucket of one-place trees, one graph on a GPU, and one small copy back.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from constrain.lazily import later
from constrain.sampling.fused.batch import AT, MASKS, NONE, OPTIONS, PARENTS, RULES, FusedOptions, TreeBatch

if TYPE_CHECKING:
    from constrain.device.run import DeviceSteps

device = later("constrain.device.run")  # loads Triton
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
    if _own.steps is None:
        _own.steps = device.DeviceSteps()
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
    logits: torch.Tensor, bitmask: np.ndarray | None, options: FusedOptions, uniform: np.ndarray, size: int
) -> Next:
    """The next token of every row.

    logits: float[B, W]. bitmask: uint32[B, words], or None. uniform: float64[B, 1] in [0, 1). size: of the vocabulary.
    """
    rows = np.arange(len(logits))
    batch = TreeBatch.empty(len(rows), 1, 1)
    batch.numbers[rows, : PARENTS + 1] = NONE
    batch.numbers[rows, AT, 0] = rows
    if bitmask is not None:
        batch.numbers[rows, MASKS, 0] = rows
    batch.reals[rows, OPTIONS:] = uniform
    step = batch.sent([options], bitmask, logits.device)
    entries = steps_of_thread()([logits], step, RULES["match"], size)[rows]
    return Next(entries[:, 1, 1], entries[:, 1, 2:].view(np.float32), entries[:, 0, 1], bool(entries[:, 0, 2].any()))
