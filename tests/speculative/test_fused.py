"""Fused rules against their eager twins: equal verdicts for equal uniform numbers, and the law by enumeration.

Kernels run by Triton's interpreter on the CPU, in a process of its own (`test_the_interpreter_runs_these`), or compiled
on a GPU. The twins' own laws are enumerated in test_verifiers.py.
"""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import cases
from speculative_cases import context_of
from test_decode import branching

from constrain.errors import ConstrainError
from constrain.processors import Counts, MinP, Repetition, StepContext
from constrain.sampling import Job, Sample, Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import BuiltTree, Case, DraftBudget, Fixed, Speculation, TreeBuilder, Verdict
from constrain.speculative.fused import Fused, FusedMatch
from constrain.speculative.fused.batch import RULES, Options, Ragged, Step, most_draws, packed, unpacked
from constrain.speculative.fused.penalties import Penalties, changed
from constrain.speculative.masks import TreeMasks
from constrain.speculative.rows import TargetRows
from constrain.speculative.tree import NONE
from constrain.speculative.verifiers import VERIFIERS, Match, verifier_named
from tree_target import Drawn, Given, Oracle

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
COMPILED = torch.cuda.is_available() and not INTERPRETED
DEVICE = torch.device("cuda" if COMPILED else "cpu")
ON_KERNELS = pytest.mark.skipif(
    not (INTERPRETED or COMPILED), reason="no GPU; test_the_interpreter_runs_these starts them with TRITON_INTERPRET=1"
)
SHAPES = {"chain": [(1, 1), (1, 3)], "with": [(2, 1), (3, 1), (2, 2)], "without": [(2, 1), (3, 1), (2, 2)]}
TARGETS = [
    Settings(),
    Settings(temperature=0.7),
    Settings(temperature=0.0),
    Settings(top_k=3),
    Settings(top_p=0.6),
    Settings(temperature=1.4, top_k=4, top_p=0.7),
]


class NoModel:
    """Nothing is asked of it: the logits are there."""

    width, ragged, context = 0, True, None

    def start(self, prefixes: Any, keep: Any) -> Any:
        raise NotImplementedError


def built(seed: int, rule: str, size: int, nodes: int = 9) -> BuiltTree:
    """A tree of drawn and given nodes, as a rule's drafts are built; some forced places, some nodes without room."""
    rng = np.random.default_rng([seed, 21])
    draws = verifier_named(rule).draws
    shapes = SHAPES.get(draws) or list(itertools.chain(*SHAPES.values()))
    width, depth = shapes[int(rng.integers(len(shapes)))]
    context = context_of(None, left=int(rng.choice([2, 9])), prompt=[])
    context = replace(context, setting=replace(context.setting, size=size, eos_ids=[2], draw=TorchDraw(seed)))
    drafts: list[Any] = [Drawn(seed, width, depth, replacement=draws == "with")]
    if rng.random() < 0.6:
        drafts.insert(int(rng.integers(2)), Given(seed, 4))
    budget = DraftBudget(nodes, 9)
    tree = TreeBuilder().build(context, [each.draft(context, budget) for each in drafts], budget, draws=draws)
    forced = np.where(rng.random(len(tree) + 1) < 0.15, rng.integers(0, size, len(tree) + 1), NONE).astype(np.int32)
    return replace(tree, forced=forced)


class Problem:
    """Several trees with random logits and masks."""

    def __init__(self, seed: int, rule: str, settings: Settings, size: int = 5, width: int = 7, trees: int = 3) -> None:
        rng = np.random.default_rng([seed, 22])
        self.settings, self.size = settings, size
        self.trees = [built(100 * seed + i, rule, size) for i in range(trees)]
        self.logits = [
            torch.tensor(rng.normal(size=(int(tree.read.sum()) + 1, width)) * rng.choice([0.5, 2, 8]))
            .float().masked_fill_(torch.tensor(rng.random((int(tree.read.sum()) + 1, width)) < 0.1), -torch.inf)
            for tree in self.trees
        ]  # fmt: skip
        for logits in self.logits:
            logits[:, 0].clamp_(min=-3.0)
        self.bitmask = rng.integers(0, 2**32, (4, -(-size // 32)), dtype=np.uint32) | np.uint32(seed % 4 != 0)
        self.masks = [rng.integers(-1, 4, len(tree) + 1).tolist() for tree in self.trees]

    def cases(self, seed: int) -> tuple[list[Case], TorchDraw]:
        draw = TorchDraw(seed)
        job = Job(NoModel(), [], None, self.size, (), self.settings, draw, [])
        found = []
        for stream, (tree, logits, rows) in enumerate(zip(self.trees, self.logits, self.masks, strict=True)):
            masks = TreeMasks(job, tree, Sample(), self.bitmask[0])
            masks.bitmask, masks.rows, masks.complete = self.bitmask, rows, True
            target = TargetRows(
                masks, logits.to(DEVICE), settings=self.settings, draw=draw, stream=stream, size=self.size
            )
            found.append(Case(tree, target, stream))
        return found, draw

    def step(self, options: Options, rule: str, uniform: Any = None) -> Step:
        """As the kernels see it."""
        ragged = [
            Ragged(tree, rows, options, np.zeros(most_draws(tree, RULES[rule])) if uniform is None else uniform[i])
            for i, (tree, rows) in enumerate(zip(self.trees, self.masks, strict=True))
        ]
        return packed(ragged, self.bitmask, RULES[rule], DEVICE)


def numbers(case: Case, verdict: Verdict) -> list[float]:
    """What is recorded of every token of a verdict."""
    rows: Any = case.rows
    tokens = [*(int(case.tree.tokens[node]) for node in verdict.path), verdict.token]
    places = [0, *(node + 1 for node in verdict.path)]
    return [each for at in zip(places, tokens, strict=True) if at[1] != NONE for each in rows.numbers(*at)]


def agree(problem: Problem, rule: str, seed: int) -> int:
    """Verdicts, numbers and used draws of the kernels are those of the eager rule; how many nodes were taken."""
    (ours, our_draw), (theirs, their_draw) = problem.cases(seed), problem.cases(seed)
    mine = Fused(rule, kernels=True).verify(ours, our_draw)
    expected = verifier_named(rule).verify(theirs, their_draw)
    for case, twin, found, right in zip(ours, theirs, mine, expected, strict=True):
        assert found == right, (rule, seed, problem.settings)
        assert numbers(case, found) == pytest.approx(numbers(twin, right), abs=2e-5, rel=1e-5)
        assert our_draw.peek(case.stream, 1) == their_draw.peek(case.stream, 1)
    return sum(len(each.path) for each in mine)


@ON_KERNELS
@pytest.mark.parametrize("rule", sorted(RULES))
def test_kernels_are_the_eager_rules(rule: str) -> None:
    assert RULES.keys() == VERIFIERS.keys()
    taken = 0
    for seed, settings in enumerate(TARGETS):
        problem = Problem(seed, rule, settings)
        for again in range(3 if settings.temperature else 1):
            taken += agree(problem, rule, 10 * seed + again)
    assert taken > 5  # paths were followed
