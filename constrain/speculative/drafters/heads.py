"""Heads: small trained networks that go on from the target's last hidden state, as Medusa, Hydra and EAGLE have them.

The idea: what the target's head read at the last place says more than the token that came of it. Medusa (Cai et al.
2024, arXiv 2401.10774) guesses token t + 1 + i from it by a head of its own for each i; Hydra (Ankner et al. 2024,
arXiv 2402.05109) and EAGLE (Li et al. 2024, arXiv 2401.15077) let the guess at each token know the ones before it. Both
are one interface here: a state, that each token of the text moves on, and logits at every state. Masked at each node of
the tree, as the target will be; the likeliest paths are named, so any verifier stays exact.

Cost: the head of the vocabulary once for each state that is looked at. Limit: needs heads that were trained for this
target (`constrain.hf.DraftHeads`, `scripts/train_heads.py`), and a target that tells its hidden states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch

from constrain.sampling.bitmask.apply import bitmask_words, masked_logits
from constrain.sampling.core.logits import scaled
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.drafters.grow import Candidates, Growth, TreePlace, likeliest_paths
from constrain.speculative.tree import EMPTY, DraftTree


class HeadsModel(Protocol):
    """Trained heads. A state is whatever they like."""

    def begin(self, hidden: torch.Tensor) -> Any:
        """The state at a place of the text, from the target's hidden state there, float[H]."""

    def move(self, state: Any, token: int) -> Any:
        """The state after one more token; None where the heads reach no further."""

    def logits(self, state: Any) -> torch.Tensor:
        """float[W] of the token that follows."""


class Heads(Drafter):
    """Drafts of trained heads on the target's hidden states; see the module `constrain.speculative.drafters.heads`.

    Args:
        heads: trained for the target; `constrain.hf.DraftHeads` are such.
        width: children of a node, at most.

    Raises:
        ConstrainError: the width is no int of at least 1.

    Example:
        >>> from constrain.speculative import Heads
        >>> Heads(heads=None, width=2).wants_hidden
        True
    """

    name = "heads"
    wants_hidden = True

    def __init__(self, heads: HeadsModel, *, width: int = 3) -> None:
        self.heads = heads
        self.width = check_count("width", width)

    @torch.inference_mode()
    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The likeliest paths after what was written since the last forward."""
        context.memo[self, "began"] = len(context.tokens)
        known = context.memo.get(self)
        if known is None:
            return EMPTY
        length, state = known
        for token in context.tokens[length:]:
            state = None if state is None else self.heads.move(state, token)
        return EMPTY if state is None else likeliest_paths(_HeadsGrowth(self, context, budget, state), self.width)

    @torch.inference_mode()
    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Keep the hidden state at the last place that was read: before the last of the new tokens."""
        for outcome in outcomes:
            context, path = outcome.context, outcome.path
            began = context.memo.get((self, "began"))
            if began is None or outcome.hidden is None or outcome.ended:
                continue
            row = int(outcome.tree.logits_rows[path[-1] + 1]) if path else 0
            length = began + len(outcome.tokens) - 1  # tokens of the text before that place
            context.memo[self] = length, self.heads.begin(outcome.hidden[row])


class _HeadsGrowth(Growth):
    """A tree whose candidates come from the state of each place, under its mask."""

    def __init__(self, owner: Heads, context: Context, budget: DraftBudget, state: Any) -> None:
        super().__init__(context, budget, lambda state, tail: (), 1)
        self.owner = owner
        self.states = {self.start.node: state}

    def candidates(self, place: TreePlace) -> Candidates:
        """What the constraint forces, or what the heads think."""
        forced = () if place.matcher is None else place.matcher.forced_tokens()
        if forced:
            return [(forced[0], 1.0)]
        state = self.states[place.node]
        return () if state is None else self._likeliest(self.owner.heads.logits(state), place)

    def add(self, place: TreePlace, token: int, log_prob: float, matcher: Any) -> TreePlace:
        """See `Growth`."""
        after = super().add(place, token, log_prob, matcher)
        state = self.states[place.node]
        self.states[after.node] = None if state is None else self.owner.heads.move(state, token)
        return after

    def _likeliest(self, logits: torch.Tensor, place: TreePlace) -> Candidates:
        setting = self.context.setting
        rows = scaled(logits[: setting.size].unsqueeze(0), setting.settings.temperature)
        columns = None
        if place.matcher is not None:
            mask = np.zeros((1, bitmask_words(setting.size)), np.uint32)
            place.matcher.fill_mask(mask[0])
            rows, columns = masked_logits(rows, mask, setting.size)
        top = rows.softmax(-1)[0].topk(min(self.owner.width, rows.shape[1]))
        tokens = top.indices if columns is None else columns[top.indices]
        pairs = zip(tokens.tolist(), top.values.tolist(), strict=True)
        return [(token, chance) for token, chance in pairs if chance > 0]  # NaN: a dead end
