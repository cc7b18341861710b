"""How much to draft: nodes and depth for every sequence and step, from what drafts have been worth so far."""

from __future__ import annotations

from collections.abc import Sequence

from constrain.sampling.core.sampler import check_count, check_share
from constrain.speculative.drafter import Context, DraftBudget, Outcome


class Controller:
    """Base of all controllers."""

    name: str = ""

    def budget(self, contexts: Sequence[Context]) -> list[DraftBudget]:
        """The budget of the next tree of each sequence. Certain tokens are free, and need no budget."""
        raise NotImplementedError

    def update(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        """Learn from a step. seconds: wall-clock time from the beginning of its forward to its verdicts."""


class Fixed(Controller):
    """The same budget always."""

    name = "fixed"

    def __init__(self, nodes: int = 16, depth: int = 10, least: float = 0.05) -> None:
        """Raises ConstrainError naming the option that is wrong. nodes, depth, least: see `DraftBudget`"""
        self.nodes, self.depth = check_count("nodes", nodes, 0), check_count("depth", depth, 0)
        self.least = check_share("least", least)

    def budget(self, contexts: Sequence[Context]) -> list[DraftBudget]:
        """See `Controller`."""
        return [DraftBudget(self.nodes, self.depth, self.least)] * len(contexts)
