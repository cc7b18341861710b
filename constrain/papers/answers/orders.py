"""Distributions over orders of items, by dynamic programming or by drawing ("Order matters": no part of its training).

Not measured: the distributions are held to enumeration, and no task with a right order was asked.

A model that writes all items in some order has a distribution over n! orders, and each step depends on everything
before (Vinyals et al. 2016, "Order matters: sequence to sequence for sets", arXiv 1511.06391). That paper trains a
model on sets, by an encoder of its own and a search for the order to learn; neither is here. Three distributions can be
had:

    the model's own      every order is a text: `generate(choices=[...], method="exact")`, for few items
    pairs (`Orders`)     P(σ) ∝ exp(begin[σ₁] + Σₜ follow[σₜ₋₁, σₜ]): the model with the last item as its memory. Its
                         best order, its normaliser, its draws and the places of items are exact: dynamic programming
                         over (set of items used, last item), as Held and Karp 1962 do for tours
    Plackett–Luce        P(σ) = Πₜ exp s[σₜ] / Σ_{left} exp s: items are drawn by their scores without replacement
                         (Plackett 1975); any number of items (`plackett_luce`)

Cost: `Orders.of` one forward pass for n + n(n − 1) items; the tables O(2ⁿ n²). Limit: `MOST` items for `Orders`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.generation.handles import handle_of
from constrain.generation.request.arguments import check_tokenizer
from constrain.generation.request.prompts import parse_prompts, token_ids
from constrain.generation.request.signature import ModelLike, PromptLike
from constrain.reports.answers.score import cut, options_of
from constrain.reports.answers.token_tree import ROOT, TokenTree, read_tree
from constrain.sampling.core.draw import Chance, Draw, TorchDraw
from constrain.sampling.core.urns import TensorUrns

MOST = 14  # items: 2¹⁴ · 14 entries of a table
Floats = NDArray[np.float64]


class Orders:
    """The distribution over the orders of n items in which each depends on the one before.

    Args:
        begin: float[n], the log weight of each item in the first place.
        follow: float[n, n], of item j directly after item i; the diagonal is not read.

    Attributes:
        forwards: forward passes of the model that the weights took.

    Raises:
        ConstrainError: the shapes do not fit, a weight is NaN or +inf, there are more than `MOST` items, or no order
            has any weight.

    Example:
        >>> from constrain.papers import Orders
        >>> orders = Orders([0, -1], [[0, -2], [-3, 0]])
        >>> orders.best, round(orders.share([1, 0]), 3)
        (((0, 1), -2.0), 0.119)
    """

    def __init__(self, begin: Any, follow: Any) -> None:
        self.begin: Floats = np.array(begin, np.float64)
        self.follow: Floats = np.array(follow, np.float64)
        self.forwards = 0
        self.count = len(self.begin) if self.begin.ndim == 1 else 0
        if not self.count or self.follow.shape != (self.count, self.count):
            raise ConstrainError(
                f"begin and follow must be float[n] and float[n, n], n ≥ 1, not {self.begin.shape} and "
                f"{self.follow.shape}"
            )
        if self.count > MOST:
            raise ConstrainError(
                f"{self.count} items have too many sets for a table", fix=f"at most {MOST}; or use plackett_luce"
            )
        np.fill_diagonal(self.follow, -math.inf)
        if not ((self.begin < math.inf).all() and (self.follow < math.inf).all()):
            raise ConstrainError("log weights of orders must be numbers below inf")
        if self.log_mass == -math.inf:
            raise ConstrainError("no order of the items has any weight")

    @classmethod
    def of(
        cls,
        model: ModelLike,
        prompt: PromptLike,
        items: Sequence[str],
        *,
        separator: str = ", ",
        tokenizer: object = None,
    ) -> Orders:
        """The distribution of a model that remembers the last item: begin[i] = log p(item i | prompt), and follow[i, j]
        = log p(separator, item j | prompt, item i). Each text is cut into tokens by itself.

        Args:
            model: What `generate` takes.
            prompt: One prompt, which ends where the first item is due.
            items: Their texts, at most `MOST`.
            separator: What stands between two items.
            tokenizer: Of transformers; None: found by the model's name.

        Returns:
            The distribution; one forward pass.

        Raises:
            ConstrainError: See `constrain.score`.

        Example:
            >>> import constrain
            >>> orders = constrain.answers.Orders.of(constrain.reference.load(), "Numbers: ", ["1", "2", "3"])
            >>> orders.forwards, sorted(orders.best[0])
            (1, [0, 1, 2])
        """
        options = options_of(items)
        if len(options) > MOST:
            raise ConstrainError(f"{len(options)} items have too many sets for a table", fix=f"at most {MOST}")
        check_tokenizer(tokenizer)
        prompts = parse_prompts(prompt)
        if not prompts.single:
            raise ConstrainError("Orders.of takes one prompt", fix="call it once for each prompt")
        handle = handle_of(model, tokenizer)
        tree = TokenTree()
        firsts = [tree.add(cut(handle, option.text, place)) for place, option in enumerate(options)]
        laters = [cut(handle, separator + option.text, place) for place, option in enumerate(options)]
        nodes = [
            [tree.add(later, first) if i != j else first for j, later in enumerate(laters)]
            for i, first in enumerate(firsts)
        ]
        (read,) = read_tree(handle, token_ids(prompts, handle), tree)
        begin = [read.total(tree, first, ROOT) for first in firsts]
        follow = [[read.total(tree, node, first) for node in row] for first, row in zip(firsts, nodes, strict=True)]
        orders = cls(begin, follow)
        orders.forwards = read.forwards
        return orders

    @cached_property
    def _after(self) -> Floats:
        """float[2ⁿ, n]: log of the summed weights of all ways to go on, by the set used and its last item."""
        return self._table(np.logaddexp.reduce)

    def _table(self, reduce: Any) -> Floats:
        full = (1 << self.count) - 1
        table = np.full((full + 1, self.count), -math.inf)
        table[full] = 0.0
        for used in range(full - 1, 0, -1):
            left = [j for j in range(self.count) if not used >> j & 1]
            ahead = np.array([table[used | 1 << j, j] for j in left])
            table[used] = reduce(self.follow[:, left] + ahead, axis=1)  # rows of items that are not in the set: unread
        return table

    @cached_property
    def log_mass(self) -> float:
        """log of the sum over all orders of their weights."""
        return float(np.logaddexp.reduce(self.begin + self._firsts(self._after)))

    def _firsts(self, table: Floats) -> Floats:
        return np.array([table[1 << i, i] for i in range(self.count)])

    def logprob(self, order: Sequence[int]) -> float:
        """log P of an order, items by their numbers. Raises ConstrainError: it is no order of all items."""
        if sorted(order) != list(range(self.count)):
            raise ConstrainError(f"not an order of the items 0 to {self.count - 1}: {list(order)!r:.80}")
        steps = sum(float(self.follow[i, j]) for i, j in itertools.pairwise(order))
        return float(self.begin[order[0]]) + steps - self.log_mass

    def share(self, order: Sequence[int]) -> float:
        """P of an order. Raises as `logprob`."""
        return math.exp(self.logprob(order))

    @cached_property
    def best(self) -> tuple[tuple[int, ...], float]:
        """The order of the greatest weight, and log of that weight (not normalised); of equals the first in order."""
        table = self._table(np.max)
        order = [int(np.argmax(self.begin + self._firsts(table)))]
        used = 1 << order[0]
        while len(order) < self.count:
            values = [
                -math.inf if used >> j & 1 else self.follow[order[-1], j] + table[used | 1 << j, j]
                for j in range(self.count)
            ]
            order.append(next(j for j in range(self.count) if values[j] == max(values) and not used >> j & 1))
            used |= 1 << order[-1]
        return tuple(order), self.logprob(order) + self.log_mass

    def draw(self, seed: int | None = None, *, draw: Draw | None = None, stream: int = 0) -> tuple[int, ...]:
        """An order from the distribution, exactly.

        Args:
            seed: Of `TorchDraw`; None: 0.
            draw: Another source of randomness.
            stream: Its stream; different streams give independent orders.

        Returns:
            The items by their numbers, in order.

        Example:
            >>> from constrain.papers import Orders
            >>> Orders([0, -900], [[0, 0], [0, 0]]).draw(seed=1)
            (0, 1)
        """
        chance = Chance(TorchDraw(seed or 0) if draw is None else draw, stream)
        weights = self.begin + self._firsts(self._after)
        order: list[int] = []
        used = 0
        while len(order) < self.count:
            if order:
                ahead = [-math.inf if used >> j & 1 else self._after[used | 1 << j, j] for j in range(self.count)]
                weights = self.follow[order[-1]] + np.array(ahead)
            order.append(chance(torch.tensor(weights).softmax(0)))
            used |= 1 << order[-1]
        return tuple(order)

    @cached_property
    def places(self) -> Floats:
        """float[n, n]: P(item i stands in place t), rows by item. Exact."""
        before = np.full((1 << self.count, self.count), -math.inf)  # of all ways that lead to a set and its last item
        for i in range(self.count):
            before[1 << i, i] = self.begin[i]
        for used in range(1, 1 << self.count):
            for j in range(self.count):
                if used >> j & 1 and used != 1 << j:
                    before[used, j] = np.logaddexp.reduce(before[used ^ 1 << j] + self.follow[:, j])
        shares = np.exp(before + self._after - self.log_mass)
        found = np.zeros((self.count, self.count))
        for used in range(1, 1 << self.count):
            found[:, used.bit_count() - 1] += np.where(before[used] > -math.inf, shares[used], 0.0)
        return found


def plackett_luce(
    scores: Sequence[float], seed: int | None = None, *, draw: Draw | None = None, stream: int = 0
) -> tuple[int, ...]:
    """An order of any number of items, drawn by their scores without replacement.

    Distribution: P(σ) = Πₜ exp s[σₜ] / Σ over the items that are left; those of score -inf are left out.

    Args:
        scores: log weights, such as `logprob` of `rank`.
        seed: Of `TorchDraw`; None: 0.
        draw: Another source of randomness.
        stream: Its stream; different streams give independent orders.

    Returns:
        The items by their numbers, in order.

    Raises:
        ConstrainError: A score is NaN or +inf.

    Source:
        Plackett 1975, "The analysis of permutations".

    Example:
        >>> from constrain.papers import plackett_luce
        >>> plackett_luce([0.0, 900.0, 400.0], seed=1)
        (1, 2, 0)
    """
    weights = torch.tensor(list(scores), dtype=torch.float64)
    if not bool((weights < math.inf).all()):
        raise ConstrainError("scores of items must be numbers below inf")
    draw = TorchDraw(seed or 0) if draw is None else draw
    if isinstance(draw, TorchDraw):  # PERF: one race of exponential clocks, whose order has the same distribution
        items = (weights > -math.inf).nonzero().squeeze(1)
        return tuple(items[draw.race(weights[items], stream).argsort()].tolist())
    urns = TensorUrns(weights.unsqueeze(0), draw, [stream])
    return tuple(one.candidate for _ in scores for one in urns.draw([0]) if one)
