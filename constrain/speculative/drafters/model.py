"""`model`: a smaller language model drafts (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, 2302.01318).

The idea: the draft model goes on from the text under the same mask, temperature, top-k and top-p as the target, so that
what it proposes is legal, and is told with the distribution it was drawn from. Where the verifier does not ask for that
(`match`), or at temperature 0, it names the likeliest tokens instead of drawing.
The tree is a chain with leaves: `width` siblings at each place, the first of which is gone on from. They are drawn as
the verifier asks: independently, without replacement, or one at a place.

Cost: one forward of the draft model a token of depth, for all sequences together; of what it remembers, a fork a step,
which copies nothing of the text. Limit: token ids are those of the target; where they are not, `constrain.generation`
takes translated.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch

from constrain.sampling.bitmask.apply import bitmask_words, masked_logits
from constrain.sampling.core.logits import scaled
from constrain.sampling.core.model import LanguageModel, Session
from constrain.sampling.core.sampler import check_count
from constrain.sampling.core.step import truncated
from constrain.speculative.drafter import Context, DraftBudget, Drafter
from constrain.speculative.tree import EMPTY, NONE, ROOT, DraftTree


class Model(Drafter):
    """Drafts of a language model with the target's token ids; see the module `constrain.speculative.drafters.model`.

    Args:
        model: the draft model.
        width: siblings at each place.

    Raises:
        ConstrainError: the width is no int of at least 1.

    Example:
        >>> import constrain
        >>> from constrain.hf import HFModel
        >>> from constrain.speculative import Model, Speculation
        >>> ref = constrain.reference.load()
        >>> drafts = Speculation([Model(HFModel(ref.draft, ref.tokenizer), width=2)], verifier="recursive-without")
        >>> drafts.drafters[0].name
        'model'
    """

    name = "model"

    def __init__(self, model: LanguageModel, *, width: int = 1) -> None:
        self.model = model
        self.width = check_count("width", width)

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        """See `Drafter`."""
        trees = [EMPTY] * len(contexts)
        asked = [i for i, budget in enumerate(budgets) if min(budget.nodes, budget.depth, contexts[i].left - 1) > 0]
        groups: dict[Any, list[int]] = {}  # sequences that the draft model remembers together, and new ones
        for i in asked:
            known = contexts[i].memo.get(self)
            groups.setdefault((known and id(known.shared)) if self.model.ragged else i, []).append(i)
        for group in groups.values():
            grown = self._grow([contexts[i] for i in group], [budgets[i] for i in group])
            for i, tree in zip(group, grown, strict=True):
                trees[i] = tree
        return trees

    def _grow(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        session, logits = self._read(contexts, [self._text(context) for context in contexts])
        branches = [self._branch(context, budget) for context, budget in zip(contexts, budgets, strict=True)]
        open_rows = list(range(len(contexts)))
        fork: Session | None = None
        while True:
            grown = [branches[row].extend(given[-1]) for row, given in zip(open_rows, logits, strict=True)]
            kept = [place for place, token in enumerate(grown) if token != NONE]
            if not kept:
                return [branch.tree() for branch in branches]
            if fork is None:
                fork = session.fork(kept)
            elif len(kept) < len(open_rows):
                fork.select(kept)
            open_rows = [open_rows[place] for place in kept]
            logits = fork.feed([[grown[place]] for place in kept], [1] * len(kept))

    def _text(self, context: Context) -> Sequence[int]:
        """What the draft model reads of a sequence. It only grows."""
        return context.tokens

    def _branch(self, context: Context, budget: DraftBudget) -> Growing:
        return _Branch(context, budget, self.width)

    def _read(self, contexts: Sequence[Context], texts: Sequence[Sequence[int]]) -> tuple[Session, list[torch.Tensor]]:
        """A session that has read the texts, and the logits after them. Sequences are together as long as they last."""
        known: list[_Read] = [context.memo[self] for context in contexts if self in context.memo]
        news = [list(text[each.length :]) for text, each in zip(texts, known, strict=False)]
        together = len(known) == len(contexts) and all(each.shared is known[0].shared for each in known)
        if together and all(news):
            shared, rows = known[0].shared, [each.row for each in known]
            if rows != list(range(shared.rows)):  # others may be asked about again: they keep what they have
                shared = _Shared(shared.session.fork(rows))
            logits = shared.session.feed(news, [1] * len(contexts))
        else:
            session, logits = self.model.start([list(text) for text in texts], [1] * len(contexts))
            shared = _Shared(session)
        shared.rows = len(contexts)
        for row, (context, text) in enumerate(zip(contexts, texts, strict=True)):
            context.memo[self] = _Read(shared, row, len(text))
        return shared.session, logits


class Growing(Protocol):
    """The draft of one sequence while it grows."""

    def extend(self, logits: torch.Tensor) -> int:
        """Take in the draft model's logits float[W]; the token to go on with, NONE at the end."""

    def tree(self) -> DraftTree:
        """What it has come to."""


