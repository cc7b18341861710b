"""`StochasticBeam`: a draft model draws whole sequences without replacement, `width` of them at each length (RSD-S).

Measured on the embedded pair (temperature 1, four nodes a level, n = 12): 3.0 tokens a forward pass, siblings at each
place 2.8, no drafts 1.4; at 1.9 times the CPU time of no drafts: does not pay there (record 2026-11-28-heads).

Paper: Jeon et al. 2024, "Recursive speculative decoding: accelerating LLM inference via sampling without replacement",
arXiv 2402.14160, section 3.3. Their RSD-C draws siblings at each place (`Model(width, paths)`); RSD-S is stochastic
beam search (Kool et al. 2019, arXiv 1903.06059): each sequence has its log-chance and Gumbel noise that is coupled to
its beginning's, and the best `width` of a level are its nodes, so places that the draft model is sure of get few
children and others many. Verified by `recursive-without` or `traversal`.

In order of their noise the sequences of a level are a race of exponential clocks, drawn without replacement, and the
first child of each arrives with it. So no noise is kept here: given the order of the level before, the next arrival is
another child of a beginning that has arrived, each by what is left of it, or the first child of the next beginning, by
the chance of all that have not arrived (the order of beginnings says nothing else). That is the same distribution, in
draws that tests enumerate.

Distribution: which token a child is depends on its place and earlier siblings alone, whether there is one on what came
before, so rules for siblings without replacement keep the target's. Where a rule draws otherwise, or names tokens, the
tree is `Model`'s. Cost: a forward pass of the draft model a level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from constrain.sampling.core.model import LanguageModel
from constrain.speculative.build import advanced
from constrain.speculative.drafter import Context, DraftBudget
from constrain.speculative.drafters.model import DraftBranch, DraftPlace, Growing, Model, shaped_probs


class StochasticBeam(Model):
    """Drafts of sequences without replacement; see the module `constrain.papers.drafting.beam`.

    Args:
        model: the draft model.
        width: sequences at each length.

    Raises:
        ConstrainError: the width is no int of at least 1.

    Source:
        Jeon et al. 2024, arXiv 2402.14160.

    Example:
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> from constrain.papers.drafting.beam import StochasticBeam
        >>> from constrain.speculative import Speculation
        >>> ref = constrain.reference.load()
        >>> beam = StochasticBeam(HFModel(ref.draft, ref.tokenizer), width=3)
        >>> rule = Speculation([beam], verifier="recursive-without")
        >>> constrain.generate(ref, "A list: ", regex="[a-z]{9}", draft=rule, seed=1).stats.drafts["model"].drafted > 0
        True
    """

    def __init__(self, model: LanguageModel, *, width: int = 3) -> None:
        super().__init__(model, width=width, paths=width)

    def _branch(self, context: Context, budget: DraftBudget) -> Growing:
        if context.setting.draws != "without" or context.setting.settings.temperature <= 0:
            return super()._branch(context, budget)
        return _Beam(context, budget, self.width, self.width)


@dataclass
class _Beam(DraftBranch):
    """The draft of one sequence: its level is in the order of arrival. ended: of the level before, with their places in
    that order; they arrive again, as themselves."""

    ended: dict[int, DraftPlace] = field(default_factory=dict)

    def extend(self, rows: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
        waiting = list(zip(self.level, range(len(rows)), rows, strict=True))
        order: list[tuple[DraftPlace, int, torch.Tensor | None]] = []
        for arrival in range(len(waiting) + len(self.ended)):
            ended = self.ended.get(arrival)
            order.append((ended, -1, None) if ended else waiting.pop(0))
        self.depth += 1
        self.level, self.ended, going = [], {}, []
        left: list[torch.Tensor | None] = []  # by beginning that has arrived, what may still come of it
        drafted: list[int] = []
        for count in range(self.width):
            if len(self.tokens) >= self.budget.nodes:
                break
            begun = self._arrival(order, left)
            if begun < 0:
                break
            place, index, logits = order[begun]
            if begun == len(left):
                probs = None if logits is None else shaped_probs(self.context.setting, place.matcher, logits)
                left.append(None if probs is None else probs.clone())
                drafted.append(len(self.rows))
                if probs is not None:
                    self.rows.append(probs)
            rest = left[begun]
            if rest is None:
                self.ended[count] = place
                continue
            after = self._child(place, rest, drafted[begun])
            if after is None:
                self.ended[count] = place._replace(rank=place.rank + self.log_probs[-1])
            elif self.depth < self.most:
                self.level.append(after)
                going.append((index, self.tokens[-1]))
        return going

    def _arrival(self, order: Sequence[tuple[DraftPlace, int, object]], left: Sequence[torch.Tensor | None]) -> int:
        """The beginning of which the next sequence comes: one that has arrived, or the next; −1 if there is none."""
        known = [math.exp(place.rank) for place, _, _ in order[: len(left)]]
        weights = [
            0.0 if rest is None else chance * float(rest.sum()) for chance, rest in zip(known, left, strict=True)
        ]
        if len(left) < len(order):
            if not any(weights):
                return len(left)
            weights.append(max(0.0, 1.0 - sum(known)))
        if not any(weights):
            return -1
        chances = torch.tensor([weights], dtype=torch.float64)
        return int(self.context.setting.draw(chances / chances.sum(), [self.context.stream]))

    def _child(self, place: DraftPlace, rest: torch.Tensor, row: int) -> DraftPlace | None:
        """A node for a token drawn of what is left at a place, and the place behind it; None at the end of a text."""
        token = self._choose(rest)
        log_prob = min(0.0, math.log(float(self.rows[row][token])))
        self.tokens.append(token)
        self.parents.append(place.node)
        self.log_probs.append(log_prob)
        self.draft_rows.append(row)
        rest[token] = 0
        matcher = None if place.matcher is None else advanced(place.matcher, token)
        if token in self.context.setting.eos_ids or (matcher is None and place.matcher is not None):
            return None
        return DraftPlace(len(self.tokens) - 1, place.rank + log_prob, matcher)
