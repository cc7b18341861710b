"""n-grams and hidden Markov models: `exact` by backward sums equals the conditional found from the definition."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sampling_cases import LANGUAGES, LIMITS, PROMPT, Case, conditional, distance, exact, law_of, mass, outcomes

from constrain.errors import ConstrainError, LimitError
from constrain.papers import HiddenMarkov, NGram
from constrain.sampling import CARS, Exact, Settings, TorchDraw
from constrain.sampling.core.sampler import drive


def dirichlet(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.dirichlet(np.full(shape[-1], 0.7), size=shape[:-1])


def hidden_markov(width: int, seed: int) -> tuple[HiddenMarkov, Any]:
    """A model, and p(token | prefix) by summing over all paths of states."""
    rng = np.random.default_rng(seed)
    states = 1 + seed % 3
    initial, move, emit = dirichlet(rng, states), dirichlet(rng, states, states), dirichlet(rng, states, width)

    def joint(tokens: list[int]) -> float:
        belief = initial
        for token in tokens:
            belief = (belief * emit[:, token]) @ move
        return float(belief.sum())

    return HiddenMarkov(initial, move, emit), joint


def ngram(width: int, seed: int) -> tuple[NGram, Any]:
    rng = np.random.default_rng(seed)
    order = 1 + seed % 3
    table = dirichlet(rng, *[width] * order)

    def joint(tokens: list[int]) -> float:
        p = 1.0
        for place in range(order - 1, len(tokens)):
            p *= table[tuple(tokens[place - order + 1 : place + 1])]
        return float(p)

    return NGram(table), joint


@pytest.mark.parametrize("family", [hidden_markov, ngram])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", range(3))
def test_exact_by_backward_sums(family: Any, language: str, seed: int) -> None:
    case = Case(language, 3 * seed, settings=Settings(max_tokens=LIMITS.get(language, 9)))
    width = case.constraint.vocabulary.size
    model, joint = family(width, seed)
    # The same distribution as a table of logits, for the definition.
    for x in exact(case):
        for i in range(len(x)):
            prefix = [*PROMPT, *x[:i]]
            p = np.array([joint([*prefix, v]) for v in range(width)])
            with np.errstate(divide="ignore"):
                case.model.fixed[tuple(prefix)] = np.log(p / p.sum())
    truth = exact(case)
    found = []
    for q, (sample,) in outcomes(case, lambda: _On(model)):
        assert sample.log_prob == pytest.approx(truth[tuple(sample.tokens)], abs=1e-9)
        assert sample.log_evidence == pytest.approx(math.log(mass(truth)), abs=1e-9)
        assert math.fsum(record.log_prob_sampled for record in sample.trace) == pytest.approx(math.log(q), abs=1e-9)
        found.append((q, sample))
    assert distance(law_of(found), conditional(truth)) < 1e-10


class _On(Exact):
    """`exact`, on another model than the case's."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def run(self, job: Any) -> Any:
        return super().run(replace(job, model=self.model))


def test_every_method_takes_such_models() -> None:
    case = Case("optional tail", 0)
    model, _ = hidden_markov(4, 2)
    table = drive(Exact(), case.job(TorchDraw(0), model=model))[0]
    for sample in drive(CARS(), case.job(TorchDraw(0), 5, model=model)):
        assert sample.finish_reason == "stop"
        low, high = sample.evidence_bounds
        assert low - 1e-9 <= table.log_evidence <= high + 1e-9
    # Another temperature is another model, which is listed instead.
    (hot,) = drive(Exact(), case.job(TorchDraw(0), model=model, settings=Settings(max_tokens=9, temperature=2)))
    assert hot.log_evidence != pytest.approx(table.log_evidence)


def test_infinite_languages() -> None:
    """(a|c)*-like with an end: longer limits, more mass, and every text has the distribution of a geometric."""
    case = Case("cut", 0)
    model = NGram(np.array([0.5, 0.1, 0.3, 0.1]))
    masses = [
        drive(Exact(), case.job(TorchDraw(0), model=model, settings=Settings(max_tokens=t)))[0].log_evidence
        for t in (2, 3, 50, 400)
    ]
    # a^k c EOS has the probability 0.5^k · 0.3 · 0.1
    expected = [math.log(0.03 * sum(0.5**k for k in range(t - 1))) for t in (2, 3, 50, 400)]
    assert masses == pytest.approx(expected, abs=1e-12)


def test_without_a_constraint_it_is_the_model_within_the_limit() -> None:
    case = Case("cut", 0)
    job = case.job(TorchDraw(0), 3, model=NGram(np.full(4, 0.25)), matchers=None, settings=Settings(max_tokens=2))
    for sample in drive(Exact(), job):
        assert sample.finish_reason == "stop"
        assert sample.log_evidence == pytest.approx(math.log(1 - 0.75**2))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: NGram([[0.5, 0.5]]), r"an n-gram table has n axes of one length, not shape \(1, 2\)"),
        (lambda: NGram([0.5, 0.6]), "emission must be probabilities along its last axis"),
        (lambda: HiddenMarkov([1.0], [[1.0]], [[-0.5, 1.5]]), "emission must be probabilities"),
        (lambda: HiddenMarkov([0.5, 0.5], [[1.0]], [[1.0]]), "1 states emit, 2 begin, and transitions have shape"),
        (lambda: HiddenMarkov([1.0], [1.0], [[1.0]]), "transition must be probabilities .*, with 2 axes"),
        (lambda: NGram(np.full((4, 4, 4), 0.25)).begin([0]), "a 3-gram needs a prompt of 2 tokens, not 1"),
    ],
)
def test_bad_models(make: Any, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        make()


def test_too_many_states() -> None:
    case = Case("skewed", 0)
    with pytest.raises(LimitError, match="the constraint has more than 5 states within 2 tokens"):
        drive(Exact(limit=5), case.job(TorchDraw(0), model=NGram(np.full(3, 1 / 3))))
