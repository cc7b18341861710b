"""The whole decoder against `lcd`: both decision trees are walked, so distributions, weights and traces are exact."""

import math
from dataclasses import replace
from typing import Any

import pytest
from sampling_cases import Case, cases, exact
from speculative_cases import branching, check, same
from tiny_cases import Tiny, tiny_cases

from constrain.sampling import MCMC, SIR, Sample, Settings, TorchDraw, enumerate_draws, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import (
    Context,
    DraftBudget,
    Drafter,
    DraftTree,
    Fixed,
    ForkTarget,
    Lookup,
    Speculation,
    given_chain,
)
from toy_model import TableModel
from tree_target import Drawn, Given, Oracle

CASES = cases(3, (1.0, 3.0, 8.0))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("trees", [True, False], ids=["trees", "chains"])
def test_the_law_is_that_of_lcd(case: Case, trees: bool) -> None:
    for seed in range(2):
        check(case, Speculation([Given(seed), Given(seed + 9, 3)], controller=Fixed(6, 3)), trees)


@pytest.mark.parametrize("case", CASES[::4], ids=str)
@pytest.mark.parametrize(
    "settings", [{"temperature": 0.0}, {"temperature": 0.6}, {"top_k": 2}, {"top_p": 0.7, "temperature": 1.4}], ids=str
)
def test_shaped_targets(case: Case, settings: dict[str, Any]) -> None:
    shaped = replace(case.settings, **settings)
    check(case, Speculation([Given(3)]), settings=shaped)


@pytest.mark.parametrize("limit", range(1, 7))
@pytest.mark.parametrize("name", ["dyck", "cut", "forced chain"])
def test_outputs_that_are_cut(name: str, limit: int) -> None:
    check(Case(name, 1, settings=Settings(max_tokens=limit)), Speculation([Given(5, 9)]))


def test_without_a_constraint() -> None:
    check(Case("dyck", 2, settings=Settings(max_tokens=3)), Speculation([Given(5, 9)]), matchers=None)


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_the_same_tokens_for_the_same_seed(case: Case) -> None:
    for seed in range(5):
        job = case.job(TorchDraw(seed), rows=4, prompts=[[0, 1], [0, 1], [1], [2, 0, 1]])
        expected = drive(lcd, replace(job, draw=TorchDraw(seed)))
        for each in (job, branching(job)):
            given = drive(Speculation([Given(1), Lookup()]), replace(each, draw=TorchDraw(seed)))
            for sample, other in zip(given, expected, strict=True):
                same(sample, other)
        table = branching(job)
        for sample, other in zip(
            drive(Speculation([Drawn(1)]), replace(table, draw=TorchDraw(seed))), expected, strict=True
        ):
            same(sample, other)


@pytest.mark.parametrize("depth", [0, 1, 3, 8])
@pytest.mark.parametrize("trees", [True, False], ids=["trees", "chains"])
def test_what_drafts_are_worth(depth: int, trees: bool) -> None:
    case = Case("dyck", 4, settings=Settings(max_tokens=12, temperature=0))
    (plain,) = drive(lcd, case.job(TorchDraw(0)))
    drafter = Oracle(plain.tokens)
    job = branching(case.job(TorchDraw(0)))
    job = job if trees else replace(job, model=TableModel(case.model.width, case.model.seed, case.model.spread))
    (sample,) = drive(Speculation([drafter], controller=Fixed(8, depth)), job)
    same(sample, plain)
    assert sample.forwards == job.model.forwards  # type: ignore[attr-defined]
    count = sample.drafts["oracle"]
    assert count.drafted == count.accepted
    assert sample.forwards + count.accepted + sum(record.forced for record in sample.trace) >= len(sample.tokens)
    assert sample.forwards <= math.ceil(len(plain.tokens) / (depth + 1)) + 1 + (not trees)


