"""Policies: each scores the open positions, and the highest scores are set first.

Measured on the model of `scripts/train_diffusion.py`: ten texts of each of eleven policies tell none apart but by its
steps (record 2026-11-23-diffusion-again). Of those with several tokens a step `"threshold"` pays, and `"coherent"` and
`"local-leap"` do not (record 2026-11-28-papers).

A policy looks at the model's distribution at each position before anything is refused. So the order is the same as
without a constraint as long as the texts are the same, and importance weights are exact (note 0022). A policy that
`fuses` also says which distribution tokens are drawn from; then there are no weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError

Rows = NDArray[np.float64]
STAGES = ((1 / 3, 7.5), (2 / 3, 5.0), (1.0, 2.5))  # of `Prophet`: (up to which part of the text, the least mean gap)


class Policy:
    """An order of open positions. Subclasses override `scores`, perhaps `count`, `begin` and `fused`.

    fuses: tokens are drawn from `fused`, not from the model's own distribution.
    """

    fuses = False

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

    def fused(self, probabilities: Rows, positions: NDArray[np.int64]) -> Rows:
        """The distributions that tokens are drawn from, float64[n, V], once `scores` has been asked of these rows."""
        return probabilities


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
    token then is likely enough. By default this decides about the order only: tokens are drawn from the model's
    distribution, so that the distribution of the output stays the one that is named. With `fuses` they are drawn from
    the raised one, which is the paper's (their fused logits: logit + weight · log(1 + credit)).

    Args:
        least: The probability. Default 0.9.
        fading: What is left of credit after a step. Default 0.65.
        power: The power of a probability that is earned. Default 0.5.
        weight: The power of 1 + credit that multiplies probabilities. Default 0.7.
        fuses: Draw tokens from the raised distribution too. Default False.

    Raises:
        ConstrainError: `least` is not between 0 and 1.
    """

    def __init__(
        self,
        least: float = 0.9,
        fading: float = 0.65,
        power: float = 0.5,
        weight: float = 0.7,
        fuses: bool = False,
    ) -> None:
        super().__init__(least)
        self.fading, self.power, self.weight, self.fuses = fading, power, weight, fuses
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

    def fused(self, probabilities: Rows, positions: NDArray[np.int64]) -> Rows:
        raised = probabilities.copy()
        for i, place in enumerate(positions.tolist()):
            for token, value in self.credits.get(place, {}).items():
                raised[i, token] *= (1 + value) ** self.weight
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


class Coherent(Policy):
    """By the entropy of the mean of the last predictions, as many as are sure enough; tokens come from that mean.

    CCD (Chen et al. 2025, arXiv 2512.02044, with the adaptive budget CCD-DS). The idea: one context misleads, so the
    predictions of several steps are averaged, which is an approximation of the marginal over contexts. The entropy of
    the mean is that of a prediction plus what it hangs on its context by (their conditional mutual information). The
    budget is the larger, the more positions are easy. Their sizes of history and bound could not be confirmed.
    Measured on the trained model of 32 characters (n = 12): 13.4 calls a text, "threshold" 9.7, as many right: does not
    pay there. `Credit(fuses=True)`: 8.5 calls and 5 of 12 JSON texts right, 9.0 and 3 without (record
    2026-11-28-papers).

    Args:
        steps: Predictions of a position that the mean goes over. Default 4.
        bound: The entropy in nats up to which a position is set. Default 0.3.

    Raises:
        ConstrainError: `steps` is no number from 1.
    """

    fuses = True

    def __init__(self, steps: int = 4, bound: float = 0.3) -> None:
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise ConstrainError(f"steps is a number of predictions from 1, not {steps!r:.60}", fix="Coherent(4)")
        self.steps, self.bound = steps, bound
        self.begin()

    def begin(self) -> None:
        self.history: dict[int, list[Rows]] = {}  # by position: its last predictions

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        for place, row in zip(positions.tolist(), probabilities, strict=True):
            self.history[place] = [*self.history.get(place, []), row][-self.steps :]
        return Entropy().scores(self.fused(probabilities, positions), positions, rng)

    def count(self, sorted_scores: Rows, due: int) -> int:
        """All positions that are sure enough, however many are due."""
        return max(1, int((sorted_scores >= -self.bound).sum()))

    def fused(self, probabilities: Rows, positions: NDArray[np.int64]) -> Rows:
        return np.stack([np.mean(self.history[place], axis=0) for place in positions.tolist()])


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
    "coherent": Coherent,
}
