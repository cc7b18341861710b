"""The base class of draft heads: a state that tokens move on, logits at every state, and all states of a text at once.

The idea: drafting goes token by token (`begin`, `move`, `logits`), training needs all places of a text at once
(`unrolled`). One class has both, and tests hold them together: what is trained is what drafts.
"""

from __future__ import annotations

from typing import Any

import torch

from constrain.models.hf.model import HFModel
from constrain.sampling.core.model import Hidden


class HeadsAdapter(torch.nn.Module):
    """Base of draft heads for a model of transformers; see the module `constrain.papers.heads.adapter`.

    Args:
        model: Anything that `HFModel.of` takes: the target, whose embeddings and head are used and not trained.

    Attributes:
        depth: Tokens that they look ahead of the one that follows.
        reads: What they are given: True, what the target's head reads, where logits are wanted; a tuple of layers, what
            goes into these layers, joined, at every position, or with no layers what the last one puts out; or what
            reads the target's forward passes.

    Example:
        >>> import constrain
        >>> from constrain.papers.heads import DraftHeads, HeadsAdapter
        >>> isinstance(DraftHeads(constrain.reference.load()), HeadsAdapter)
        True
    """

    depth: int = 4
    reads: Hidden = True

    def __init__(self, model: Any) -> None:
        super().__init__()
        base = HFModel.of(model).model
        self._target = [base.get_input_embeddings(), base.get_output_embeddings()]  # in a list: not parameters
        self.size = int(self._target[1].weight.shape[1])

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """float[..., H] of int64[...]: the target's embeddings of tokens."""
        found: torch.Tensor = self._target[0](tokens)
        return found

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """float[..., W]: the target's head."""
        found: torch.Tensor = self._target[1](hidden)
        return found

    def begin(self, hidden: torch.Tensor, memory: Any = None) -> Any:
        """The state at a place, from the hidden state there, float[F], and what is remembered of the places before."""
        raise NotImplementedError

    def move(self, state: Any, token: Any) -> Any:
        """The state after one more token; None where they reach no further."""
        raise NotImplementedError

    def logits(self, state: Any) -> torch.Tensor:
        """float[W] of the token that follows."""
        raise NotImplementedError

    def remember(self, memory: Any, hidden: torch.Tensor, tokens: torch.Tensor) -> Any:
        """The memory after n more token positions. hidden: float[n, F]. tokens: int64[n], the next token of each."""
        return None

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        """For each s from 1 to `depth` the logits float[T - s, W] after s moves from each place of a text.

        hidden: float[T, F]. tokens: int64[T], those of the text: row t of entry s is for the token t + s + 1.
        """
        raise NotImplementedError

    def features(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        """For the first steps float[T - s, H]: what training holds to the target's own features, s places later."""
        return []


def config_of(model: Any) -> Any:
    """The configuration of a target's layers."""
    return HFModel.of(model).model.config.get_text_config()
