"""`MixtureOfPrompts`: one model after several prompts, as one model.

Measured with SmolLM2 (eight facts, two prompts): the document's answer has a share of 0.93 instead of 0.89, at 2.3
times the CPU time; guidance has 0.97 for as much. Pays little (record 2026-11-29-papers).

Paper: Guo et al. 2024, "M-Ped: multi-prompt ensemble decoding for large language models" (arXiv 2412.18299): the
distribution of the next token is the average over prompts ("average"). "mixture" is the exact mixture of texts,
p''(text) = Σ_k w_k p(text | prompt k), whose weights follow the text; "product" is their geometric mean. See
ensemble.py. The multi-prompting decoder (MPD: Cheng et al. 2024, arXiv 2406.06279) is another thing, a classifier:
`papers.answers.multi_prompt`.

State and distribution: as for `Ensemble`. Cost: a session and a forward pass for each prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from constrain.generation.handles import handle_of
from constrain.papers.composed.core import prompt_table
from constrain.papers.composed.ensemble import Ensemble


class MixtureOfPrompts(Ensemble):
    """One model after several prompts, as one model.

    Args:
        model: what `generate` takes as a model.
        prompts: {prompt: [other ways to ask]}, equally many for each; pairs, where prompts are no texts.
        weights: how much the prompt and each of the others count; equal by default.
        how: "average" or "product" of next tokens, or "mixture" of whole texts.
        tokenizer: for a model that comes without one.

    Raises:
        ConstrainError: no other prompts, unsound weights, an unknown way, or a prompt begins another one.

    Source:
        Guo et al. 2024, arXiv 2412.18299, for "average".

    Example:
        >>> import constrain
        >>> from constrain.papers.composed import MixtureOfPrompts
        >>> model = MixtureOfPrompts(constrain.reference.load(), {"Yes or no? ": ["Say yes or no: "]}, how="mixture")
        >>> constrain.generate(model, "Yes or no? ", choices=["yes", "no"], seed=1).finish_reason
        'stop'
    """

    paper = "Guo et al. 2024, arXiv 2412.18299"

    def __init__(
        self,
        model: Any,
        prompts: Any,
        weights: Sequence[float] | None = None,
        *,
        how: str = "average",
        tokenizer: Any = None,
    ) -> None:
        handle = handle_of(model, tokenizer)
        table = {prompt: [prompt, *others] for prompt, others in prompt_table(handle, prompts, 0).items()}
        count = len(next(iter(table.values())))
        super().__init__([handle] * count, weights, how=how, prompts=table)
