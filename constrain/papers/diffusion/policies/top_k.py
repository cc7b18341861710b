"""So many positions a step, by confidence: parallel decoding with a fixed number (LLaDA, arXiv 2502.09992)."""

from __future__ import annotations

from constrain.errors import ConstrainError
from constrain.papers.diffusion.policies.base import Rows
from constrain.papers.diffusion.policies.confidence import Confidence


class TopK(Confidence):
    """By confidence, always the same number.

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
