"""All positions whose likeliest token is likely enough, at least one: Fast-dLLM's parallel decoding (Wu et al., arXiv
2505.22618)."""

from __future__ import annotations

from constrain.errors import ConstrainError
from constrain.papers.diffusion.policies.base import Rows
from constrain.papers.diffusion.policies.confidence import Confidence


class Threshold(Confidence):
    """By confidence, as many as reach a probability.

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