def test_chains_that_are_taken_in_part_are_read_twice_at_most() -> None:
    """If the model can only fork, the accepted part of a broken chain is read again, once."""
    case = Case("skewed", 2)
    read: list[int] = []

    class Counting(TableModel):
        def start(self, prefixes: Any, keep: Any) -> Any:
            session, logits = super().start(prefixes, keep)
            return self.counted(session), logits

        def counted(self, session: Any) -> Any:
            feed, fork = session.feed, session.fork
            session.feed = lambda chunks, keep: (read.append(sum(map(len, chunks))), feed(chunks, keep))[1]
            session.fork = lambda rows: self.counted(fork(rows))
            return session

    for seed in range(8):
        read.clear()
        job = case.job(TorchDraw(seed), model=Counting(case.model.width, case.model.seed, case.model.spread))
        (sample,) = drive(Speculation([Given(seed, 6)], controller=Fixed(4, 4)), job)
        (plain,) = drive(lcd, case.job(TorchDraw(seed)))
        same(sample, plain)
        drafted = sum(count.drafted for count in sample.drafts.values())
        assert sum(read) <= 2 * len(sample.tokens) + drafted


def test_rows_go_their_own_pace() -> None:
    """One row is drafted for well, the other badly: the first ends sooner, and neither changes."""
    case = Case("skewed", 2)
    job = case.job(TorchDraw(3), rows=2, prompts=[[0], [1]])
    plain = drive(lcd, replace(job, draw=TorchDraw(3)))

    class Half(Drafter):
        def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
            return Oracle(plain[0].tokens).draft(context, budget) if context.row == 0 else given_chain([1, 1, 1])

    samples = drive(Speculation([Half()]), replace(branching(job), draw=TorchDraw(3)))
    for sample, other in zip(samples, plain, strict=True):
        same(sample, other)
    assert samples[0].forwards < samples[1].forwards
    assert "Half" in samples[0].drafts


class Raises(Drafter):
    name = "raises"

    def __init__(self, when: int, what: Any) -> None:
        self.calls, self.when, self.what = 0, when, what

    def draft(self, context: Context, budget: DraftBudget) -> Any:
        self.calls += 1
        if self.calls >= self.when:
            if isinstance(self.what, Exception):
                raise self.what
            return self.what
        return given_chain([0])


def no_law(**changes: Any) -> DraftTree:
    import numpy as np
    import torch

    one = np.zeros(1, np.int32)
    given = {"tokens": one, "draft_probs": torch.full((1, 3), 1 / 3), **changes}
    return DraftTree(given["tokens"], one - 1, np.zeros(1), one, given["draft_probs"])


def twice() -> DraftTree:
    import numpy as np
    import torch

    zeros = np.zeros(2, np.int32)
    return DraftTree(zeros, zeros - 1, np.zeros(2), zeros, torch.full((1, 3), 1 / 3))


def bad_drafts() -> list[tuple[Any, str]]:
    import numpy as np
    import torch

    return [
        (RuntimeError("out of ideas\nand memory"), "RuntimeError: out of ideas"),
        (None, "ConstrainError: a drafter gave '[None]' for 1 sequences, not as many trees"),
        ([1, 2], "ConstrainError: a drafter gave '[[1, 2]]' for 1 sequences, not as many trees"),
        (no_law(draft_probs=torch.ones(1, 7) / 7), "ConstrainError: draft_probs has shape (1, 7), not (rows, 3)"),
        (no_law(draft_probs=torch.ones(1, 3)), "ConstrainError: a row of draft_probs has negative entries, or its sum"),
        (no_law(draft_probs=torch.full((1, 3), math.nan)), "ConstrainError: a row of draft_probs has negative entries"),
        (no_law(tokens=np.array([3], np.int32)), "ConstrainError: a drawn token is outside the vocabulary of 3"),
        (twice(), "ConstrainError: two siblings drawn without replacement are the same token"),
        (no_law(draft_probs=torch.eye(3)[1:2]), "ConstrainError: a token is said to be drawn from a distribution that"),
    ]


