"""Trees by exploration: simulated walks that weigh what has been worth it against what was tried little (ADED).

Measured on the embedded model (temperature 0, n = 6): 80 to 83 forward passes where best first takes 80, so it does not
pay (record 2026-11-28-papers).

Paper: Liu et al. 2024, "Adaptive draft-verification for efficient large language model decoding" (ADED, arXiv
2407.12021): Monte Carlo tree search over the statistics of n-grams. A walk goes down from the root by the greatest

    Q(v) + c P(v) √(Σ N) / (1 + N(v))

with P the mean chance of the table, N how often v was tried, Q the mean worth of these walks; here a walk is worth the
mean over its tokens of the chance to get there, and ends at its depth or where nothing is known. After so many walks
the nodes that were tried most are the draft. Their constants could not be confirmed.

Against best first (`named` in grow.py), which takes the nodes with the greatest chance and so the most expected tokens
if the table is right, exploration spreads nodes where the table is unsure of itself; drafts are named, so outputs stay.
Cost: a walk of some forks of a matcher each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from constrain.papers.drafting.grow import Growth, TreePlace
from constrain.speculative.tree import EMPTY, DraftTree


@dataclass
class _Tried:
    """A place of the search. priors: by token; children: by token, once tried. visits and worth: of walks through."""

    place: TreePlace
    priors: dict[int, float] | None = None
    children: dict[int, _Tried] = field(default_factory=dict)
    visits: int = 0
    worth: float = 0.0


def explored(growth: Growth, walks: int, weight: float) -> DraftTree:
    """The tree of the nodes that were tried most. growth: still empty; weight: c."""
    root = _Tried(growth.start)
    for _ in range(walks):
        path, reached = [root], list[float]()
        while path[-1].place.depth < growth.depth:
            child = _best(growth, path[-1], weight)
            if child is None:
                break
            path.append(child)
            reached.append(math.exp(-child.place.rank))
        worth = sum(reached) / growth.depth if growth.depth else 0.0
        for each in path:
            each.visits += 1
            each.worth += worth
    return _tree(growth, root)


def _best(growth: Growth, at: _Tried, weight: float) -> _Tried | None:
    """The child to try next; it is made when it is first tried. None where nothing may follow."""
    if at.priors is None:
        ends = growth.context.setting.eos_ids
        at.priors = {token: chance for token, chance in growth.candidates(at.place) if token not in ends}
    while at.priors:
        scores = {token: _score(at, token, chance, weight) for token, chance in at.priors.items()}
        token = max(scores, key=scores.__getitem__)
        if token in at.children:
            return at.children[token]
        legal, matcher = growth.after(at.place, token)
        if legal:
            place = growth.add(at.place, token, math.log(min(1.0, at.priors[token])), matcher)
            at.children[token] = _Tried(place)
            return at.children[token]
        del at.priors[token]
    return None


def _score(at: _Tried, token: int, chance: float, weight: float) -> float:
    child = at.children.get(token)
    tries, mean = (child.visits, child.worth / child.visits) if child and child.visits else (0, 0.0)
    return mean + weight * chance * math.sqrt(max(1, at.visits)) / (1 + tries)


def _tree(growth: Growth, root: _Tried) -> DraftTree:
    """Of all nodes that were made those with the most visits, as many as the budget has: parents come with them."""
    made, tried = [root], dict[int, int]()
    for each in made:
        made.extend(each.children.values())
        tried.update((child.place.node, child.visits) for child in each.children.values())
    kept = sorted(sorted(tried, key=lambda node: (-tried[node], node))[: growth.budget.nodes])
    if not kept:
        return EMPTY
    number = {node: i for i, node in enumerate(kept)}
    return DraftTree(
        np.asarray([growth.tokens[node] for node in kept], np.int32),
        np.asarray([number.get(growth.parents[node], -1) for node in kept], np.int32),
        np.minimum(np.asarray([growth.log_probs[node] for node in kept], np.float64), 0.0),
    )
