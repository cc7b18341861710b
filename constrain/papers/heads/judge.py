"""A head that tells from the target's hidden state after a token whether the token is harmless: for lossy drafts.

Measured: does not pay (record 2026-11-23-judge).

One linear layer, as in Judge Decoding (Bachmann et al. 2025, arXiv 2501.19309). The verifier around it, and what it
costs in exactness: `constrain.papers.verifying.judge`. `scripts/train_judge.py` makes labels and trains.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from constrain.errors import ConstrainError


class JudgeHead(nn.Module):
    """The chance that a token is harmless, from what the target's head reads after it.

    Args:
        size: Numbers of a hidden state.

    Example:
        >>> import torch
        >>> from constrain.papers.heads import JudgeHead
        >>> JudgeHead(4)(torch.zeros(2, 4)).tolist()
        [0.0, 0.0]
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.last = nn.Linear(size, 1)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits of the chances, float[n], of float[n, size]."""
        found: torch.Tensor = self.last(hidden.to(self.last.weight)).squeeze(-1)
        return found

    def save(self, path: str | Path) -> None:
        """Write a safetensors file."""
        from safetensors.torch import save_file

        save_file(self.state_dict(), path)

    @classmethod
    def load(cls, path: str | Path) -> JudgeHead:
        """A head from `save`. Raises ConstrainError: no such file, or another one."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(path)
            head = cls(int(tensors["last.weight"].shape[1]))
            head.load_state_dict(tensors)
        except (OSError, SafetensorError, RuntimeError, KeyError) as error:
            raise ConstrainError(f"{path} has no judge: {str(error).strip().splitlines()[0]}") from error
        return head.eval()
