"""Asking drafters, who are guests: what they return is checked, and one that fails is not asked again.

A fault of a drafter costs speed, never the output. It is kept by name, and told in `Sample.drafts`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.chains import target_of
from constrain.sampling.core.draw import STREAM_BITS, substream
from constrain.sampling.core.job import DraftCount, Job, Sample
from constrain.sampling.core.model import Hidden, TreeSession
from constrain.sampling.core.particles import Particle
from constrain.speculative.drafter import Context, DraftBudget, Outcome, Setting
from constrain.speculative.tree import EMPTY, NONE, BuiltTree, DraftTree, state_of
from constrain.speculative.verifier import Verifier

if TYPE_CHECKING:
    from constrain.speculative.decode import Speculation

_log = logging.getLogger(__name__)
DRAFTS = (1 << STREAM_BITS) - 1  # the substream that drafters draw from
CONSTRAINT = "constraint"  # whom forced tokens in a tree are counted for
NO_TREE = BuiltTree(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
TOLERANCE = 1e-3  # by how much a draft distribution may miss a sum of 1


class Drafting:
    """One run with drafts, whoever chooses the tokens: contexts, trees, forward passes and counts of its sequences.

    Args:
        options: drafters, controller, builder and settings.
        job: its model is read; its settings are those of the target.
        verifier: reads drafted tokens, and says how it uses those that were drawn; None: nobody does.

    Attributes:
        names: of the drafters, distinct, in their order.
        faults: by index, what went wrong.
    """

    def __init__(self, options: Speculation, job: Job, verifier: Verifier | None = None) -> None:
        self.options, self.clock = options, job.clock
        self.target = target_of(job.model)
        self.draws = "any" if verifier is None else verifier.draws
        self.setting = Setting(
            size=job.size, eos_ids=job.eos_ids, settings=job.settings, draw=job.draw, draws=self.draws,
            token_bytes=job.token_bytes, fill_masks=job.fill_masks, **options.setting,
        )  # fmt: skip
        self.drafters = list(options.drafters)
        self.names: list[str] = []
        for drafter in self.drafters:
            name = drafter.name or type(drafter).__name__
            again = sum(known.split("#")[0] == name for known in self.names)
            self.names.append(f"{name}#{again + 1}" if again else name)
        self.faults: dict[int, str] = {}
        readers = [
            (f"the drafter {name!r}", each.wants_hidden) for name, each in zip(self.names, self.drafters, strict=True)
        ]
        readers += [] if verifier is None else [(f"the verifier {verifier.name!r}", verifier.wants_hidden)]
        self.readers = [reader for reader, wanted in readers if wanted is not False]
        wishes = {wanted for _, wanted in readers} - {False}
        if len(wishes) > 1:
            raise ConstrainError(
                f"drafters (or the verifier) want different hidden states of the target: {sorted(map(str, wishes))}",
                place="draft",
                fix="take heads of one kind",
            )
        self.wants_hidden: Hidden = wishes.pop() if wishes else False

    def open(self, rows: int) -> TreeSession:
        """A session of the target, which tells the hidden states that are read."""
        trees = self.target.open(rows)
        self._ask_hidden(trees)
        return trees

    def context(
        self, particle: Particle, tokens: Sequence[int], memo: dict[Any, Any], trees: TreeSession | None, row: int
    ) -> Context:
        """The end of a sequence, for drafters. tokens: all that it has. trees, row: see `Context.session`."""
        return Context(
            setting=self.setting,
            row=particle.row,
            tokens=tokens,
            prompt=len(tokens) - len(particle.sample.tokens),
            matcher=particle.matcher,
            state=state_of(particle.matcher),
            left=particle.left,
            stream=substream(particle.stream, DRAFTS),
            memo=memo,
            session=None if trees is None else (trees, row),
        )

    def trees(
        self, contexts: Sequence[Context], *, chain: bool, runs: Sequence[int] = (), drafted: bool = True
    ) -> list[BuiltTree]:
        """A tree for each context.

        chain: without branches, as the first read is: a long prompt is read without a mask over trees.
        runs: by how many tokens each may be larger. drafted: drafters are asked.
        """
        count = len(contexts)
        budgets, drafts = [DraftBudget(0, 0)] * count, [list[DraftTree]()] * count
        with self.clock.stage("draft"):
            if drafted and contexts:
                budgets = self.options.controller.budget(contexts)
                budgets = [b._replace(depth=min(b.depth, c.left)) for b, c in zip(budgets, contexts, strict=True)]
                drafts = self._propose(contexts, budgets)
            chain = chain or not self.target.branching
            built = []
            for context, budget, draft, run in zip(contexts, budgets, drafts, runs or [0] * count, strict=True):
                room = budget._replace(nodes=budget.nodes + run, depth=min(budget.depth + run, context.left))
                built.append(self.options.builder.build(context, draft, room, draws=self.draws, chain=chain))
        return built

    def read(
        self, session: TreeSession, chunks: Sequence[Sequence[int]], keep: Sequence[int], trees: Sequence[BuiltTree]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor] | None]:
        """One forward pass: logits, and the hidden states that are read, of each row."""
        tokens, parents = [tree.read_tokens for tree in trees], [tree.read_parents for tree in trees]
        logits = session.forward(chunks, keep, tokens, parents)
        return logits, None if self.wants_hidden is False else session.hidden  # type: ignore[attr-defined]

    def count(self, sample: Sample, tree: BuiltTree) -> list[DraftCount]:
        """Note what was read of each drafter, and what was refused; the count of each node's drafter."""
        counts = sample.drafts
        for i, name in enumerate(self.names):
            counts.setdefault(name, DraftCount()).fault = self.faults.get(i)
        names = [*self.names, CONSTRAINT]  # NONE is the last
        for source in tree.sources[tree.read].tolist():
            counts.setdefault(names[source], DraftCount()).drafted += 1
        for source, refused in tree.refused.items():
            counts.setdefault(names[source], DraftCount()).refused += refused
        return [counts.get(names[source], DraftCount()) for source in tree.sources.tolist()]

    def tell(self, outcomes: list[Outcome], seconds: float) -> None:
        """Tell drafters and controller."""
        with self.clock.stage("draft"):
            for i, drafter in enumerate(self.drafters):
                with self._guest(i) as asked:
                    if asked:
                        drafter.observe(outcomes)
            self.options.controller.update(outcomes, seconds)

    def _ask_hidden(self, trees: TreeSession) -> None:
        """Ask a session to keep the hidden states that are read. Raises ConstrainError: it tells none."""
        if self.wants_hidden is False:
            return
        if not hasattr(trees, "keep_hidden"):
            raise ConstrainError(
                f"this model tells no hidden states, which {self.readers[0]} reads",
                place="draft",
                fix="leave it out, or use a model of transformers that reads trees",
            )
        trees.keep_hidden = self.wants_hidden

    def _propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[list[DraftTree]]:
        """For each sequence the trees of all drafters, in their order; `EMPTY` for drafters that failed."""
        found: list[list[DraftTree]] = [[] for _ in contexts]
        for i, drafter in enumerate(self.drafters):
            trees = [EMPTY] * len(contexts)
            with self._guest(i) as asked:
                if asked:
                    trees = _checked(drafter.propose(contexts, budgets), contexts)
            for row, tree in zip(found, trees, strict=True):
                row.append(tree)
        return found

    @contextmanager
    def _guest(self, index: int) -> Iterator[bool]:
        """Yields True if the drafter is to be asked; an exception that it raises is kept as its fault."""
        try:
            yield index not in self.faults
        except Exception as error:  # whatever a drafter does wrong, decoding goes on without it
            first = str(error).split("\n", 1)[0]
            self.faults[index] = f"{type(error).__name__}: {first}"
            _log.warning("the drafter %s failed and is not asked again: %s", self.names[index], self.faults[index])


