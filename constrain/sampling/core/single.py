"""One row of logits on a CPU: what `constrain.sampling.core.step` does, without the price of thirty small tensor
operations.

The idea: one sequence is one row a step, a verifier goes down a tree place by place, and of a small model each
operation of torch costs more to call than to compute. The same numbers come from a few operations of numpy on the same
memory: one pass of exponentials over all logits, of which the allowed ones are a part.

Law and numbers: those of `step` for many rows, from the same uniform number of the same stream, up to rounding.
PERF: 0.2 ms instead of 0.3 to 0.5 ms a row of 128,256 logits, 0.03 instead of 0.12 to 0.19 ms of 3,072, best of many,
one core (`python benchmarks/sampling_step.py`); between two forwards of a small model, where nothing is in the caches,
0.1 ms instead of 0.9 ms.
Limit: float32 and float64 on a CPU, no top-k and top-p; other rows, and rows that are no logits, are for tensors.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from constrain.sampling.core.draw import NO_TOKEN, Draw, TorchDraw

SPARSE = 8  # columns are picked when at most one in so many is allowed
FAINT = 1e-25  # allowed weights this small beside the largest have lost digits, and are computed anew
BLOCK = 512  # of long rows: what a cumulative sum is taken over


class Chosen(NamedTuple):
    """One token, and its numbers: see `constrain.sampling.core.step`. Token −1 at a dead end."""

    token: int
    log_prob_raw: float
    log_prob_sampled: float
    log_z: float


class Row:
    """The logits of one place at a temperature.

    values: float[W], scaled. top: their maximum. log_total: log Σ exp of them
    """

    def __init__(self, values: NDArray[np.floating], temperature: float) -> None:
        """values: float32 or float64 [W]; left as they are."""
        self.values = values if temperature in (0, 1) else values / values.dtype.type(temperature)
        self.top = float(self.values.max())
        if self.sound:
            self._weights = np.exp(self.values - self.values.dtype.type(self.top))
            self.log_total = self.top + math.log(float(self._weights.sum()))

    @property
    def sound(self) -> bool:
        """No NaN, no +inf, and not nothing but -inf."""
        return math.isfinite(self.top)

    def raw(self, token: int) -> float:
        """log p_raw of a token."""
        return float(self.values[token]) - self.log_total

    def choose(
        self, words: NDArray[np.uint32] | None, size: int, temperature: float, draw: Draw, stream: int
    ) -> Chosen:
        """Draw a token; take the likeliest at temperature 0.

        words: uint32[ceil(size / 32)], or None: everything is allowed
        """
        ids, weights, scale = self._allowed(words, size)
        mass = float(weights.sum())
        if mass == 0:
            return Chosen(NO_TOKEN, -math.inf, 0.0, -math.inf)
        log_allowed = scale + math.log(mass)
        place = self._likeliest(ids, weights) if temperature == 0 else _drawn(weights, mass, draw, stream)
        token = place if ids is None else int(ids[place])
        logit = float(self.values[token])
        log_sampled = 0.0 if temperature == 0 else logit - log_allowed
        return Chosen(token, logit - self.log_total, log_sampled, min(0.0, log_allowed - self.log_total))

    def _likeliest(self, ids: NDArray[np.int64] | None, weights: NDArray[np.floating]) -> int:
        """By the logits: weights of unequal logits may be equal."""
        values = self.values[: len(weights)] if ids is None else self.values[ids]
        return int(np.where(weights > 0, values, -np.inf).argmax())

    def _allowed(
        self, words: NDArray[np.uint32] | None, size: int
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.floating], float]:
        """(ids, or None for the first ids in order; exp(values − scale) of them, 0 where not allowed; scale)."""
        ids: NDArray[np.int64] | None = None
        weights = self._weights
        if words is not None:
            weights = weights[:size]
            bits = np.unpackbits(words.view(np.uint8), bitorder="little")[:size].view(np.bool_)
            count = int(np.count_nonzero(bits))
            if count * SPARSE <= len(self.values):
                ids = np.flatnonzero(bits)
                weights = weights[ids]
            else:
                weights = weights * bits
        if len(weights) == 0 or float(weights.max()) < FAINT:
            if ids is None:
                ids = np.arange(len(weights)) if words is None else np.flatnonzero(bits)
            values = self.values[ids]
            top = float(values.max(initial=-np.inf))
            if top == -math.inf:
                return ids, np.zeros(1), 0.0
            return ids, np.exp(values - values.dtype.type(top)), top
        return ids, weights, self.top


def row_of(logits: torch.Tensor, temperature: float) -> Row | None:
    """The row of float[1, W] logits; None where tensors have to see to it."""
    if logits.device.type != "cpu" or logits.dtype not in (torch.float32, torch.float64) or logits.requires_grad:
        return None
    row = Row(logits[0].numpy(), temperature)
    return row if row.sound else None


def _drawn(weights: NDArray[np.floating], mass: float, draw: Draw, stream: int) -> int:
    """An index in proportion to the weights; for `TorchDraw` by the uniform number that it would have used."""
    if not isinstance(draw, TorchDraw):
        shares = torch.from_numpy(weights / weights.dtype.type(mass))
        return int(draw(shares.unsqueeze(0), [stream]))
    uniform = float(draw.peek(stream, 1)[0])
    draw.skip(stream, 1)
    start = 0
    if len(weights) > 2 * BLOCK:
        sums = np.add.reduceat(weights, np.arange(0, len(weights), BLOCK), dtype=np.float64)
        block, uniform = _passed(sums, uniform)
        start = block * BLOCK
        weights = weights[start : start + BLOCK]
    return start + _passed(weights, uniform)[0]


def _passed(weights: NDArray[np.floating], uniform: float) -> tuple[int, float]:
    """See `constrain.sampling.core.draw.invert`: where the cumulative weight passes a share; where inside its own
    share."""
    cumulative = weights.cumsum(dtype=np.float64)
    total = float(cumulative[-1])
    target = uniform * total
    place = min(int(cumulative.searchsorted(target, "right")), int(cumulative.searchsorted(total, "left")))
    share = float(weights[place])
    return place, min(1.0, max(0.0, (target - (float(cumulative[place]) - share)) / share))
