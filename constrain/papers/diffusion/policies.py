"""Policies: each scores the open positions, and the highest scores are set first.

A policy looks at the model's distribution at each position before anything is refused. So the order is the same as
without a constraint as long as the texts are the same, and importance weights are exact (note 0022).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError

Rows = NDArray[np.float64]
STAGES = ((1 / 3, 7.5), (2 / 3, 5.0), (1.0, 2.5))  # of `Prophet`: (up to which part of the text, the least mean gap)


class Policy:
    """An order of open positions. Subclasses override `scores`, perhaps `count` and `begin`."""

    def begin(self) -> None:
        """A new text begins. Policies that remember earlier steps forget them."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        """A score for each open position; the highest is set first.

        probabilities: float64[n, V], the distribution at each of the n open positions. positions: their places.
        """
        raise NotImplementedError

    def count(self, sorted_scores: Rows, due: int) -> int:
        """The number of positions to set in this step. due: the number that fills the text in the steps asked for."""
        return due


class Confidence(Policy):
    """The probability of the likeliest token: "low-confidence remasking" of LLaDA (Nie et al., arXiv 2502.09992)."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        return np.asarray(probabilities.max(axis=1))


class Entropy(Policy):
    """The negative entropy of the distribution, in nats: an option of Dream (Ye et al., arXiv 2508.15487)."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        logs = np.log(np.where(probabilities > 0, probabilities, 1.0))
        return np.asarray((probabilities * logs).sum(axis=1))


class Margin(Policy):
    """The probability of the likeliest token less that of the second: "top-k margin" (Kim et al., arXiv 2502.06768)."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        best = np.partition(probabilities, -2, axis=1)[:, -2:]
        return np.asarray(best[:, 1] - best[:, 0])


class Leftmost(Policy):
    """The leftmost position first, as an autoregressive model has it."""

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        return -positions.astype(np.float64)


class Shuffled(Policy):
    """A random number for each position: "random remasking", the reverse process of masked diffusion.

    Sahoo et al., arXiv 2406.07524.
    """

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        return rng.random(len(positions))


class Threshold(Confidence):
    """By confidence, as many as reach a probability, at least one.

    Fast-dLLM's parallel decoding (Wu et al., arXiv 2505.22618).

    Args:
        least: The probability. Default 0.9.

    Raises:
        ConstrainError: It is not between 0 and 1.
    """

    def __init__(self, least: float = 0.9) -> None:
        if not 0 < least <= 1:
            raise ConstrainError(f"a threshold is a probability, not {least!r:.60}", fix="Threshold(0.9)")
        self.least = least

    def count(self, sorted_scores: Rows, due: int) -> int:
        """All positions above the threshold, however many are due."""
        return max(1, int((sorted_scores >= self.least).sum()))


class TopK(Confidence):
    """By confidence, always the same number (LLaDA, arXiv 2502.09992).

    Args:
        k: How many positions a step. Default 4.

    Raises:
        ConstrainError: It is no number from 1.
    """

    def __init__(self, k: int = 4) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ConstrainError(f"k is a number of positions from 1, not {k!r:.60}", fix="TopK(4)")
        self.k = k

    def count(self, sorted_scores: Rows, due: int) -> int:
        """`k` positions, however many are due."""
        return self.k


class LocalLeap(Policy):
    """By confidence: anchors, and what is likely enough within a distance of one; at least one position.

    LocalLeap (Kong et al., arXiv 2510.07081). The idea: the model is soon right near a position that it is sure of, so
    there a lower probability is enough.

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


class Prophet(Policy):
    """By the gap log p1 - log p2, in nats, of the two likeliest tokens; all positions if its mean is large enough.

    Prophet (Li et al., arXiv 2508.19982). The idea: where the first token leads the second by enough at all open
    positions on average, later steps hardly change the answer. "Enough" is the less, the more of the text is set.

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


class Credit(Threshold):
    """By the probability of the likeliest token with its credit, as many as reach a probability.

    CreditDecoding (Wang et al., arXiv 2510.06133). The idea: a token earns credit each time that it is the likeliest;
    old credit fades. Probabilities are multiplied with a power of the credit, and a position is set when its likeliest
    token then is likely enough. Here this decides about the order only: tokens are drawn from the model's distribution,
    so that the distribution of the output stays the one that is named.

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


POLICIES = {
    "confidence": Confidence,
    "entropy": Entropy,
    "margin": Margin,
    "leftmost": Leftmost,
    "shuffled": Shuffled,
    "threshold": Threshold,
    "top-k": TopK,
    "local-leap": LocalLeap,
    "prophet": Prophet,
    "credit": Credit,
}
