"""`mcmc` by its matrix: every entry of the kernel is enumerated, and must leave the target as it is."""

import math
from typing import Any

import numpy as np
import pytest
from sampling_cases import Case, cases, conditional, distance, exact, job_of, law_of, walk
from tiny_cases import Taste, Tiny, tiny_cases

from constrain.errors import ConstrainError
from constrain.sampling import Sample, Settings, TorchDraw, enumerate_draws
from constrain.sampling.core.potentials import predicate
from constrain.sampling.core.sampler import drive
from constrain.sampling.methods.mcmc import MCMC, PROPOSALS, MarkovChain

TINY = 1e-10
Law = dict[tuple[int, ...], float]


def kernel(case: Case, method: MCMC, states: dict[tuple[int, ...], Sample]) -> np.ndarray:
    """float64[S, S]: the probability to go from one state to another in a step."""
    place = {tokens: i for i, tokens in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for tokens, state in states.items():

        def step(draw: Any, state: Sample = state) -> tuple[int, ...]:
            chain = MarkovChain(0, 0)
            chain.enter(state)
            method.advance(job_of(case, draw), [chain])
            return tuple(chain.state.tokens)

        for probability, reached in enumerate_draws(step):
            matrix[place[tokens], place[reached]] += probability
    return matrix


def first_states(case: Case, potential: Any) -> dict[tuple[int, ...], Sample]:
    """The valid texts that a first draw reaches, with their weights."""
    found = {}
    for _, sample in walk(case, MCMC(steps=0, potential=potential)):
        if sample.finish_reason == "stop":
            found[tuple(sample.tokens)] = sample
    return found


def with_weights(case: Case, potential: Any) -> dict[tuple[int, ...], Sample]:
    """The same, with log π − log q as log weight, from the definition."""
    logs = {t: math.log(p) for t, p in potential.target().items()} if potential else exact(case)
    states = first_states(case, potential)
    for tokens, state in states.items():
        state.log_weight = logs[tokens] - math.fsum(record.log_prob_sampled for record in state.trace)
    return states


def check(case: Case, method: MCMC, states: dict[tuple[int, ...], Sample], target: Law) -> np.ndarray:
    matrix = kernel(case, method, states)
    pi = np.array([target[tokens] for tokens in states])
    assert matrix.sum(axis=1).tolist() == pytest.approx([1] * len(states), abs=TINY)
    assert (pi @ matrix).tolist() == pytest.approx(pi.tolist(), rel=1e-9, abs=TINY)
    flow = pi[:, None] * matrix
    assert abs(flow - flow.T).max() < TINY  # detailed balance
    return matrix


@pytest.mark.parametrize("case", [*tiny_cases(27), *(c for c in cases(3) if c.language != "skewed")], ids=str)
def test_the_kernel_leaves_the_target_invariant(case: Case) -> None:
    """More than 200 models, each kind of proposal; a soft potential in every second."""
    taste = Taste(case, case.seed) if case.seed % 2 else None
    states = with_weights(case, taste)
    logs = {t: math.log(p) for t, p in taste.target().items()} if taste else exact(case)
    assert states.keys() == logs.keys()
    for proposal in PROPOSALS:
        check(case, MCMC(proposal=proposal, potential=taste), states, conditional(logs))


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_the_law_after_some_steps_is_the_power_of_the_kernel(proposal: str) -> None:
    case = Tiny("two", 4, 2.0, Settings(max_tokens=3))
    states = with_weights(case, None)
    matrix = check(case, MCMC(proposal=proposal), states, conditional(exact(case)))
    begin = law_of(walk(case, MCMC(steps=0)))
    law, far = np.array([begin[tokens] for tokens in states]), []
    for steps in range(4):
        found = law_of(walk(case, MCMC(steps=steps, proposal=proposal)))
        assert [found[tokens] for tokens in states] == pytest.approx(law.tolist(), abs=TINY)
        far.append(distance(found, conditional(exact(case))))
        law = law @ matrix
    assert far == sorted(far, reverse=True)
    assert far[3] < far[0]


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_what_has_no_weight_is_left_and_never_entered(proposal: str) -> None:
    case = Case("optional tail", 1)
    short = predicate(lambda text: len(text) < 3)
    for _, sample in walk(case, MCMC(steps=2, proposal=proposal, potential=short)):
        weights = [state.log_weight for state in sample.population]
        alive = [weight > -math.inf for weight in weights]
        assert alive == sorted(alive)  # once a member, always a member
        assert (sample.finish_reason == "stop") == alive[-1] == (sample.log_weight == 0)
        assert all(len(state.tokens) < 4 for state, ok in zip(sample.population, alive, strict=True) if ok)
        assert sample.attempts == 3
        assert len(sample.population) == 3


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_weights_of_states_are_right_after_many_steps(proposal: str) -> None:
    """log p − log q of what was kept and what was drawn, however the state came about."""
    case = Case("dyck", 0, 0.5)
    method, truth = MCMC(proposal=proposal), exact(case)
    chain = MarkovChain(0, 0)
    job = case.job(TorchDraw(3))
    chain.enter(next(iter(with_weights(case, None).values())))
    for _ in range(30):
        method.advance(job, [chain])
    assert len({tuple(state.tokens) for state in chain.states}) > 2
    for state in chain.states:
        log_q = math.fsum(record.log_prob_sampled for record in state.trace)
        assert state.log_weight + log_q == pytest.approx(truth[tuple(state.tokens)], abs=1e-9)


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize("language, limit", [("cut", 1), ("forced chain", 3)])
def test_nothing_to_sample(proposal: str, language: str, limit: int) -> None:
    case = Case(language, 1, settings=Settings(max_tokens=limit))
    for _, sample in walk(case, MCMC(steps=2, proposal=proposal)):
        assert (sample.finish_reason, sample.log_weight, sample.accepted) == ("length", -math.inf, 0)


@pytest.mark.parametrize("language", ["one member", "only the empty text"])
@pytest.mark.parametrize("proposal", PROPOSALS)
def test_a_single_member_stays(language: str, proposal: str) -> None:
    ((q, sample),) = [
        (math.fsum(q for q, _ in found), found[0][1])
        for found in [walk(Case(language, 1), MCMC(steps=2, proposal=proposal))]
    ]
    assert q == pytest.approx(1)
    assert [state.tokens for state in sample.population] == [sample.tokens] * 3


def test_the_evidence_of_independent_proposals() -> None:
    case = Tiny("two", 4, 1.0, Settings(max_tokens=3))
    found = walk(case, MCMC(steps=2))
    mean = math.fsum(q * math.exp(sample.log_evidence or 0) for q, sample in found)
    assert mean == pytest.approx(math.fsum(map(math.exp, exact(case).values())), rel=1e-9)
    (sample,) = drive(MCMC(steps=2, proposal="uniform"), case.job(TorchDraw(0)))
    assert sample.log_evidence is None


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_rows_are_independent(proposal: str) -> None:
    case = Case("dyck", 2)
    method = MCMC(steps=4, proposal=proposal)
    batch = drive(method, case.job(TorchDraw(4), rows=3))
    for row in range(3):
        (alone,) = drive(method, case.job(TorchDraw(4), streams=[row]))
        assert [s.tokens for s in alone.population] == [s.tokens for s in batch[row].population]


def test_bad_options() -> None:
    with pytest.raises(ConstrainError, match="steps must be an int of at least 0, not -1"):
        MCMC(steps=-1)
    with pytest.raises(ConstrainError, match=r"no proposal 'hop'\n  fix: choose one of: restart, uniform, priority"):
        MCMC(proposal="hop")
    with pytest.raises(ConstrainError, match="wrap a function"):
        MCMC(potential=len)  # type: ignore[arg-type]
