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
        """Learn from a step. seconds: wall-clock time of its drafts, its forward pass and its verdicts."""


class Fixed(Controller):
    """Gives one budget always; see `DraftBudget`.

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

    def __repr__(self) -> str:
        return f"Fixed(nodes={self.nodes}, depth={self.depth}, least={self.least})"


# Estimates of costs, in seconds; they need not be exact, since only a gain of some multiple of them is taken.
NODE = 5e-4  # of a node, to guess it and to ask the constraint about it
READ = 0.011  # of reading a node too, on a CPU, as a share of the forward
CPU_BYTES, DEVICE_BYTES = 4.3e9, 1e12  # bytes of weights that are read in a second
LAUNCH = 1.5e-2  # of the forward of any model on an accelerator
CHEAP = 1.5e-2  # a forward that costs less is no dearer than a step of drafting
MARGIN = 2.0  # half of the nodes are such as need no forward without drafts either
DEAREST = 0.15  # chance beyond which too few nodes are worth it for drafting to be worth its time
DEAREST_CHAIN = 0.75  # the same of a model that reads chains only


def affordable(weights: int, rows: int, device: str, copied: int | None = None) -> Fixed | None:
    """The budget with which drafts cannot lose, by an estimate; None: there is none.

    A node is worth reading if the forward that it spares with some chance costs more than the node. A forward is the
    dearer the larger the model is, and the less of it is spared the more sequences share it.

    A model that reads chains only (`ForkTarget`) copies its memory for each, reads what was taken of one once more if
    not all was, and reads sequences one by one. So a chain whose tokens come true with the chances r1 > r2 > … > rk
    spares r1 + … + rk forwards and costs 1 - rk and the copy: each token has to have more than half the chance.

    Args:
        weights: bytes of the model's weights.
        rows: sequences that are read together.
        device: the kind of device, as torch names it.
        copied: bytes of what the model remembers of a sequence, if it reads chains only; None: it reads trees.

    Example:
        >>> from constrain.speculative.controller import affordable
        >>> affordable(270_000_000, 1, "cpu"), affordable(15_000_000, 1, "cpu"), affordable(270_000_000, 9, "cpu")
        (Fixed(nodes=32, depth=32, least=0.05), None, None)
        >>> affordable(270_000_000, 1, "cpu", copied=27_000_000), affordable(270_000_000, 2, "cpu", copied=27_000_000)
        (Fixed(nodes=32, depth=32, least=0.6), None)
    """
    on_cpu = device == "cpu"
    forward = weights / CPU_BYTES if on_cpu else LAUNCH + weights / DEVICE_BYTES
    node = NODE + READ * forward if on_cpu else NODE
    least = MARGIN * rows * node / forward
    if least > DEAREST or forward < CHEAP:
        return None
    if copied is None:
        return Fixed(32, 32, max(0.05, least))
    chance = 0.5 + copied / weights  # half of the copy, which is read and written
    return Fixed(32, 32, chance) if rows == 1 and chance <= DEAREST_CHAIN else None


def default_controller(drafters: Sequence[Drafter]) -> Fixed:
    """`Fixed`, as deep as the drafter that looks furthest ahead."""
    reach = max([10, *(drafter.reach for drafter in drafters)])
    return Fixed(max(16, reach), reach)
