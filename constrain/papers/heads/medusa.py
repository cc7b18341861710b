"""Medusa's heads: head i guesses the token i + 1 places behind the next from the hidden state alone.

Measured on the embedded model after 17 s of training (temperature 0, n = 8): 1.91 tokens a forward pass, no drafts 1.10
(record 2026-11-23-train-draft). Before training, on SmolLM2, 2.20 and 1.91 at 4.4 times the CPU time of no drafts: does
not pay there (record 2026-11-29-lossless).

Cai et al. 2024, arXiv 2401.10774, section 2.1: each head is residual blocks h + silu(A h + b), then a matrix over the
vocabulary of its own, which begins as the target's. Parameters have the names of `medusa_lm_head.pt`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from constrain.papers.heads.adapter import HeadsAdapter


class MedusaBlock(nn.Module):
    """A residual block, the identity but for a constant at first."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)
        nn.init.zeros_(self.linear.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float[..., size]."""
        found: torch.Tensor = x + F.silu(self.linear(x))
        return found


class MedusaState(NamedTuple):
    """hidden: float[..., H]. places: tokens since then."""

    hidden: torch.Tensor
    places: int


class Medusa(HeadsAdapter):
    """Heads as in Medusa; see the module `constrain.papers.heads.medusa`.

    Args:
        model: The target.
        depth: Heads.
        layers: Residual blocks of each.

    Example:
        >>> import constrain
        >>> len(Medusa(constrain.reference.load(), depth=3).medusa_head)
        3
    """

    def __init__(self, model: Any, *, depth: int = 4, layers: int = 1) -> None:
        super().__init__(model)
        self.depth = depth
        weight = self._target[1].weight
        self.medusa_head = nn.ModuleList(
            nn.Sequential(
                *(MedusaBlock(self.size) for _ in range(layers)), nn.Linear(self.size, len(weight), bias=False)
            )
            for _ in range(depth)
        )
        self.to(weight)
        for head in self.medusa_head:
            head[-1].weight.data.copy_(weight.data)

    def begin(self, hidden: torch.Tensor, memory: Any = None) -> MedusaState:
        return MedusaState(hidden, 0)

    def move(self, state: MedusaState, token: Any) -> MedusaState | None:
        return None if state.places == self.depth else state._replace(places=state.places + 1)

    def logits(self, state: MedusaState) -> torch.Tensor:
        if not state.places:
            return self.head(state.hidden)
        found: torch.Tensor = self.medusa_head[state.places - 1](state.hidden)
        return found

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        return [self.medusa_head[i](hidden[: len(hidden) - 1 - i]) for i in range(self.depth)]
