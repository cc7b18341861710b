"""The curve of a distribution and of its tail, and the colours of engines, as pages draw them."""

from __future__ import annotations

import numpy as np

COLOURS = {
    "constrain": "#0b6e4f",
    "llguidance": "#c1440e",
    "xgrammar": "#3b5ba5",
    "outlines-core": "#8e6bbf",
    "lm-format-enforcer": "#8a7f70",
    "none": "#bbbbbb",
}
POINTS = 2_000  # of a curve: what a plot can show


def curve(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(t, share of values ≤ t) of a sample: at most POINTS steps, closest together in the tail.

    values: float[N], N > 0. Returns float[K] ascending, float[K] in (0, 1].
    """
    ordered = np.sort(values)
    n = ordered.size
    from_end = np.unique(np.geomspace(1, n, min(n, POINTS)).astype(np.int64))  # ranks counted from the largest
    ranks = np.unique(np.concatenate([n - from_end, np.linspace(0, n - 1, min(n, POINTS)).astype(np.int64)]))
    return ordered[ranks], (ranks + 1) / n
