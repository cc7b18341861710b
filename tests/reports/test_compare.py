"""`compare`: what a budget buys, put together by hand; particles and states of chains count."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sampling_cases import Case, conditional, distance, exact, law_of, outcomes
from tiny_cases import Tiny

import constrain
from constrain.errors import ConstrainError, LimitError
from constrain.generation import make_job
from constrain.reports.compare import atoms_of, compared
from constrain.sampling import AWRS, MCMC, SIR, SMC, Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive


def test_compare_ranks_methods_by_what_a_budget_buys() -> None:
    case = Case("skewed", 7, 1.0)
    found = compared(case.job(TorchDraw(0)), ["lcd", "cars", "asap"], budgets=[60, 400], repeats=3, seed=1)
    tv = {(point.method, point.budget): point.tv for point in found.points}
    lcd_law = law_of([(q, s) for q, (s,) in outcomes(case, lambda: lcd)])
    floor = distance(lcd_law, conditional(exact(case)))
    assert found.truth == pytest.approx(conditional(exact(case)))
    assert floor > 0.15
    assert tv["lcd unweighted", 400] > floor - 0.1
    for name in ("lcd", "cars", "asap", "null"):
        assert tv[name, 400] < min(tv[name, 60], tv["lcd unweighted", 400])
    for point in found.points:
        assert point.forwards <= point.budget
        assert point.outputs > 0 or point.budget == 60  # one call of cars may need more
    assert str(found).splitlines()[0].split() == ["method", "budget", "forwards", "outputs", "TV", "±", "KL"]
    assert len(str(found).splitlines()) == 1 + 5 * 2


@pytest.mark.parametrize("language", ["two", "twin ids", "segmentations"])
@pytest.mark.parametrize(
    "method",
    [
        lambda: SIR(samples=2),
        lambda: SMC(particles=2, ess_threshold=1),
        lambda: SMC(particles=2, resampling="optimal"),
        lambda: AWRS(),
    ],
    ids=["sir", "smc", "without replacement", "awrs"],
)
def test_all_particles_of_an_output_are_properly_weighted_together(language: str, method: Any) -> None:
    for case in (Tiny(language, seed, 3.0, Settings(max_tokens=3)) for seed in range(4)):
        sums: dict[Any, float] = {}
        for probability, (sample,) in outcomes(case, method):
            for tokens, log_weight in atoms_of(sample):
                sums[tokens] = sums.get(tokens, 0.0) + probability * math.exp(log_weight)
        assert sums == pytest.approx({x: math.exp(log) for x, log in exact(case).items()}, abs=1e-10)


def test_compare_counts_particles_and_states() -> None:
    """The estimate of a budget, put together by hand from what the methods return."""
    case = Case("skewed", 7, 1.0)
    methods = {"sir": lambda: SIR(samples=5), "mcmc": lambda: MCMC(steps=7)}
    found = compared(case.job(TorchDraw(0)), methods, budgets=[200], repeats=1, seed=3)
    for point in found.points[:2]:
        share: dict[Any, float] = {}
        used, outputs = 0, 0
        for call in range(1000):
            (sample,) = drive(methods[point.method](), case.job(TorchDraw(3), streams=[call]))
            if used + sample.forwards > 200:
                break
            used += sample.forwards
            states = sample.population if point.method == "sir" else sample.population[4:]
            assert len(states) == (5 if point.method == "sir" else 4)
            for state in states:
                outputs += 1
                weight = math.exp(state.log_weight)
                share[tuple(state.tokens)] = share.get(tuple(state.tokens), 0.0) + weight
        total = sum(share.values())
        assert (point.forwards, point.outputs) == (used, outputs)
        assert point.tv == pytest.approx(distance({x: w / total for x, w in share.items()}, found.truth), abs=1e-12)


def test_compare_says_how_far_repeats_are_apart() -> None:
    case = Case("skewed", 7, 1.0)
    alone = [
        compared(case.job(TorchDraw(0)), ["sir"], budgets=[150], repeats=1, seed=seed).points[0] for seed in (4, 5)
    ]
    both = compared(case.job(TorchDraw(0)), ["sir"], budgets=[150], repeats=2, seed=4).points[0]
    assert all(math.isnan(point.tv_error) for point in alone)
    assert both.tv == pytest.approx((alone[0].tv + alone[1].tv) / 2)
    assert both.tv_error == pytest.approx(abs(alone[0].tv - alone[1].tv) / 2)


def test_compare_takes_what_generate_takes() -> None:
    model, members = constrain.reference.load(), ["red", "blue", "green"]
    found = constrain.compare(model, "A colour: ", ["lcd", "exact"], choices=members, budgets=[40], repeats=2, seed=3)
    job = make_job(model, "A colour: ", choices=members)
    assert found.points == compared(job, ["lcd", "exact"], budgets=[40], repeats=2, seed=3, truth=found.truth).points
    with pytest.raises(ConstrainError, match="n"):
        constrain.compare(model, "A colour: ", choices=members, n=2, method="lcd")


def test_compare_says_what_it_cannot_do() -> None:
    case = Case("skewed", 0)
    job = case.job(TorchDraw(0))
    with pytest.raises(ConstrainError, match="there is no method 'magic'"):
        compared(job, ["magic"])
    with pytest.raises(ConstrainError, match="compare needs at least one budget"):
        compared(job, budgets=())
    with pytest.raises(ConstrainError, match="a budget must be an int of at least 1, not 0"):
        compared(job, budgets=(0,))
    with pytest.raises(LimitError):
        compared(job, limit=5)
    with pytest.raises(ConstrainError, match="no member that the model gives any mass"):
        compared(replace(job, settings=Settings(max_tokens=2)))


def test_compare_and_numpy_agree_on_the_null() -> None:
    """Perfect draws: TV of n of them is what a simulation with numpy says."""
    case = Case("skewed", 3, 1.0)
    found = compared(case.job(TorchDraw(0)), ["lcd"], budgets=[200], repeats=10)
    null = next(point for point in found.points if point.method == "null")
    pi = np.array(list(found.truth.values()))
    rng = np.random.default_rng(5)
    n = round(null.outputs)
    simulated = [0.5 * np.abs(rng.multinomial(n, pi / pi.sum()) / n - pi).sum() for _ in range(200)]
    assert null.tv == pytest.approx(np.mean(simulated), rel=0.3)