@dataclass
class _Shared:
    """What the draft model remembers of sequences that are read together."""

    session: Session
    rows: int = 0


@dataclass
class _Read:
    """Where a sequence is in a session, and how many of its tokens were read."""

    shared: _Shared
    row: int
    length: int


@dataclass
class _Branch:
    """The draft of one sequence while it grows."""

    context: Context
    budget: DraftBudget
    width: int
    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    rows: list[torch.Tensor] = field(default_factory=list)
    draft_rows: list[int] = field(default_factory=list)
    end: int = ROOT
    depth: int = 0

    def __post_init__(self) -> None:
        self.matcher: Any = None if self.context.matcher is None else self.context.matcher.fork()
        setting = self.context.setting
        self.draws = setting.draws != "any" and setting.settings.temperature > 0
        self.replacement = self.draws and setting.draws == "with"
        if self.draws and setting.draws == "chain":
            self.width = 1

    def extend(self, logits: torch.Tensor) -> int:
        """Children at the end, from the draft model's logits float[W]; the token to go on with, NONE at the end."""
        probs = self._shaped(logits)
        if probs is None:
            return NONE
        row = len(self.rows)
        parent, self.end = self.end, len(self.tokens)
        left = probs.clone()
        for _ in range(min(self.width, self.budget.nodes - len(self.tokens))):
            if float(left.sum()) <= 0:
                break
            token = self._choose(left)
            self.tokens.append(token)
            self.parents.append(parent)
            self.log_probs.append(math.log(float(probs[token])))
            self.draft_rows.append(row if self.draws else NONE)
            if not self.replacement:
                left[token] = 0
        if self.draws:
            self.rows.append(probs)
        self.depth += 1
        first = self.tokens[self.end]
        spent = self.depth >= min(self.budget.depth, self.context.left - 1) or len(self.tokens) >= self.budget.nodes
        if spent or first in self.context.setting.eos_ids:
            return NONE
        return first if self.matcher is None or self.matcher.advance(first) else NONE

    def _choose(self, left: torch.Tensor) -> int:
        if not self.draws:
            return int(left.argmax())
        context = self.context
        return int(context.setting.draw((left / left.sum()).unsqueeze(0), [context.stream]))

    def _shaped(self, logits: torch.Tensor) -> torch.Tensor | None:
        """float[size]: masked, at the temperature, truncated; None where the draft model has nothing to offer."""
        setting = self.context.setting
        rows = scaled(logits[: setting.size].unsqueeze(0), setting.settings.temperature)
        if rows.shape[1] < setting.size:  # models of a family are padded differently
            rows = torch.nn.functional.pad(rows, (0, setting.size - rows.shape[1]), value=-torch.inf)
        if self.matcher is not None:
            mask = np.zeros((1, bitmask_words(setting.size)), np.uint32)
            self.matcher.fill_mask(mask[0])
            rows, columns = masked_logits(rows, mask, setting.size)
        else:
            columns = None
        if not bool(torch.isfinite(rows.logsumexp(-1)).all()):
            return None
        probs = truncated(rows.softmax(-1), setting.settings)[0]
        if columns is None:
            return probs
        return torch.zeros(setting.size, dtype=probs.dtype, device=probs.device).index_copy_(0, columns, probs)

    def tree(self) -> DraftTree:
        """The arrays."""
        if not self.tokens:
            return EMPTY
        return DraftTree(
            tokens=np.asarray(self.tokens, np.int32),
            parents=np.asarray(self.parents, np.int32),
            log_probs=np.minimum(np.asarray(self.log_probs), 0.0),
            draft_rows=np.asarray(self.draft_rows, np.int32),
            draft_probs=torch.stack(self.rows) if self.rows else None,
            replacement=self.replacement,
        )
