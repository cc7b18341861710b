"""Candidates drawn without replacement: each in proportion to its p, from what is left of a row.

    urns = urns_of(logits, bitmask, size, draw, streams, places)
    urns.draw([0, 1])          one more candidate of rows 0 and 1, with log p and the mass left behind it

A draw takes the next number of the row's stream, and inverts the cumulative sum of what is left. So the candidates of a
row are those of one order, whatever is read of it at once, and whichever other rows are read. (A race of exponential
clocks has the same distribution, and needs a random number and a logarithm for each token of the vocabulary.)

All masses are sums of what is left, never 1 − what was taken: a mass of 1e-30 is found, not rounded away.

Cost: on a CPU (`KernelUrns`) the sums of a row once, as for any step, then 1,024 logits a draw; elsewhere, for float64
and for draws that are enumerated (`TensorUrns`), three passes a draw, over all rows that ask at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch

from constrain.sampling.bitmask.apply import checked_size, masked_logits
from constrain.sampling.core.draw import Draw, TorchDraw
from constrain.sampling.core.logits import log_total_of, scaled
from constrain.sampling.core.measure import choices, is_measured, rows_of

FAINT = 1e-25  # a mass below this, beside weights of at most 1, may have lost digits in float32


class Drawn(NamedTuple):
    """A candidate that was taken. log_left: log Σ p of what is left after it, -inf if nothing is."""

    candidate: int
    log_prob: float
    log_left: float

    @property
    def log_mass(self) -> float:
        """log Σ p of all that were left before, itself included."""
        return float(np.logaddexp(self.log_prob, self.log_left))


class Urns(Protocol):
    """B rows of candidates."""

    def draw(self, rows: Sequence[int], likeliest: bool = False) -> list[Drawn | None]:
        """Take one of each of these rows, at random or the likeliest; None where nothing of any p is left."""


def urns_of(
    logits: torch.Tensor,
    bitmask: np.ndarray,
    size: int,
    draw: Draw,
    streams: Sequence[int],
    places: Sequence[tuple[int, int]] | None = None,
) -> Urns:
    """The allowed tokens of each row; p is the softmax over all logits.

    logits: float[B, W]. bitmask: uint32[B, ceil(size / 32)]. streams: B stream numbers for `draw`. places: as in `step`

    Raises ConstrainError: as `step`.
    """
    size = checked_size(logits, bitmask, size)
    if is_measured(logits) and isinstance(draw, TorchDraw):
        urns = KernelUrns(logits, bitmask, size, draw, streams)
        if urns.sound:
            return urns
    logits = scaled(logits.detach(), 1)
    log_total = log_total_of(logits, places)  # names a fault
    masked, columns = masked_logits(logits, bitmask, size)
    return TensorUrns(masked - log_total.unsqueeze(1), draw, streams, columns)


class TensorUrns:
    """Rows of log p on any device, float[B, N], -inf allowed. ids: int64[N], the candidates; None: 0 … N − 1."""

    def __init__(
        self, log_probs: torch.Tensor, draw: Draw, streams: Sequence[int], ids: torch.Tensor | None = None
    ) -> None:
        kind = log_probs.dtype if log_probs.device.type == "mps" else torch.float64  # which that device lacks
        self._left = log_probs.to(kind, copy=True)
        self._ids = range(log_probs.shape[1]) if ids is None else ids.tolist()
        self._draw, self._streams = draw, streams
        self._log_left: list[float] = self._left.logsumexp(-1).tolist()

    def draw(self, rows: Sequence[int], likeliest: bool = False) -> list[Drawn | None]:
        found: dict[int, Drawn] = {}
        some = [row for row in rows if self._log_left[row] > -math.inf]
        if some:
            at = torch.tensor(some, device=self._left.device)
            left = self._left[at]
            streams = [self._streams[row] for row in some]
            columns = left.argmax(-1) if likeliest else self._draw(left.softmax(-1), streams)
            log_probs = left.gather(1, columns.unsqueeze(1)).squeeze(1)
            self._left[at, columns] = -math.inf
            left.scatter_(1, columns.unsqueeze(1), -math.inf)
            told = torch.stack([columns.to(left.dtype), log_probs, left.logsumexp(-1)])  # one copy back
            for row, column, log_prob, log_left in zip(some, *told.tolist(), strict=True):
                found[row] = Drawn(self._ids[int(column)], log_prob, log_left)
                self._log_left[row] = log_left
        return [found.get(row) for row in rows]


@dataclass
class _Row:
    """values: float32[W]. given, told: arguments of kernels. stream: to draw from. log_total: log Σ exp of all."""

    values: np.ndarray
    given: tuple[np.ndarray, np.ndarray, int]  # bits of the values, words of what is left, size
    numbers: np.ndarray
    told: tuple[np.ndarray, np.ndarray, np.ndarray]  # bits of the numbers, sums, scratch
    stream: int
    log_total: float = 0.0
    is_empty: bool = False


class KernelUrns:
    """Rows of logits that `is_measured`, by `constrain.kernels.masks.choices`. Arguments: as of `urns_of`.

    sound: no row holds NaN, +inf or nothing but -inf
    """

    def __init__(
        self, logits: torch.Tensor, bitmask: np.ndarray, size: int, draw: TorchDraw, streams: Sequence[int]
    ) -> None:
        self._kernels, self._draw = choices(), draw
        scratch, parts = np.empty(self._kernels.SCRATCH, np.int32), -(-logits.shape[1] // self._kernels.SPAN)
        self._rows: list[_Row] = []
        for values, words, stream in zip(rows_of(logits), bitmask, streams, strict=True):
            numbers = np.zeros(self._kernels.NUMBERS)
            numbers[self._kernels.TEMPERATURE] = 1.0
            given = values.view(np.int32), words.view(np.uint32).copy(), size
            told = numbers.view(np.int64), np.empty(parts, np.int64), scratch
            self._rows.append(_Row(values, given, numbers, told, stream))
        self.sound = all(self._measure(row) != self._kernels.FAULTY for row in self._rows)

    def draw(self, rows: Sequence[int], likeliest: bool = False) -> list[Drawn | None]:
        return [self._take(self._rows[row], likeliest) for row in rows]

    def _measure(self, row: _Row) -> int:
        token: int = self._kernels.measure(*row.given, *row.told)
        row.is_empty = token < 0
        if token != self._kernels.FAULTY:
            numbers = row.numbers.tolist()
            row.log_total = numbers[self._kernels.TOP] + math.log(numbers[self._kernels.TOTAL])
        return token

    def _take(self, row: _Row, likeliest: bool) -> Drawn | None:
        if row.is_empty:
            return None
        kernels = self._kernels
        if likeliest:
            token = self._measure(row)
        else:
            row.numbers[kernels.QUANTILE] = self._draw.uniform(row.stream)
            token = kernels.draw_token(*row.given, *row.told)
        kernels.take_out(*row.given, token, *row.told)
        if row.numbers[kernels.MASS] < FAINT:
            self._measure(row)
        log_left = -math.inf
        if not row.is_empty:
            numbers = row.numbers.tolist()
            log_left = numbers[kernels.BASE] + math.log(numbers[kernels.MASS]) - row.log_total
        return Drawn(token, float(row.values[token]) - row.log_total, log_left)
