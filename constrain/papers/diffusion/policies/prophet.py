"""All positions at once when the model is sure of its answer: Prophet (Li et al., arXiv 2508.19982).

The idea: where the first token leads the second by enough at all open positions on average, later steps hardly change
the answer. "Enough" is the less, the more of the text is set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.policies.base import Policy, Rows

STAGES = ((1 / 3, 7.5), (2 / 3, 5.0), (1.0, 2.5))  # (up to which part of the text, the least mean gap)


class Prophet(Policy):
    """By the gap log p1 - log p2, in nats, of the two likeliest tokens; all positions if its mean is large enough.

    Args:
        stages: (the part of the text that is set at most, the least mean gap), in order. Default: by thirds.
    """

    def __init__(self, stages: tuple[tuple[float, float], ...] = STAGES) -> None:
        self.stages = stages
        self.begin()

    def begin(self) -> None:
        self.open = self.all = 0

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        best = np.log(np.maximum(np.partition(probabilities, -2, axis=1)[:, -2:], 1e-30))
        return np.asarray(best[:, 1] - best[:, 0])

    def count(self, sorted_scores: Rows, due: int) -> int:
        if len(sorted_scores) > self.open:  # the first step of a block
            self.all = len(sorted_scores)
        self.open = len(sorted_scores)
        done = 1 - self.open / self.all
        least = next((gap for part, gap in self.stages if done <= part), self.stages[-1][1])
        return self.open if float(sorted_scores.mean()) >= least else due
