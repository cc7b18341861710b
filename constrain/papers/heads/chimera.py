"""Chimera's heads: trigrams in place of the lowest layers, one layer that sees the target's hidden states, and heads.

Measured on the embedded model after 43 s of training (temperature 0, n = 8): 2.00 tokens a forward pass, EAGLE 1.93, no
drafts 1.28; at 4.4 times the CPU time of no drafts: does not pay there (record 2026-11-28-heads).

Paper: Zeng et al. 2024, "Chimera", arXiv 2402.15758. *Trigram encoder*: what the low layers of a model make of a token
depends on its neighbours, mostly; an MLP makes it of the embeddings of three tokens. *Full context encoder*: one layer,
whose attention sees the target's hidden states of the text, its own ones of the draft so far, and the trigram.
*Residual decoding heads*: one for each step, a matrix on the target's last hidden state beside what the encoder gives.
Names of tensors and files are those of github.com/kafkayu/Chimera, commit a4cd9f4d, and so is the training, but for one
thing: there a trigram also sees the trigrams of earlier places, which their own drafting does not. Before the text
begins the first token that is known stands in.

Distribution: heads name tokens and draw none; what verifies keeps the distribution. Cost: a matrix of twice the hidden
size by the vocabulary for each step, by far the most parameters of all heads here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from constrain.papers.heads.adapter import HeadsAdapter, config_of
from constrain.papers.heads.layer import KeysValues, Shape, WholeLayer, causal
from constrain.papers.heads.medusa import MedusaBlock


class ChimeraMemory(NamedTuple):
    """rows: of the places of the text. last: the tokens behind them, at most two."""

    rows: KeysValues
    last: tuple[int, ...]


class ChimeraState(NamedTuple):
    """hidden: the target's, float[H]. rows: what attention sees. last: tokens. fused: of the last token, float[H]."""

    hidden: torch.Tensor
    rows: KeysValues
    last: tuple[int, ...]
    fused: torch.Tensor | None
    places: int


class Chimera(HeadsAdapter):
    """Heads as in Chimera; see the module `constrain.papers.heads.chimera`.

    Args:
        model: The target, a Llama or one whose configuration has the same names.
        depth: Heads.
        config: Of the layer; None: as the target's layers.

    Raises:
        ConstrainError: The configuration has scaled positions, which are not supported.

    Example:
        >>> import constrain
        >>> len(Chimera(constrain.reference.load(), depth=3).chimera_head)
        3
    """

    reads: bool | tuple[int, ...] = ()

    def __init__(self, model: Any, *, depth: int = 4, config: Any = None) -> None:
        super().__init__(model)
        self.depth, size = depth, self.size
        self.trimlp = nn.Sequential(MedusaBlock(3 * size), nn.Linear(3 * size, size, bias=False))
        self.fast_layer1 = nn.ModuleList([WholeLayer(Shape.of(config or config_of(model)))])
        weight = self._target[1].weight
        self.chimera_head = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * size, len(weight), bias=False)) for _ in range(depth)
        )
        self.to(weight)
        for head in self.chimera_head:
            head[0].weight.data.copy_(torch.cat([weight.data, weight.data], dim=-1))

    @property
    def _layer(self) -> WholeLayer:
        found: WholeLayer = self.fast_layer1[0]
        return found

    def _rows(self, read: torch.Tensor, places: torch.Tensor) -> KeysValues:
        return self._layer.rows(self._layer.input_layernorm(read), places)

    def _trigrams(self, tokens: torch.Tensor) -> torch.Tensor:
        """float[n, H] of int64[n, 3]."""
        found: torch.Tensor = self.trimlp(self.embed(tokens).flatten(-2).to(self.trimlp[1].weight))
        return found

    def remember(self, memory: ChimeraMemory | None, hidden: torch.Tensor, tokens: torch.Tensor) -> ChimeraMemory:
        first = 0 if memory is None else len(memory.rows.keys)
        rows = self._rows(hidden, torch.arange(first, first + len(hidden), device=hidden.device))
        known = () if memory is None else memory.last
        return ChimeraMemory(rows if memory is None else memory.rows.joined(rows), (*known, *tokens.tolist())[-2:])

    def begin(self, hidden: torch.Tensor, memory: ChimeraMemory | None = None) -> ChimeraState:
        last = () if memory is None else memory.last
        rows = self.remember(memory, hidden[None], torch.zeros(0, dtype=torch.int64)).rows
        return ChimeraState(hidden, rows, last, None, 0)

    def move(self, state: ChimeraState, token: Any) -> ChimeraState | None:
        if state.places == self.depth:
            return None
        last = (*state.last, int(token))[-3:]
        gram = torch.tensor([[*last[:1] * (3 - len(last)), *last]], device=state.hidden.device)
        place, read = torch.tensor([len(state.rows.keys)], device=state.hidden.device), self._trigrams(gram)
        fused = self._layer.attend(
            self._layer.input_layernorm(read), read, place, state.rows.joined(self._rows(read, place))
        )
        rows = state.rows.joined(self._rows(fused, place))
        return ChimeraState(state.hidden, rows, last, fused[0], state.places + 1)

    def logits(self, state: ChimeraState) -> torch.Tensor:
        if state.fused is None:
            return self.head(state.hidden)
        found: torch.Tensor = self.chimera_head[state.places - 1](torch.cat([state.hidden, state.fused], dim=-1))
        return found

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        length = len(tokens)
        text = self._rows(hidden, torch.arange(length, device=hidden.device))
        seen = causal(length, length, hidden.device)
        found, own = [], list[KeysValues]()
        for step in range(1, self.depth + 1):
            count = length - step
            ends = torch.arange(step, length, device=tokens.device)
            grams = torch.stack([tokens[(ends - back).clamp(min=1)] for back in (2, 1, 0)], dim=-1)
            read, places = self._trigrams(grams), ends.to(hidden.device)
            own = [each.first(count) for each in own]
            fused = self._layer.attend(
                self._layer.input_layernorm(read), read, places, text, seen[:count], [*own, self._rows(read, places)]
            )
            own.append(self._rows(fused, places))
            found.append(self.chimera_head[step - 1](torch.cat([hidden[:count], fused], dim=-1)))
        return found
