"""Every method samples what processors make of a model: whole decoders are enumerated, against plain formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pytest
import torch
from naive_processors import NaiveProcessed, Rule, counts, min_p, mirostat, momentum, repetition, typical
from sampling_cases import PROMPT, Case, Tokens, cases, conditional, exact, law_of, weighted

from constrain.sampling import (
    CARS,
    MCMC,
    SIR,
    SMC,
    ASAp,
    Draw,
    Exact,
    Job,
    Rejection,
    Sample,
    Settings,
    enumerate_draws,
    lcd,
)
from constrain.sampling.core.sampler import drive
from constrain.sampling.processors import (
    Counts,
    Foreign,
    MinP,
    Mirostat,
    Momentum,
    Processor,
    Repetition,
    Typical,
    processed,
)
from constrain.speculative import LegalWords, Lookup, Speculation

TINY = 1e-10


def forbid_even(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """A processor as transformers has them: tokens whose id plus the length is even lose 1.5."""
    assert input_ids.shape[0] == scores.shape[0] == 1
    ids = torch.arange(scores.shape[1])
    return torch.where((ids + input_ids.shape[1]) % 2 == 0, scores - 1.5, scores)


def naive_even(scores: dict[int, float], prompt: Any, output: Any, history: Any) -> dict[int, float]:
    return {t: s - 1.5 * ((t + len(prompt) + len(output)) % 2 == 0) for t, s in scores.items()}


RULES: dict[str, tuple[list[Any], list[Rule]]] = {
    "repetition": ([Repetition(1.7, structural=True)], [repetition(1.7, True)]),
    "of the output": ([Repetition(0.6, prompt=False, structural=True)], [repetition(0.6, False)]),
    "counts": ([Counts(presence=0.7, frequency=-0.4, structural=True)], [counts(0.7, -0.4)]),
    "min-p": ([MinP(0.3)], [min_p(0.3)]),
    "typical": ([Typical(0.7)], [typical(0.7)]),
    "mirostat": ([Mirostat(0.8, 0.6)], [mirostat(0.8, 0.6)]),
    "momentum": ([Momentum(0.4, top=2, structural=True)], [momentum(0.4, 2)]),
    "as in transformers": ([Foreign(forbid_even)], [naive_even]),
    "several": (
        [Repetition(1.7, structural=True), Mirostat(0.8, 0.6), MinP(0.2)],
        [repetition(1.7, True), mirostat(0.8, 0.6), min_p(0.2)],
    ),
}
CASES = [(name, case) for name in RULES for case in cases(3)]


@dataclass(frozen=True)
class Naive(Case):
    """A case whose model is p'', by the formulas."""

    rules: str = ""

    @cached_property
    def model(self) -> NaiveProcessed:  # type: ignore[override]
        plain = Case(self.language, self.seed, self.spread, self.settings)
        return NaiveProcessed(plain, RULES[self.rules][1], PROMPT)


def truth(name: str, case: Case) -> dict[Tokens, float]:
    """log p'' of every member that has any mass."""
    found = exact(Naive(case.language, case.seed, case.spread, case.settings, name))
    return {tokens: log_p for tokens, log_p in found.items() if log_p > -math.inf}


def job_of(name: str, case: Case, draw: Draw) -> Job:
    return processed(case.job(draw, token_bytes=case.constraint.vocabulary.tokens), RULES[name][0])


def walk(name: str, case: Case, method: Any) -> list[tuple[float, Sample]]:
    return list(enumerate_draws(lambda draw: drive(method, job_of(name, case, draw))[0]))


def check_weights(found: list[tuple[float, Sample]], target: dict[Tokens, float]) -> None:
    """The probabilities add up, and E[w 1(x)] = p''(x) for every member."""
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert weighted(found) == pytest.approx({x: math.exp(p) for x, p in target.items()}, rel=1e-8, abs=1e-300)


def pairs(step: int = 1) -> Any:
    some = CASES[::step]
    return pytest.mark.parametrize(("name", "case"), some, ids=[f"{name}-{case}" for name, case in some])


@pairs()
def test_masked_decoding(name: str, case: Case) -> None:
    """Tokens are drawn from what the rules make of the masked logits; the weights are the model's mass on the mask."""
    found = walk(name, case, lcd)
    target = truth(name, case)
    check_weights(found, target)
    for _, sample in found:
        if sample.finish_reason == "stop":
            assert sample.log_prob == pytest.approx(target[tuple(sample.tokens)], abs=1e-8)
            masses = math.fsum(record.log_z for record in sample.trace)
            assert sample.log_weight == pytest.approx(masses, abs=1e-8)  # of the model itself


