"""`model`: a smaller language model drafts (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, 2302.01318).

The idea: the draft model goes on from the text under the same mask, temperature, top-k and top-p as the target, so that
what it proposes is legal, and is told with the distribution it was drawn from. Where the verifier does not ask for that
(`match`), or at temperature 0, it names the likeliest tokens instead of drawing.
The tree grows level by level: of the last level, the `paths` places that are reached most likely get `width` children
each (DySpec, Xiong et al. 2024, arXiv 2410.11744: the chance of a path under the draft model tells what a node is
worth; a level at a time, since a forward pass for each node would cost more than it saves). One path: a chain with
leaves. With `least` the shape follows the text: another sibling is drawn while what is left of its place's chance is
worth as much, and every place that is goes on (DySpec's threshold, section 4.3: as good as the best first, node by
node, in one forward a level). Where siblings are independent only depth and places follow it: their number must not
depend on them. Siblings are drawn as the verifier asks: independently, without replacement, or one at a place. Named
paths end where the builder would leave out what follows, below `DraftBudget.least` (Kangaroo, Liu et al. 2024, arXiv
2404.18911, ends drafts that it is not sure of).

Cost: one forward pass of the draft model a level, for all paths of all sequences together; of what it remembers, a fork
a step. Limit: token ids are those of the target; where they are not, `constrain.generation` takes translated.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from constrain.sampling.bitmask.apply import bitmask_words, masked_logits
from constrain.sampling.core.logits import scaled
from constrain.sampling.core.model import LanguageModel, Session
from constrain.sampling.core.sampler import check_count, check_share
from constrain.sampling.core.step import truncated
from constrain.speculative.build import advanced
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Setting
from constrain.speculative.tree import EMPTY, NONE, ROOT, DraftTree


class Model(Drafter):
    """Drafts of a language model with the target's token ids; see the module `constrain.speculative.drafters.model`.

    Args:
        model: the draft model.
        width: siblings at each place.
        paths: places of a level that get children, the likeliest first.
        least: the chance under the draft model, in [0, 1], that a sibling and a place must be worth; 0: no bound.

    Raises:
        ConstrainError: the width or the paths are no int of at least 1, or the chance is out of range.

    Example:
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> from constrain.speculative import Model, Speculation
        >>> ref = constrain.reference.load()
        >>> drafts = Speculation([Model(HFModel(ref.draft, ref.tokenizer), width=2)], verifier="recursive-without")
        >>> drafts.drafters[0].name
        'model'
    """

    name = "model"

    def __init__(self, model: LanguageModel, *, width: int = 1, paths: int = 1, least: float = 0.0) -> None:
        self.model = model
        self.width = check_count("width", width)
        self.paths = check_count("paths", paths)
        self.least = check_share("least", least)

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
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
        owners = list(range(len(branches)))  # of each row, in order
        last = [given[-1] for given in logits]
        fork: Session | None = None
        while True:
            going: list[tuple[int, int]] = []  # (row, token)
            for owner, group in groupby(range(len(owners)), owners.__getitem__):
                rows = list(group)
                going += [(rows[i], token) for i, token in branches[owner].extend([last[row] for row in rows])]
            if not going:
                return [branch.tree() for branch in branches]
            kept = [row for row, _ in going]
            if fork is None:
                fork = session.fork(kept)
            elif kept != list(range(len(owners))):
                fork.select(kept)
            owners = [owners[row] for row in kept]
            last = [given[-1] for given in self._step(fork, [token for _, token in going])]
            self._judge([branches[owner] for owner in owners])

    def _step(self, session: Session, tokens: Sequence[int]) -> list[torch.Tensor]:
        """One more token of each row."""
        return session.feed([[token] for token in tokens], [1] * len(tokens))

    def _judge(self, branches: Sequence[Growing]) -> None:
        """Called after each step with the branch of each row: a place to end drafts that are not worth going on."""

    def _text(self, context: Context) -> Sequence[int]:
        """The tokens of a sequence that the draft model reads; they only grow."""
        return context.tokens

    def _branch(self, context: Context, budget: DraftBudget) -> Growing:
        return DraftBranch(context, budget, self.width, self.paths, self.least)

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

    def extend(self, rows: Sequence[torch.Tensor]) -> Sequence[tuple[int, int]]:
        """Take in the draft model's logits float[W] at each place of the last level, one at first: (which of these
        places, token) of the places of the next level, none at the end."""

    def tree(self) -> DraftTree:
        """The tree as drafted so far."""


@dataclass
class _Shared:
    """The draft model's session for sequences that are read together."""

    session: Session
    rows: int = 0


@dataclass
class _Read:
    """The row of a sequence in a session, and the number of its tokens that were read."""

    shared: _Shared
    row: int
    length: int


class DraftPlace(NamedTuple):
    """node: that leads here. rank: log of the chance that the draft model gets here. sure: the chance that all of the
    path is taken, as far as it was judged. closed: nothing follows."""

    node: int
    rank: float
    matcher: Any
    sure: float = 1.0
    closed: bool = False


