"""The base class of policies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


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
