"""Controllers choose the nodes and depth to draft, for every sequence and step, from the worth of earlier drafts."""

from __future__ import annotations

from collections.abc import Sequence

from constrain.sampling.core.sampler import check_count, check_share
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome


class Controller:
    """Base of all controllers, which say how large drafts are.

    Example:
        >>> from constrain.speculative import Controller, Fixed
        >>> isinstance(Fixed(nodes=4), Controller)
        True
    """

    name: str = ""

    def budget(self, contexts: Sequence[Context]) -> list[DraftBudget]:
        """The budget of the next tree of each sequence. Certain tokens are free, and need no budget."""
        raise NotImplementedError

    def update(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        """Learn from a step. seconds: wall-clock time from the beginning of its forward pass to its verdicts."""


class Fixed(Controller):
    """The same budget always; see `DraftBudget`.

    Args:
        nodes: nodes that a forward pass reads, at most.
        depth: tokens on a path, at most.
        least: the chance below which a given node is left out, in [0, 1].

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> from constrain.speculative import Fixed
        >>> Fixed(nodes=4, depth=3).budget([None])
        [DraftBudget(nodes=4, depth=3, least=0.05)]
    """

    name = "fixed"

    def __init__(self, nodes: int = 16, depth: int = 10, least: float = 0.05) -> None:
        self.nodes, self.depth = check_count("nodes", nodes, 0), check_count("depth", depth, 0)
        self.least = check_share("least", least)

    def budget(self, contexts: Sequence[Context]) -> list[DraftBudget]:
        return [DraftBudget(self.nodes, self.depth, self.least)] * len(contexts)


def default_controller(drafters: Sequence[Drafter]) -> Fixed:
    """`Fixed`, as deep as the drafter that looks furthest ahead."""
    reach = max([10, *(drafter.reach for drafter in drafters)])
    return Fixed(max(16, reach), reach)