@pairs()
def test_exact(name: str, case: Case) -> None:
    target = truth(name, case)
    found = walk(name, case, Exact())
    if target:
        assert law_of(found) == pytest.approx(conditional(target), abs=TINY)


@pairs(3)
@pytest.mark.parametrize("method", [CARS(attempts=1), Rejection(attempts=1)], ids=["cars", "rejection"])
def test_attempts(name: str, case: Case, method: Any) -> None:
    """Exactly the target, given that an attempt succeeds."""
    law = law_of(walk(name, case, method))
    success = math.fsum(law.values())
    if success > 1e-12:
        target = conditional(truth(name, case))
        assert {x: q / success for x, q in law.items()} == pytest.approx(target, abs=1e-9)


@pairs(4)
@pytest.mark.parametrize(
    "method", [SIR(samples=1), ASAp(), Speculation([LegalWords(), Lookup()])], ids=["sir", "asap", "drafts"]
)
def test_weighted_methods(name: str, case: Case, method: Any) -> None:
    check_weights(walk(name, case, method), truth(name, case))


SMALL = [
    (name, Case(language, 1, 1.0, Settings(max_tokens=4)))
    for name in RULES
    for language in ("optional tail", "ambiguous")
]


@pytest.mark.parametrize(("name", "case"), SMALL, ids=[f"{name}-{case}" for name, case in SMALL])
def test_particles(name: str, case: Case) -> None:
    """Sequences are forked and dropped, and states with them."""
    for method in (SMC(particles=2), SIR(samples=2)):
        check_weights(walk(name, case, method), truth(name, case))


@pytest.mark.parametrize(("name", "case"), SMALL, ids=[f"{name}-{case}" for name, case in SMALL])
@pytest.mark.parametrize("proposal", ["restart", "uniform"])
def test_chains(name: str, case: Case, proposal: str) -> None:
    """A chain that begins at the target stays there: TV(distribution, π) does not grow, and texts are cut and begun
    again."""
    pi = conditional(truth(name, case))
    distances = []
    for steps in (0, 1):
        law = law_of(walk(name, case, MCMC(steps=steps, proposal=proposal)))
        distances.append(0.5 * math.fsum(abs(law.get(x, 0) - pi.get(x, 0)) for x in {*law, *pi}))
    assert distances[1] <= distances[0] + TINY


def test_without_a_constraint() -> None:
    """All tokens are shared out anew: p'' = softmax(f)."""
    case = Case("one member", 2, 1.0)
    job = replace(case.job(lambda *_: torch.zeros(1)), matchers=None)
    (logits,) = processed(job, [MinP(0.5)]).model.start([PROMPT], [1])[1]
    raw = torch.tensor(case.model.logits(PROMPT))
    kept = raw >= raw.max() + math.log(0.5)
    assert torch.allclose(logits[0].softmax(-1), raw.masked_fill(~kept, -torch.inf).softmax(-1))


class Seen(Processor):
    """Keeps all that it is told."""

    name = "seen"

    def __init__(self) -> None:
        self.contexts: list[Any] = []

    def begin(self, context: Any) -> tuple[int, ...]:
        return ()

    def advance(self, state: Any, token: int, scores: Any, context: Any) -> tuple[int, ...]:
        return (*state, token)

    def __call__(self, scores: torch.Tensor, context: Any) -> torch.Tensor:
        self.contexts.append(context)
        assert context.state == tuple(context.tokens)  # forced tokens are told too
        assert ((scores > -torch.inf) == context.allowed).all()  # masked first
        return scores


@pytest.mark.parametrize("case", cases(1), ids=str)
def test_what_a_rule_is_told(case: Case) -> None:
    """The place, its mask and its state; never where one token is allowed."""
    seen = Seen()
    list(enumerate_draws(lambda draw: drive(lcd, processed(case.job(draw), [seen]))[0]))
    for context in seen.contexts:
        matcher = case.constraint.matcher()
        assert all(matcher.advance(token) for token in context.tokens)
        assert context.allowed.nonzero().flatten().tolist() == matcher.allowed()
        assert len(matcher.allowed()) == context.allowed_count > 1
        assert not context.forced
        assert tuple(context.prompt) == tuple(PROMPT)