def split(hidden: torch.Tensor | None, count: int) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Hidden states of the places before the root, and of the `count` places from the root on."""
    return (None, None) if hidden is None else (hidden[: len(hidden) - count], hidden[len(hidden) - count :])


def _checked(trees: Any, contexts: Sequence[Context]) -> list[DraftTree]:
    """The trees, or ConstrainError: a wrong number or kind, or draft distributions that are none."""
    if not isinstance(trees, list) or len(trees) != len(contexts) or not all(isinstance(t, DraftTree) for t in trees):
        raise ConstrainError(f"a drafter gave {str(trees)[:60]!r} for {len(contexts)} sequences, not as many trees")
    for tree, context in zip(trees, contexts, strict=True):
        probs = tree.draft_probs
        if probs is None or not tree.drawn:
            continue
        size = context.setting.size
        if probs.ndim != 2 or probs.shape[1] != size:
            raise ConstrainError(f"draft_probs has shape {tuple(probs.shape)}, not (rows, {size})")
        sums = probs.sum(-1, dtype=torch.float64)
        if not bool(((sums - 1).abs() < TOLERANCE).all()) or bool((probs < 0).any()):
            raise ConstrainError("a row of draft_probs has negative entries, or its sum is not 1")
        drawn = torch.from_numpy(tree.draft_rows) >= 0
        tokens = torch.from_numpy(tree.tokens)[drawn].long()
        if not bool(((tokens >= 0) & (tokens < size)).all()):
            raise ConstrainError(f"a drawn token is outside the vocabulary of {size}")
        rows = torch.from_numpy(tree.draft_rows)[drawn].long()
        if bool((probs[rows.to(probs.device), tokens.to(probs.device)] <= 0).any()):
            raise ConstrainError("a token is said to be drawn from a distribution that gives it no probability")
        columns = (tree.parents, tree.draft_rows, tree.tokens)
        siblings = [each for each in zip(*(c.tolist() for c in columns), strict=True) if each[1] != NONE]
        if not tree.replacement and len(set(siblings)) < len(siblings):
            raise ConstrainError("two siblings drawn without replacement are the same token")
    return trees
