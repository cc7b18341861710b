"""Rows of logits as distributions: the softmax over all logits, and the part of it under a mask.

The idea: one pass of exponentials over all logits serves both sums, since the allowed ones are a part of them. The same
lines run on numpy arrays on a CPU and on torch tensors on a device: both libraries name these operations alike. numpy
is the quicker one for few rows, where each operation of torch costs more to call than to compute.

Numbers: float32 or float64 as the logits; sums of rows are widened to float64 on a CPU. Where the allowed weights are
so small beside the largest that they have lost digits, they are computed anew from the allowed logits alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.bitmask.apply import bits_of

SPARSE = 8  # columns are picked when at most one in so many is allowed in any row
FAINT = 1e-25  # a weight below this, beside a largest of 1, may have lost digits in float32

Array = Any  # a numpy array on a CPU, a torch tensor on a device


class Allowed(NamedTuple):
    """The allowed part of B rows of logits.

    Attributes:
        columns: int64[U], the token ids of the columns; None where they are 0 … U − 1.
        values: float[B, U], the logits; those of weight 0 are not allowed, or have no probability.
        weights: float[B, U], exp(values − scale) for some scale of each row.
        mass: float[B], the sums of the weights; 0 where a row has no allowed token of any probability.
        log_mass: float[B], log Σ exp of the allowed logits; -inf where the mass is 0.
    """

    columns: Array | None
    values: Array
    weights: Array
    mass: Array
    log_mass: Array

    def rows(self, which: list[int]) -> Allowed:
        """Some of the rows."""
        return Allowed(self.columns, *(array[which] for array in self[1:] if array is not None))


class LogitRows:
    """B rows of logits at a temperature.

    Attributes:
        xp: the library of the arrays: numpy on a CPU, torch on a device.
        values: float[B, W], the logits over the temperature (over 1 where it is 0), in float32 at least.
        log_total: float[B], log Σ exp of each row.
    """

    def __init__(
        self, logits: torch.Tensor, temperature: float, places: Sequence[tuple[int, int]] | None = None, xp: Any = None
    ) -> None:
        """logits: float[B, W], left as they are; places: as in `step`; xp: numpy or torch, by the device if None.

        Raises ConstrainError: as `step`.
        """
        self.device = logits.device
        self.xp: Any = xp or (np if self.device.type == "cpu" else torch)
        logits = scaled(logits.detach(), temperature)
        self.values: Array = logits.numpy() if self.xp is np else logits
        self._top = self._max(self.values)
        if not math.isfinite(float(self._top.sum())):
            log_total_of(logits, places)  # names the fault
        self._weights = self._exp(self.values, self._top)
        self._total = self._sum(self._weights)
        self.log_total = self._top + self.xp.log(self._total)

    def rows(self, which: list[int]) -> LogitRows:
        """Some of the rows."""
        some = copy(self)
        for name in ("values", "log_total", "_top", "_weights", "_total"):
            setattr(some, name, getattr(self, name)[which])
        return some

    def allowed(self, bitmask: np.ndarray | None, size: int | None) -> Allowed:
        """The part that a mask uint32[B, ceil(size / 32)] allows; None allows everything."""
        if bitmask is None:
            return Allowed(None, self.values, self._weights, self._total, self.log_total)
        bits = bits_of(np.ascontiguousarray(bitmask).view(np.uint32))[:, :size]
        union = bits[0] if len(bits) == 1 else bits.any(0)
        columns = None
        if int(np.count_nonzero(union)) * SPARSE <= self.values.shape[1]:
            picked = np.flatnonzero(union)
            columns, bits = self.array(picked), bits.take(picked, 1)
            values, weights = self._take(self.values, columns), self._take(self._weights, columns)
        else:
            values, weights = self.values[:, : bits.shape[1]], self._weights[:, : bits.shape[1]]
        if columns is None or len(bits) > 1:  # of one row, what was picked is all allowed
            weights = weights * self.array(bits)
        if not weights.shape[1] or self._max(weights).min() < FAINT:
            return self._faint(columns, values, self.array(bits))
        mass = self._sum(weights)
        return Allowed(columns, values, weights, mass, self._top + self._log(mass))

    def _faint(self, columns: Array | None, values: Array, bits: Array) -> Allowed:
        """`Allowed` with weights over the largest allowed logit of each row."""
        if not values.shape[1]:  # one column without weight, so that there is something to index
            values, bits = self.values[:, :1], self.array(np.zeros((len(values), 1), bool))
            columns = None
        values = self.xp.where(bits, values, self.lowest)
        top = self._max(values)
        top = self.xp.where(self.xp.isfinite(top), top, self.xp.zeros_like(top))
        weights = self._exp(values, top)
        mass = self._sum(weights)
        return Allowed(columns, values, weights, mass, top + self._log(mass))

    def likeliest(self, allowed: Allowed) -> Array:
        """int64[B]: the column of the likeliest allowed token, by logits: weights of unequal logits may be equal."""
        return self.xp.where(allowed.weights > 0, allowed.values, self.lowest).argmax(-1)

    @property
    def lowest(self) -> Array:
        """-inf as an array of no dimensions, of the values' type."""
        return self.xp.full_like(self.values[0, 0], -math.inf)

    def tensor(self, array: Array) -> torch.Tensor:
        """An array of the same library as a tensor; numbers in the type of the logits."""
        if self.xp is not np:
            return array
        return torch.from_numpy(array if array.dtype == np.int64 else array.astype(self.values.dtype, copy=False))

    def array(self, given: np.ndarray | torch.Tensor) -> Array:
        """An array or a tensor as an array of this library, where the logits are."""
        if self.xp is np:
            return given.numpy() if isinstance(given, torch.Tensor) else given
        return torch.from_numpy(given).to(self.device) if isinstance(given, np.ndarray) else given

    def at_most_0(self, logs: Array) -> Array:
        """Logs of shares, without what rounding adds."""
        return np.minimum(logs, 0.0) if self.xp is np else logs.clamp(max=0)

    def _take(self, values: Array, columns: Array) -> Array:
        return values.take(columns, 1) if self.xp is np else values.index_select(1, columns)

    def _max(self, values: Array) -> Array:
        return values.max(-1) if self.xp is np else values.amax(-1)

    def _exp(self, values: Array, top: Array) -> Array:
        weights = values - top[:, None]
        return self.xp.exp(weights, out=weights)

    def _sum(self, weights: Array) -> Array:
        mass = weights.sum(-1)
        return mass.astype(np.float64) if self.xp is np else mass

    def _log(self, mass: Array) -> Array:
        with np.errstate(divide="ignore"):  # log 0 = -inf is meant
            return self.xp.log(mass)


