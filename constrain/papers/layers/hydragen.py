"""`Hydragen`: a model whose samples of one prompt read the prompt's keys and values once for all of them.

Pays where many samples share a long prompt: SmolLM2, 1,117 tokens, a text of SMC with 32 particles takes 11.2 s instead
of 25.1, with 8 particles 8.8 instead of 13.8, the same texts; a step of 16 samples after 1,900 tokens 210 ms instead of
560 (record 2026-11-28-papers).

Paper: Juravsky et al. 2024, "Hydragen: High-Throughput LLM Inference with Shared Prefixes" (arXiv 2402.05099), sections
3.1 and 3.2. Softmax attention over keys A and B is an average of those over each, weighed by their sums of
exponentials:

    attention(q, A + B) = w · attention(q, A) + (1 − w) · attention(q, B),   w = sigmoid(lse(q·A) − lse(q·B))

where lse is the log of the sum of exponentials. So queries of all rows that share the beginning A are one matrix, which
reads A once; what a row has of its own is read by itself. The paper's hierarchy of several shared parts is not built.

Distribution: that of the model; logits differ by rounding. Nothing is copied: the plain way puts both parts together
for each layer and step. Where that pays is a matter of sizes (`least`); elsewhere the plain way is taken.

Limit: layers that keep every token, of models of transformers whose attention is "sdpa" and a function that can be
exchanged; a trial as in `constrain/models/hf/trials.py` compares logits. Several prompts cost a product for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, AttentionInterface

from constrain.errors import ConstrainError
from constrain.models.hf.cache import SharedLayer, own_layers
from constrain.models.hf.model import HFModel
from constrain.models.hf.trials import holds
from constrain.papers.layers.skip import with_layers

NAME = "constrain_shared_prefix"  # among the attention functions of transformers


class Hydragen(HFModel):
    """A model that reads what samples share once; see `constrain.papers.layers.hydragen`.

    Args:
        model: anything that `HFModel.of` takes. It stays as it is, and shares all weights.
        least: rows of a prompt times its tokens, from which on it is read apart.

    Attributes:
        joined: forward passes in which a beginning was read apart.

    Raises:
        ConstrainError: its attention cannot be exchanged, or a trial finds other logits.

    Source:
        Juravsky et al. 2024, arXiv 2402.05099, sections 3.1 and 3.2.

    Example:
        >>> import constrain
        >>> from constrain.papers import Hydragen
        >>> model = Hydragen(constrain.reference.load())
        >>> found = constrain.generate(model, "A number: " * 30, regex="[0-9]{2}", method="smc", seed=1)
        >>> len(found.text)
        2
    """

    def __init__(self, model: Any, *, least: int = 2048) -> None:
        whole = HFModel.of(model)
        if whole.encodes or whole.text_config._attn_implementation != "sdpa":
            raise ConstrainError(
                f"the attention of {type(whole.model).__name__} is not one that can be exchanged",
                fix='load a decoder with attn_implementation="sdpa"',
            )
        twin = with_layers(whole, lambda layers: [(layer, i) for i, layer in enumerate(layers)])
        super().__init__(twin.model, whole.processor or whole.tokenizer)
        AttentionInterface.register(NAME, attention)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        self.least, self.joined = 2**62, 0
        plain = self.reading  # found with the plain attention
        self.text_config._attn_implementation, self.least = NAME, 1  # whatever the size, for the trial
        if not holds(self, plain) or not self.joined:
            raise ConstrainError(
                f"{type(self.model).__name__} does not take the attention that reads a beginning apart",
                fix="use the model as it is",
            )
        self.least, self.joined = least, 0

    def forward(self, beside: Any, **arguments: Any) -> Any:
        """Run the model once; its layers read the shared beginning apart."""
        with self._apart(arguments.get(self.memory)):
            return super().forward(beside, **arguments)

    @contextmanager
    def _apart(self, cache: Any) -> Iterator[None]:
        shared = [each for each in own_layers(cache) if type(each) is SharedLayer] if cache is not None else []
        told = [each for each in shared if self._pays(each)]
        for layer in told:
            layer.apart = True
        self.joined += bool(told)
        try:
            yield
        finally:
            for layer in told:
                layer.apart = False

    def _pays(self, layer: SharedLayer) -> bool:
        prompts, _, length, _ = layer.stem_keys.shape
        return len(layer.stems) * length >= self.least * prompts


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The plain attention; where keys are what rows have of their own, that over beginning and own joined.

    query: [B, H, Q, size]; key, value: [B, heads, S, size]; attention_mask: [B, 1, Q, P + S], bool or added
    """
    beginning = getattr(key, "beginning", None)
    if beginning is None:
        plain = ALL_ATTENTION_FUNCTIONS["sdpa"]
        return plain(module, query, key, value, attention_mask, scaling=scaling, **options)
    stem_keys, stem_values, stems = beginning
    batch, heads, size = key.shape[0], key.shape[1], query.shape[-1]
    scaled = query.reshape(batch, heads, -1, query.shape[2], size) * (size**-0.5 if scaling is None else scaling)
    mask = None if attention_mask is None else attention_mask.expand(batch, 1, -1, -1)
    length = stem_keys.shape[2]
    own, own_log = _over(scaled, key, value, None if mask is None else mask[..., length:])
    found, found_log = torch.empty_like(own), torch.empty_like(own_log)
    for stem in [0] if len(stem_keys) == 1 else stems.unique().tolist():
        rows: Any = slice(None) if len(stem_keys) == 1 else (stems == stem).nonzero().flatten()
        part = None if mask is None else mask[rows, ..., :length]
        found[rows], found_log[rows] = _over(scaled[rows], stem_keys[stem], stem_values[stem], part)
    share = torch.sigmoid(found_log - own_log).unsqueeze(-1).to(own.dtype)
    joined = share * found + (1 - share) * own  # [B, heads, H / heads, Q, size]
    return joined.flatten(1, 2).transpose(1, 2).contiguous(), None


def _over(
    scaled: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention over some keys, [B, heads, n, Q, size], and the log of its sum of exponentials, [B, heads, n, Q].

    key, value: [B, heads, S, size], or [heads, S, size] of all rows, read once
    """
    batch, heads, several, places, size = scaled.shape
    if key.dim() == 3:
        rows = scaled.transpose(0, 1).reshape(heads, -1, size)
    else:
        rows = scaled.reshape(batch, heads, -1, size)
    scores = rows @ key.transpose(-1, -2)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))

    def by_row(found: torch.Tensor) -> torch.Tensor:
        """[B, heads, n, Q, …] of what has rows first or heads first."""
        if key.dim() == 3:
            return found.view(heads, batch, several, places, -1).transpose(0, 1)
        return found.view(batch, heads, several, places, -1)

    if mask is not None:
        lowest = torch.finfo(scores.dtype).min
        view, hidden = by_row(scores), mask.unsqueeze(1)
        view.copy_(view.masked_fill(~hidden, lowest) if mask.dtype == torch.bool else view + hidden)
    log = by_row(scores.logsumexp(-1, keepdim=True)).squeeze(-1)
    return by_row(scores.softmax(-1).to(value.dtype) @ value), log
