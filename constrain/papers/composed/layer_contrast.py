"""`LayerContrast`: what lower layers say by themselves is taken away, at best beside an amateur model (LOL).

Measured on SmolLM2 (a document's answer beside another one, eight facts): the document's answer has a share of 0.89,
and against 7, 15 or 22 of its 30 layers 0.55 to 0.72. Does not pay there. The embedded model, which reads documents
badly, has 0.33, and 0.53 against two of its four layers with λ = 1 (records 2026-11-29-papers, 2026-11-28-papers).

Paper: Chen et al. 2024, "Lower layers matter: alleviating hallucination via multi-layer fusion contrastive decoding
with truthfulness refocused" (LOL, arXiv 2408.08769). With p of the model and q of its lower layers under its own head,
a and b those of an amateur (the same model, made to hallucinate), λ the weight and α the floor:

    log p''(v) = log p(v) − λ log q(v) + const                              without an amateur
    log p''(v) = log p(v) − log a(v) + λ (log q(v) − log b(v)) + const      with one: the paper's fused contrast
    p''(v) = 0                                                              where p(v) < α max p

Their amateur's weights and their "refocusing" by a prompt are not public in a form that could be checked; the amateur
is the caller's. Without one it is a contrast of layers (DoLa: Chuang et al. 2023, arXiv 2309.03883) at a fixed layer.
State: none. Distribution: p'' at every place, which is a language model. A log-probability of −∞ counts as −100 in what
is taken away. Cost: a forward pass of each part; a model's lower layers are `skip_layers(model, keep=range(n))`.
Limit: a token that a constraint needs may be below the floor: then nothing is left, a dead end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.papers.composed.core import FLOOR, Composed
from constrain.sampling.processors.core.processor import number


class LayerContrast(Composed):
    """A model against its own lower layers.

    Args:
        model: what `generate` takes as a model.
        lower: its lower layers under its own head, as a model.
        amateur: a model to be unlike, and its lower layers; None: without one.
        weight: λ, what the lower layers count.
        floor: α, the least share of the likeliest token's probability that a token keeps mass with; 0: no bound.
        tokenizer: for models that come without one.

    Raises:
        ConstrainError: an option is out of range, or vocabularies differ.

    Source:
        Chen et al. 2024, arXiv 2408.08769; the defaults are ours.

    Example:
        >>> import constrain
        >>> from constrain.papers import skip_layers
        >>> from constrain.papers.composed import LayerContrast
        >>> reference = constrain.reference.load()
        >>> model = LayerContrast(reference, skip_layers(reference, keep=[0, 1]), weight=0.3)
        >>> constrain.generate(model, "A word: ", choices=["sun", "rain"], seed=1).finish_reason
        'stop'
    """

    paper = "Chen et al. 2024, arXiv 2408.08769"
    law = "p / q^λ of a model and its lower layers, or (p / a) (q / b)^λ with an amateur, renormalised"

    def __init__(
        self,
        model: Any,
        lower: Any,
        amateur: tuple[Any, Any] | None = None,
        *,
        weight: float = 0.5,
        floor: float = 0.0,
        tokenizer: Any = None,
    ) -> None:
        if amateur is not None and not (isinstance(amateur, tuple) and len(amateur) == 2):
            raise ConstrainError("an amateur is a model and its lower layers", fix="amateur=(model, lower)")
        super().__init__([model, lower, *(amateur or ())], tokenizer=tokenizer)
        self.weight, self.floor = number("weight", weight, 0, 10), number("floor", floor, 0, 1)

    def combine(self, log_probs: Sequence[torch.Tensor], state: Any) -> torch.Tensor:
        p, q, *others = (log_p.clamp(min=FLOOR) for log_p in log_probs)
        scores = p - self.weight * q
        if others:
            scores = p - others[0] + self.weight * (q - others[1])
        refused = log_probs[0] == -torch.inf
        if self.floor:
            refused = refused | (log_probs[0] < log_probs[0].amax(-1, keepdim=True) + math.log(self.floor))
        return scores.masked_fill(refused, -torch.inf)
