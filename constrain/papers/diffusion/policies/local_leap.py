"""Sure positions, and less sure ones beside them: LocalLeap (Kong et al., arXiv 2510.07081).

The idea: the model is soon right near a position that it is sure of, so there a lower probability is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.policies.base import Policy, Rows


class LocalLeap(Policy):
    """By confidence: anchors, and what is likely enough within a distance of one; at least one position.

    Args:
        anchor: The probability from which on a position is an anchor. Default 0.9.
        near: The probability that is enough near an anchor. Default 0.75.
        distance: How far "near" reaches, in positions. Default 4.
    """

    def __init__(self, anchor: float = 0.9, near: float = 0.75, distance: int = 4) -> None:
        self.anchor, self.near, self.distance = anchor, near, distance

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        """Confidence of each position, plus 1 where it is to be set in this step."""
        best = probabilities.max(axis=1)
        anchors = positions[best >= self.anchor]
        is_near = (np.abs(positions[:, None] - anchors[None, :]) <= self.distance).any(axis=1)
        return np.asarray(best + ((best >= self.anchor) | (is_near & (best >= self.near))))

    def count(self, sorted_scores: Rows, due: int) -> int:
        """All positions that are confident enough, however many are due."""
        return max(1, int((sorted_scores >= 1 + self.near).sum()))
