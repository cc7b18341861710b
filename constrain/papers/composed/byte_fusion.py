"""`ByteFusion`: models of different tokenizers as one model, byte by byte.

Measured with SmolLM2 and Gemma 3 270M (two facts): the document's answer has a share of 0.79 (product), 0.82 (average)
and 0.90 (mixture), each model alone 0.89 and 0.88, for the CPU time of both. Does not pay there (record
2026-11-29-papers).

Paper: Hsu et al. 2024, "Let's fuse step by step: a generative fusion decoding algorithm with LLMs for robust and
instruction-aware ASR and OCR" (GFD, arXiv 2405.14259, section 3): likelihoods of texts are compared as bytes, where
models with different tokens meet. Its score is (1 − r) log P_one + r log P_other: "product" here, with weights 1 − r
and r.

Each model is a `ByteModel` (byte_model.py), and the ensemble of those is the fused model:

    average     p''(b | t) = Σ_k w_k p_k(b | t)            product     p''(b | t) ∝ Π_k p_k(b | t)^(w_k)
    mixture     p''(text)  = Σ_k w_k p_k(text)             exactly

What differs from the paper: it adds up log P of a beam's texts, without dividing by a constant at each byte, and counts
the tokenizer's own cut alone. Here p'' is a language model, so that every method samples what it says, and `covers`
cuts count.

State: the covers of each model, and for "mixture" the log weights, as functions of the text. Distribution: p''.
Cost and limits: those of `ByteModel`, for each model. Prompts are texts, which each model reads in its own tokens; chat
templates differ from model to model, so messages are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from constrain.papers.composed.byte_model import ByteModel, prompt_end
from constrain.papers.composed.core import Prompt
from constrain.papers.composed.ensemble import Ensemble


class ByteFusion(Ensemble):
    """Models of different tokenizers as one, byte by byte.

    Args:
        models: what `generate` takes as models.
        weights: how much each counts, from 0; equal by default.
        how: "product" or "average" of next bytes, or "mixture" of whole texts.
        covers: how many ways to cut a text into tokens are kept for each model; None: all.

    Raises:
        ConstrainError: no models, unsound weights, an unknown way, or covers below 1.

    Source:
        Hsu et al. 2024 (GFD), arXiv 2405.14259, section 3; Vieira et al. 2024, arXiv 2412.03719, for the bytes.

    Example:
        >>> import constrain
        >>> from constrain.papers.composed import ByteFusion
        >>> model = constrain.reference.load()
        >>> fused = ByteFusion([model, model], [0.8, 0.2], covers=2)
        >>> constrain.generate(fused, "A date: ", regex="[0-9]{4}", seed=1).finish_reason
        'stop'
    """

    paper = "Hsu et al. 2024, arXiv 2405.14259, section 3"
    law = "an average or geometric mean of next bytes, or a mixture of whole texts"

    def __init__(
        self,
        models: Sequence[Any],
        weights: Sequence[float] | None = None,
        *,
        how: str = "product",
        covers: int | None = 8,
    ) -> None:
        parts = [ByteModel(model, covers=covers) for model in models] if isinstance(models, (list, tuple)) else models
        super().__init__(parts, weights, how=how)

    def _prompt(self, prefix: Prompt) -> Prompt:
        """The prompt that begins a prefix: it ends with a mark."""
        return prefix[: prompt_end(prefix)]
