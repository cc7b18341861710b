"""Controllers: their estimates against counts by hand, what they choose, and that the output does not change."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import Case
from speculative_cases import branching, check, context_of, same

from constrain.errors import ConstrainError
from constrain.papers import Goodput, Stopping
from constrain.sampling import Job, Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import (
    Context,
    Controller,
    DraftBudget,
    DraftTree,
    Outcome,
    Speculation,
    TreeBuilder,
    given_chain,
)
from tree_target import Given, Oracle

WIDE = DraftBudget(64, 64)
MAKE: dict[str, Callable[[], Controller]] = {"stopping": lambda: Stopping(6, 4), "goodput": lambda: Goodput(6, 4)}


class Fresh:
    """A method with a new controller for every run, since a decision tree is walked run by run."""

    name, random = "lcd", True

    def __init__(self, make: Callable[[], Controller]) -> None:
        self.make = make

    def __call__(self, job: Job) -> Any:
        return Speculation([Given(1), Given(7, 3)], controller=self.make())(job)


@pytest.mark.parametrize("language", ["skewed", "dyck", "twins", "optional tail", "dead end"])
@pytest.mark.parametrize("name", MAKE)
def test_the_law_is_that_of_lcd(name: str, language: str) -> None:
    check(Case(language, 1), Fresh(MAKE[name]))


def outcome(drafts: list[DraftTree], taken: int, context: Context | None = None, nodes: int = 64) -> Outcome:
    """A step that goes on through the first `taken` nodes of the tree."""
    context = context or context_of(None)
    tree = TreeBuilder().build(context, drafts, DraftBudget(nodes, 64))
    return Outcome(context, tree, list(range(taken)), [0] * (taken + 1), torch.zeros(1 + len(tree), 5))


def test_rates_are_what_was_seen() -> None:
    """Many steps of a chain of three, of which one, two or three are taken: 1, 2/3 and 1/2 by depth."""
    controller = Stopping(depth=4, least=0.5)
    for step in range(600):
        controller.update([outcome([given_chain([0, 1, 2])], 1 + step % 3)], 0.1)
    assert controller.rates(0) == pytest.approx([1, 2 / 3, 1 / 2, 1 / 2], abs=0.06)
    assert controller.budget([context_of(None)]) == [DraftBudget(16, 2)]  # 1 · 2/3 ≥ 1/2 > 1 · 2/3 · 1/2
    assert controller.rates(3) == [0.8] * 4


def test_stopping_follows_the_drafter_that_goes_furthest() -> None:
    """The second drafter is right all along; the first is right once, and else wrong."""
    controller = Stopping(depth=5, least=0.5)
    for _ in range(300):
        controller.update([outcome([given_chain([1, 1], -1.0), given_chain([0, 0, 0, 0])], 4)], 0.1)
    assert controller.rates(0)[0] < 0.1
    assert controller.rates(1)[:4] == pytest.approx([1.0] * 4, abs=0.05)
    assert controller.budget([context_of(None)] * 2) == [DraftBudget(16, 5)] * 2


def test_stopping_tries_again() -> None:
    """A depth that was given up is tried again."""
    controller = Stopping(depth=3, least=0.5)
    for _ in range(100):
        controller.update([outcome([given_chain([0, 1, 2])], 1)], 0.1)
    assert controller.budget([context_of(None)]) == [DraftBudget(16, 1)]
    for _ in range(400):
        (budget,) = controller.budget([context_of(None)])
        controller.update([outcome([given_chain([0, 1, 2][: budget.depth])], budget.depth)], 0.1)
    assert controller.budget([context_of(None)]) == [DraftBudget(16, 3)]


def steps(controller: Goodput, count: int, seconds: Callable[[int], float], taken: int) -> None:
    context = context_of(None)
    for _ in range(count):
        (budget,) = controller.budget([context])
        chain = given_chain(list(np.arange(8) % 4), -0.1)
        found = outcome([chain], min(taken, budget.nodes), context, budget.nodes)
        controller.update([found], seconds(1 + len(found.tree)))


@pytest.mark.parametrize("each, more", [(1.0, 0.0), (1.0, 0.1), (0.02, 0.3), (1.0, 1.0)])
@pytest.mark.parametrize("taken", [0, 3, 8])
def test_goodput_is_the_best_choice(each: float, more: float, taken: int) -> None:
    """Costs are found again, and of all numbers of nodes the best is chosen, by the definition."""
    controller = Goodput(nodes=8)
    steps(controller, 200, lambda tokens: each + more * tokens, taken)
    found = controller.costs()
    chosen = controller.best(1)

    def goodput(nodes: int) -> float:
        return (1 + min(taken, nodes)) / (each + more * (1 + nodes))

    assert goodput(chosen) == pytest.approx(max(map(goodput, range(9))), rel=0.05)
    if taken < 8 and more:
        assert chosen <= taken
    assert found[0] + found[1] * 9 == pytest.approx(each + more * 9, rel=0.05)


def test_goodput_in_a_large_batch() -> None:
    """Nodes that are free for one sequence are not for many."""
    controller = Goodput(nodes=8)
    steps(controller, 200, lambda tokens: 1.0 + 0.01 * tokens + 0.0 * tokens, 2)
    assert controller.best(1) == 2
    assert controller.best(10_000) == 2  # two nodes that are always taken are worth their cost anyway
    rare = Goodput(nodes=8)
    context = context_of(None)
    for step in range(600):
        (budget,) = rare.budget([context])
        found = outcome([given_chain([0, 1, 2, 3])], min(int(step % 3 == 0), budget.nodes), context, budget.nodes)
        rare.update([found], 1.0 + 0.01 * (1 + len(found.tree)))
    assert rare.best(1) == 1
    assert rare.best(10_000) == 0


def test_goodput_leaves_out_interruptions_and_prompts() -> None:
    controller = Goodput(nodes=8)
    steps(controller, 1, lambda tokens: 77.0, 1)  # the first step of a sequence has read its prompt
    assert controller.costs() == (1.0, 0.0)
    steps(controller, 1, lambda tokens: 77.0, 1)
    controller = Goodput(nodes=8)
    context = context_of(None)
    for seconds in [9.0, 1.0, 1.0, 1.0, 500.0, 1.0]:
        controller.update([outcome([given_chain([1])], 0, context)], seconds)
    assert sum(controller.costs()) == pytest.approx(1.0)


class Slow(Given):
    """Takes so long, by a clock of the test."""

    now = 0.0

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        self.now += 100.0
        return super().draft(context, budget)


@pytest.mark.parametrize("ahead", [False, True])
def test_a_step_is_measured_with_its_drafts(ahead: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    drafter, controller = Slow(), Goodput(6, 4)
    monkeypatch.setattr("time.perf_counter", lambda: drafter.now)
    seen: list[float] = []
    monkeypatch.setattr(controller, "update", lambda outcomes, seconds: seen.extend(seconds for _ in outcomes))
    speculation = Speculation([drafter], controller=controller)
    job = branching(Case("dyck", 4, settings=Settings(max_tokens=12)).job(TorchDraw(0)))
    drive(lcd, speculation.ahead(job)) if ahead else drive(speculation, job)
    assert set(seen) == {100.0}


@pytest.mark.parametrize("name", MAKE)
def test_real_runs(name: str) -> None:
    """The same tokens, in fewer forward passes, row by row of a batch."""
    case = Case("dyck", 4, settings=Settings(max_tokens=12))
    plain = drive(lcd, case.job(TorchDraw(0), rows=3))
    samples = drive(
        Speculation([Oracle(plain[1].tokens)], controller=MAKE[name]()), branching(case.job(TorchDraw(0), rows=3))
    )
    for sample, other in zip(samples, plain, strict=True):
        same(sample, other)
    assert samples[1].forwards < plain[1].forwards


@pytest.mark.parametrize(
    "make", [lambda: Stopping(nodes=-1), lambda: Stopping(least=1.5), lambda: Goodput(nodes=-1), lambda: Goodput(8, -1)]
)
def test_options(make: Callable[[], Controller]) -> None:
    with pytest.raises(ConstrainError, match="must be"):
        make()
