"""`SelectiveContrast`: where the model is unsure, what it would write after a worse prompt is taken away (USCD).

Measured with SmolLM2 (eight facts): the document's answer has a share of 0.84 instead of 0.89: does not pay there. The
embedded model, which reads documents badly, has 0.22, and up to 0.74 with it (record 2026-11-29-papers,
docs/howto/processors.md).

Paper: Wang et al. 2024, "USCD: improving code generation of LLMs by uncertainty-aware selective contrastive decoding"
(arXiv 2409.05923). The worse ("lame") prompt is one without its examples. The rule is that of the authors' program
(alphadl/CodeGen-USCD on GitHub), with p after the prompt, q after the worse one, W tokens:

    p''(v) = p(v)                                       where the standard deviation of p over the W tokens is above t
    p''(v) ∝ max(0, a p(v) − b q(v)) · 1[p(v) ≥ s / W]  elsewhere

State: none. Distribution: p'' at every place, which is a language model. Where no token is left, p'' is p. The spread
of p is that before the mask of a constraint, since models do not know constraints; it depends on the size of the
vocabulary.
Limit: a token that is corrected away has no mass, so a constraint that needs it runs into a dead end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from constrain.generation.handles import handle_of
from constrain.papers.composed.core import Composed, prompt_table
from constrain.sampling.processors.core.processor import number


class SelectiveContrast(Composed):
    """A model that is corrected by a worse prompt where it is unsure.

    Args:
        model: what `generate` takes as a model.
        prompts: {prompt: the worse one}; pairs, where prompts are no texts.
        weight: b, what the worse prompt counts, from 0; a is 1 + b.
        threshold: t, the standard deviation of shares above which the model is sure.
        floor: s, the least share of a token that keeps any, in units of the mean share 1 / W. The authors' is 1/3;
            under a constraint it takes tokens away that the grammar may need.
        tokenizer: for a model that comes without one.

    Raises:
        ConstrainError: an option is out of range, or a prompt begins another one.

    Source:
        Wang et al. 2024, arXiv 2409.05923; the default of the threshold is that of the authors' program.

    Example:
        >>> import constrain
        >>> from constrain.papers.composed import SelectiveContrast
        >>> asked = "Colours: red, green.\\nA colour: "
        >>> model = SelectiveContrast(constrain.reference.load(), {asked: "A colour: "}, threshold=0.02)
        >>> constrain.generate(model, asked, choices=["red", "blue"], seed=1).finish_reason
        'stop'
    """

    paper = "Wang et al. 2024, arXiv 2409.05923"
    law = "p where it is sure; else max(0, (1 + b) p(v | prompt) − b p(v | worse prompt)), renormalised"

    def __init__(
        self,
        model: Any,
        prompts: Any,
        *,
        weight: float = 0.5,
        threshold: float = 0.0035,
        floor: float = 0.0,
        tokenizer: Any = None,
    ) -> None:
        handle = handle_of(model, tokenizer)
        table = prompt_table(handle, prompts, 1)
        super().__init__([handle, handle], {prompt: [prompt, *others] for prompt, others in table.items()})
        self.weight = number("weight", weight, 0, 100)
        self.threshold = number("threshold", threshold, 0, 1)
        self.floor = number("floor", floor, 0, 1e6)

    def combine(self, log_probs: Sequence[torch.Tensor], state: Any) -> torch.Tensor:
        p, q = log_probs[0].exp(), log_probs[1].exp()
        contrasted = ((1 + self.weight) * p - self.weight * q).clamp(min=0)
        contrasted = contrasted.masked_fill(p < self.floor * p.mean(-1, keepdim=True), 0)
        sure = p.std(-1, keepdim=True) > self.threshold
        kept = sure | (contrasted.sum(-1, keepdim=True) == 0)
        return torch.where(kept, log_probs[0], contrasted.log())
