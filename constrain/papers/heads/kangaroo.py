"""Kangaroo's adapter: one layer of attention and no MLP, between an early exit of the target and the target's head.

Measured on the embedded model: does not pay there (record 2026-11-28-heads); the figures are in layers/kangaroo.py.

Liu et al. 2024, "Kangaroo: lossless self-speculative decoding via double early exiting", arXiv 2404.18911, section 3.1:
what comes out of the first layers goes through normed attention over all places so far, and a norm of its own; it is
trained by cross-entropy against the target's distribution. Its keys and values are a memory of its own, filled with the
hidden states of every forward pass of the target. `constrain.papers.layers.kangaroo` drafts with it, `Heads` cannot:
the first layers must read what is drafted. Names of tensors are those of github.com/Equationliu/Kangaroo, commit
4f0949d4, whose files do not say the exit.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from constrain.errors import ConstrainError
from constrain.models.hf.layers import layer_count
from constrain.models.hf.model import HFModel
from constrain.papers.heads.adapter import HeadsAdapter, config_of
from constrain.papers.heads.layer import AttentionLayer, KeysValues, RMSNorm, Shape, causal


class NormedAttention(AttentionLayer):
    """Attention with its norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.input_layernorm = RMSNorm(shape.size, shape.epsilon)


class KangarooAdapter(HeadsAdapter):
    """An adapter as in Kangaroo; see the module `constrain.papers.heads.kangaroo`.

    Args:
        model: The target, a Llama or one whose configuration has the same names.
        exit_layer: Layers of the target in front of it.
        config: Of its layer; None: as the target's.

    Raises:
        ConstrainError: There is no such exit, or the configuration has scaled positions.

    Example:
        >>> import constrain
        >>> KangarooAdapter(constrain.reference.load(), exit_layer=1).reads
        (1,)
    """

    depth = 1  # in training: what it says at a place depends on the tokens before it alone

    def __init__(self, model: Any, *, exit_layer: int = 2, config: Any = None) -> None:
        super().__init__(model)
        count = layer_count(HFModel.of(model))
        if not 1 <= exit_layer < count:
            raise ConstrainError(f"an exit is behind 1 to {count - 1} layers, not {exit_layer}")
        self.exit_layer, self.reads = exit_layer, (exit_layer,)
        shape = Shape.of(config or config_of(model))
        self.layers = nn.ModuleList([NormedAttention(shape)])
        self.norm = RMSNorm(shape.size, shape.epsilon)
        nn.init.zeros_(self._layer.self_attn.o_proj.weight)
        self.to(self._target[1].weight)

    @property
    def _layer(self) -> NormedAttention:
        found: NormedAttention = self.layers[0]
        return found

    def rows(self, hidden: torch.Tensor, places: torch.Tensor) -> KeysValues:
        """Keys and values of what came out of the exit, float[n, H], at places int64[n]."""
        return self._layer.rows(self._layer.input_layernorm(hidden), places)

    def says(self, hidden: torch.Tensor, places: torch.Tensor, rows: KeysValues, seen: torch.Tensor) -> torch.Tensor:
        """float[n, H] for the target's head. rows: m of them, of which seen: bool[n, m] are shown."""
        found: torch.Tensor = self.norm(
            self._layer.attend(self._layer.input_layernorm(hidden), hidden, places, rows, seen)
        )
        return found

    def remember(self, memory: KeysValues | None, hidden: torch.Tensor, tokens: torch.Tensor) -> KeysValues:
        first = 0 if memory is None else len(memory.keys)
        rows = self.rows(hidden, torch.arange(first, first + len(hidden), device=hidden.device))
        return rows if memory is None else memory.joined(rows)

    def begin(self, hidden: torch.Tensor, memory: KeysValues | None = None) -> KeysValues:
        """The rows of all places of the text."""
        return self.remember(memory, hidden[None], torch.zeros(0))

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        places = torch.arange(len(hidden), device=hidden.device)
        seen = causal(len(hidden), len(hidden), hidden.device)
        return [self.head(self.says(hidden, places, self.rows(hidden, places), seen)[1:])]
