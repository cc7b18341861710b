"""The protocol of drafters: the question, the answer, and the outcome that they observe afterwards.

A drafter guesses; it never decides. Whatever it proposes, the output has the distribution that its verifier states, so
a drafter may be as wrong, biased or stateful as it likes. One that raises is left out for the rest of the run, and
`Sample.drafts` says so.

A new method from the literature is a subclass with one of two methods: `draft` (one sequence) or `propose` (a batch).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch

from constrain.languages.vocab.longest import longest_match
from constrain.sampling.core.draw import Draw
from constrain.sampling.core.job import Settings, TokenMatcher, fill_one_by_one
from constrain.sampling.core.model import Hidden
from constrain.speculative.tree import EMPTY, BuiltTree, DraftTree


class DraftBudget(NamedTuple):
    """The size of a tree. Forced tokens are free.

    Attributes:
        nodes: nodes that the forward pass reads, at most.
        depth: tokens on a path, at most.
        least: the estimated chance of being reached below which a given node is not worth reading, in [0, 1].

    Example:
        >>> from constrain.speculative import DraftBudget
        >>> DraftBudget(nodes=16, depth=4).least
        0.0
    """

    nodes: int
    depth: int
    least: float = 0.0


@runtime_checkable
class CutsAll(Protocol):
    """Bytes of a text → token ids, also of several texts in one call."""

    def __call__(self, text: bytes) -> Sequence[int]: ...
    def all(self, texts: Sequence[bytes]) -> list[list[int]]: ...


@dataclass
class Setting:
    """Settings that all sequences of a run share.

    Attributes:
        size: tokens of the vocabulary.
        eos_ids: the ids that end an output.
        settings: how the target is shaped.
        draw: the source of randomness.
        draws: how the verifier uses drawn nodes, see `Verifier`; "any": not at all, so name the likeliest tokens
            instead.
        token_bytes: bytes by id, None for what is no text; empty where they are unknown.
        encode: bytes of text → token ids, as a prompt would be tokenised; None where there is no tokenizer. If it has a
            method `all` (`CutsAll`), that takes several texts in one call.
        hints: token ids of texts worth copying from, beside the prompt: the schema, its keys, its examples.
        fill_masks: fills uint32[B, words] for B matchers.

    Example:
        >>> from constrain.sampling import Settings, TorchDraw
        >>> from constrain.speculative import Setting
        >>> Setting(size=3072, eos_ids=[0], settings=Settings(), draw=TorchDraw(1)).draws
        'any'
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

    def encoded(self, texts: Sequence[bytes]) -> list[list[int]]:
        """Token ids of several texts by `encode`; where there is no tokenizer, the longest tokens that fit."""
        encode = self._longest if self.encode is None else self.encode
        return encode.all(texts) if isinstance(encode, CutsAll) else [list(encode(text)) for text in texts]

    @cached_property
    def _longest(self) -> Callable[[bytes], Sequence[int]]:
        return longest_match(self.token_bytes)


@dataclass
class Context:
    """One sequence, where a draft is wanted. Only `memo` may be changed.

    Attributes:
        setting: of the run.
        row: of the job.
        tokens: ids of prompt and output so far, at least one.
        prompt: how many of them are the prompt.
        matcher: at the end of `tokens`; fork it before advancing. None without a constraint.
        state: the matcher's state, see `BuiltTree.states`.
        left: tokens that the output may still have, EOS counted.
        stream: for `setting.draw`; distinct from the stream that the verifier draws from.
        memo: what drafters keep for this sequence from call to call, each under its own key.
        session: what the target remembers, a `TreeSession`, and the row of this sequence there, for drafters that go on
            from it and leave it as it is; None before the first forward pass.

    Example:
        >>> from constrain.sampling import Settings, TorchDraw
        >>> from constrain.speculative import Context, DraftBudget, Lookup, Setting
        >>> setting = Setting(size=10, eos_ids=[0], settings=Settings(), draw=TorchDraw(1))
        >>> context = Context(setting, row=0, tokens=[1, 2, 3, 1, 2], prompt=5, matcher=None, state=0, left=9, stream=0)
        >>> Lookup().draft(context, DraftBudget(nodes=4, depth=2)).tokens.tolist()
        [3, 1]
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
    session: tuple[Any, int] | None = None


@dataclass
class Outcome:
    """The outcome of a draft.

    Attributes:
        context: the sequence, whose `tokens` have the new ones already; `state` is the one before.
        tree: what was verified.
        path: the nodes that were taken, from the root.
        tokens: the new tokens: those of the path, and the one after it unless the text came to a dead end.
        logits: float[1 + r, W], the target's own, before mask and temperature: row `tree.logits_rows[place]` is for a
            place.
        ended: the sequence is complete, or cut.
        hidden: float[1 + r, H], what the target's head read for these logits; None where no drafter asked for it
            (`Drafter.wants_hidden`), or the target does not offer it.
        before: float[c, H], the same for the c places before the root that this forward read; empty where a drafter
            asked for the places with logits only.

    Example:
        >>> from constrain.speculative import Drafter, Outcome
        >>> class Counting(Drafter):
        ...     taken = 0
        ...     def observe(self, outcomes: list[Outcome]) -> None:
        ...         self.taken += sum(len(outcome.path) for outcome in outcomes)
    """

    context: Context
    tree: BuiltTree
    path: Sequence[int]
    tokens: Sequence[int]
    logits: torch.Tensor
    ended: bool = False
    hidden: torch.Tensor | None = None
    before: torch.Tensor | None = None


class Drafter:
    """Base of all drafters; a subclass overrides `draft` (one sequence) or `propose` (a batch), and `observe` to learn.

    Attributes:
        name: as in `generate(draft=...)` and the stats.
        wants_hidden: it learns from `Outcome.hidden`; a tuple of layers: of these, at every place; or what reads the
            target's forward passes (`TreeSession`).
        reach: tokens that it is worth drafting ahead by; the default controller gives as many as the furthest asks for.

    Example:
        >>> import constrain
        >>> from constrain.speculative import Drafter, given_chain
        >>> class Again(Drafter):
        ...     name = "again"
        ...     def draft(self, context, budget):
        ...         return given_chain(list(context.tokens[-2:])[: budget.depth])
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, "A list: ", regex="(ha)+!", draft=Again(), max_tokens=9, seed=1)
        >>> g.stats.drafts["again"].drafted + g.stats.drafts["again"].refused > 0
        True
    """

    name: str = ""
    wants_hidden: Hidden = False
    reach: int = 10

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        """A tree for each sequence; `EMPTY` where it has nothing to say.

        The builder prunes illegal tokens and cuts at the budget; a drafter need not spend all of it.
        """
        return [self.draft(context, budget) for context, budget in zip(contexts, budgets, strict=True)]

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The tree of one sequence."""
        return EMPTY

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from what became of the drafts of one step; called after every step, whoever drafted."""
