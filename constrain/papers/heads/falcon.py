"""Falcon's head: EAGLE's, but that each pass gives the features of a block of places at once (semi-autoregressive).

Measured on the embedded model after 4.3 minutes of training (temperature 0, n = 8): 1.64 tokens a forward pass, EAGLE
1.93 after less than one, no drafts 1.28; at four times the CPU time of no drafts: does not pay there (record
2026-11-28-heads).

Paper: Gao et al. 2025, "Falcon", arXiv 2412.12639. What EAGLE reads at a place goes through an LSTM of two layers; then
comes one layer whose attention is causal between blocks and open within one: the last k places see each other, and the
i-th of them gives the feature k places further on. So a pass drafts k tokens, of which none knows the others, and its
features and the tokens that were chosen are what the next pass reads. *Coupled sequential glancing distillation* makes
up for that: in training a first pass is compared with the target, and for a share of what is wrong there the second,
which is learned from, is shown the right token and feature of the place it must guess (`glance`). Names of tensors and
the share are those of github.com/Bestpay-inc/Falcon, commit 367030ea. Its code hands a tuple of the LSTM to the layer
and cannot run as it is, so how its weights were read is not confirmed: here the LSTM goes along the text. Blocks end at
the last place that is known, wherever that is; the tree is grown by chances, as for all heads, not of their shape.

Distribution: heads name tokens and draw none; what verifies keeps the distribution. Cost: the LSTM is read place by
place; a layer for every k tokens.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import torch
from torch import nn

from constrain.errors import ConstrainError
from constrain.papers.heads.adapter import HeadsAdapter, config_of
from constrain.papers.heads.layer import DecoderLayer, KeysValues, Shape, causal

Cells = tuple[torch.Tensor, torch.Tensor]  # h and c of the LSTM, float[2, …, H]


class FalconMemory(NamedTuple):
    """rows: what attention sees. last: what the layer read at the last places, at most a block. cells: of the LSTM."""

    rows: KeysValues
    last: torch.Tensor
    cells: Cells


class FalconState(NamedTuple):
    """features, tokens: what the next pass reads. says: features of the block. place: in it, of the last token."""

    features: torch.Tensor
    tokens: tuple[int, ...]
    memory: FalconMemory | None
    says: torch.Tensor | None
    place: int
    places: int


class Falcon(HeadsAdapter):
    """A head as in Falcon; see the module `constrain.papers.heads.falcon`.

    Args:
        model: The target, a Llama or one whose configuration has the same names.
        depth: Tokens that it looks ahead, at most.
        block: Tokens of a pass.
        config: Of its layer; None: as the target's layers.

    Raises:
        ConstrainError: The configuration has scaled positions, which are not supported, or a block is too long.

    Example:
        >>> import constrain
        >>> Falcon(constrain.reference.load(), block=3).block
        3
    """

    reads: bool | tuple[int, ...] = ()

    def __init__(self, model: Any, *, depth: int = 4, block: int = 2, config: Any = None) -> None:
        super().__init__(model)
        if not 1 <= block <= depth:
            raise ConstrainError(f"a block has from 1 to {depth} tokens (depth), not {block}")
        self.depth, self.block, self.shape = depth, block, Shape.of(config or config_of(model))
        self.lstm = nn.LSTM(2 * self.size, self.size, num_layers=2)
        self.layers = nn.ModuleList([DecoderLayer(self.shape)])
        self.to(self._target[1].weight)

    @property
    def _layer(self) -> DecoderLayer:
        found: DecoderLayer = self.layers[0]
        return found

    def _read(self, features: torch.Tensor, tokens: torch.Tensor, memory: FalconMemory | None) -> FalconMemory:
        """The memory after n more places."""
        joined = torch.cat([self.embed(tokens).to(features), features], dim=-1)
        read, cells = self.lstm(joined, None if memory is None else memory.cells)
        first = 0 if memory is None else len(memory.rows.keys)
        rows = self._layer.rows(read, torch.arange(first, first + len(read), device=read.device))
        if memory is None:
            return FalconMemory(rows, read[-self.block :], cells)
        return FalconMemory(memory.rows.joined(rows), torch.cat([memory.last, read])[-self.block :], cells)

    def remember(self, memory: FalconMemory | None, hidden: torch.Tensor, tokens: torch.Tensor) -> FalconMemory:
        return self._read(hidden, tokens, memory)

    def begin(self, hidden: torch.Tensor, memory: FalconMemory | None = None) -> FalconState:
        return FalconState(hidden[None], (), memory, None, 0, 0)

    def move(self, state: FalconState, token: Any) -> FalconState | None:
        if state.places == self.depth:
            return None
        state = state._replace(tokens=(*state.tokens, int(token)), places=state.places + 1)
        if state.says is not None and state.place + 1 < self.block:
            return state._replace(place=state.place + 1)
        memory = self._read(state.features, torch.tensor(state.tokens, device=state.features.device), state.memory)
        count = len(memory.rows.keys)
        places = torch.arange(count - self.block, count, device=state.features.device).clamp(min=0)
        last = memory.last[places - count]  # the first place stands in for those before the text
        says = self._layer.attend(last, last, places, memory.rows)
        return FalconState(says, (), memory, says, 0, state.places)

    def logits(self, state: FalconState) -> torch.Tensor:
        return self.head(state.features[0] if state.says is None else state.says[state.place])

    def unrolled(
        self, hidden: torch.Tensor, tokens: torch.Tensor, glance: torch.Tensor | None = None
    ) -> list[torch.Tensor]:
        """Logits of all steps. glance: bool[T], places that are shown in training what they must guess."""
        return [self.head(each) for each in self._says(hidden, tokens, self.depth, glance)]

    def features(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        return self._says(hidden, tokens, self.block)

    def _says(
        self, hidden: torch.Tensor, tokens: torch.Tensor, depth: int, glance: torch.Tensor | None = None
    ) -> list[torch.Tensor]:
        """By step, the features after so many moves from each place of a text, float[T - s, H]."""
        count, block = len(tokens) - 1, self.block
        features, following = hidden[:count], tokens[1:]
        if glance is not None:
            shown = glance[:count].nonzero().flatten()
            shown = shown[shown + block < count]
            features = features.index_copy(0, shown, hidden[shown + block])
            following = following.index_copy(0, shown, following[shown + block])
        joined = torch.cat([self.embed(following).to(features), features], dim=-1)
        read, cells = self._along(joined) if depth > block else self.lstm(joined)
        ends = torch.arange(count, device=hidden.device)
        text, own = self._layer.rows(read, ends), list[KeysValues]()
        seen = causal(count, count, hidden.device)
        found: list[torch.Tensor] = []
        for place in range(block):
            from_ = (ends - block + 1 + place).clamp(min=0)
            found.append(self._layer.attend(read[from_], read[from_], from_, text, seen))
        while len(found) < depth:
            step = len(found)  # what the next pass reads: the block before, and the tokens that were chosen there
            left = max(0, count - step)
            chosen = torch.stack([tokens[step - block + 2 + i :][:left] for i in range(block)])
            features = torch.stack([each[:left] for each in found[-block:]])
            joined = torch.cat([self.embed(chosen).to(features), features], dim=-1)
            inputs, cells = self.lstm(joined, (cells[0][:, :left].contiguous(), cells[1][:, :left].contiguous()))
            own = [each.first(left) for each in own]
            places = [ends[:left] + step - block + 1 + i for i in range(block)]
            own += [self._layer.rows(inputs[i], places[i]) for i in range(block)]
            found += [self._layer.attend(inputs[i], inputs[i], places[i], text, seen[:left], own) for i in range(block)]
        return [each[: max(0, count + 1 - step)] for step, each in enumerate(found[:depth], 1)]

    def _along(self, joined: torch.Tensor) -> tuple[torch.Tensor, Cells]:
        """The LSTM along a text: float[n, H], and its cells after each place, float[2, n, H]."""
        read, cells = [], list[Cells]()
        for each in joined:
            out, state = self.lstm(each[None], cells[-1] if cells else None)
            read.append(out)
            cells.append(state)
        return torch.cat(read), (torch.stack([h for h, _ in cells], 1), torch.stack([c for _, c in cells], 1))

    def glanced(self, hidden: torch.Tensor, tokens: torch.Tensor, right: torch.Tensor, share: float) -> torch.Tensor:
        """bool[T], places to be shown what they must guess: one run for each of a share of the wrong guesses.

        right: int64[T], the target's token at each place of the text, negative where none is learned.
        """
        glance = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
        with torch.no_grad():
            goal = right[self.block + 1 :]  # of each place: the token that its own pass must guess last
            says = self._says(hidden, tokens, self.block)[-1][: len(goal)]
            wrong = int(((self.head(says).argmax(-1) != goal) & (goal >= 0)).sum())
        open_ = (goal >= 0).nonzero().flatten().tolist()[:: self.block]
        for place in random.sample(open_, min(len(open_), int(share * wrong / max(1, self.block - 1)))):
            glance[place : place + random.randint(1, max(1, self.block - 1))] = True
        return glance
