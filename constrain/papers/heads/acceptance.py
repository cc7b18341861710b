"""A head that tells from the draft model's hidden state whether a drafted token will be accepted: when to stop.

Measured on the embedded pair (temperature 1): 1.90 tokens a forward pass with 2.6 drafted, the draft model's own
confidence 1.94 with 1.9: does not pay there (record 2026-11-23-train-draft).

The idea (SpecDec++: Huang et al. 2024, arXiv 2405.19715): the chance that the target takes a token shows in what the
draft model makes of it. A small head on its last hidden state is trained for that chance, and a draft ends where the
product over its tokens falls below a bound: they show that for known chances the best stopping rule is such a bound.
`constrain.speculative.Stopping` estimates the same product by counting, without a head.

Distribution: whether a draft goes on depends on tokens that were drawn before, and those stay in it; so verifiers are
exact.
Cost: a few small layers a token. `scripts/train_acceptance.py` trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from constrain.errors import ConstrainError
from constrain.models.hf.hidden import watched
from constrain.models.hf.model import HFModel
from constrain.papers.heads.medusa import MedusaBlock
from constrain.sampling.core.model import Session
from constrain.sampling.core.sampler import check_share
from constrain.speculative.drafters.model import Model


class AcceptanceHead(nn.Module):
    """The chance that the target takes a token, from the draft model's hidden state after reading it.

    Args:
        size: Numbers of a hidden state.
        layers: Residual blocks before the last layer.

    Example:
        >>> import torch
        >>> from constrain.papers.heads import AcceptanceHead
        >>> AcceptanceHead(4)(torch.zeros(2, 4)).shape
        torch.Size([2])
    """

    def __init__(self, size: int, layers: int = 3) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(MedusaBlock(size) for _ in range(layers)))
        self.last = nn.Linear(size, 1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits of the chances, float[n], of float[n, size]."""
        found: torch.Tensor = self.last(self.blocks(hidden.to(self.last.weight))).squeeze(-1)
        return found

    def save(self, path: str | Path) -> None:
        """Write a safetensors file."""
        from safetensors.torch import save_file

        save_file(self.state_dict(), path)

    @classmethod
    def load(cls, path: str | Path) -> AcceptanceHead:
        """A head from `save`."""
        from safetensors.torch import load_file

        tensors = load_file(path)
        layers = sum(name.endswith("linear.weight") for name in tensors)
        head = cls(int(tensors["last.weight"].shape[1]), layers)
        head.load_state_dict(tensors)
        return head.eval()


class StoppedModel(Model):
    """A draft model whose drafts end where a trained head doubts them (SpecDec++); the module says how.

    Args:
        model: The draft model; anything that `HFModel.of` takes.
        head: Trained for it and the target.
        sure: A draft ends where the chance that all of it is taken is below this, in [0, 1].
        width: Siblings at each place.
        paths: Places of a level that get children.

    Raises:
        ConstrainError: An option is out of range, or the model is of a kind whose hidden states are not told.

    Example:
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> from constrain.papers.heads import AcceptanceHead, StoppedModel
        >>> reference = constrain.reference.load()
        >>> draft = StoppedModel(HFModel(reference.draft, reference.tokenizer), AcceptanceHead(128), sure=0.4)
        >>> draft.name
        'model'
    """

    def __init__(self, model: Any, head: AcceptanceHead, *, sure: float = 0.3, width: int = 1, paths: int = 1) -> None:
        self.handle = HFModel.of(model)
        super().__init__(self.handle, width=width, paths=paths)
        if not self.handle.ragged:
            name = type(self.handle.model).__name__
            raise ConstrainError(f"the hidden states of {name} are not told: it does not read ragged batches")
        self.head, self.sure = head, check_share("sure", sure)
        self._chances: list[float] = []

    @torch.inference_mode()
    def _step(self, session: Session, tokens: Sequence[int]) -> list[torch.Tensor]:
        with watched(self.handle, True) as seen:
            logits = super()._step(session, tokens)
        self._chances = self.head(seen[-1][:, -1]).sigmoid().tolist()
        return logits

    def _judge(self, branches: Sequence[Any]) -> None:
        """Multiply the chance of each path, and close every path below the bound."""
        rows: dict[int, int] = {}
        for branch, chance in zip(branches, self._chances, strict=True):
            row = rows[id(branch)] = rows.get(id(branch), -1) + 1
            branch.doubt(row, chance, self.sure)
