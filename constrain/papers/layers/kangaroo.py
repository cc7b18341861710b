"""`Kangaroo`: the first layers of the target draft through a trained adapter, and drafts end where it is not sure.

Measured on the embedded model, one of four layers and 9 s of training (temperature 0, n = 8): 1.66 tokens a forward
pass, no drafts 1.28; at twice the CPU time of no drafts: does not pay there (record 2026-11-28-heads).

Paper: Liu et al. 2024, "Kangaroo: lossless self-speculative decoding via double early exiting", arXiv 2404.18911. The
first exit: token by token through the first layers, from the target's own keys and values (shallow.py), then through
the adapter (heads/kangaroo.py), whose keys and values are of its own: of the text those of every forward pass of the
target, of the draft those of its slots. The second exit: a draft ends where what the adapter is sure of falls below a
bound (`least`, their 0.6; here the chance of the whole path, as of all draft models).

Distribution: drafts state what they were drawn from, so every lossless rule is exact. Cost: first layers, adapter and
head for a token of a draft. Limit: as of shallow.py; since the adapter is told hidden states, forward passes that
verify are done as a whole, so the first layers read a draft twice, which the paper saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.papers.drafting.heads import Heads
from constrain.papers.heads.kangaroo import KangarooAdapter
from constrain.papers.heads.layer import KeysValues
from constrain.papers.layers.earlyexit import EarlyExit
from constrain.papers.layers.selfdraft import Skip
from constrain.papers.layers.shallow import Shallow, goes_on
from constrain.sampling.core.sampler import check_share
from constrain.speculative.drafter import Context, DraftBudget, Outcome
from constrain.speculative.tree import EMPTY, DraftTree


class Kangaroo(EarlyExit):
    """A drafter of the target's first layers and an adapter; see the module `constrain.papers.layers.kangaroo`.

    Args:
        model: The target; anything that `HFModel.of` takes.
        adapter: Trained for its exit.
        least: The chance of a path under the adapter below which a draft ends, in [0, 1].
        depth: Tokens of a draft at most.

    Raises:
        ConstrainError: An option is wrong, or the model cannot be cut behind its first layers.

    Example:
        >>> import constrain
        >>> from constrain.papers.heads import KangarooAdapter
        >>> from constrain.papers.layers.kangaroo import Kangaroo
        >>> model = constrain.reference.load()
        >>> draft = Kangaroo(model, KangarooAdapter(model, exit_layer=1), least=0.0)
        >>> g = constrain.generate(model, "A list: ", regex="[a-z]{9}", draft=draft, temperature=0)
        >>> g.stats.drafts["exit"].drafted > 0
        True
    """

    def __init__(self, model: Any, adapter: KangarooAdapter, *, least: float = 0.6, depth: int = 6) -> None:
        self.adapter, self._texts = adapter, Heads(adapter)
        self._slots: _AdapterSlots | None = None
        super().__init__(model, keep=adapter.exit_layer, depth=depth)
        self.least, self.wants_hidden = check_share("least", least), adapter.reads

    def _use(self, skip: Skip) -> None:
        super()._use(skip)
        first, cut = self._first[len(skip.layers)]
        if not cut:
            raise ConstrainError("this model cannot be cut behind its first layers, so no adapter goes on from there")
        head = first.model.model.get_output_embeddings()  # of the first layers alone
        head.register_forward_pre_hook(
            lambda _, given: None if self._slots is None else (self._slots.read(first.hidden, given[0].shape[1]),)
        )

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        for context in contexts:
            context.memo[self._texts, "began"] = len(context.tokens)
        return super().propose(contexts, budgets)

    def _grow(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        if not all(map(self._knows, contexts)):
            return [EMPTY] * len(contexts)
        try:
            return super()._grow(contexts, budgets)
        finally:
            self._slots = None

    def _knows(self, context: Context) -> bool:
        """True if the adapter has read all that the target has read of a sequence; not where it was just forked."""
        if context.session is None or self._texts not in context.memo:
            return False
        session, row = context.session
        session = getattr(session, "trees", session)
        known: int = context.memo[self._texts][0]
        return goes_on(session) and known == int(session.slots.lengths[row])

    def _opened(self, shallow: Shallow, contexts: Sequence[Context], rows: Sequence[int]) -> Shallow:
        self._slots = _AdapterSlots(self.adapter, shallow, len(shallow.lengths))
        for context, row in zip(contexts, rows, strict=True):
            self._slots.rows[row] = context.memo[self._texts][1]
        return shallow

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        super().observe(outcomes)
        self._texts.observe(outcomes)


class _AdapterSlots:
    """The adapter on slots that the first layers have read. rows: by row of the session, of text and slots."""

    def __init__(self, adapter: KangarooAdapter, shallow: Shallow, count: int) -> None:
        self.adapter, self.shallow = adapter, shallow
        self.rows: list[KeysValues | None] = [None] * count

    def read(self, hidden: torch.Tensor, wanted: int) -> torch.Tensor:
        """float[B, wanted, H] for the head, at the last of the slots that were just read. hidden: float[B, n, H]"""
        new = hidden.shape[1]
        seen = torch.from_numpy(self.shallow.seen[:, -new:]).to(hidden.device)
        depths = torch.from_numpy(self.shallow.depths[:, -new:]).to(hidden.device)
        found = []
        for row, own in enumerate(hidden):
            before = self.rows[row]
            begin = 0 if before is None else len(before.keys) - (seen.shape[2] - new)  # places of the text
            places = begin + depths[row]
            rows = self.adapter.rows(own, places)
            self.rows[row] = rows = rows if before is None else before.joined(rows)
            text = seen.new_ones(new, begin)
            shown = torch.cat([text, seen[row]], dim=1)
            found.append(self.adapter.says(own, places, rows, shown)[new - wanted :])
        return torch.stack(found)
