"""`Momentum`: momentum decoding. The likeliest token counts less, the longer the passage that it would repeat.

Measured on the embedded model (lists of records, temperature 0): 0.15 of the 4-grams are repeated, without a rule 0.46,
with `Repetition(1.3)` 0.14; with `structural=True` 0.004, and all lists end. Pays where greedy lists do not end
(docs/howto/processors.md).

Paper: Lan et al. 2022, "Momentum decoding: open-ended text generation as graph exploration" (arXiv 2212.02175). A text
is a walk in a graph of tokens; a token that was visited is resisted, more so if the way to it was walked before. The
rule and its table are those of the authors' program (gmftbyGMFTBY/MomentumDecoding on GitHub):

    score(v) = p(v) − α · r(n)      among the k likeliest tokens, n ≤ 5 being the length of the longest passage that
                                    ends with v and occurred before;  r = 0, 1, 3, 4, 5, 6 for n = 0 … 5

State: none, the text decides. Distribution: a greedy rule, so the likeliest by score at temperature 0; at other
temperatures softmax(score), whose scores lie close together. Tokens that the grammar needs (`StepContext.structural`)
meet no resistance, unless `structural=True`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from constrain.sampling.core.sampler import check_count
from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor, number

RESISTANCE = (0, 1, 3, 4, 5, 6)  # by the length of what is repeated


class Momentum(Processor):
    """Resists tokens that repeat a passage, for temperature 0.

    Args:
        strength: α.
        top: k, how many of the likeliest tokens are looked at.
        structural: punctuation and fixed texts of the grammar are not spared.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Lan et al. 2022, arXiv 2212.02175; α and the resistances are those of the authors' program.

    Example:
        >>> import torch
        >>> from constrain.sampling.processors import Momentum, StepContext
        >>> context = StepContext(prompt=(0, 1), tokens=(0,), width=3)  # 1 would repeat "0 1", 2 is new
        >>> Momentum(0.2, top=2)(torch.tensor([0.1, 0.5, 0.4]).log(), context)
        tensor([   -inf, -0.1000,  0.4000])
    """

    name = "momentum"
    paper = "Lan et al. 2022, arXiv 2212.02175"
    law = "at temperature 0 the greatest p(v) − α · r(length of what v repeats), among k"

    def __init__(self, strength: float = 0.2, *, top: int = 5, structural: bool = False) -> None:
        self.strength = number("strength", strength, 0, 100)
        self.top, self.structural = check_count("top", top), bool(structural)

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        p = scores.softmax(-1)
        likeliest = p.sort(descending=True, stable=True).indices[: self.top]
        text = [*context.prompt, *context.tokens]
        found = torch.full_like(scores, -torch.inf)
        spared = torch.zeros(len(scores), dtype=torch.bool) if self.structural else context.structural
        for token in likeliest.tolist():
            length = 0 if bool(spared[token]) else repeated_length(text, token)
            if p[token] > 0:
                found[token] = p[token] - self.strength * RESISTANCE[length]
        return found


def repeated_length(text: Sequence[int], token: int) -> int:
    """The length, up to 5, of the longest passage of a text that ends with a token and ends the text before it.

    Example:
        >>> repeated_length([7, 8, 9, 7], 8), repeated_length([7, 8, 9, 7], 7), repeated_length([7, 8, 9, 7], 6)
        (2, 1, 0)
    """
    longest = 0
    for place, other in enumerate(text):
        if other != token:
            continue
        length = 1
        while length < len(RESISTANCE) - 1 and length <= place and text[place - length] == text[len(text) - length]:
            length += 1
        longest = max(longest, length)
    return longest
