"""Hidden Transfer's heads: hidden states of tokens to come are made of that of the last one, inside the target.

Measured on the embedded model after 48 s of training (temperature 0, n = 8): 1.89 tokens a forward pass, EAGLE 1.93, no
drafts 1.28; at 1.8 times the CPU time of no drafts: does not pay there (record 2026-11-28-heads).

Paper: Wu et al. 2024, "Parallel decoding via hidden transfer for lossless large language model acceleration", arXiv
2404.12022. In the middle of the target a linear map for each step makes, of the hidden state of the last token, a
pseudo hidden state of a token further on; the layers above treat it as any other, so it takes in the text and the
pseudo states before it, and the head says the token. Generating and verifying are one forward pass (pseudo.py). Their
text was not at hand beyond abstract and reviews: which layers they transfer at is not confirmed, so one layer is an
argument; all states are made at the same one. There is no public code.

Distribution: heads name tokens and draw none; what verifies keeps the distribution. Cost: as pseudo.py, but that layers
below the transfer are done for slots that are then replaced, which the paper saves.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.hidden import changed_input
from constrain.models.hf.layers import layer_list
from constrain.papers.heads.pseudo import PseudoHeads, PseudoPlaces


class HiddenTransfer(PseudoHeads):
    """Heads as in Hidden Transfer; see the module `constrain.papers.heads.transfer`.

    Args:
        model: The target, a model of transformers that reads trees.
        depth: Tokens that they look ahead of the one that follows.
        layer: The layer in front of which hidden states are transferred; None: the middle one.
        places: Nodes of a tree that have pseudo states behind them, the likeliest first; the root always has.

    Raises:
        ConstrainError: There is no such layer.

    Example:
        >>> import constrain
        >>> HiddenTransfer(constrain.reference.load()).layer
        2
    """

    def __init__(self, model: Any, *, depth: int = 3, layer: int | None = None, places: int = 4) -> None:
        super().__init__(model, depth=depth, places=places)
        layers = layer_list(self._handle[0])
        self.layer = len(layers) // 2 if layer is None else layer
        if not 0 <= self.layer < len(layers):
            raise ConstrainError(f"there is no layer {layer} to transfer at, of {len(layers)}")
        self.transfer = torch.nn.ModuleList(torch.nn.Linear(self.size, self.size) for _ in range(depth))
        for each in self.transfer:
            torch.nn.init.eye_(each.weight)  # at first they are the state of the last token
            torch.nn.init.zeros_(each.bias)
        self.to(self._target[1].weight)

    def filled(self, places: PseudoPlaces) -> AbstractContextManager[None]:
        def fill(hidden: torch.Tensor) -> torch.Tensor:
            for step, move in enumerate(self.transfer):
                chosen = places.steps == step
                rows, columns = places.rows[chosen], places.columns[chosen]
                hidden = hidden.index_put((rows, columns), move(hidden[rows, places.before[chosen]]))
            return hidden

        return changed_input(layer_list(self._handle[0])[self.layer], fill)
