"""Resampling: a few particles of even weight for particles of uneven weight, without changing what they stand for.

A scheme takes M log weights and a number N, and returns N ancestors with new weights, such that

    E[ Σ_n new weight_n · 1(ancestor_n = i) ] = weight_i       for every particle i.

That is all that unbiased estimates need (Del Moral, Doucet and Jasra 2006, section 3.4); the schemes differ in what
they add to the variance.

    multinomial   N independent draws
    stratified    one draw in each N-th of the cumulative weights (Kitagawa 1996)
    systematic    one draw for all: the same place in each N-th
    residual      ⌊N w⌋ copies for sure, the rest multinomial (Liu and Chen 1998)
    optimal       without replacement: particles heavier than a threshold are kept as they are, of the others a few are
                  chosen and get the threshold as weight (Fearnhead and Clifford 2003, section 3); weights stay uneven

The first four give every ancestor the mean weight. Douc, Cappé and Moulines 2005 compare them. Every scheme draws
through `Draw`, so tests enumerate it. Cost: O((M + N) log M) arithmetic, 1 draw (systematic) to N draws; stratified
keeps a matrix of N × M. Limit: all but multinomial lose a particle whose share of the weight is below 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.draw import Draw

Floats = np.ndarray  # float64[...]
SLACK = 1e-12  # pieces of a cumulative sum shorter than this are rounding


def effective_size(log_weights: Sequence[float] | Floats) -> float:
    """The effective number of weighted particles, (Σ w)² / Σ w².

    Args:
        log_weights: log weights, -inf allowed.

    Returns:
        N for N equal weights, 1 for a single positive one, 0 for none.

    Source:
        Kong, Liu and Wong 1994, "Sequential imputations and Bayesian missing data problems".

    Example:
        >>> from constrain.sampling import effective_size
        >>> effective_size([0.0, 0.0, float("-inf")])
        2.0
    """
    scaled = _scaled(log_weights)
    total = float(scaled.sum())
    return total * total / float((scaled * scaled).sum()) if total > 0 else 0.0


def log_mean(log_weights: Sequence[float] | Floats) -> float:
    """log of the mean of weights; -inf for none, or only zeros."""
    values = np.asarray(log_weights, dtype=np.float64)
    top = values.max(initial=-math.inf)
    if top == -math.inf:
        return -math.inf
    return float(top + math.log(np.exp(values - top).sum() / len(values)))


def resample(
    scheme: str, log_weights: Sequence[float] | Floats, count: int, draw: Draw, stream: int
) -> tuple[list[int], list[float]]:
    """Choose ancestors of even weight for particles of uneven weight, without bias.

    Args:
        scheme: "multinomial", "stratified", "systematic", "residual" or "optimal".
        log_weights: M log weights; -inf allowed, but not all of them.
        count: ancestors; "optimal" may return fewer.
        draw: the source of randomness.
        stream: where it draws from.

    Returns:
        (indices of the ancestors, their new log weights).

    Raises:
        ConstrainError: an unknown scheme, or all weights are zero.

    Example:
        >>> from constrain.sampling import TorchDraw, resample
        >>> resample("residual", [0.0, 0.0, float("-inf")], 2, TorchDraw(1), 0)
        ([0, 1], [0.0, 0.0])
    """
    check_scheme(scheme)
    if not len(log_weights) or max(log_weights) == -math.inf:
        raise ConstrainError("there is nothing to resample: every weight is zero")
    weights = _scaled(log_weights)
    total = float(weights.sum())
    level = float(np.max(log_weights)) + math.log(total)  # log Σ w
    ask = _Asker(draw, stream)
    if scheme == "optimal":
        return _optimal(np.asarray(log_weights, dtype=np.float64), weights / total, count, level, ask)
    ancestors = SCHEMES[scheme](weights / total, count, ask)
    return ancestors, [level - math.log(count)] * count


def check_scheme(scheme: str) -> None:
    """Raises ConstrainError for a name that is no scheme."""
    if scheme != "optimal" and scheme not in SCHEMES:
        raise ConstrainError(
            f"there is no resampling {scheme!r}", fix=f"choose one of: {', '.join([*SCHEMES, 'optimal'])}"
        )


class _Asker:
    """Draws for one stream, from plain arrays."""

    def __init__(self, draw: Draw, stream: int) -> None:
        self.draw, self.stream = draw, stream

    def __call__(self, rows: Floats) -> list[int]:
        """rows: float64[B, K], non-negative, each with a positive sum"""
        rows = rows / rows.sum(axis=1, keepdims=True)
        return [int(self.draw(torch.from_numpy(row[None]), [self.stream])) for row in rows]


def _multinomial(weights: Floats, count: int, ask: _Asker) -> list[int]:
    return ask(np.tile(weights, (count, 1)))


def _stratified(weights: Floats, count: int, ask: _Asker) -> list[int]:
    ends = _ends(weights, count)
    starts = np.concatenate([[0.0], ends[:-1]])
    floor = np.arange(count)[:, None]
    return ask(_solid(np.minimum(ends, floor + 1) - np.maximum(starts, floor)))


def _systematic(weights: Floats, count: int, ask: _Asker) -> list[int]:
    ends = _ends(weights, count)
    # The ancestors change only where an end of a weight, modulo 1, is passed: one outcome for each piece between.
    cuts = np.unique(np.concatenate([[0.0, 1.0], ends % 1.0]))
    (piece,) = ask(_solid(np.diff(cuts))[None, :])
    place = (cuts[piece] + cuts[piece + 1]) / 2
    found = np.searchsorted(ends, np.arange(count) + place, side="right")
    return np.minimum(found, np.flatnonzero(weights)[-1]).tolist()


def _residual(weights: Floats, count: int, ask: _Asker) -> list[int]:
    expected = weights * count
    copies = np.floor(expected + SLACK).astype(np.int64)
    sure = np.repeat(np.arange(len(weights)), copies).tolist()
    missing = count - len(sure)
    return sure + (_multinomial(_solid(expected - copies), missing, ask) if missing else [])


def _optimal(
    log_weights: Floats, weights: Floats, count: int, level: float, ask: _Asker
) -> tuple[list[int], list[float]]:
    """Fearnhead and Clifford 2003: keep i with probability min(1, w_i / c), where Σ min(1, w_i / c) = count."""
    positive = np.flatnonzero(weights)
    if len(positive) <= count:
        return positive.tolist(), log_weights[positive].tolist()
    order = positive[np.argsort(-weights[positive], kind="stable")]
    rest = weights[order][::-1].cumsum()[::-1]  # rest[k]: the mass of all but the k heaviest
    kept = next(k for k in range(count) if weights[order[k]] * (count - k) < rest[k])
    threshold = rest[kept] / (count - kept)
    light = order[kept:]
    light.sort()
    chosen = _systematic(weights[light] / weights[light].sum(), count - kept, ask)
    ancestors = order[:kept].tolist() + light[chosen].tolist()
    lifted = level + math.log(threshold)
    return ancestors, log_weights[order[:kept]].tolist() + [lifted] * (count - kept)


SCHEMES: dict[str, Callable[[Floats, int, _Asker], list[int]]] = {
    "multinomial": _multinomial,
    "stratified": _stratified,
    "systematic": _systematic,
    "residual": _residual,
}


def _scaled(log_weights: Sequence[float] | Floats) -> Floats:
    """Weights over the largest; all zero when all are."""
    values = np.asarray(log_weights, dtype=np.float64)
    top = values.max(initial=-math.inf)
    return np.zeros_like(values) if top == -math.inf else np.exp(values - top)


def _ends(weights: Floats, count: int) -> Floats:
    """The end of each weight on a ruler of length `count`; whole numbers are made exact, so that no sliver is left."""
    ends = weights.cumsum() * (count / weights.sum())
    whole = np.round(ends)
    ends = np.where(np.abs(ends - whole) < SLACK * count, whole, ends)
    ends[np.flatnonzero(weights)[-1] :] = count
    return ends


def _solid(pieces: Floats) -> Floats:
    return np.where(pieces > SLACK, pieces, 0.0)
