"""`Repetition`: tokens that were written before lose score, by a factor.

Paper: Keskar et al. 2019, "CTRL: a conditional transformer language model for controllable generation", section 4.1, in
the form that transformers and engines have: scores below 0 are multiplied, so that the penalty never favours.

    score'(v) = score(v) / θ  if v occurred and score(v) > 0;  score(v) · θ  if v occurred and score(v) ≤ 0

State: none, the text decides. Distribution: softmax of the scores, under the mask; it depends on where the model's
logits have their zero, as the original does. Tokens that the grammar needs (`StepContext.structural`) are left alone,
unless `structural=True`.
"""

from __future__ import annotations

import torch

from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor, distinct, number


class Repetition(Processor):
    """Divides the scores of tokens that were written before.

    Args:
        penalty: θ; above 1 discourages, 1 changes nothing.
        prompt: tokens of the prompt count too.
        structural: punctuation and fixed texts of the grammar are not spared.

    Raises:
        ConstrainError: the penalty is out of range.

    Source:
        Keskar et al. 2019, "CTRL", section 4.1.

    Example:
        >>> import torch
        >>> from constrain.sampling.processors import Repetition, StepContext
        >>> context = StepContext(prompt=(0,), tokens=(1,), width=3)
        >>> Repetition(2.0)(torch.tensor([2.0, -1.0, 1.0]), context)
        tensor([ 1., -2.,  1.])
    """

    name = "repetition penalty"
    paper = "Keskar et al. 2019, section 4.1"
    law = "scores of earlier tokens are divided by θ (multiplied below 0)"

    def __init__(self, penalty: float, *, prompt: bool = True, structural: bool = False) -> None:
        self.penalty = number("penalty", penalty, 0, 100, open_below=True)
        self.prompt, self.structural = bool(prompt), bool(structural)

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        seen = distinct([*(context.prompt if self.prompt else ()), *context.tokens], len(scores), scores.device)
        if not self.structural:
            seen = seen[~context.structural.to(seen.device)[seen]]
        changed = scores.clone()
        old = scores[seen]
        changed[seen] = torch.where(old > 0, old / self.penalty, old * self.penalty)
        return changed
