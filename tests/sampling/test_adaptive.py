"""`rejection`, `cars` and `asap`: their distributions, whatever was learnt before, by walking the decision tree."""

import copy
import math
import warnings
from typing import Any

import pytest
from sampling_cases import Case, cases, conditional, distance, exact, law_of, mass, outcomes, weighted

from constrain.sampling import TorchDraw
from constrain.sampling.core.memory import Memory
from constrain.sampling.core.resampling import effective_size
from constrain.sampling.core.sampler import drive
from constrain.sampling.methods.asap import ASAp
from constrain.sampling.methods.cars import CARS
from constrain.sampling.methods.rejection import Rejection

TINY = 1e-10
MODELS = cases(21)


def learnt(case: Case, draws: int, method: type[Any] = CARS) -> Memory:
    """A memory of so many random draws."""
    memory = Memory()
    if draws:
        options = {"attempts": 1} if method is CARS else {}
        for i in range(draws):
            drive(method(memory=memory, **options), case.job(TorchDraw(case.seed + 100 * i)))
    return memory


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_cars_is_exact_whatever_was_learnt(case: Case) -> None:
    truth = exact(case)
    pi, total = conditional(truth), mass(truth)
    memory = learnt(case, case.seed % 7)
    trie = memory.trie(case.job(TorchDraw(0)), 0)
    found = [(q, sample) for q, (sample,) in outcomes(case, lambda: CARS(memory=copy.deepcopy(memory), attempts=1))]
    law = law_of(found)
    success = math.fsum(law.values())
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert {x: q / success for x, q in law.items()} == pytest.approx(pi, abs=TINY)
    seen, theta = trie.bounds
    assert math.exp(seen) <= total * (1 + TINY)
    assert total <= math.exp(theta) * (1 + TINY)
    if trie.visited(0):
        assert success * math.exp(theta) == pytest.approx(total, rel=1e-9)
    for _, sample in found:
        low, high = sample.evidence_bounds
        assert low <= sample.log_evidence <= high
        assert low - TINY <= math.log(total) <= high + TINY
        assert sample.finish_reason in ("stop", "budget")
        assert (sample.log_weight == 0) == (sample.finish_reason == "stop")
        if sample.finish_reason == "stop":
            assert sample.log_prob == pytest.approx(truth[tuple(sample.tokens)], abs=1e-9)
            assert sample.tv_bound == 0


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_asap_is_weighted_and_certified_whatever_was_learnt(case: Case) -> None:
    truth = exact(case)
    pi, total = conditional(truth), mass(truth)
    memory = learnt(case, case.seed % 9, ASAp)
    found = [(q, sample) for q, (sample,) in outcomes(case, lambda: ASAp(memory=copy.deepcopy(memory)))]
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert weighted(found) == pytest.approx({x: math.exp(p) for x, p in truth.items()}, rel=1e-9, abs=1e-300)
    law = law_of(found)
    lost = 1 - math.fsum(law.values())
    (bound,) = {sample.tv_bound for _, sample in found}
    ((seen, theta),) = {sample.evidence_bounds for _, sample in found}
    assert distance(law, pi) + lost / 2 <= bound + TINY
    assert math.exp(seen) <= total * (1 + TINY)
    assert total <= math.exp(theta) * (1 + TINY)


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_rejection_is_exact(case: Case) -> None:
    truth = exact(case)
    found = [(q, sample) for q, (sample,) in outcomes(case, lambda: Rejection(attempts=1))]
    law = law_of(found)
    assert law == pytest.approx({x: math.exp(p) for x, p in truth.items()}, abs=TINY)
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)


SMALL = [case for case in cases(6, (0.7, 1.5)) if case.language in ("optional tail", "twins", "one member", "dead end")]


@pytest.mark.parametrize("case", [case for case in SMALL if case.language != "twins"], ids=str)
@pytest.mark.parametrize("method", [CARS, Rejection])
def test_several_attempts_are_exact_too(method: Any, case: Case) -> None:
    """The whole tree of three attempts, of which two run at once: failures, learning, and the order of successes."""
    truth = exact(case)
    pi, total = conditional(truth), mass(truth)
    found = [(q, sample) for q, (sample,) in outcomes(case, lambda: method(attempts=3, batch=2))]
    law = law_of(found)
    success = math.fsum(law.values())
    assert {x: q / success for x, q in law.items()} == pytest.approx(pi, abs=TINY)
    if method is Rejection:
        assert success == pytest.approx(1 - (1 - total) ** 3, abs=TINY)
    else:
        assert success >= 1 - (1 - total) ** 3 - TINY
    assert {sample.attempts for _, sample in found if sample.finish_reason == "budget"} <= {3}


