"""`SelfDraft`: the target drafts for itself with some of its layers, which it finds on the text at hand.

Measured on SmolLM2 (100 calls of functions): the search finds no set of layers that would gain anything, so nothing is
drafted, at 1.1 times the CPU time of no drafts. Does not pay there (record 2026-11-29-lossless).

The idea: which layers can be left out depends on the model and the text. SWIFT (Xia et al. 2024, arXiv 2410.06916)
tries sets of layers on what was read already: a set is as good as often as the model without the others would have
named the token that the whole model names. DEL (Entezari Zarch et al. 2025, arXiv 2504.05598) picks number of layers
and draft length together, for the most tokens per cost: with agreement a, a draft of d tokens by a share c of the
layers gives (1 − a^(d+1)) / (1 − a) tokens for 1 + c·d forward passes. Here: sets of several sizes, evenly spaced at
first, then one of the best with up to two layers left out and added; afterwards a is counted from what the target
takes, and d follows it. Where no set would gain anything it does not draft. The search goes on during generation, as
SWIFT's does: every `again` steps one more set is tried beside the one in use, both on the text as it is by then, and
the better one drafts from there on.

Cost: `trials` forward passes of some layers over the last `WINDOW` tokens, once for each drafter; every `again` steps
three more. Limit: the cost of what is not layers (embeddings, the head, calls) is not in c, and weighs in small models;
one set for all sequences.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from constrain.models.hf.layers import layer_count
from constrain.models.hf.model import HFModel
from constrain.papers.layers.skip import skip_layers
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context, DraftBudget, Outcome
from constrain.speculative.drafters.model import Model
from constrain.speculative.tree import EMPTY, DraftTree

WINDOW = 128  # tokens that sets are compared on
PARENTS = 4  # best sets so far, which others are made from
BELIEF = 16.0  # as how many observations the agreement found in the search counts
FADE = 0.98  # what an observation is worth after each later one


class Skip(NamedTuple):
    """layers: that are kept. agreement: share of places where they name the model's token. depth, gain: of the drafts
    with the most tokens per cost, and how many tokens that are for the cost of one forward"""

    layers: tuple[int, ...]
    agreement: float
    depth: int
    gain: float


def best_depth(agreement: float, share: float, most: int) -> tuple[int, float]:
    """(draft length from 0 to `most`, expected tokens for the cost of one forward pass of all layers).

    agreement: the chance that a drafted token is taken. share: of the layers that draft
    """
    best = (0, 1.0)
    tokens = chance = 1.0
    for depth in range(1, most + 1):
        chance *= agreement
        tokens += chance
        gain = tokens / (1 + share * depth)
        if gain > best[1]:
            best = (depth, gain)
    return best


@torch.inference_mode()
def search_layers(model: Any, tokens: Sequence[int], *, trials: int = 24, depth: int = 8, seed: int = 0) -> Skip:
    """Search for the layers that draft best on a text.

    Args:
        model: Anything that `HFModel.of` takes.
        tokens: Ids of a text that the model has read, at least two; the last `WINDOW` of them are used.
        trials: Sets of layers that are tried.
        depth: Tokens of a draft at most.
        seed: Of the search.

    Returns:
        The best set that was tried, with its agreement and the depth at which it pays.

    Example:
        >>> import constrain
        >>> search_layers(constrain.reference.load(), [5, 6, 7, 8], trials=2).layers != ()
        True
    """
    handle = HFModel.of(model)
    count = layer_count(handle)
    judge = _Judge(handle, tokens, depth)
    rng = random.Random(seed)
    tried: dict[tuple[int, ...], Skip] = {}

    def tried_out(layers: tuple[int, ...]) -> None:
        if layers not in tried and len(tried) < trials:
            tried[layers] = judge.of(layers)

    for eighths in (4, 2, 6, 3, 5, 1, 7):
        keep = max(1, count * eighths // 8)
        tried_out(tuple(sorted({round(i * (count - 1) / max(1, keep - 1)) for i in range(keep)})))
    for _ in range(8 * trials):
        if len(tried) >= trials:
            break
        good = rng.choice(sorted(tried.values(), key=_rank)[-PARENTS:]).layers
        if kept := _changed(good, count, rng):
            tried_out(kept)
    return max(tried.values(), key=_rank)


class _Judge:
    """Scores sets of layers on the end of a text."""

    def __init__(self, handle: HFModel, tokens: Sequence[int], depth: int) -> None:
        self.handle, self.depth, self.count = handle, depth, layer_count(handle)
        self.text = torch.tensor([list(tokens)[-WINDOW:]], device=handle.model.device)
        self.named = handle.model(input_ids=self.text).logits[0].argmax(-1)

    def of(self, layers: tuple[int, ...]) -> Skip:
        """A set of layers with its agreement."""
        found = skip_layers(self.handle, layers).model(input_ids=self.text).logits[0].argmax(-1)
        agreement = float((found == self.named).double().mean())
        return Skip(layers, agreement, *best_depth(agreement, len(layers) / self.count, self.depth))


def _changed(layers: Sequence[int], count: int, rng: random.Random) -> tuple[int, ...]:
    """A set with up to two layers less and up to two more."""
    other = [layer for layer in range(count) if layer not in layers]
    out, into = (set(rng.sample(some, min(len(some), rng.randint(0, 2)))) for some in (list(layers), other))
    return tuple(sorted({*layers} - out | into))


def _rank(skip: Skip) -> tuple[float, float, int]:
    return skip.gain, skip.agreement, -len(skip.layers)


class SelfDraft(Model):
    """A drafter that is the target itself without some of its layers, which it searches on the text at hand.

    Args:
        model: The target; anything that `HFModel.of` takes.
        trials: Sets of layers that the search tries.
        again: Steps after which one more set is tried, on the text by then; 0: never.
        depth: Tokens of a draft at most.
        width: Drafts side by side, as in `constrain.speculative.Model`.

    Attributes:
        found: The layers that were chosen, as a `Skip`; None before the first draft.

    Raises:
        ConstrainError: An option is wrong, or the model has no list of layers.

    Example:
        >>> import constrain
        >>> SelfDraft(constrain.reference.load()).layers
        4
    """

    name = "self"

    def __init__(self, model: Any, *, trials: int = 24, again: int = 32, depth: int = 8, width: int = 1) -> None:
        self.handle = HFModel.of(model)
        self.layers = layer_count(self.handle)
        super().__init__(self.handle, width=width)
        self.trials, self.depth = check_count("trials", trials), check_count("depth", depth)
        self.again = check_count("again", again, 0)
        self.found: Skip | None = None
        self._tries = self._taken = 0.0
        self._steps = 0
        self._rng = random.Random(0)

    @property
    def agreement(self) -> float:
        """The chance that a drafted token is taken, as it looks now."""
        known = 0.0 if self.found is None else self.found.agreement
        return (self._taken + BELIEF * known) / (self._tries + BELIEF)

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        if self.found is None:
            longest = max(contexts, key=lambda context: len(context.tokens))
            if len(longest.tokens) < 2:
                return [EMPTY] * len(contexts)
            self._take(self._search(longest.tokens))
        elif self.again and self._steps % self.again == 0:
            self._take(self._another(max(contexts, key=lambda context: len(context.tokens)).tokens))
        self._steps += 1
        assert self.found is not None
        for context in contexts:
            if context.memo.get((self, "layers")) != self.found.layers:
                context.memo.pop(self, None)  # what other layers remember of the text
                context.memo[self, "layers"] = self.found.layers
        depth, _ = best_depth(self.agreement, len(self.found.layers) / self.layers, self.depth)
        trees = super().propose(contexts, [b._replace(depth=min(b.depth, depth)) for b in budgets])
        for context, tree in zip(contexts, trees, strict=True):
            context.memo[self, "drafted"] = tree
        return trees

    def _search(self, tokens: Sequence[int]) -> Skip:
        """The layers to begin with."""
        return search_layers(self.handle, tokens, trials=self.trials, depth=self.depth)

    @torch.inference_mode()
    def _another(self, tokens: Sequence[int]) -> Skip:
        """One step of the search, on the text as it is now: the layers in use, or better ones."""
        assert self.found is not None
        other = _changed(self.found.layers, self.layers, self._rng)
        if not other or other == self.found.layers:
            return self.found
        judge = _Judge(self.handle, tokens, self.depth)
        return max(judge.of(other), judge.of(self.found.layers), key=_rank)

    def _take(self, skip: Skip) -> None:
        """Draft with these layers. What was counted of others does not count for them."""
        if self.found is None or skip.layers != self.found.layers:
            self._use(skip)
            self._tries = self._taken = 0.0
        self.found = skip

    def _use(self, skip: Skip) -> None:
        """Make the model of some layers."""
        self.model = skip_layers(self.handle, skip.layers)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Count how far each draft went along."""
        for outcome in outcomes:
            tree: DraftTree = outcome.context.memo.pop((self, "drafted"), EMPTY)
            children, place = tree.children(), 0
            for token in outcome.tokens:
                known = {int(tree.tokens[node]): node for node in children[place]}
                if not known:
                    break
                self._tries = self._tries * FADE + 1
                self._taken = self._taken * FADE + (token in known)
                if token not in known:
                    break
                place = known[token] + 1
