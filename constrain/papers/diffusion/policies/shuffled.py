"""In random order: "random remasking", the reverse process of masked diffusion (Sahoo et al., arXiv 2406.07524)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.policies.base import Policy, Rows


class Shuffled(Policy):
    """A random number for each position."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        return rng.random(len(positions))
