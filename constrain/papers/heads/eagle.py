"""EAGLE's head: one layer that goes on with the target's own features, and the target's head on what it makes of them.

Measured on the embedded model after 27 s of training (temperature 0, n = 8): 1.93 tokens a forward pass, no drafts
1.28; at 2.9 times the CPU time of no drafts: does not pay there (record 2026-11-28-heads).

Li et al. 2024, "EAGLE", arXiv 2401.15077, section 4.1: at each place the layer reads the feature there (what the
target's head reads) beside the embedding of the token that follows, and gives the feature of the next place; its
attention sees all places of the text. EAGLE-2 (arXiv 2406.16858) has the same weights, and grows its tree by the
chances of the layer, as `constrain.speculative.Heads` does. Parameters have the names of their checkpoints; the layer
has no norm before its attention.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from constrain.papers.heads.adapter import HeadsAdapter, config_of
from constrain.papers.heads.layer import DecoderLayer, KeysValues, Shape, causal


class EagleState(NamedTuple):
    """feature: float[H]. rows: what attention sees; None: nothing yet. places: tokens since the target's feature."""

    feature: torch.Tensor
    rows: KeysValues | None
    places: int


class Eagle(HeadsAdapter):
    """A head as in EAGLE and EAGLE-2; see the module `constrain.papers.heads.eagle`.

    Args:
        model: The target.
        depth: Tokens that it looks ahead, at most.
        config: Of its layer, as an object or a dict; None: as the target's layers.
        bias: Its first matrix has a bias, as theirs of some targets have.

    Raises:
        ConstrainError: The configuration has scaled positions, which are not supported.

    Example:
        >>> import constrain
        >>> Eagle(constrain.reference.load()).reads
        ()
    """

    reads: bool | tuple[int, ...] = ()

    def __init__(self, model: Any, *, depth: int = 5, config: Any = None, bias: bool = True) -> None:
        super().__init__(model)
        self.depth = depth
        self.shape = Shape.of(config or config_of(model))
        self._build(bias)
        self.to(self._target[1].weight)

    def _build(self, bias: bool) -> None:
        self.fc = nn.Linear(2 * self.shape.size, self.shape.size, bias=bias)
        self.layers = nn.ModuleList([DecoderLayer(self.shape)])
        with torch.no_grad():  # at first the feature of the next place is that of this one
            self.fc.weight.zero_()
            if bias:
                self.fc.bias.zero_()
            self.fc.weight[:, self.shape.size :] = torch.eye(self.shape.size)
            for name in ("self_attn.o_proj", "mlp.down_proj"):
                self._layer.get_submodule(name).weight.zero_()

    @property
    def _layer(self) -> DecoderLayer:
        found: DecoderLayer = self.layers[0]
        return found

    def _read(self, feature: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The input of the layer's attention, and its residual, both float[n, …]."""
        found = self.fc(torch.cat([self.embed(tokens).to(feature), feature], dim=-1))
        return found, found

    def _feature(self, hidden: torch.Tensor) -> torch.Tensor:
        """The feature of a place of the text."""
        return hidden

    def remember(self, memory: KeysValues | None, hidden: torch.Tensor, tokens: torch.Tensor) -> KeysValues:
        first = 0 if memory is None else len(memory.keys)
        places = torch.arange(first, first + len(hidden), device=hidden.device)
        new = self._layer.rows(self._read(self._feature(hidden), tokens)[0], places)
        return new if memory is None else memory.joined(new)

    def begin(self, hidden: torch.Tensor, memory: KeysValues | None = None) -> EagleState:
        return EagleState(self._feature(hidden), memory, 0)

    def move(self, state: EagleState, token: Any) -> EagleState | None:
        if state.places == self.depth:
            return None
        tokens = torch.as_tensor(token, device=state.feature.device).reshape(1)
        read, residual = self._read(state.feature[None], tokens)
        place = torch.tensor([0 if state.rows is None else len(state.rows.keys)], device=state.feature.device)
        own = self._layer.rows(read, place)
        rows = own if state.rows is None else state.rows.joined(own)
        return EagleState(self._layer.attend(read, residual, place, rows)[0], rows, state.places + 1)

    def logits(self, state: EagleState) -> torch.Tensor:
        return self.head(state.feature)

    def features(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        """The head's features of places 1 … T - 1, each from the target's own before it."""
        count = len(tokens) - 1
        places = torch.arange(count, device=hidden.device)
        read, residual = self._read(self._feature(hidden)[:count], tokens[1:])
        rows = self._layer.rows(read, places)
        return [self._layer.attend(read, residual, places, rows, causal(count, count, hidden.device))]

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        """Logits of all steps; later steps read their own features, as in drafting (EAGLE-3's training-time test)."""
        feature, found, own = self._feature(hidden), [], list[KeysValues]()
        text: KeysValues | None = None
        for step in range(1, self.depth + 1):
            count = len(tokens) - step
            places = torch.arange(step - 1, step - 1 + count, device=hidden.device)
            read, residual = self._read(feature[:count], tokens[step:])
            rows = self._layer.rows(read, places)
            if text is None:
                text = rows
            else:
                own = [each.first(count) for each in own] + [rows]
            seen = causal(len(text.keys), len(text.keys), hidden.device)[:count]
            feature = self._layer.attend(read, residual, places, text, seen, own)
            found.append(self.logits(EagleState(feature, None, step)))
        return found
