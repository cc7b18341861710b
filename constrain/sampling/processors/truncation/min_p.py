"""`MinP`: tokens survive if they have at least a share of the likeliest token's probability.

Paper: Nguyen et al. 2024, "Turning up the heat: min-p sampling for creative and coherent LLM outputs" (arXiv
2407.01082), section 3.

    kept(v)  iff  p(v) ≥ base · max p

State: none. Distribution: p on what is kept, renormalised; p being the distribution under the mask, so the likeliest
allowed token is always kept. Masked first, it never empties a place.
"""

from __future__ import annotations

import math

import torch

from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor, number


class MinP(Processor):
    """Keeps tokens with at least a share of the likeliest one's probability.

    Args:
        base: the share, in (0, 1].

    Raises:
        ConstrainError: the share is out of range.

    Source:
        Nguyen et al. 2024, arXiv 2407.01082, section 3.

    Example:
        >>> import torch
        >>> from constrain.sampling.processors import MinP, StepContext
        >>> MinP(0.5)(torch.tensor([0.5, 0.3, 0.2]).log(), StepContext((0,), (), 3)).exp()
        tensor([0.5000, 0.3000, 0.0000])
    """

    name = "min-p"
    paper = "Nguyen et al. 2024, arXiv 2407.01082, section 3"
    law = "p where p(v) ≥ base · max p, renormalised"

    def __init__(self, base: float) -> None:
        self.base = number("base", base, 0, 1, open_below=True)

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        return scores.masked_fill(scores < scores.max() + math.log(self.base), -torch.inf)
