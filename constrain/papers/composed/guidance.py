"""`Guided`: classifier-free guidance. What a prompt says is amplified against another prompt.

Pays, measured with SmolLM2 (eight facts): with γ = 3 the document's answer has a share of 0.97 instead of 0.89, at
twice the CPU time (record 2026-11-29-papers).

Paper: Sanchez et al. 2023, "Stay on topic with classifier-free guidance" (arXiv 2306.17806), section 2, for text;
Ho and Salimans 2022 for images.

    log p''(v) = log p(v | other) + γ (log p(v | prompt) − log p(v | other)) + const

State: none. Distribution: p'' at every place, which is a language model. Where the prompt gives a token no mass, p''
has none; where only the other does not, its log-probability counts as −100.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.generation.handles import handle_of
from constrain.papers.composed.core import FLOOR, Composed, prompt_table


class Guided(Composed):
    """A model that is pushed from one prompt towards another.

    Args:
        model: what `generate` takes as a model.
        prompts: {prompt: the one to move away from}; pairs, where prompts are no texts.
        scale: γ; 1 is the model, 0 the model after the other prompt.
        tokenizer: for a model that comes without one.

    Raises:
        ConstrainError: the scale is no finite number, or a prompt begins another one.

    Source:
        Sanchez et al. 2023, arXiv 2306.17806, section 2.

    Example:
        >>> import constrain
        >>> from constrain.papers.composed import Guided
        >>> model = Guided(constrain.reference.load(), {"A happy word: ": "A word: "}, scale=1.5)
        >>> constrain.generate(model, "A happy word: ", choices=["sun", "rain"], seed=1).finish_reason
        'stop'
    """

    paper = "Sanchez et al. 2023, arXiv 2306.17806, section 2"
    law = "p(v | other) (p(v | prompt) / p(v | other))^γ, renormalised"

    def __init__(self, model: Any, prompts: Any, *, scale: float = 1.5, tokenizer: Any = None) -> None:
        if not isinstance(scale, (int, float)) or isinstance(scale, bool) or not abs(scale) < float("inf"):
            raise ConstrainError(f"scale must be a finite number, not {scale!r}", fix="1 is the model itself")
        handle = handle_of(model, tokenizer)
        table = prompt_table(handle, prompts, 1)
        super().__init__([handle, handle], {prompt: [prompt, *others] for prompt, others in table.items()})
        self.scale = float(scale)

    def combine(self, log_probs: Sequence[torch.Tensor], state: Any) -> torch.Tensor:
        with_prompt, without = log_probs[0], log_probs[1].clamp(min=FLOOR)
        scores = without + self.scale * (with_prompt - without)
        return scores.masked_fill(with_prompt == -torch.inf, -torch.inf)
