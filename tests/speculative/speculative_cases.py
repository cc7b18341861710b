"""Shared by tests of drafts: contexts under small constraints, and random trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import constrain
from constrain.models.hf import HFModel
from constrain.sampling import Job, Settings, TorchDraw, enumerate_draws
from constrain.sampling.core.sampler import drive
from constrain.speculative import Context, DraftTree, Setting
from toy_matcher import ToyConstraint, ToyVocabulary

LETTERS = ToyVocabulary([b"a", b"b", b"c", b"ab", None], [4])
EOS = 4


def context_of(
    constraint: ToyConstraint | None,
    tokens: Sequence[int] = (),
    left: int = 20,
    prompt: Sequence[int] = (0,),
    **given: Any,
) -> Context:
    """A sequence that has written `tokens` under a constraint over LETTERS."""
    vocabulary = LETTERS if constraint is None else constraint.vocabulary
    matcher = None if constraint is None else constraint.matcher()
    for token in tokens:
        assert matcher is None or matcher.advance(token)
    setting = Setting(
        vocabulary.size, vocabulary.eos_ids, Settings(), TorchDraw(0), token_bytes=vocabulary.tokens, **given
    )
    return Context(setting, 0, [*prompt, *tokens], len(prompt), matcher, 0, left, stream=99)


def random_tree(rng: np.random.Generator, nodes: int, size: int, drawn: float = 0.0) -> DraftTree:
    """Any tree at all: tokens that repeat, some outside the vocabulary; a share of the nodes drawn."""
    parents = np.array([rng.integers(-1, i) if i else -1 for i in range(nodes)], np.int32)
    tokens = rng.integers(-1, size + 1, nodes).astype(np.int32)
    rows = np.where(rng.random(nodes) < drawn, 0, -1).astype(np.int32)
    tokens[rows == 0] = rng.integers(0, size, int((rows == 0).sum()))
    probs = torch.full((1, size), 1 / size, dtype=torch.float64) if (rows == 0).any() else None
    return DraftTree(tokens, parents, -rng.random(nodes), rows, probs, replacement=True)


def distribution_of(
    method: Any, handle: HFModel, prompt: Sequence[int], regex: str, tokens: int
) -> dict[tuple[int, ...], float]:
    """The probability of each output of a real model: every way in which draws of draft and rule can turn out."""
    compiled = constrain.compile(constrain.regex(regex), handle.vocabulary)
    found: dict[tuple[int, ...], float] = {}

    def run(draw: Any) -> Any:
        settings, eos = Settings(max_tokens=tokens, temperature=1.0), handle.vocabulary.eos_ids
        return drive(
            method, Job(handle, [prompt], [compiled.matcher()], handle.vocabulary.size, eos, settings, draw, [0])
        )

    for probability, (sample,) in enumerate_draws(run):
        found[tuple(sample.tokens)] = found.get(tuple(sample.tokens), 0.0) + probability
        assert all(count.fault is None for count in sample.drafts.values())
    return found
