"""One filling of a canvas of a solution: the one of least cost.

Costs are of lexemes: each costs something, and more if it takes in several open positions, so that a filling has names,
numbers and signs besides comments and strings. A seed varies them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.gaps.cheapest import CheapestDerivation, PricedLexeme
from constrain.papers.diffusion.layered import LayeredSolution
from constrain.papers.kernels.layers import HOLDS, STARTS, STAYS

PRICE, NOISE, TAKEN_IN = 4, 4, 2


def cheapest_filling(solution: LayeredSolution, is_open: NDArray[np.bool_], seed: int) -> tuple[dict[int, int], int]:
    """The arc that ends each layer of a filling, and the seam where the text ends.

    Args:
        solution: Not empty.
        is_open: Which layers are open.
        seed: Of the variation; 0: none.
    """
    derivation = CheapestDerivation(solution.language.rules, solution.live, solution.n)
    each = derivation.lexemes
    seam = np.flatnonzero(solution.on_path) // solution.classes.stride
    seam = seam[np.flatnonzero(solution.on_path) % solution.classes.stride >= solution.classes.states]
    opened = np.concatenate([[0], np.cumsum(is_open)])[seam]  # before each position
    begin, end = derivation.row[each] % max(1, solution.n), derivation.end[each]
    cost = PRICE + TAKEN_IN * np.maximum(0, opened[end] - opened[begin] - 1)
    if seed:
        cost += np.random.default_rng(seed).integers(0, NOISE * PRICE, len(cost))
    derivation.cost[each] = cost
    tops = {derivation.item(solution.language.rules.start, 0, place): place for place in solution.tops}
    derivation.settle(list(tops))
    item = min(tops, key=lambda top: int(derivation.cost[top]))
    place = tops[item]
    arcs: dict[int, int] = {}
    walk = _Walk(solution)
    for lexeme in derivation.under(item):
        arcs.update(walk.along(lexeme))
    return arcs, solution.ends[solution.tops.index(place)]


class _Walk:
    """Finds the arcs of lexemes, from their ends to their beginnings."""

    def __init__(self, solution: LayeredSolution) -> None:
        self.of, classes = solution, solution.classes
        self.kind, self.label = classes.kind[solution.arc_number], classes.label[solution.arc_number]
        self.source, self.target = solution.place[solution.source], solution.place[solution.target]
        self.is_pair = solution.target % classes.stride < classes.states
        self.leaves = solution.target // classes.stride > solution.source // classes.stride
        self.into = [np.argsort(self.target + np.where(self.is_pair, solution.n, 0), kind="stable")]
        self.sorted = (self.target + np.where(self.is_pair, solution.n, 0))[self.into[0]]

    def _arcs_into(self, cell: int) -> NDArray[np.int64]:
        low, high = np.searchsorted(self.sorted, [cell, cell + 1])
        return np.asarray(self.into[0][low:high])

    def along(self, lexeme: PricedLexeme) -> dict[int, int]:
        """The arc that ends each layer that the lexeme leaves."""
        found: dict[int, int] = {}
        arc = next(a for a in self._arcs_into(lexeme.end).tolist() if self._ends(a, lexeme))
        while True:
            if self.leaves[arc]:
                found[int(self.of.layer[arc])] = int(self.of.arc_number[arc])
            if self.kind[arc] in (HOLDS, STARTS):
                return found
            arc = next(a for a in self._arcs_into(self.of.n + int(self.source[arc])).tolist() if self._began(a, lexeme))

    def _ends(self, arc: int, lexeme: PricedLexeme) -> bool:
        if self.label[arc] != lexeme.terminal:
            return False
        if self.kind[arc] == HOLDS:
            return bool(self.source[arc] == lexeme.begin)
        return self._has_begun(int(self.source[arc]), lexeme.begin)

    def _began(self, arc: int, lexeme: PricedLexeme) -> bool:
        if self.kind[arc] == STAYS:
            return self._has_begun(int(self.source[arc]), lexeme.begin)
        return bool(self.source[arc] == lexeme.begin)

    def _has_begun(self, pair: int, begin: int) -> bool:
        return bool(self.of.begun[pair, begin >> 5] >> np.uint32(begin & 31) & np.uint32(1))
