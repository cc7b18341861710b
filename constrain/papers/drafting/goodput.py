"""`Goodput`: as many nodes as give the most tokens a second, on this machine, at this batch.

Measured on SmolLM2 in batches of 20: 3.45 tokens a forward pass where the fixed budget has 4.18, in the same CPU time,
twice that of no drafts. Does not pay there (record 2026-11-29-lossless).

The idea (SmartSpec: Liu et al. 2024, arXiv 2406.14066): goodput is what a step is expected to emit, divided by what it
costs. Nodes come in the order in which the builder ranks them, so the worth of the n-th is how often it is there and
is taken: running means. The cost of a step, with its drafts, is a + b · (tokens that it reads), fitted to measured
times by running least squares. On a device where a larger forward costs nothing extra, and where drafting is cheap, all
nodes are drafted; on one core, the best few.

Cost: some additions a step. Limit: every so many steps all nodes are drafted, for something to learn from. How much is
drafted depends on measured times, so rules other than `match` do not repeat an output for the same seed (its
distribution is the same).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from constrain.sampling.core.sampler import check_count
from constrain.speculative.controller import Controller
from constrain.speculative.drafter import Context, DraftBudget, Outcome

FADE = 0.98  # what an observation is worth after each later one
EXPLORED = 16  # every so many steps, and as long at the start, all nodes are drafted
SLOWEST = 20.0  # a step that took so many times the estimate was interrupted: no measurement


class Goodput(Controller):
    """The number of nodes from measured costs and acceptance; see the module `constrain.papers.drafting.goodput`.

    Args:
        nodes: nodes that a forward pass reads, at most.
        depth: tokens on a path, at most.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> from constrain.papers import Goodput
        >>> from constrain.speculative import Speculation
        >>> Speculation(["lookup"], controller=Goodput(nodes=8)).controller.nodes
        8
    """

    name = "goodput"

    def __init__(self, nodes: int = 32, depth: int = 10) -> None:
        self.nodes, self.depth = check_count("nodes", nodes, 0), check_count("depth", depth, 0)
        self._there = np.zeros(nodes)  # by rank: how often the node was in the tree, and taken, of `_tries`
        self._taken = np.zeros(nodes)
        self._tries = np.zeros(nodes)
        self._moments = np.zeros((2, 2))  # Σ of [1, n; n, n²] over steps of n tokens
        self._products = np.zeros(2)  # Σ of seconds · [1, n]
        self._steps = self._asked = 0

    def budget(self, contexts: Sequence[Context]) -> list[DraftBudget]:
        self._steps += 1
        explores = self._steps <= EXPLORED or self._steps % EXPLORED == 0
        nodes = self.nodes if explores else self.best(len(contexts))
        self._asked = nodes
        return [DraftBudget(nodes, self.depth)] * len(contexts)

    def best(self, rows: int) -> int:
        """Nodes a sequence with the highest expected tokens a second, for a batch of so many sequences."""
        each, more = self.costs()
        tries = np.maximum(self._tries, 1.0)
        gained = 1 + np.concatenate([[0.0], np.cumsum(self._taken / tries)])
        read = 1 + np.concatenate([[0.0], np.cumsum(self._there / tries)])
        return int(np.argmax(gained / (each + more * rows * read)))

    def costs(self) -> tuple[float, float]:
        """(seconds of a forward pass of no tokens, seconds of each token), both positive, as measured so far."""
        count, total, squares = self._moments[0, 0], self._moments[0, 1], self._moments[1, 1]
        if count == 0:
            return 1.0, 0.0
        mean = self._products[0] / count
        spread = squares - total * total / count
        slope = (self._products[1] - mean * total) / spread if spread > 1e-9 * squares else 0.0
        slope = min(max(slope, 0.0), mean * count / total)
        return max(mean - slope * total / count, 1e-9), slope

    def update(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        for outcome in outcomes:
            read, taken = np.flatnonzero(outcome.tree.read)[: self.nodes], set(outcome.path)
            for moving in (self._there, self._taken, self._tries):
                moving[: self._asked] *= FADE
            self._tries[: self._asked] += 1  # those ranks that no drafter filled as well
            self._there[: len(read)] += 1
            self._taken[: len(read)] += [int(node) in taken for node in read]
        began = [outcome.context.memo.setdefault(self, False) for outcome in outcomes]
        for outcome in outcomes:
            outcome.context.memo[self] = True
        tokens = sum(1 + int(outcome.tree.read.sum()) for outcome in outcomes)
        each, more = self.costs()
        known = self._moments[0, 0] > 0
        # A forward pass that read a prompt as well is no measurement, nor is a step that was interrupted.
        if outcomes and all(began) and not (known and seconds > SLOWEST * (each + more * tokens)):
            self._moments = self._moments * FADE + [[1, tokens], [tokens, tokens * tokens]]
            self._products = self._products * FADE + [seconds, seconds * tokens]
