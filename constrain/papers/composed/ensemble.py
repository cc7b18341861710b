"""`Ensemble`: several models of one tokenizer as one.

Not measured with several models; of one model after several prompts, `MixtureOfPrompts` says what it brings.

    average     p''(v | x) = Σ_k w_k p_k(v | x)                 place by place
    product     p''(v | x) ∝ Π_k p_k(v | x)^(w_k)               place by place: what all find likely (Hinton 2002)
    mixture     p''(text)  = Σ_k w_k p_k(text)                  one model wrote the text, and which one is not known

A mixture of whole texts is a language model too: its next token is an average with the weights that the text so far
leaves, w_k(x) ∝ w_k p_k(x), x being the prompt after its first token and the output (of a mixture of prompts, the
output alone). State: none for "average" and "product"; for "mixture" the log weights, which are carried with the text.
Distribution: p''. With weights that sum to 1, "product" is a geometric mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.papers.composed.core import Composed, Prompt, shares_of

HOW = ("average", "product", "mixture")


class Ensemble(Composed):
    """Several models of one tokenizer as one.

    Args:
        models: language models, or what `generate` takes as models.
        weights: how much each counts, from 0; equal by default.
        how: "average" or "product" of next tokens, or "mixture" of whole texts.
        tokenizer: for models that come without one.

    Raises:
        ConstrainError: no models, vocabularies that differ, unsound weights, or an unknown way.

    Source:
        Hinton 2002, "Training products of experts by minimizing contrastive divergence", for "product".

    Example:
        >>> from constrain.papers.composed import Ensemble
        >>> from constrain.papers import NGram
        >>> ensemble = Ensemble([NGram([0.5, 0.5]), NGram([0.9, 0.1])])
        >>> ensemble.start([[0]], keep=[1])[1][0].exp()
        tensor([[0.7000, 0.3000]], dtype=torch.float64)
    """

    law = "an average or geometric mean of next tokens, or a mixture of whole texts"

    def __init__(
        self,
        models: Sequence[Any],
        weights: Sequence[float] | None = None,
        *,
        how: str = "average",
        tokenizer: Any = None,
        prompts: Mapping[Prompt, Sequence[Prompt]] | None = None,
    ) -> None:
        if how not in HOW:
            raise ConstrainError(f"there is no {how!r} of models", fix=f"choose one of: {', '.join(HOW)}")
        if not isinstance(models, (list, tuple)) or not models:
            raise ConstrainError("an ensemble takes a list of models", fix="Ensemble([one, another])")
        super().__init__(models, prompts, tokenizer)
        self.how = how
        self.weights = shares_of(weights, len(models))
        self.follows = how == "mixture"

    def begin(self) -> Any:
        """The log weights at the beginning."""
        return torch.tensor(self.weights, dtype=torch.float64).log()

    def advance(self, state: Any, token: int, log_probs: Sequence[torch.Tensor]) -> Any:
        """The log weights that a token leaves: log w_k(x) + log p_k(token | x), renormalised."""
        after = state + torch.stack([log_p[token].cpu() for log_p in log_probs])
        total = after.logsumexp(0)
        return after - total if bool(total.isfinite()) else state

    def combine(self, log_probs: Sequence[torch.Tensor], state: Any) -> torch.Tensor:
        stacked = torch.stack(list(log_probs))  # [models, K, W]
        weights = torch.tensor(self.weights, dtype=stacked.dtype, device=stacked.device)
        if self.how == "product":
            used = weights > 0
            return (weights[used][:, None, None] * stacked[used]).sum(0)
        logs = weights.log() if state is None else state.to(stacked.device)
        return (logs[:, None, None] + stacked).logsumexp(0)
