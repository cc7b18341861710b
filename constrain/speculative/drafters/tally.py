"""Counts how often guesses of a kind came true, so that a drafter can tell what is worth a node."""

from __future__ import annotations

from collections.abc import Hashable

BELIEF = 4.0  # as how many observations an estimate counts that was there before anything was seen


class Tally:
    """Counts of guesses by kind, and of true ones; the latest count most.

    Args:
        fade: What an observation is worth after each later one of its kind.
        belief: As how many observations an estimate counts that was there before anything was seen.

    Example:
        >>> from constrain.speculative.drafters.tally import Tally
        >>> tally = Tally(fade=0.99)
        >>> tally.count("copy", True)
        >>> tally.estimate("copy", 0.5), tally.estimate("branch", 0.5)
        (0.6, 0.5)
    """

    def __init__(self, fade: float, belief: float = BELIEF) -> None:
        self.fade, self.belief = fade, belief
        self._seen: dict[Hashable, tuple[float, float]] = {}  # tries, and those that came true

    def estimate(self, kind: Hashable, prior: float) -> float:
        """The chance of a guess of a kind. prior: the estimate before anything was seen."""
        tries, taken = self._seen.get(kind, (0.0, 0.0))
        return (taken + self.belief * prior) / (tries + self.belief)

    def count(self, kind: Hashable, taken: bool) -> None:
        """Note that a guess came true, or not."""
        tries, before = self._seen.get(kind, (0.0, 0.0))
        self._seen[kind] = tries * self.fade + 1, before * self.fade + taken
