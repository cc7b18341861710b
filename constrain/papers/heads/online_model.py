"""`OnlineModel`: a draft model that goes on learning while it drafts, from what the target says anyway.

Measured on the embedded pair (six records copied three times over, temperature 0): 2.14, 2.62 and 2.74 tokens a forward
pass of the target where the model as it is has 2.07, at the CPU time of the model as it is from the second round on.
Pays where texts are alike (record 2026-11-28-papers).

Paper: Liu et al. 2023, "Online speculative decoding" (OSD, arXiv 2310.07177), section 3: the target's probabilities at
the places of a draft are kept, and every so many steps the draft model is moved towards them. online.py does so for
heads; here all weights of a draft model move, by Adam, on the cross-entropy of the masked target's likely tokens at the
last `window` places. Their buffer keeps the places where a draft was wrong; here all places of the text are learned.

Distribution: a draft states what it was drawn from when it was drawn, so every lossless rule stays exact, and with
`match` outputs are those without drafts. Cost: a forward pass and a backward of the draft model every `every` steps,
and the text is read anew, since what was remembered is of other weights. Limit: weights are changed in place, and
shared by whoever else drafts with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from constrain.models.hf import HFModel
from constrain.papers.heads.online import Label, labels_of
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context, DraftBudget, Outcome
from constrain.speculative.drafters.model import Model
from constrain.speculative.tree import DraftTree


class OnlineModel(Model):
    """A draft model that learns from every step of decoding; see the module `constrain.papers.heads.online_model`.

    Args:
        model: The draft model, with the target's token ids. It is changed in place.
        width: As of `Model`.
        paths: As of `Model`.
        least: As of `Model`.
        every: Steps of a sequence between two changes.
        window: Places of the text that one change looks at.
        rate: Of Adam.

    Attributes:
        changes: How often it was changed.

    Raises:
        ConstrainError: An option is out of range.

    Example:
        >>> import copy
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> from constrain.papers.heads import OnlineModel
        >>> reference = constrain.reference.load()
        >>> draft = OnlineModel(HFModel(copy.deepcopy(reference.draft), reference.tokenizer), every=4)
        >>> g = constrain.generate(reference, "A list: ", regex="[a-z ]{40}", draft=draft, temperature=0)
        >>> draft.changes > 0
        True
    """

    def __init__(
        self,
        model: HFModel,
        *,
        width: int = 1,
        paths: int = 1,
        least: float = 0.0,
        every: int = 16,
        window: int = 128,
        rate: float = 1e-4,
    ) -> None:
        super().__init__(model, width=width, paths=paths, least=least)
        self.learner = model.model
        self.every, self.window = check_count("every", every), check_count("window", window)
        self.changes = 0
        self._adam = torch.optim.Adam(self.learner.parameters(), lr=rate)

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        for context in contexts:
            context.memo[self, "began"] = len(context.tokens)
            if context.memo.get((self, "changes"), self.changes) != self.changes:
                context.memo.pop(self, None)  # what is remembered is of other weights
            context.memo[self, "changes"] = self.changes
        return super().propose(contexts, budgets)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Keep the target's answers, and learn from them now and then."""
        for outcome in outcomes:
            began: int | None = outcome.context.memo.pop((self, "began"), None)
            if began is None:
                continue
            steps, known = outcome.context.memo.get((self, "labels"), (0, {}))
            labels = dict(known)  # a sequence that was forked has what came before the fork from the same one
            text = outcome.context.tokens
            with torch.inference_mode(False):
                for i, label in enumerate(labels_of(outcome, [0, *(node + 1 for node in outcome.path)])):
                    if label is not None:
                        labels[began + i] = label
            first = max(0, len(text) - self.window)
            labels = {place: label for place, label in labels.items() if place > first}
            if steps + 1 >= self.every and labels:
                steps = -1
                with torch.inference_mode(False), torch.enable_grad():
                    self._learn(first, text, labels)
            outcome.context.memo[self, "labels"] = steps + 1, labels

    def _learn(self, first: int, text: Sequence[int], labels: dict[int, Label]) -> None:
        """One step of Adam. labels: by the place of the token that they are about."""
        device = next(self.learner.parameters()).device
        logits = self.learner(input_ids=torch.tensor([text[first:]], device=device)).logits[0]
        losses = []
        for place, label in labels.items():
            ids, chances, allowed = (each.to(device) for each in label)
            guess = logits[place - 1 - first, : len(allowed)]
            logs = guess.masked_fill(~allowed, -torch.inf).log_softmax(-1)[ids]
            losses.append(-(chances.to(logs) * logs.clamp(min=-1e4)).sum())
        self._adam.zero_grad()
        torch.stack(losses).mean().backward()
        torch.nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
        self._adam.step()
        self.changes += 1
