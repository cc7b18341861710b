"""Heads: small trained networks that go on from the target's last hidden state, as Medusa, Hydra and EAGLE have them.

Measured on the embedded model after less than a minute of training (temperature 0): 1.8 to 2.1 tokens a forward pass,
no drafts 1.1, at several times their CPU time: no head pays there (records 2026-11-23-train-draft, 2026-11-28-heads).

The idea: what the target's head read at the last place says more than the token that came of it. Medusa (Cai et al.
2024, arXiv 2401.10774) guesses token t + 1 + i from it by a head of its own for each i; Hydra (Ankner et al. 2024,
arXiv 2402.05109) and EAGLE (Li et al. 2024, arXiv 2401.15077) let the guess at each token know the ones before it. Both
are one interface here: a state, that each token of the text moves on, and logits at every state. Heads that attend to
the whole text (EAGLE, Hydra++) are told its hidden states as they come, and keep a memory for each sequence. Masked at
each node of the tree, as the target will be; the likeliest paths are named, so any verifier stays exact (EAGLE-2 grows
its tree in the same way, by the chances of the heads).

Cost: the head of the vocabulary once for each state that is looked at. Limit: needs heads that were trained for this
target (`constrain.hf.load_heads` reads public ones, `scripts/train_draft.py` trains), and a target that tells its
hidden states. Nothing is drafted for a sequence that was just forked: a beam has no use for heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch

from constrain.papers.drafting.grow import Candidates, Growth, TreePlace, likeliest_paths
from constrain.sampling.bitmask.apply import bitmask_words, masked_logits
from constrain.sampling.core.logits import scaled
from constrain.sampling.core.model import Hidden
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.tree import EMPTY, DraftTree


class HeadsModel(Protocol):
    """Trained heads. A state is whatever they like, and so is what they remember of a text.

    reads: what they are given, as `Drafter.wants_hidden`; with a tuple of layers they look back.
    """

    reads: Hidden

    def begin(self, hidden: torch.Tensor, memory: Any = None) -> Any:
        """The state at a place of the text, from the target's hidden state there, float[H], and the memory so far."""

    def remember(self, memory: Any, hidden: torch.Tensor, tokens: torch.Tensor) -> Any:
        """The memory after n more places. hidden: float[n, H]. tokens: int64[n], the one that follows each."""

    def move(self, state: Any, token: int) -> Any:
        """The state after one more token; None where the heads reach no further."""

    def logits(self, state: Any) -> torch.Tensor:
        """float[W] of the token that follows."""


class Heads(Drafter):
    """Drafts of trained heads on the target's hidden states; see the module `constrain.papers.drafting.heads`.

    Args:
        heads: trained for the target; `constrain.hf.DraftHeads` are such.
        width: children of a node, at most.

    Raises:
        ConstrainError: the width is no int of at least 1.

    Example:
        >>> from constrain.papers import Heads
        >>> Heads(heads=None, width=2).wants_hidden
        True
    """

    name = "heads"

    def __init__(self, heads: HeadsModel, *, width: int = 3) -> None:
        self.heads = heads
        self.wants_hidden = getattr(heads, "reads", True)
        self.width = check_count("width", width)

    @torch.inference_mode()
    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The likeliest paths after what was written since the last forward pass."""
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
            rows = outcome.tree.logits_rows[[0, *(node + 1 for node in path)]].tolist()
            length = began + len(outcome.tokens) - 1  # tokens of the text before the last place
            memory = self._remembered(outcome, began, rows) if isinstance(self.wants_hidden, tuple) else None
            context.memo[self] = length, self.heads.begin(outcome.hidden[rows[-1]], memory)

    def _remembered(self, outcome: Outcome, began: int, rows: list[int]) -> Any:
        """The memory of all places but the last, which waits for its token. rows: of the places from the root on."""
        assert outcome.before is not None and outcome.hidden is not None
        features = torch.cat([outcome.before, outcome.hidden[rows]])
        start = began - 1 - len(outcome.before)  # the place of the first of them
        known, memory, waiting = outcome.context.memo.get((self, "memory"), (0, None, features[:0]))
        if known + len(waiting) < start:  # a sequence that was forked: what came before is not told again
            known, memory, waiting = start, None, features[:0]
        new = torch.cat([waiting, features[known + len(waiting) - start :]])[:-1]
        if len(new):
            tokens = torch.tensor(outcome.context.tokens[known + 1 : known + 1 + len(new)], device=new.device)
            memory = self.heads.remember(memory, new, tokens)
        outcome.context.memo[self, "memory"] = known + len(new), memory, features[-1:]
        return memory


class _HeadsGrowth(Growth):
    """A tree whose candidates come from the state of each place, under its mask."""

    def __init__(self, owner: Heads, context: Context, budget: DraftBudget, state: Any) -> None:
        super().__init__(context, budget, lambda state, tail: (), 1)
        self.owner = owner
        self.states = {self.start.node: state}

    def candidates(self, place: TreePlace) -> Candidates:
        """The token that the constraint forces, or else the heads' likeliest ones."""
        forced = () if place.matcher is None else place.matcher.forced_tokens()
        if forced:
            return [(forced[0], 1.0)]
        state = self.states[place.node]
        return () if state is None else self._likeliest(self.owner.heads.logits(state), place)

    def add(self, place: TreePlace, token: int, log_prob: float, matcher: Any) -> TreePlace:
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
