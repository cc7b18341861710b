"""Trees from tables: a drafter that knows likely next tokens for a place, and no more, gets a tree from here.

The idea: such a drafter is a function from a place (constraint state, last tokens) to candidates with probabilities.
`named` goes on from the likeliest path so far, as a breadth-first walk that spends nodes where they are worth most;
`drawn` draws siblings at each place from the candidates that are legal there, and states the distribution.
Where the constraint forces a token, no table is asked.

Cost: a fork and an advance of a matcher for each candidate that is looked at, some microseconds.
Limit: the same guess for equal tails; what came longer ago is not seen.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from constrain.speculative.build import advanced
from constrain.speculative.drafter import Context, DraftBudget
from constrain.speculative.tree import EMPTY, NONE, ROOT, DraftTree, state_of

Candidates = Sequence[tuple[int, float]]  # (token, probability in (0, 1]), the likeliest first
Guess = Callable[[int, tuple[int, ...]], Candidates]  # (constraint state, last tokens) → what may come next

LEAST = math.log(0.01)  # a path that is taken less often than this is not worth its nodes


@dataclass(order=True)
class TreePlace:
    """A place to go on from. rank: −log of the chance to get here. node: that leads here. tail: the last tokens"""

    rank: float
    order: int
    node: int = field(compare=False)
    depth: int = field(compare=False)
    tail: tuple[int, ...] = field(compare=False)
    matcher: Any = field(compare=False)


class Growth:
    """A tree while it grows. reach: how many of the last tokens the guess looks at."""

    def __init__(self, context: Context, budget: DraftBudget, guess: Guess, reach: int) -> None:
        self.context, self.budget, self.guess, self.reach = context, budget, guess, reach
        self.depth = min(budget.depth, context.left - 1)
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.log_probs: list[float] = []
        tail = tuple(context.tokens[max(0, len(context.tokens) - reach) :])
        self.start = TreePlace(0.0, 0, ROOT, 0, tail, context.matcher)

    def candidates(self, place: TreePlace) -> Candidates:
        """The token that the constraint forces, or else the table's guesses, legal or not."""
        forced = () if place.matcher is None else place.matcher.forced_tokens()
        return [(forced[0], 1.0)] if forced else self.guess(state_of(place.matcher), place.tail)

    def after(self, place: TreePlace, token: int) -> tuple[bool, Any]:
        """A pair: the token is legal at this place of the tree; the matcher after it."""
        if not 0 <= token < self.context.setting.size:
            return False, None
        if place.matcher is None:
            return True, None
        matcher = advanced(place.matcher, token)
        return matcher is not None, matcher

    def add(self, place: TreePlace, token: int, log_prob: float, matcher: Any) -> TreePlace:
        """A node, and the place after it."""
        node = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(place.node)
        self.log_probs.append(log_prob)
        tail = (*place.tail, token)[-self.reach :]
        return TreePlace(place.rank - log_prob, node + 1, node, place.depth + 1, tail, matcher)


def named(context: Context, budget: DraftBudget, guess: Guess, *, reach: int = 1, width: int = 8) -> DraftTree:
    """The likeliest paths, best first, as given nodes; at most `width` children of a node."""
    return likeliest_paths(Growth(context, budget, guess, reach), width)


def likeliest_paths(growth: Growth, width: int) -> DraftTree:
    """`named`, from a growth that is still empty."""
    context, budget = growth.context, growth.budget
    heap: list[tuple[float, int, TreePlace, int, float]] = []

    def offer(place: TreePlace) -> None:
        if place.depth < growth.depth:
            for token, chance in list(growth.candidates(place))[:width]:
                log_prob = math.log(min(chance, 1.0))
                if place.rank - log_prob <= -LEAST and token not in context.setting.eos_ids:
                    heapq.heappush(heap, (place.rank - log_prob, offered[0], place, token, log_prob))
                    offered[0] += 1

    offered = [0]
    offer(growth.start)
    while heap and len(growth.tokens) < budget.nodes:
        _, _, place, token, log_prob = heapq.heappop(heap)
        legal, matcher = growth.after(place, token)
        if legal:
            offer(growth.add(place, token, log_prob, matcher))
    if not growth.tokens:
        return EMPTY
    return DraftTree(*_arrays(growth))


def drawn(context: Context, budget: DraftBudget, guess: Guess, *, reach: int = 1, width: int = 2) -> DraftTree:
    """Draws from the candidates, `width` siblings at each place, the likeliest place first; in the form that the
    verifier asks for (`Setting.draws`): a chain, independent siblings, or siblings without replacement."""
    growth = Growth(context, budget, guess, reach)
    draws = context.setting.draws
    replacement, width = draws == "with", 1 if draws == "chain" else width
    rows: list[torch.Tensor] = []
    draft_rows: list[int] = []
    heap = [growth.start]
    while heap and len(growth.tokens) < budget.nodes:
        place = heapq.heappop(heap)
        if place.depth >= growth.depth:
            continue
        legal = {}
        for token, chance in growth.candidates(place):
            allowed, matcher = growth.after(place, token)
            if allowed:
                legal[token] = chance, matcher
        if not legal:
            continue
        probs = torch.zeros(context.setting.size, dtype=torch.float64)
        for token, (chance, _) in legal.items():
            probs[token] = chance
        probs /= probs.sum()
        rows.append(probs)
        seen: set[int] = set()
        for token in _siblings(context, probs, width, replacement):
            after = growth.add(place, token, math.log(float(probs[token])), legal[token][1])
            draft_rows.append(len(rows) - 1)
            if token not in seen and token not in context.setting.eos_ids:
                heapq.heappush(heap, after)
            seen.add(token)
    if not growth.tokens:
        return EMPTY
    return DraftTree(*_arrays(growth), np.asarray(draft_rows, np.int32), torch.stack(rows), replacement=replacement)


def _siblings(context: Context, probs: torch.Tensor, width: int, replacement: bool) -> list[int]:
    """Tokens drawn one after the other; one where only one can be drawn."""
    left = probs.clone()
    found: list[int] = []
    for _ in range(min(width, int((probs > 0).sum()))):
        token = int(context.setting.draw((left / left.sum()).unsqueeze(0), [context.stream]))
        found.append(token)
        if not replacement:
            left[token] = 0
    return found


def _arrays(growth: Growth) -> tuple[Any, Any, Any]:
    return (
        np.asarray(growth.tokens, np.int32),
        np.asarray(growth.parents, np.int32),
        np.minimum(np.asarray(growth.log_probs, np.float64), 0.0),
    )


def begins(context: Context, owner: object) -> None:
    """Keep where a draft begins: `observe` hears of the text as it is later."""
    context.memo[owner] = len(context.tokens)


def tails(tree: DraftTree, before: Sequence[int], reach: int) -> list[tuple[int, ...]]:
    """By place, the last tokens there. before: the tokens that the tree follows, or their end."""
    found = [tuple(before[max(0, len(before) - reach) :])]
    for token, parent in zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True):
        found.append((*found[parent + 1], token)[-reach:] if parent != NONE else (*found[0], token)[-reach:])
    return found
