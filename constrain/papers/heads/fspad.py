"""FSPAD's head: EAGLE's, where the token chooses the feature to go on from, and what is said is not what goes on.

Measured on the embedded model after 45 s of training (temperature 0, n = 8): 1.98 tokens a forward pass, EAGLE 1.93, no
drafts 1.28; at 3.4 times the CPU time of no drafts, so it does not pay there (record 2026-11-28-heads).

Paper: Gui et al. 2024, "Boosting lossless speculative decoding via feature sampling and partial alignment
distillation", arXiv 2408.15562. A feature of the target is of all tokens that may come; *feature sampling*: before the
layer, an MLP whose gate is the embedding of the token that did come changes it. *Partial alignment distillation*: the
layer puts out two vectors; the head reads the first, and the second goes on and is trained to be the target's feature
(smooth L1), so that likeness of features and certainty of logits do not pull at the same numbers. Names of tensors and
losses are those of github.com/Luc4Gui/FSPAD, commit 1c2df5e2.

Distribution: heads name tokens and draw none; what verifies keeps the distribution. Cost: as EAGLE, and a second MLP.
"""

from __future__ import annotations

import torch
from torch import nn

from constrain.papers.heads.eagle import Eagle, EagleState
from constrain.papers.heads.layer import MLP, DecoderLayer, RMSNorm, Shape


class FeatureSampling(nn.Module):
    """A feature and a token's embedding made one, then changed by an MLP that the embedding opens."""

    def __init__(self, shape: Shape, bias: bool) -> None:
        super().__init__()
        self.fc = nn.Linear(2 * shape.size, shape.size, bias=bias)
        self.mlp = MLP(shape)
        self.post_attention_layernorm = RMSNorm(shape.size, shape.epsilon)

    def forward(self, embedded: torch.Tensor, feature: torch.Tensor) -> torch.Tensor:
        """float[n, size]."""
        joined = self.fc(torch.cat([embedded, feature], dim=-1))
        found: torch.Tensor = joined + self.mlp(self.post_attention_layernorm(joined), embedded)
        return found


class FSPAD(Eagle):
    """A head as in FSPAD; see the module `constrain.papers.heads.fspad`.

    Args:
        model: The target.
        depth: Tokens that it looks ahead, at most.
        config: Of its layer, as an object or a dict; None: as the target's layers.
        bias: Its first matrix has a bias.

    Raises:
        ConstrainError: The configuration has scaled positions, which are not supported.

    Example:
        >>> import constrain
        >>> FSPAD(constrain.reference.load(), depth=3).depth
        3
    """

    def _build(self, bias: bool) -> None:
        size = self.shape.size
        self.fc = FeatureSampling(self.shape, bias)
        self.layers = nn.ModuleList([DecoderLayer(self.shape, gives=2)])
        with torch.no_grad():  # at first the feature of the next place is that of this one
            self.fc.fc.weight.zero_()
            if bias:
                self.fc.fc.bias.zero_()
            self.fc.fc.weight[:, size:] = torch.eye(size)
            for each in (self.fc.mlp.down_proj, self._layer.self_attn.o_proj, self._layer.mlp.down_proj):
                each.weight.zero_()

    def _feature(self, hidden: torch.Tensor) -> torch.Tensor:
        """float[..., 2 · size]: what the head reads, and what goes on; one and the same where the target said it."""
        return torch.cat([hidden, hidden], dim=-1)

    def _read(self, feature: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = self.fc(self.embed(tokens).to(feature), feature[..., self.size :])
        return found, found

    def logits(self, state: EagleState) -> torch.Tensor:
        return self.head(state.feature[..., : self.size])

    def features(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        return [each[..., self.size :] for each in super().features(hidden, tokens)]
