"""Shared by tests of drafts: contexts under small constraints, random trees, a whole decoder by enumeration."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import Case

import constrain
from constrain.models.hf import HFModel
from constrain.sampling import Job, Sample, Settings, TorchDraw, enumerate_draws, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import Context, Drafter, DraftTree, Fixed, Setting, Speculation
from toy_matcher import ToyConstraint, ToyVocabulary
from toy_model import TableModel
from tree_target import TreeTable

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


TINY = 1e-12


class Fresh:
    """A method with new drafters for every run, since a decision tree is walked run by run."""

    name, random = "lcd", True

    def __init__(self, make: Callable[[], Drafter], verifier: str) -> None:
        self.make, self.verifier = make, verifier

    def __call__(self, job: Job) -> Any:
        return Speculation([self.make()], verifier=self.verifier, controller=Fixed(5, 3))(job)


def branching(job: Job) -> Job:
    """The same model, reading trees."""
    table = job.model
    assert isinstance(table, TableModel)
    return replace(job, model=TreeTable(table.width, table.seed, table.spread))


def law(case: Case, method: Any, trees: bool = True, **changes: Any) -> dict[tuple[int, ...], tuple[float, Sample]]:
    """Every output with its probability; whatever the drafts, its numbers must always be the same."""
    found: dict[tuple[int, ...], tuple[float, Sample]] = {}

    def run(draw: Any) -> list[Sample]:
        job = case.job(draw, **changes)
        return drive(method, branching(job) if trees else job)

    for probability, (sample,) in enumerate_draws(run):
        before, known = found.get(tuple(sample.tokens), (0.0, sample))
        same(known, sample)
        found[tuple(sample.tokens)] = (before + probability, sample)
    return found


def same(left: Sample, right: Sample) -> None:
    assert left.tokens == right.tokens
    assert left.finish_reason == right.finish_reason
    assert left.log_prob == pytest.approx(right.log_prob, abs=TINY)
    assert left.log_weight == pytest.approx(right.log_weight, abs=TINY)
    assert (left.accepted, left.log_evidence) == (right.accepted, pytest.approx(right.log_evidence, abs=TINY))
    assert [record.forced for record in left.trace] == [record.forced for record in right.trace]
    for one, other in zip(left.trace, right.trace, strict=True):
        assert one[:4] == pytest.approx(other[:4], abs=TINY)


def check(case: Case, method: Any, trees: bool = True, **changes: Any) -> None:
    expected, found = law(case, lcd, trees=False, **changes), law(case, method, trees, **changes)
    assert found.keys() == expected.keys()
    for tokens, (probability, sample) in found.items():
        assert probability == pytest.approx(expected[tokens][0], abs=TINY)
        same(sample, expected[tokens][1])
