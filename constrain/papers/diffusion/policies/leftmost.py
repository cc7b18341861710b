"""From left to right, as an autoregressive model would."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.policies.base import Policy, Rows


class Leftmost(Policy):
    """The leftmost position first."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        return -positions.astype(np.float64)