@pytest.mark.parametrize(
    "case", [case for case in SMALL if case.seed < 4 and case.language in ("one member", "dead end")], ids=str
)
def test_rows_that_learn_together(case: Case) -> None:
    """Two outputs of one call: each has the distribution of the target given that it succeeds, whatever the other does,
    and in one round they are independent."""
    pi = conditional(exact(case))
    joint: dict[Any, float] = {}
    found = list(outcomes(case, lambda: CARS(attempts=2, batch=2), rows=2))
    for row in range(2):
        law = law_of([(q, samples[row]) for q, samples in found])
        assert {x: q / math.fsum(law.values()) for x, q in law.items()} == pytest.approx(pi, abs=TINY)
    for q, samples in found:
        if all(sample.finish_reason == "stop" for sample in samples) and samples[0].attempts == samples[1].attempts:
            key = (samples[0].attempts, *(tuple(sample.tokens) for sample in samples))
            joint[key] = joint.get(key, 0.0) + q
    for (attempts, left, right), q in joint.items():
        both = math.fsum(other for key, other in joint.items() if key[0] == attempts)
        assert q / both == pytest.approx(pi[left] * pi[right], abs=TINY)


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_asap_draw_after_draw(case: Case) -> None:
    """Every row is weighted, and certified, given the rows before it; the same with draws of a warm-up thrown away."""
    truth = exact(case)
    pi = conditional(truth)
    p = {x: math.exp(each) for x, each in truth.items()}
    given: dict[Any, list[Any]] = {}
    found = [(q, samples) for q, samples in outcomes(case, lambda: ASAp(batch=1), rows=2)]
    for row in range(2):
        assert weighted([(q, samples[row]) for q, samples in found]) == pytest.approx(p, rel=1e-9)
    for q, (first, second) in found:
        given.setdefault(tuple(first.tokens), []).append((q, second))
    for rest in given.values():
        share = math.fsum(q for q, _ in rest)
        law = {x: q / share for x, q in law_of(rest).items()}
        lost = 1 - math.fsum(law.values())
        (bound,) = {sample.tv_bound for _, sample in rest}
        assert distance(law, pi) + lost / 2 <= bound + TINY
    warm = [(q, sample) for q, (sample,) in outcomes(case, lambda: ASAp(warmup=1))]
    assert weighted(warm) == pytest.approx(p, rel=1e-9)
    assert law_of(warm) == pytest.approx(law_of([(q, samples[1]) for q, samples in found]), abs=TINY)


def test_asap_comes_near() -> None:
    """The bound falls with the draws, and the warm-up ends when it is low enough."""
    case = Case("skewed", 2, 1.0)
    (sample,) = drive(ASAp(warmup=500, tolerance=0.05), case.job(TorchDraw(1)))
    assert sample.tv_bound is not None
    assert sample.tv_bound <= 0.05
    assert sample.attempts < 500
    bounds = [each.tv_bound for each in drive(ASAp(batch=1), case.job(TorchDraw(1), 30))]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize("ragged", [True, False])
def test_prompts_side_by_side(ragged: bool) -> None:
    """Rows with other prompts run in the same batch, and do not touch each other's tries."""
    case = Case("ambiguous", 1, 0.5)
    case.model.ragged = ragged
    prompts = [[0, 1], [2], [0, 1], [3, 3, 3]]
    truths = [exact(case, prompt) for prompt in prompts]
    for method in (CARS(), Rejection(), ASAp()):
        for sample, truth in zip(drive(method, case.job(TorchDraw(5), 4, prompts=prompts)), truths, strict=True):
            assert sample.log_prob == pytest.approx(truth[tuple(sample.tokens)], abs=1e-12)
            if sample.evidence_bounds is not None:
                low, high = sample.evidence_bounds
                assert low - TINY <= math.log(mass(truth)) <= high + TINY


def test_a_member_behind_a_tiny_mass_is_not_lost() -> None:
    """The valid mass is 1e-30 at one step, and all else is a dead end: no value is found by subtraction from 1."""
    case = Case("dead end", 0)
    logits = case.model.logits([0, 1])
    logits[:3] = [-70.0, 0.0, -200.0]  # "a" leads to the member, "b" is allowed but dead
    truth = exact(case)
    memory = Memory()
    for seed in range(3):
        drive(ASAp(memory=memory), case.job(TorchDraw(seed)))
    assert memory.trie(case.job(TorchDraw(0)), 0).log_theta[0] < -60
    for method in (lambda: CARS(memory=copy.deepcopy(memory)), lambda: ASAp(memory=copy.deepcopy(memory))):
        found = [(q, sample) for q, (sample,) in outcomes(case, method)]
        assert math.fsum(q for q, sample in found if sample.finish_reason == "stop") > 0.01
        for _, sample in found:
            if sample.finish_reason == "stop":
                assert sample.log_prob == pytest.approx(truth[tuple(sample.tokens)])


def test_asap_tells_where_few_outputs_have_most_of_the_weight() -> None:
    """ASAp warns below a fifth, as `effective_size` counts, for each target, and not where it has learnt."""
    told = quiet = 0
    for case in cases(12, (1.0, 12.0)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            samples = drive(ASAp(batch=20), case.job(TorchDraw(case.seed), 20))
        size = effective_size([sample.log_weight for sample in samples])
        uneven = 0 < size < 4
        assert [str(each.message)[:21] for each in found] == (["asap: 20 outputs are "] if uneven else [])
        told, quiet = told + uneven, quiet + (not uneven)
    assert told and quiet
