"""Hydra's heads: like Medusa's, but head i reads the tokens that the heads before it guessed.

Measured on the embedded model after half a minute of training (temperature 0, n = 8): 2.08 tokens a forward pass, no
drafts 1.10 (record 2026-11-23-train-draft). Before training, on SmolLM2, 2.26 and 1.91 at 2.2 times the CPU time of no
drafts: does not pay there (record 2026-11-29-lossless).

Ankner et al. 2024, arXiv 2402.05109, sections 3 and 4.3 ("Hydra++"): a layer of attention over the target's hidden
states of the whole text (the prefix); head i reads the prefix at the last place beside the embeddings of the i + 1
tokens since, in residual blocks of which the first narrows, and has a matrix over the vocabulary of its own. Parameters
have the names of `hydra_lm_head.pt` with prefix-MLP heads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from constrain.papers.heads.adapter import HeadsAdapter, config_of
from constrain.papers.heads.layer import KeysValues, RMSNorm, Shape, WholeLayer


class Narrowing(nn.Module):
    """A residual block that reads `times` as much as it gives. times=1: the residual is what is read."""

    def __init__(self, size: int, times: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size * times, size)
        self.res_connection = nn.Linear(size * times, size) if times > 1 else nn.Identity()
        nn.init.zeros_(self.linear.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float[..., size] of float[..., times · size]."""
        found: torch.Tensor = self.res_connection(x) + F.silu(self.linear(x))
        return found


class Prefix(nn.Module):
    """The layer over the text, with the norm behind it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.layers = nn.ModuleList([WholeLayer(shape)])
        self.norm = RMSNorm(shape.size, shape.epsilon)


class HydraState(NamedTuple):
    """inputs: float[..., k · H], the prefix and the embeddings of k - 1 tokens. hidden: the target's, at the place."""

    inputs: torch.Tensor
    hidden: torch.Tensor
    places: int


class Hydra(HeadsAdapter):
    """Heads as in Hydra++; see the module `constrain.papers.heads.hydra`.

    Args:
        model: The target, a Llama or one whose configuration has the same names.
        depth: Heads.
        layers: Residual blocks of each.
        config: Of the prefix layer; None: as the target's layers.

    Example:
        >>> import constrain
        >>> len(Hydra(constrain.reference.load(), depth=3).hydra_mlp)
        3
    """

    reads: bool | tuple[int, ...] = ()

    def __init__(self, model: Any, *, depth: int = 4, layers: int = 1, config: Any = None) -> None:
        super().__init__(model)
        self.depth = depth
        self.prefix_embeding_layer = Prefix(Shape.of(config or config_of(model)))
        self.hydra_mlp = nn.ModuleList(nn.Sequential(*self._blocks(i, layers)) for i in range(depth))
        weight = self._target[1].weight
        self.hydra_lm_head = nn.ModuleList(
            nn.Sequential(nn.Identity(), nn.Linear(self.size, len(weight))) for _ in range(depth)
        )
        self.to(weight)
        for i in range(depth):
            self.hydra_lm_head[i][1].weight.data.copy_(weight.data)

    def _blocks(self, index: int, layers: int) -> list[nn.Module]:
        """Blocks stand at odd places, as beside the dropouts of training, and the later ones are one block again and
        again, as theirs are."""
        again = Narrowing(self.size, 1)
        found: list[nn.Module] = [nn.Identity(), Narrowing(self.size, index + 2)]
        for _ in range(layers - 1):
            found += [nn.Identity(), again]
        return found

    def remember(self, memory: KeysValues | None, hidden: torch.Tensor, tokens: torch.Tensor) -> KeysValues:
        layer: WholeLayer = self.prefix_embeding_layer.layers[0]
        first = 0 if memory is None else len(memory.keys)
        places = torch.arange(first, first + len(hidden), device=hidden.device)
        new = layer.rows(layer.input_layernorm(hidden), places)
        return new if memory is None else memory.joined(new)

    def begin(self, hidden: torch.Tensor, memory: KeysValues | None = None) -> HydraState:
        return HydraState(self._prefix(hidden[None], memory)[0], hidden, 0)

    def _prefix(self, hidden: torch.Tensor, memory: KeysValues | None) -> torch.Tensor:
        """float[n, H] at n places behind the remembered ones."""
        prefix: torch.Tensor = self.prefix_embeding_layer.norm(
            self.prefix_embeding_layer.layers[0].behind(hidden, memory)[0]
        )
        return prefix

    def move(self, state: HydraState, token: Any) -> HydraState | None:
        if state.places == self.depth:
            return None
        tokens = torch.as_tensor(token, device=state.hidden.device)
        inputs = torch.cat([state.inputs, self.embed(tokens).to(state.inputs)], dim=-1)
        return HydraState(inputs, state.hidden, state.places + 1)

    def logits(self, state: HydraState) -> torch.Tensor:
        if not state.places:
            return self.head(state.hidden)
        found: torch.Tensor = self.hydra_lm_head[state.places - 1](self.hydra_mlp[state.places - 1](state.inputs))
        return found

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        count = len(hidden)
        state: HydraState | None = HydraState(self._prefix(hidden, None), hidden, 0)
        found = []
        for step in range(1, self.depth + 1):
            assert state is not None
            state = HydraState(state.inputs[: count - step], state.hidden[: count - step], state.places)
            state = self.move(state, tokens[step:])
            assert state is not None
            found.append(self.logits(state))
        return found
