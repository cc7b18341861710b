"""`Counts`: presence and frequency penalties, of how often a token was written in the output.

Source: the parameters `presence_penalty` and `frequency_penalty` of OpenAI's interface, whose documentation gives

    score'(v) = score(v) − frequency · c(v) − presence · 1[c(v) > 0]        c(v): times that v occurs in the output

State: none, the text decides. Distribution: softmax of the scores, under the mask: shares are multiplied by exp(−…), so
the zero of the logits does not matter. Tokens that the grammar needs (`StepContext.structural`) are left alone, unless
`structural=True`.
"""

from __future__ import annotations

from collections import Counter

import torch

from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor, number


class Counts(Processor):
    """Presence and frequency penalties.

    Args:
        presence: subtracted once from the score of every token that was written.
        frequency: subtracted as often as the token was written.
        structural: punctuation and fixed texts of the grammar are not spared.

    Raises:
        ConstrainError: a penalty is out of range.

    Source:
        OpenAI, reference of the chat interface: `presence_penalty`, `frequency_penalty`.

    Example:
        >>> import torch
        >>> from constrain.sampling.processors import Counts, StepContext
        >>> Counts(presence=0.5, frequency=1)(torch.zeros(2), StepContext((0,), (1, 1), 2))
        tensor([ 0.0000, -2.5000])
    """

    name = "presence and frequency penalty"
    paper = "OpenAI's interface"
    law = "shares are multiplied by exp(−frequency · c(v) − presence · 1[c(v) > 0])"

    def __init__(self, *, presence: float = 0.0, frequency: float = 0.0, structural: bool = False) -> None:
        self.presence = number("presence", presence, -100, 100)
        self.frequency = number("frequency", frequency, -100, 100)
        self.structural = bool(structural)

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        counts = Counter(token for token in context.tokens if token < len(scores))
        tokens = torch.tensor(list(counts), dtype=torch.int64, device=scores.device)
        times = torch.tensor(list(counts.values()), dtype=scores.dtype, device=scores.device)
        if not self.structural:
            kept = ~context.structural.to(tokens.device)[tokens]
            tokens, times = tokens[kept], times[kept]
        return scores.index_add(0, tokens, -(self.frequency * times + self.presence))
