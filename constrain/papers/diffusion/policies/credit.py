"""Positions whose likeliest token stays the same from step to step: CreditDecoding (Wang et al., arXiv 2510.06133).

The idea: a token earns credit each time that it is the likeliest; old credit fades. Probabilities are multiplied with a
power of the credit, and a position is set when its likeliest token then is likely enough. Here this decides about the
order only: tokens are drawn from the model's distribution, so that the distribution of the output stays the one that is
named.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.policies.base import Rows
from constrain.papers.diffusion.policies.threshold import Threshold


class Credit(Threshold):
    """By the probability of the likeliest token with its credit, as many as reach a probability.

    Args:
        least: The probability. Default 0.9.
        fading: What is left of credit after a step. Default 0.65.
        power: The power of a probability that is earned. Default 0.5.
        weight: The power of 1 + credit that multiplies probabilities. Default 0.7.

    Raises:
        ConstrainError: `least` is not between 0 and 1.
    """

    def __init__(self, least: float = 0.9, fading: float = 0.65, power: float = 0.5, weight: float = 0.7) -> None:
        super().__init__(least)
        self.fading, self.power, self.weight = fading, power, weight
        self.begin()

    def begin(self) -> None:
        self.credits: dict[int, dict[int, float]] = {}  # position -> token -> credit

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        found = np.zeros(len(positions))
        for i, (place, row) in enumerate(zip(positions.tolist(), probabilities, strict=True)):
            credit = {token: self.fading * value for token, value in self.credits.get(place, {}).items()}
            best = int(row.argmax())
            credit[best] = credit.get(best, 0.0) + float(row[best]) ** self.power
            self.credits[place] = credit
            raised = {token: float(row[token]) * (1 + value) ** self.weight for token, value in credit.items()}
            total = 1 + sum(raised.values()) - sum(float(row[token]) for token in credit)
            found[i] = max(raised.values()) / total
        return found
