"""Positions where the first token leads the second by most: "top-k margin" (Kim et al., arXiv 2502.06768)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.policies.base import Policy, Rows


class Margin(Policy):
    """The probability of the likeliest token less that of the second."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        best = np.partition(probabilities, -2, axis=1)[:, -2:]
        return np.asarray(best[:, 1] - best[:, 0])
