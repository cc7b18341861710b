"""Asking drafters, who are guests: what they return is checked, and one that fails is not asked again.

A fault of a drafter costs speed, never the output. It is kept by name, and told in `Sample.drafts`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.target import Hidden, TreeSession
from constrain.speculative.tree import EMPTY, NONE, DraftTree
from constrain.speculative.verifier import Verifier

_log = logging.getLogger(__name__)
TOLERANCE = 1e-3  # by how much a draft distribution may miss a sum of 1


class Drafting:
    """The drafters of one run. names: distinct, in the order of the drafters. faults: by index, what went wrong."""

    def __init__(self, drafters: Sequence[Drafter], verifier: Verifier | None = None) -> None:
        self.drafters = list(drafters)
        self.names: list[str] = []
        for drafter in self.drafters:
            name = drafter.name or type(drafter).__name__
            again = sum(known.split("#")[0] == name for known in self.names)
            self.names.append(f"{name}#{again + 1}" if again else name)
        self.faults: dict[int, str] = {}
        readers = [
            (f"the drafter {name!r}", each.wants_hidden) for name, each in zip(self.names, drafters, strict=True)
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

    def ask_hidden(self, trees: TreeSession) -> None:
        """Have a session keep the hidden states that are read. Raises ConstrainError: it tells none."""
        if self.wants_hidden is False:
            return
        if not hasattr(trees, "keep_hidden"):
            raise ConstrainError(
                f"this model tells no hidden states, which {self.readers[0]} reads",
                place="draft",
                fix="leave it out, or use a model of transformers that reads trees",
            )
        trees.keep_hidden = self.wants_hidden

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[list[DraftTree]]:
        """For each sequence the trees of all drafters, in their order; `EMPTY` for drafters that failed."""
        if not contexts:  # what is read is only to be scored
            return []
        found: list[list[DraftTree]] = [[] for _ in contexts]
        for i, drafter in enumerate(self.drafters):
            trees = [EMPTY] * len(contexts)
            with self._guest(i) as asked:
                if asked:
                    trees = _checked(drafter.propose(contexts, budgets), contexts)
            for row, tree in zip(found, trees, strict=True):
                row.append(tree)
        return found

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Tell all drafters."""
        for i, drafter in enumerate(self.drafters):
            with self._guest(i) as asked:
                if asked:
                    drafter.observe(outcomes)

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
