"""Clover's heads: a recurrent state that each drafted token changes by attention, behind layers that see the text.

Measured on the embedded model after half a minute of training (temperature 0, n = 8): 1.93 tokens a forward pass, as
EAGLE, no drafts 1.28; at 2.8 times the CPU time of no drafts: does not pay there (record 2026-11-28-heads).

Paper: Xiao et al. 2024, "Clover", arXiv 2405.00263, and "Clover-2", arXiv 2408.00264. *Regressive connection*: the
state of a place takes in the token that follows it. *Attention decoder*: it does so by heads of attention to that token
alone, whose weight is the cosine of query and key: s' = s + v(e) · cos(q(norm(s)), k(e)). *Augmenting block*: whole
layers over the text, once for a place. Clover-2's order is taken: the token goes into what the last layer of the target
puts out, before its norm (information is extracted first), then come the layers and a norm, then tokens go into the
state one by one; the head reads a projection of state and token. Clover itself has the augmenting block first and no
projection; its code is not public. Names of tensors, the embedding (the rows of the target's head) and the losses (ten
times smooth L1 of the projection to the target's feature, at every step) are those of github.com/XiaoBin1992/clover,
commit 9d37214a. Their weights of later steps (0.7 to the power of the step) are left out.

Distribution: heads name tokens and draw none; what verifies keeps the distribution. Cost: the layers once for each
place of the text and each start, five matrices for a token of a draft.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from constrain.models.hf.layers import layer_count
from constrain.models.hf.model import HFModel
from constrain.papers.heads.adapter import HeadsAdapter, config_of
from constrain.papers.heads.layer import KeysValues, RMSNorm, Shape, WholeLayer

Rows = tuple[KeysValues, ...]  # by layer


class TokenAttention(nn.Module):
    """Takes a token into a state: attention to that token alone, weighed by a cosine for each head."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.epsilon = shape.heads, shape.epsilon
        self.input_layernorm = RMSNorm(shape.size, shape.epsilon)
        self.q, self.k, self.v = (nn.Linear(shape.size, shape.size) for _ in range(3))
        for each in (self.q, self.k):
            nn.init.eye_(each.weight)
        for each in (self.q, self.k, self.v):
            nn.init.zeros_(each.bias)
        nn.init.uniform_(self.v.weight, -0.01, 0.01)

    def forward(self, state: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        """float[..., size] of two of them."""
        query, key, value = (
            each.unflatten(-1, (self.heads, -1))
            for each in (self.q(self.input_layernorm(state)), self.k(embedded), self.v(embedded))
        )
        weight = F.cosine_similarity(query, key, dim=-1, eps=self.epsilon)
        return state + (value * weight.unsqueeze(-1)).flatten(-2)


class CloverState(NamedTuple):
    """state: float[..., H]. says: what the head reads, normed; None: nothing yet. rows: of the text before."""

    state: torch.Tensor
    says: torch.Tensor | None
    rows: Rows | None
    places: int


class Clover(HeadsAdapter):
    """Heads as in Clover-2; see the module `constrain.papers.heads.clover`.

    Args:
        model: The target, a Llama or one whose configuration has the same names.
        depth: Tokens that they look ahead, at most.
        layers: Layers of the augmenting block.
        config: Of these layers; None: as the target's.

    Raises:
        ConstrainError: The configuration has scaled positions, which are not supported.

    Example:
        >>> import constrain
        >>> Clover(constrain.reference.load(), depth=3).reads
        (4,)
    """

    def __init__(self, model: Any, *, depth: int = 5, layers: int = 2, config: Any = None) -> None:
        super().__init__(model)
        self.depth, self.shape = depth, Shape.of(config or config_of(model))
        self.reads = (layer_count(HFModel.of(model)),)  # what the last layer puts out
        size = self.shape.size
        self.layers = nn.ModuleList(WholeLayer(self.shape) for _ in range(layers))
        self.clover_norm, self.clover_head_norm = (RMSNorm(size, self.shape.epsilon) for _ in range(2))
        self.clover_head_mlp, self.clover_head_mlp2 = nn.Linear(size, size), nn.Linear(2 * size, size)
        self.clover_head_mlp_rnn, self.clover_head_mlp_rnn2 = (TokenAttention(self.shape) for _ in range(2))
        with torch.no_grad():  # at first the state is what the head is given
            for each in (self.clover_head_mlp, self.clover_head_mlp2):
                each.weight.zero_()
                each.bias.zero_()
                each.weight[:, :size] = torch.eye(size)
            for layer in self.layers:
                layer.self_attn.o_proj.weight.zero_()
                layer.mlp.down_proj.weight.zero_()
        self.to(self._target[1].weight)

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """float[..., H] of int64[...]: rows of the target's head."""
        return F.embedding(tokens, self._target[1].weight.detach())

    def remember(self, memory: Rows | None, hidden: torch.Tensor, tokens: torch.Tensor) -> Rows:
        return self._augmented(hidden, tokens, memory)[1]

    def _augmented(self, hidden: torch.Tensor, tokens: torch.Tensor, memory: Rows | None) -> tuple[torch.Tensor, Rows]:
        """The states of n places behind the remembered ones, each with its next token, and all rows."""
        x, rows = self.clover_head_mlp_rnn(hidden, self.embed(tokens).to(hidden)), []
        for i, layer in enumerate(self.layers):
            x, own = layer.behind(x, None if memory is None else memory[i])
            rows.append(own)
        return self.clover_norm(x), tuple(rows)

    def begin(self, hidden: torch.Tensor, memory: Rows | None = None) -> CloverState:
        return CloverState(hidden, None, memory, 0)

    def move(self, state: CloverState, token: Any) -> CloverState | None:
        if state.places == self.depth:
            return None
        tokens = torch.as_tensor(token, device=state.state.device)
        if state.places:
            return self._next(state, tokens)
        found, _ = self._augmented(state.state[None], tokens.reshape(1), state.rows)
        return self._first(found[0])

    def _first(self, state: torch.Tensor) -> CloverState:
        return CloverState(state, self.clover_head_norm(self.clover_head_mlp(state)), None, 1)

    def _next(self, state: CloverState, tokens: torch.Tensor) -> CloverState:
        """The state after one more token, or after int64[n], one for each of n states."""
        embedded = self.embed(tokens).to(state.state)
        found = self.clover_head_mlp_rnn2(state.state, embedded)
        says = self.clover_head_norm(self.clover_head_mlp2(torch.cat([found, embedded], dim=-1)))
        return CloverState(found, says, None, state.places + 1)

    def logits(self, state: CloverState) -> torch.Tensor:
        return self.head(self.clover_head_norm(state.state) if state.says is None else state.says)

    def _states(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[CloverState]:
        """By step, the states after so many moves from each place of a text."""
        count = len(tokens)
        found = [self._first(self._augmented(hidden[: count - 1], tokens[1:], None)[0])]
        for step in range(2, self.depth + 1):
            before = found[-1]._replace(state=found[-1].state[: count - step])
            found.append(self._next(before, tokens[step:]))
        return found

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        return [self.logits(state) for state in self._states(hidden, tokens)]

    def features(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        return [state.says for state in self._states(hidden, tokens) if state.says is not None]
