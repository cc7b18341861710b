"""Draft heads for a model of transformers: a few small layers on its last hidden state, its own head behind them.

The idea, its constraints and its limit: `constrain.papers.drafting.heads`. Two kinds:

    "sequential"   one cell moves the state on by each token: s' = s + B silu(A [s; e(token)]), with e the model's own
                   embedding. Each guess knows the tokens before it (Hydra, EAGLE)
    "independent"  head i guesses the token i places on, from the hidden state alone: h + B_i silu(A_i h) (Medusa)

Logits are those of the model's own head on that, so nothing of the size of the vocabulary is trained. With B = 0, where
training begins, a guess is the target's last one again.
Cost: 4 H² (sequential) or 2 H² a head (independent) of parameters, for hidden states of H numbers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch

from constrain.errors import ConstrainError
from constrain.papers.heads.adapter import HeadsAdapter

KINDS = ("sequential", "independent")


class HeadState(NamedTuple):
    """hidden: float[..., H]. places: tokens since the hidden state that it began with."""

    hidden: torch.Tensor
    places: int


class DraftHeads(HeadsAdapter):
    """Draft heads for a model: small layers on its last hidden state, with the model's own head behind them.

    They are untrained at first (`scripts/train_draft.py` trains them). `constrain.speculative.Heads(heads)` drafts with
    them.

    Args:
        model: Anything that `HFModel.of` takes.
        kind: "sequential" (each head reads the token before it) or "independent".
        depth: Tokens that the heads look ahead of the one that follows, at least 1.

    Raises:
        ConstrainError: An unknown kind, or a depth below 1.

    Example:
        >>> import constrain
        >>> DraftHeads(constrain.reference.load(), depth=2).depth
        2
    """

    def __init__(self, model: Any, *, kind: str = "sequential", depth: int = 4) -> None:
        super().__init__(model)
        if kind not in KINDS or depth < 1:
            raise ConstrainError(f"heads are {' or '.join(KINDS)}, of depth 1 or more, not {kind!r} of depth {depth}")
        self.kind, self.depth, size = kind, depth, self.size
        cells = 1 if kind == "sequential" else depth
        inner = 2 * size if kind == "sequential" else size
        self.inward = torch.nn.ModuleList(torch.nn.Linear(inner, inner, bias=False) for _ in range(cells))
        self.outward = torch.nn.ModuleList(torch.nn.Linear(inner, size, bias=False) for _ in range(cells))
        for layer in self.outward:
            torch.nn.init.zeros_(layer.weight)
        self.to(self._target[1].weight)

    def begin(self, hidden: torch.Tensor, memory: Any = None) -> HeadState:
        return HeadState(hidden, 0)

    def move(self, state: HeadState, token: int | torch.Tensor) -> HeadState | None:
        """The state after a token, or after int64[...], one for each hidden state."""
        if state.places == self.depth:
            return None
        if self.kind == "independent":
            return HeadState(state.hidden, state.places + 1)
        ids = torch.as_tensor(token, device=state.hidden.device)
        joined = torch.cat([state.hidden, self.embed(ids).to(state.hidden)], dim=-1)
        change = self.outward[0](torch.nn.functional.silu(self.inward[0](joined)))
        return HeadState(state.hidden + change, state.places + 1)

    def logits(self, state: HeadState) -> torch.Tensor:
        hidden = state.hidden
        if self.kind == "independent" and state.places:
            cell = state.places - 1
            hidden = hidden + self.outward[cell](torch.nn.functional.silu(self.inward[cell](hidden)))
        return self.head(hidden)

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        state: Any = self.begin(hidden)
        found = []
        for step in range(1, self.depth + 1):
            state = self.move(state._replace(hidden=state.hidden[: len(tokens) - step]), tokens[step:])
            found.append(self.logits(state))
        return found

    def save(self, path: str | Path) -> None:
        """Write a safetensors file."""
        from safetensors.torch import save_file

        about = json.dumps({"kind": self.kind, "depth": self.depth})
        save_file({name: each.contiguous() for name, each in self.state_dict().items()}, path, {"heads": about})

    @classmethod
    def load(cls, path: str | Path, model: Any) -> DraftHeads:
        """Heads from `save`. Raises ConstrainError: no such file, or heads of another model."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, "pt") as file:
                about = json.loads((file.metadata() or {}).get("heads", "{}"))
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            heads = cls(model, **about)
            heads.load_state_dict(tensors)
        except (OSError, SafetensorError, RuntimeError, TypeError) as error:
            reason = str(error).strip().split("\n")[0]
            raise ConstrainError(f"{path} has no draft heads for this model: {reason}") from error
        return heads.eval()