def scaled(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """Logits at a temperature (at 1 where it is 0), in float32 at least."""
    if logits.dtype not in (torch.float32, torch.float64):
        logits = logits.float()
    return logits if temperature in (0, 1) else logits / temperature


def log_probs_of(logits: torch.Tensor, places: Sequence[tuple[int, int]] | None) -> torch.Tensor:
    """log p of each token, float[B, W], in float32 at least: 16 bits have two digits of a number like -10.

    places: as in `step`. Raises ConstrainError: as `log_total_of`.
    """
    logits = scaled(logits, 1)
    return logits - log_total_of(logits, places).unsqueeze(1)


def log_total_of(logits: torch.Tensor, places: Sequence[tuple[int, int]] | None) -> torch.Tensor:
    """log Σ exp of each row, float[B].

    places: as in `step`. Raises ConstrainError unless it is finite: NaN or +inf among the logits, or nothing but -inf.
    """
    total = logits.logsumexp(-1)
    finite = torch.isfinite(total)
    if not bool(finite.all()):
        row = int((~finite).nonzero()[0])
        bad = logits[row]
        what = "NaN" if bool(bad.isnan().any()) else "+inf" if bool((bad == torch.inf).any()) else "nothing but -inf"
        ids = (bad.isnan() | (bad == torch.inf)).nonzero().squeeze(1).tolist() if what != "nothing but -inf" else []
        shown = f" (token ids {', '.join(map(str, ids[:5]))}{', …' if len(ids) > 5 else ''})" if ids else ""
        where, position = (row, 0) if places is None else places[row]
        raise ConstrainError(
            f"the model's logits contain {what}{shown}",
            place=f"output {where}, token {position}",
            fix="check the model: its weights and number format, or run it in float32",
        )
    return total
