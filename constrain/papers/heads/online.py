"""Heads that go on learning while they draft, from what the target says anyway.

Measured on SmolLM2, heads that nobody trained before (100 calls of functions): 2.20 tokens a forward pass with learning
and without, at nearly five times the CPU time of no drafts: does not pay there (record 2026-11-29-lossless).

The idea (online speculative decoding, OSD: Liu et al. 2023, arXiv 2310.07177): each forward pass gives the target's own
probabilities where the draft was verified, for nothing. They are kept, and every so many steps the heads are moved
towards them, so that they follow the texts of the day. Here: the likely tokens of the masked target along the text,
and one step of Adam on the last `window` places of it, under the mask of each place.

Distribution: heads name tokens and draw none, so outputs are those without them, whatever they have learned.
Cost: a forward pass and a backward of the heads over the window every `every` steps. Limit: they are changed in place,
and shared by whoever else drafts with them; places behind forced tokens begin a new window where heads do not look
back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from constrain.papers.drafting.heads import Heads
from constrain.papers.heads.adapter import HeadsAdapter
from constrain.sampling.bitmask.apply import bitmask_words
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Outcome
from constrain.speculative.drafters.tables import likeliest

Label = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # tokens, their probabilities, bool[size] allowed


@dataclass
class _Window:
    """The end of a text. first: place of the first feature. features: float[n, F]. labels: by place, of the token
    behind it, where there was a choice. steps: since the heads were changed."""

    first: int
    features: torch.Tensor
    labels: dict[int, Label] = field(default_factory=dict)
    steps: int = 0


class OnlineHeads(Heads):
    """Heads that learn from every step of decoding; see the module `constrain.papers.heads.online`.

    Args:
        heads: They are changed in place.
        width: Children of a node, at most.
        every: Steps of a sequence between two changes.
        window: Places of the text that one change looks at.
        rate: Of Adam.

    Attributes:
        changes: How often they were changed.

    Raises:
        ConstrainError: A count is no int of at least 1.

    Example:
        >>> import constrain
        >>> from constrain.papers.heads import DraftHeads, OnlineHeads
        >>> model = constrain.reference.load()
        >>> draft = OnlineHeads(DraftHeads(model), every=4)
        >>> g = constrain.generate(model, "A list: ", regex="[a-z ]{40}", draft=draft, temperature=0)
        >>> draft.changes > 0
        True
    """

    def __init__(
        self, heads: HeadsAdapter, *, width: int = 3, every: int = 16, window: int = 128, rate: float = 1e-3
    ) -> None:
        super().__init__(heads, width=width)
        self.learner = heads
        self.every, self.window = check_count("every", every), check_count("window", window)
        self.changes = 0
        self._adam = torch.optim.Adam(heads.parameters(), lr=rate)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Keep the target's answers, and learn from them now and then."""
        began = [outcome.context.memo.get((self, "began")) for outcome in outcomes]
        super().observe(outcomes)
        for outcome, start in zip(outcomes, began, strict=True):
            if start is None or outcome.hidden is None:
                continue
            with torch.inference_mode(False):
                window = self._kept(outcome, start)
            window.steps += 1
            if window.steps >= self.every and len(window.features) > self.learner.depth:
                window.steps = 0
                with torch.inference_mode(False), torch.enable_grad():
                    self._learn(window, outcome.context.tokens)

    def _kept(self, outcome: Outcome, began: int) -> _Window:
        """The window of a sequence with the places of this step."""
        assert outcome.hidden is not None
        tree, context = outcome.tree, outcome.context
        places = [0, *(node + 1 for node in outcome.path)]
        features = outcome.hidden[tree.logits_rows[places].tolist()].clone()
        first = began - 1
        if outcome.before is not None and len(outcome.before):
            features = torch.cat([outcome.before.clone(), features])
            first -= len(outcome.before)
        known: _Window | None = context.memo.get((self, "window"))
        if known is None or known.first + len(known.features) != first:
            known = _Window(first, features[:0])
        known.features = torch.cat([known.features, features])[-self.window :]
        known.first = first + len(features) - len(known.features)
        for i, label in enumerate(labels_of(outcome, places)):
            if label is not None:
                known.labels[began - 1 + i] = label
        known.labels = {place: label for place, label in known.labels.items() if place >= known.first}
        context.memo[self, "window"] = known
        return known

    def _learn(self, window: _Window, text: Sequence[int]) -> None:
        """One step of Adam on the cross-entropy at every place with a label that the heads reach from the window."""
        count = len(window.features)
        tokens = torch.tensor(text[window.first : window.first + count])
        losses = []
        for step, logits in enumerate(self.learner.unrolled(window.features, tokens), 1):
            for row, guess in enumerate(logits):
                label = window.labels.get(window.first + row + step)
                if label is not None:
                    ids, chances, allowed = (each.to(guess.device) for each in label)
                    logs = guess[: len(allowed)].masked_fill(~allowed, -torch.inf).log_softmax(-1)[ids]
                    losses.append(-(chances.to(logs) * logs.clamp(min=-1e4)).sum())
        if losses:
            self._adam.zero_grad()
            torch.stack(losses).mean().backward()
            torch.nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
            self._adam.step()
            self.changes += 1


def labels_of(outcome: Outcome, places: Sequence[int]) -> list[Label | None]:
    """The target's masked distribution at some places of the tree; None where there is no choice."""
    tops, setting, tree = likeliest(outcome), outcome.context.setting, outcome.tree
    found: list[Label | None] = []
    for place in places:
        if not tops.get(place):
            found.append(None)
            continue
        allowed = torch.ones(setting.size, dtype=torch.bool)
        if outcome.context.matcher is not None:
            mask = np.zeros((1, bitmask_words(setting.size)), np.uint32)
            setting.fill_masks([tree.matchers[place]], mask)
            bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: setting.size]
            allowed = torch.from_numpy(bits.astype(bool))
        tokens, chances = zip(*tops[place], strict=True)
        found.append((torch.tensor(tokens), torch.tensor(chances) / sum(chances), allowed))
    return found
