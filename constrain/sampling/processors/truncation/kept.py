"""`Truncation`: top-k and top-p of what the mask has left, for methods that truncate the model itself.

    kept(v)  iff  top-k, then top-p of softmax(scores / temperature) keep v

State: none. Distribution: p on what is kept, renormalised; p being the distribution under the mask, so some allowed
token is always kept. `generate(..., complete=True)` uses it, whose last tokens are often not what the model would
write: a truncation of the model would leave none of them.
"""

from __future__ import annotations

import torch

from constrain.sampling.core.job import Settings
from constrain.sampling.core.step import truncated
from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor


class Truncation(Processor):
    """Keeps the likeliest tokens of what is allowed.

    Args:
        temperature, top_k, top_p: as in `Settings`; at temperature 0 they act on the distribution at temperature 1.

    Example:
        >>> import torch
        >>> from constrain.sampling.processors import StepContext
        >>> from constrain.sampling.processors.truncation.kept import Truncation
        >>> Truncation(1.0, top_k=1, top_p=None)(torch.tensor([0.5, 0.3, 0.2]).log(), StepContext((0,), (), 3)).exp()
        tensor([0.5000, 0.0000, 0.0000])
    """

    name = "truncation"
    law = "p on its likeliest tokens, renormalised"

    def __init__(self, temperature: float, top_k: int | None, top_p: float | None) -> None:
        self.temperature, self.top_k, self.top_p = temperature or 1.0, top_k, top_p

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        settings = Settings(top_k=self.top_k, top_p=self.top_p)
        shares = truncated((scores / self.temperature).softmax(-1).unsqueeze(0), settings)[0]
        return scores.masked_fill(shares == 0, -torch.inf)