@dataclass
class DraftBranch:
    """The draft of one sequence while it grows. level: the places whose logits come next."""

    context: Context
    budget: DraftBudget
    width: int
    paths: int
    least: float = 0.0
    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    rows: list[torch.Tensor] = field(default_factory=list)
    draft_rows: list[int] = field(default_factory=list)
    depth: int = 0

    def __post_init__(self) -> None:
        self.level = [DraftPlace(ROOT, 0.0, self.context.matcher)]
        setting = self.context.setting
        self.draws = setting.draws != "any" and setting.settings.temperature > 0
        self.replacement = self.draws and setting.draws == "with"
        if self.draws and setting.draws == "chain":
            self.width = self.paths = 1
        self.most = min(self.budget.depth, self.context.left - 1)
        self.worth = math.log(self.least) if self.least else -math.inf
        self.floor = -math.inf if self.draws or not self.budget.least else math.log(self.budget.least)
        self.floor = max(self.floor, self.worth)

    def extend(self, rows: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
        found = [
            (index, child, place)
            for index, (place, logits) in enumerate(zip(self.level, rows, strict=True))
            for child in self._children(place, logits)
        ]
        self.depth += 1
        self.level, going = [], []
        if self.depth < self.most and len(self.tokens) < self.budget.nodes:
            seen: set[tuple[int, int]] = set()
            for index, child, place in sorted(found, key=lambda each: -self._rank(each[2], each[1])):
                token, rank = self.tokens[child], self._rank(place, child)
                if (index, token) in seen or token in self.context.setting.eos_ids or rank < self.floor:
                    continue
                matcher = place.matcher if place.matcher is None else advanced(place.matcher, token)
                if matcher is not None or place.matcher is None:
                    seen.add((index, token))  # drawn twice: the second goes no further
                    self.level.append(DraftPlace(child, rank, matcher, place.sure))
                    going.append((index, token))
                if len(going) == self.paths:
                    break
        return going

    def doubt(self, row: int, chance: float, least: float) -> None:
        """A place of the last level is taken with this chance, if the place before is: nothing follows a path that is
        taken with less than `least`."""
        place = self.level[row]
        sure = place.sure * chance
        self.level[row] = place._replace(sure=sure, closed=sure < least)

    def _rank(self, place: DraftPlace, child: int) -> float:
        return place.rank + self.log_probs[child]

    def _children(self, place: DraftPlace, logits: torch.Tensor) -> range:
        """New nodes at a place, from the draft model's logits float[W]."""
        first = len(self.tokens)
        wanted = first < self.budget.nodes and not place.closed
        probs = shaped_probs(self.context.setting, place.matcher, logits) if wanted else None
        if probs is None:
            return range(first, first)
        row, left = len(self.rows), probs.clone()
        for _ in range(min(self.width, self.budget.nodes - first)):
            rest = float(left.sum())
            if rest <= 0 or place.rank + math.log(rest) < self.worth:
                break
            token = self._choose(left)
            self.tokens.append(token)
            self.parents.append(place.node)
            self.log_probs.append(min(0.0, math.log(float(probs[token]))))
            self.draft_rows.append(row if self.draws else NONE)
            if not self.replacement:
                left[token] = 0
        if self.draws:
            self.rows.append(probs)
        return range(first, len(self.tokens))

    def _choose(self, left: torch.Tensor) -> int:
        if not self.draws:
            return int(left.argmax())
        context = self.context
        return int(context.setting.draw((left / left.sum()).unsqueeze(0), [context.stream]))

    def tree(self) -> DraftTree:
        """The tree as arrays."""
        if not self.tokens:
            return EMPTY
        return DraftTree(
            tokens=np.asarray(self.tokens, np.int32),
            parents=np.asarray(self.parents, np.int32),
            log_probs=np.asarray(self.log_probs),
            draft_rows=np.asarray(self.draft_rows, np.int32),
            draft_probs=torch.stack(self.rows) if self.rows else None,
            replacement=self.replacement,
        )


def shaped_probs(setting: Setting, matcher: Any, logits: torch.Tensor) -> torch.Tensor | None:
    """float[size]: a draft model's logits masked, at the target's temperature, truncated; None where it has nothing to
    offer. matcher: at the place, or None"""
    rows = scaled(logits[: setting.size].unsqueeze(0), setting.settings.temperature)
    if rows.shape[1] < setting.size:  # models of a family are padded differently
        rows = torch.nn.functional.pad(rows, (0, setting.size - rows.shape[1]), value=-torch.inf)
    if matcher is not None:
        mask = np.zeros((1, bitmask_words(setting.size)), np.uint32)
        matcher.fill_mask(mask[0])
        rows, columns = masked_logits(rows, mask, setting.size)
    else:
        columns = None
    if not bool(torch.isfinite(rows.logsumexp(-1)).all()):
        return None
    probs = truncated(rows.softmax(-1), setting.settings)[0]
    if columns is None:
        return probs
    return torch.zeros(setting.size, dtype=probs.dtype, device=probs.device).index_copy_(0, columns, probs)
