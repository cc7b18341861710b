"""`pruned`: what a store says next, as far as a draft model finds it likely (RASD).

Measured on the embedded pair: loses processor time at temperature 0, pays at 1 (docs/speculative.md).

The idea (RASD: Quan et al. 2025, arXiv 2503.03434): retrieval costs nothing and knows long passages, but much of what
it finds does not fit here; a draft model knows what fits, but costs a forward pass for each token. So the draft model
reads the whole retrieved tree in one forward pass, and paths that it finds unlikely are left out. The drafts of that
model itself, if it drafts too, are merged with them by the builder, as their fusion does.

Here: chances are those of the draft model under the mask and the target's temperature; a path stays as long as its
chance is at least `least`, and ranks by it.

Cost: one forward pass of the draft model over the new text and the retrieved nodes; none where nothing is retrieved
(the text is read later then). Limit: a draft model with the target's token ids; one that reads trees, else the first
path alone is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from constrain.papers.drafting.retrieval import Retrieval
from constrain.papers.drafting.textstore import TextStore
from constrain.sampling.core.chains import target_of
from constrain.sampling.core.model import LanguageModel, TreeSession
from constrain.sampling.core.sampler import check_share
from constrain.speculative.build import advanced
from constrain.speculative.drafter import Context, DraftBudget
from constrain.speculative.drafters.model import shaped_probs
from constrain.speculative.tree import EMPTY, ROOT, DraftTree


class PrunedRetrieval(Retrieval):
    """Retrieved drafts that a draft model finds likely; see the module `constrain.papers.drafting.pruned`.

    Args:
        model: the draft model.
        store: the texts, as in `Retrieval`.
        least: the chance under the draft model from which on a path stays, in [0, 1].
        **options: of `Retrieval`.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> from constrain.papers import PrunedRetrieval
        >>> ref = constrain.reference.load()
        >>> draft = PrunedRetrieval(HFModel(ref.draft, ref.tokenizer), least=0.05)
        >>> found = constrain.generate(ref, "A list: ", regex="(ha)+!", draft=draft, max_tokens=9, seed=1)
        >>> found.stats.drafts["pruned"].fault is None
        True
    """

    name = "pruned"

    def __init__(
        self, model: LanguageModel, store: TextStore | None = None, *, least: float = 0.02, **options: Any
    ) -> None:
        super().__init__(store, **options)
        self.target = target_of(model)
        self.least = check_share("least", least)

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The retrieved tree without what the draft model finds unlikely."""
        tree = super().draft(context, budget)
        known = context.memo.get(self)
        if not len(tree) or (known is not None and known[1] == len(context.tokens)):
            return EMPTY
        if not self.target.branching:
            tree = _first_path(tree)
        return self._pruned(context, tree, self._logits(context, tree))

    def _logits(self, context: Context, tree: DraftTree) -> torch.Tensor:
        """float[1 + n, W]: the draft model's at every place of a tree. What it remembers stays with the sequence."""
        known: tuple[TreeSession, int] | None = context.memo.get(self)
        session, length = (self.target.open(1), 0) if known is None else known
        (logits,) = session.forward([list(context.tokens[length:])], [1], [tree.tokens], [tree.parents])
        session.commit([[]])
        context.memo[self] = session, len(context.tokens)
        return logits

    def _pruned(self, context: Context, tree: DraftTree, logits: torch.Tensor) -> DraftTree:
        children = tree.children()
        kept: dict[int, int] = {ROOT: ROOT}  # nodes of the tree that stay, and their new numbers
        tokens: list[int] = []
        parents: list[int] = []
        chances: list[float] = []
        reached = {ROOT: (1.0, context.matcher)}
        for node in [ROOT, *range(len(tree))]:
            if node not in kept or not children[node + 1]:
                continue
            chance, matcher = reached[node]
            probs = shaped_probs(context.setting, matcher, logits[node + 1])
            for child in children[node + 1] if probs is not None else ():
                assert probs is not None
                token = int(tree.tokens[child])
                share = float(probs[token])
                after = None if matcher is None or share <= 0 else advanced(matcher, token)
                if share <= 0 or chance * share < self.least or (matcher is not None and after is None):
                    continue
                kept[child], reached[child] = len(tokens), (chance * share, after)
                tokens.append(token)
                parents.append(kept[node])
                chances.append(share)
        return DraftTree(np.array(tokens, np.int32), np.array(parents, np.int32), np.minimum(np.log(chances), 0.0))


def _first_path(tree: DraftTree) -> DraftTree:
    """The likeliest path, from its first node on."""
    path: list[int] = []
    children, place = tree.children(), 0
    while children[place]:
        path.append(max(children[place], key=lambda node: float(tree.log_probs[node])))
        place = path[-1] + 1
    parents: Sequence[int] = range(-1, len(path) - 1)
    return DraftTree(tree.tokens[path], np.array(parents, np.int32), tree.log_probs[path])
