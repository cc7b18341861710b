"""`Mirostat`: cuts at a surprise that follows the text, so that its mean surprise stays at a target.

Measured on the embedded model (lists of records, temperature 0.7): with τ = 2 a share of 0.234 of the 4-grams is
repeated, without a rule 0.198; τ = 0.5 holds the surprise at 0.54 bits a token, as asked. Does not pay there (record
2026-11-22-processors).

Paper: Basu et al. 2021, "Mirostat: a neural text decoding algorithm that directly controls perplexity" (ICLR; arXiv
2007.14966); version 2 of the authors' code, which cuts at μ instead of estimating a k from a Zipf fit.

    μ_0 = 2τ                     kept(v) iff −log₂ p(v) ≤ μ_t  (the likeliest token always)
    μ_{t+1} = μ_t − η (S − τ),   S = −log₂ p(v_t), p before the cut

State: μ, carried with each sequence and forked with it. It is a function of the text (what was drawn, and how
surprising it was), so p'' is a distribution over texts and methods stay exact about it. Distribution: p on what is
kept, renormalised, under the mask. Forced tokens surprise nobody: μ stays. What it costs: the model's logits at every
place of an output.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor, number


class Mirostat(Processor):
    """Keeps the mean surprise of a text near a target, by cutting what would surprise more than a moving bound.

    Args:
        target: τ, bits a token.
        rate: η, how fast the bound follows.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Basu et al. 2021, arXiv 2007.14966.

    Example:
        >>> import torch
        >>> from constrain.sampling.processors import Mirostat, StepContext
        >>> probabilities = torch.tensor([0.5, 0.25, 0.25])
        >>> mirostat = Mirostat(target=0.5)
        >>> context = StepContext((0,), (), 3, state=mirostat.begin(StepContext((0,), (), 3)))
        >>> mirostat(probabilities.log(), context).exp()  # at most 1 bit
        tensor([0.5000, 0.0000, 0.0000])
    """

    name = "mirostat"
    paper = "Basu et al. 2021, arXiv 2007.14966"
    law = "p where −log₂ p(v) ≤ μ, renormalised; μ follows the surprise of what was drawn"
    reads_scores = True

    def __init__(self, target: float = 5.0, rate: float = 0.1) -> None:
        self.target = number("target", target, 0, 64, open_below=True)
        self.rate = number("rate", rate, 0, 1)

    def begin(self, context: StepContext) -> float:
        """The state before the first token, μ_0."""
        return 2 * self.target

    def advance(self, state: Any, token: int, scores: torch.Tensor | None, context: StepContext) -> float:
        """μ after a token."""
        if scores is None:
            return float(state)
        surprise = -float(scores.log_softmax(-1)[token]) / math.log(2)
        return float(state) if math.isinf(surprise) else state - self.rate * (surprise - self.target)

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        bits = -scores.log_softmax(-1) / math.log(2)
        bound = max(context.state, float(bits.min()))
        return scores.masked_fill(bits > bound + 1e-9, -torch.inf)
