"""What a drafter is asked, what it answers, and what it is told afterwards.

A drafter guesses; it never decides. Whatever it proposes, the output has the law that its verifier states, so a drafter
may be as wrong, biased or stateful as it likes. One that raises is left out for the rest of the run, and
`Sample.drafts` says so.

A new method from the literature is a subclass with one of two methods: `draft` (one sequence) or `propose` (a batch).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from constrain.sampling.core.draw import Draw
from constrain.sampling.core.job import Settings, TokenMatcher, fill_one_by_one
from constrain.speculative.tree import EMPTY, BuiltTree, DraftTree


class DraftBudget(NamedTuple):
    """What a tree may have: nodes that are read by the forward, and tokens on a path. Certain tokens are free.

    least: a given node is not worth reading if the chance to get there is estimated to be lower
    """

    nodes: int
    depth: int
    least: float = 0.0


@dataclass
class Setting:
    """What all sequences of a run share.

    size: tokens of the vocabulary. eos_ids: those that end an output. settings: how the target is shaped
    token_bytes: bytes by id, None for what is no text; may be empty where nobody knows
    encode: bytes of text → token ids, as a prompt would be tokenised; None where there is no tokenizer
    hints: token ids of texts worth copying from, beside the prompt: the schema, its keys, its examples
    draw: the one source of randomness
    draws: what the verifier makes of drawn nodes, see `Verifier`; "any": nothing, so name the likeliest tokens instead
    fill_masks: fills uint32[B, words] for B matchers
    """

    size: int
    eos_ids: Collection[int]
    settings: Settings
    draw: Draw
    draws: str = "any"
    token_bytes: Sequence[bytes | None] = ()
    encode: Callable[[bytes], Sequence[int]] | None = None
    hints: Sequence[Sequence[int]] = ()
    fill_masks: Callable[[Sequence[Any], np.ndarray], None] = fill_one_by_one


@dataclass
class Context:
    """One sequence, where a draft is wanted. Not to be changed, but for `memo`.

    row: of the job. tokens: ids of prompt and output so far, at least one. prompt: how many of them are the prompt
    matcher: at the end of `tokens`; fork it before advancing. None without a constraint
    state: the matcher's state, see `BuiltTree.states`. left: tokens that the output may still have, EOS counted
    stream: for `setting.draw`; distinct from the stream that the verifier draws from
    memo: what drafters keep for this sequence from call to call, each under its own key
    """

    setting: Setting
    row: int
    tokens: Sequence[int]
    prompt: int
    matcher: TokenMatcher | None
    state: int
    left: int
    stream: int
    memo: dict[Any, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """What became of a draft.

    context: of the sequence, with `tokens` as they are now, the new ones included; `state` is the one before
    tree: what was verified. path: the nodes that were taken, from the root. tokens: the new tokens: the path's, and the
      one after it unless the text came to a dead end
    logits: float[1 + r, W], the target's own, before mask and temperature: row `tree.logits_rows[place]` for each place
    ended: the sequence is complete, or cut
    hidden: float[1 + r, H], what the target's head read for these logits; None where no drafter asked for it
      (`Drafter.wants_hidden`), or the target does not tell
    """

    context: Context
    tree: BuiltTree
    path: Sequence[int]
    tokens: Sequence[int]
    logits: torch.Tensor
    ended: bool = False
    hidden: torch.Tensor | None = None


class Drafter:
    """Base of all drafters.

    name: what `generate(draft=...)` and the stats call it. wants_hidden: it learns from `Outcome.hidden`
    """

    name: str = ""
    wants_hidden: bool = False

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        """A tree for each sequence; `EMPTY` where it has nothing to say. Illegal tokens are pruned by the builder,
        which also cuts at the budget; a drafter need not spend all of it."""
        return [self.draft(context, budget) for context, budget in zip(contexts, budgets, strict=True)]

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The tree of one sequence."""
        return EMPTY

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from what became of the drafts of one step; called after every step, whoever drafted."""
