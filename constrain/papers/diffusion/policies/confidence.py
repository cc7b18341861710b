"""Positions whose likeliest token is likeliest: "low-confidence remasking" of LLaDA (Nie et al., arXiv 2502.09992)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.policies.base import Policy, Rows


class Confidence(Policy):
    """The probability of the likeliest token."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        return np.asarray(probabilities.max(axis=1))
