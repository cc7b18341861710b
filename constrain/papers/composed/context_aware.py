"""`ContextAware`: context-aware decoding (CAD). What a context adds counts more than what is known anyway.

Pays, measured with SmolLM2 (eight facts): the document's answer has a share of 0.95 with α = 0.5 and 0.97 with α = 1
instead of 0.89, at twice the CPU time (record 2026-11-29-papers).

Paper: Shi et al. 2023, "Trusting your evidence: hallucinate less with context-aware decoding" (arXiv 2305.14739),
section 2.

    p''(v) ∝ p(v | context, question) · (p(v | context, question) / p(v | question))^α

That is guidance with γ = 1 + α (guidance.py), the other prompt being the question alone. State: none. Distribution:
p''.
"""

from __future__ import annotations

from typing import Any

from constrain.papers.composed.guidance import Guided
from constrain.sampling.processors.core.processor import number


class ContextAware(Guided):
    """A model that trusts what its context adds.

    Args:
        model: what `generate` takes as a model.
        prompts: {context with question: question}; pairs, where prompts are no texts.
        alpha: how much more it trusts; 0 is the model.
        tokenizer: for a model that comes without one.

    Raises:
        ConstrainError: alpha is out of range, or a prompt begins another one.

    Source:
        Shi et al. 2023, arXiv 2305.14739, section 2; their α is 0.5.

    Example:
        >>> import constrain
        >>> from constrain.papers.composed import ContextAware
        >>> question = "The sky is green. The colour of the sky is "
        >>> model = ContextAware(constrain.reference.load(), {question: "The colour of the sky is "})
        >>> constrain.generate(model, question, choices=["blue", "green"], method="exact", seed=1).finish_reason
        'stop'
    """

    paper = "Shi et al. 2023, arXiv 2305.14739, section 2"
    law = "p(v | context, question)^(1+α) / p(v | question)^α, renormalised"

    def __init__(self, model: Any, prompts: Any, *, alpha: float = 0.5, tokenizer: Any = None) -> None:
        super().__init__(model, prompts, scale=1 + number("alpha", alpha, 0, 100), tokenizer=tokenizer)
