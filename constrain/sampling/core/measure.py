"""Rows of logits on a CPU by kernels (`constrain.kernels.masks.choices`): a token, and the sums that say its numbers.

Cost: two passes over a row, about five with truncation; nothing of its size is made, but 16-bit logits are widened, a
row at a time. `logits.py` does the same for float64, for draws that are enumerated, and on devices.
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
        value: its logit over the temperature; -inf without a token.
        log_total: log Σ exp of all logits over the temperature.
        log_mass: that of the allowed ones; -inf if nothing that is allowed has any weight.
        log_kept: that of the allowed ones that truncation keeps, from which the token was drawn.
    """

    token: int
    value: float
    log_total: float
    log_mass: float
    log_kept: float


@cache
def choices() -> Any:
    """The kernels, compiled."""
    from constrain import kernels
    from constrain.kernels.masks import choices as found

    kernels.load()
    return found


def is_measured(logits: torch.Tensor) -> bool:
    """True for logits whose rows `measured` takes."""
    return logits.device.type == "cpu" and logits.dtype != torch.float64


def rows_of(logits: torch.Tensor) -> Iterator[np.ndarray]:
    """float32[W] of each row of logits that `is_measured`, in one piece."""
    logits = logits.detach()
    wide = logits.numpy() if logits.dtype == torch.float32 else None  # PERF: one call of torch, not four a row
    for i in range(len(logits)):
        yield logits[i].float().numpy() if wide is None else np.ascontiguousarray(wide[i])


def measured(
    logits: torch.Tensor,
    bitmask: np.ndarray | None,
    size: int,
    temperature: float,
    uniforms: Callable[[int], float] | None,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Iterator[Measured | None]:
    """Measure each row, and choose a token of it.

    Args:
        logits: float[B, W] that `is_measured`.
        bitmask: uint32[B, ceil(size / 32)]; None: everything is allowed.
        size: tokens of the vocabulary.
        temperature: above 0.
        uniforms: gives the number in [0, 1) by which the token of a row is drawn; None: the likeliest is taken.
        top_k, top_p: truncate before a draw; None keeps all.

    Yields:
        What was found; None for a row that holds NaN or inf, or nothing but -inf.
    """
    kernels = choices()
    width = logits.shape[1]
    numbers = np.zeros(kernels.NUMBERS)
    numbers[kernels.TEMPERATURE] = temperature
    counted = numbers.view(np.int64)
    sums, scratch = np.empty(-(-width // kernels.SPAN), np.int64), np.empty(kernels.SCRATCH, np.int32)
    top_p = None if top_p == 1 else top_p
    cuts = [(is_counted, limit) for is_counted, limit in ((1, top_k), (0, top_p)) if limit is not None]
    bins = np.empty(kernels.BINS if cuts else 0, np.int64)
    for i, values in enumerate(rows_of(logits)):
        words = EVERYTHING if bitmask is None else np.ascontiguousarray(bitmask[i]).view(np.uint32)
        given = values.view(np.int32), words, size
        token = kernels.measure(*given, counted, sums, scratch)
        if token == kernels.FAULTY:
            yield None
            continue
        value = log_mass = log_kept = -math.inf
        if token != kernels.NOTHING:
            base = numbers[kernels.BASE] / temperature
            log_mass = log_kept = base + math.log(numbers[kernels.MASS])
            if uniforms is not None:
                numbers[kernels.QUANTILE] = uniforms(i)
                numbers[kernels.KEPT_MASS], counted[kernels.LEAST_KEPT] = numbers[kernels.MASS], kernels.LEAST
                for is_counted, limit in cuts:
                    numbers[kernels.LIMIT] = limit
                    kernels.cut_off(*given, is_counted, counted, scratch, bins)
                log_kept = base + math.log(numbers[kernels.KEPT_MASS])
                if cuts:
                    token = kernels.draw_kept(*given, counted, scratch)
                else:
                    token = kernels.draw_token(*given, counted, sums, scratch)
            value = values[token] / np.float32(temperature)
        log_total = numbers[kernels.TOP] / temperature + math.log(numbers[kernels.TOTAL])
        yield Measured(token, *map(float, (value, log_total, log_mass, log_kept)))
