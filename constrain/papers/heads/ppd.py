"""PPD's heads: trained prompt tokens behind the text, at which the target itself says the tokens further on.

Measured on the embedded model after 74 s of training of 768 numbers (temperature 0, n = 8): 1.93 tokens a forward pass,
as EAGLE, no drafts 1.28; at 1.7 times the CPU time of no drafts: does not pay there (record 2026-11-28-heads).

Paper: Chen et al. 2024, "Hardware-aware parallel prompt decoding for memory-efficient acceleration of LLM inference",
arXiv 2405.18628. Prompt token i has an embedding of its own; behind the tokens of a text, the target's logits there are
for the token i places behind the next. All that is trained are these embeddings. They stand behind each candidate of
the tree that is verified (pseudo.py), more of them behind likelier ones; here as many, behind the likeliest. Left out:
several embeddings a prompt token, whose logits are averaged (their code generates with one, too), and the size of the
tree by measured latency. The tensor is that of github.com/hmarkc/parallel-prompt-decoding, commit 2ba3a1cd, whose
folders are of PEFT.

Distribution: heads name tokens and draw none; what verifies keeps the distribution.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from constrain.models.hf.hidden import changed_output
from constrain.papers.heads.pseudo import PseudoHeads, PseudoPlaces


class PromptTokens(PseudoHeads):
    """Prompt tokens as in PPD; see the module `constrain.papers.heads.ppd`.

    Args:
        model: The target, a model of transformers that reads trees.
        depth: Prompt tokens.
        places: Nodes of a tree that have prompt tokens behind them, the likeliest first; the root always has.

    Example:
        >>> import constrain
        >>> PromptTokens(constrain.reference.load(), depth=2).prompt_embeddings.shape
        torch.Size([2, 256])
    """

    def __init__(self, model: Any, *, depth: int = 3, places: int = 4) -> None:
        super().__init__(model, depth=depth, places=places)
        known = self._target[0].weight.detach()
        self.prompt_embeddings = torch.nn.Parameter(known.mean(0).repeat(depth, 1))

    def filled(self, places: PseudoPlaces) -> AbstractContextManager[None]:
        def fill(embedded: torch.Tensor) -> torch.Tensor:
            return embedded.index_put((places.rows, places.columns), self.prompt_embeddings[places.steps].to(embedded))

        return changed_output(self._target[0], fill)
