"""Positions with the least entropy: an option of Dream (Ye et al., arXiv 2508.15487)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.policies.base import Policy, Rows


class Entropy(Policy):
    """The negative entropy of the distribution, in nats."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        logs = np.log(np.where(probabilities > 0, probabilities, 1.0))
        return np.asarray((probabilities * logs).sum(axis=1))
