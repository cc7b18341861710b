"""Rows of logits on a CPU by kernels (`constrain.kernels.masks.choices`): a token, and the sums that say its numbers.

Cost: two passes over a row, nothing of its size is made; 16-bit logits are widened to one row of float32 at a time.
Reference: `constrain.sampling.core.logits`, which does the same for float64, for truncation and on devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

EVERYTHING = np.zeros(0, np.uint32)


class Measured(NamedTuple):
    """A row of logits, its token, and its sums.

    Attributes:
        token: the one that was chosen; -1 if nothing that is allowed has any weight.
        value: its logit over the temperature.
        log_total: log Σ exp of all logits over the temperature.
        log_mass: that of the allowed ones; -inf if nothing that is allowed has any weight.
    """

    token: int
    value: float
    log_total: float
    log_mass: float


@cache
def _kernels() -> Any:
    from constrain import kernels
    from constrain.kernels.masks import choices

    kernels.load()
    return choices


def is_measured(logits: torch.Tensor) -> bool:
    """True for logits whose rows `measured` takes."""
    return logits.device.type == "cpu" and logits.dtype != torch.float64


def measured(
    logits: torch.Tensor,
    bitmask: np.ndarray | None,
    size: int,
    temperature: float,
    uniforms: Callable[[int], float] | None,
) -> Iterator[Measured | None]:
    """Measure each row, and choose a token of it.

    Args:
        logits: float[B, W] that `is_measured`.
        bitmask: uint32[B, ceil(size / 32)]; None: everything is allowed.
        size: tokens of the vocabulary.
        temperature: above 0.
        uniforms: gives the number in [0, 1) by which the token of a row is drawn; None: the likeliest is taken.

    Yields:
        What was found; None for a row that holds NaN or inf, or nothing but -inf.
    """
    kernels = _kernels()
    width = logits.shape[1]
    numbers = np.zeros(kernels.NUMBERS)
    numbers[kernels.TEMPERATURE] = temperature
    scratch = numbers.view(np.int64), np.empty(-(-width // kernels.PART), np.int64), np.empty(kernels.ROOM, np.int32)
    for i, row in enumerate(logits.detach()):
        values = row.float().contiguous().numpy()
        bits = values.view(np.int32)
        words = EVERYTHING if bitmask is None else np.ascontiguousarray(bitmask[i]).view(np.uint32)
        token = kernels.measure(bits, words, size, *scratch)
        if token == kernels.FAULTY:
            yield None
            continue
        log_mass = -math.inf
        if token != kernels.NOTHING:
            if uniforms is not None:
                numbers[kernels.UNIFORM] = uniforms(i)
                token = kernels.draw_token(bits, words, size, *scratch)
            log_mass = numbers[kernels.BASE] / temperature + math.log(numbers[kernels.MASS])
        log_total = numbers[kernels.TOP] / temperature + math.log(numbers[kernels.TOTAL])
        value = float(values[token] / np.float32(temperature))
        yield Measured(token, value, float(log_total), float(log_mass))