@pytest.mark.parametrize("what, fault", bad_drafts(), ids=lambda value: value[:60] if isinstance(value, str) else "")
@pytest.mark.parametrize("when", [1, 3])
def test_a_drafter_that_fails_is_left_out(when: int, what: Any, fault: str) -> None:
    case = Case("skewed", 2)
    drafter = Raises(when, what)
    (plain,) = drive(lcd, case.job(TorchDraw(5)))
    (sample,) = drive(Speculation([drafter, Given(1)]), branching(case.job(TorchDraw(5))))
    same(sample, plain)
    if drafter.calls >= when:
        assert drafter.calls == when
        assert (sample.drafts["raises"].fault or "").startswith(fault)
    assert sample.drafts["given"].fault is None


def test_a_drafter_that_fails_to_learn() -> None:
    class Forgetful(Drafter):
        name = "forgetful"

        def observe(self, outcomes: Any) -> None:
            raise KeyError("what?")

    case = Case("skewed", 2)
    (sample,) = drive(Speculation([Forgetful(), Forgetful()]), branching(case.job(TorchDraw(5))))
    assert sample.drafts.keys() >= {"forgetful", "forgetful#2"}
    assert sample.drafts["forgetful"].fault == "KeyError: 'what?'"


def test_a_wide_model() -> None:
    assert ForkTarget(TableModel(5)).width == 5


# --- methods that are built on masked decoding ------------------------------------------------------------------------


@pytest.mark.parametrize("case", tiny_cases(2), ids=str)
def test_resampling_stays_properly_weighted(case: Tiny) -> None:
    """E[w · 1(x)] = p(x) of every member, whatever is drafted; and the same outputs as without drafts."""
    speculation = Speculation([Given(4, 4)])
    for settings in (case.settings, replace(case.settings, temperature=0.5)):
        sums: dict[tuple[int, ...], float] = {}
        plain = dict(enumerate_tokens(case, settings, None))
        drafted = dict(enumerate_tokens(case, settings, speculation.complete))
        assert drafted.keys() == plain.keys()
        for key, (probability, sample) in drafted.items():
            assert probability == pytest.approx(plain[key][0], abs=1e-12)
            assert sample.log_weight == pytest.approx(plain[key][1].log_weight, abs=1e-12)
            if sample.finish_reason == "stop":
                weight = probability * math.exp(sample.log_weight)
                sums[tuple(sample.tokens)] = sums.get(tuple(sample.tokens), 0.0) + weight
        if settings.temperature == 1:
            expected = {x: math.exp(log_p) for x, log_p in exact(case).items()}
            assert sums == pytest.approx(expected, abs=1e-12)


def enumerate_tokens(case: Tiny, settings: Settings, grow: Any) -> Any:
    """(outcome, (probability, sample)): by the tokens of all samples that one was drawn from."""
    found: dict[Any, tuple[float, Sample]] = {}

    def run(draw: Any) -> list[Sample]:
        return drive(SIR(samples=2), branching(case.job(draw, settings=settings, grow=grow)))

    for probability, (sample,) in enumerate_draws(run):
        key = tuple(sample.tokens), tuple(tuple(each.tokens) for each in sample.population)
        found[key] = (found.get(key, (0.0, sample))[0] + probability, sample)
    return found.items()


@pytest.mark.parametrize("proposal", ["restart", "uniform", "priority"])
def test_chains_that_draft(proposal: str) -> None:
    """The same states for the same seed, and fewer forward passes."""
    saved = 0
    for seed in range(6):
        case = Case("dyck", seed, 1.0, settings=Settings(max_tokens=9))
        method = MCMC(steps=3, proposal=proposal)
        (plain,) = drive(method, branching(case.job(TorchDraw(seed))))
        speculation = Speculation([Given(4, 4), Given(5, 9)])
        job = branching(case.job(TorchDraw(seed), grow=speculation.complete))
        (found,) = drive(method, job)
        same(found, plain)
        assert [state.tokens for state in found.population] == [state.tokens for state in plain.population]
        assert found.drafts["given"].accepted <= found.drafts["given"].drafted
        saved += plain.forwards - found.forwards
    # Proposals that begin together and say the same are one without drafts; here each has a tree of its own.
    assert proposal == "restart" or saved > 0
