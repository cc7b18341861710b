"""Drafts under methods that choose tokens themselves: distributions by enumeration, and what is not read again."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from sampling_cases import Case, Tokens, cases, conditional, exact, law_of, weighted
from speculative_cases import branching
from tiny_cases import Taste, Tiny, tiny_cases

from constrain.papers import NGramDrafter, Prior, Recycling
from constrain.sampling import (
    AWRS,
    CARS,
    MCMC,
    SIR,
    SMC,
    Argmax,
    ASAp,
    Beam,
    Draw,
    Exact,
    Faithful,
    Job,
    Rejection,
    Sample,
    Settings,
    TorchDraw,
    enumerate_draws,
    lcd,
)
from constrain.sampling.core.potentials import predicate
from constrain.sampling.core.sampler import drive
from constrain.speculative import Drafter, Fixed, LegalWords, Lookup, Model, Speculation
from toy_model import TableModel
from tree_target import Drawn, Given, Oracle

TINY = 1e-10
Found = list[tuple[float, Sample]]

DRAFTERS: dict[str, Callable[[], list[Drafter]]] = {
    "given": lambda: [Given(3, 4), Given(5, 9)],
    "tables": lambda: [Lookup(), Recycling(), NGramDrafter(), Prior(shared=False)],
    "drawn": lambda: [Drawn(4, width=1, depth=1)],
    "words": lambda: [LegalWords()],
    "none": list,
}
METHODS: dict[str, Callable[[], Any]] = {
    "lcd": lambda: lcd,
    "rejection": lambda: Rejection(attempts=2),
    "cars": lambda: CARS(attempts=2),
    "asap": lambda: ASAp(warmup=1),
    "smc": lambda: SMC(particles=2, ess_threshold=1),
    "smc of children": lambda: SMC(particles=1, resampling="optimal", children=2),
    "awrs": AWRS,
    "sir": lambda: SIR(samples=2),
    "mcmc": lambda: MCMC(steps=1),
}
WEIGHTED = {"lcd", "asap", "smc", "smc of children", "awrs", "sir"}
EXACT = {"rejection", "cars"}


def drafted(job: Job, drafters: list[Drafter], trees: bool = True, nodes: int = 6) -> Job:
    """The job with a model that reads drafts ahead."""
    return Speculation(drafters, controller=Fixed(nodes, 3)).ahead(branching(job) if trees else job)


def walk(case: Case, method: Callable[[], Any], drafters: Callable[[], list[Drafter]] | None, **given: Any) -> Found:
    """Every way the draws can turn out. Drafters: None, without drafts."""

    def run(draw: Draw) -> Sample:
        job = case.job(draw, token_bytes=case.constraint.vocabulary.tokens)
        (sample,) = drive(method(), job if drafters is None else drafted(job, drafters(), **given))
        return sample

    return list(enumerate_draws(run))


def table(found: Found) -> dict[Any, float]:
    """The probability of every output with its numbers."""
    law: dict[Any, float] = {}
    for probability, sample in found:
        states = tuple((tuple(each.tokens), round(each.log_weight, 9)) for each in sample.population)
        numbers = (round(sample.log_prob, 9), round(sample.log_weight, 9), round(sample.log_evidence or 0.0, 9))
        key = tuple(sample.tokens), sample.finish_reason, *numbers, sample.attempts, states
        law[key] = law.get(key, 0.0) + probability
    return law


@cache
def plain(case: Case, method: str) -> dict[Any, float]:
    """The distribution without drafts: the same beside every drafter."""
    return table(walk(case, METHODS[method], None))


def check(case: Case, method: str, drafter: str, trees: bool) -> None:
    """The distribution of outputs, weights, evidence and populations is that without drafts, and what the method
    states."""
    truth = exact(case)
    found = walk(case, METHODS[method], DRAFTERS[drafter], trees=trees)
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert table(found) == pytest.approx(plain(case, method), abs=TINY)
    p = {x: math.exp(each) for x, each in truth.items()}
    if method in WEIGHTED:
        rounding = 1e-12 * math.fsum(p.values())  # a share of 1e-15 is lost where draws are compared with sums
        assert weighted(found) == pytest.approx(p, rel=1e-9, abs=rounding)
    if method in EXACT:
        law: dict[Tokens, float] = law_of(found)
        success = math.fsum(law.values())
        assert {x: q / success for x, q in law.items()} == pytest.approx(conditional(truth), abs=TINY)
    for _, sample in found:
        for count in sample.drafts.values():
            assert 0 <= count.accepted <= count.drafted
            assert count.fault is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_the_law_of_every_method_under_every_drafter(method: str, drafter: str) -> None:
    number = list(METHODS).index(method) + list(DRAFTERS).index(drafter)
    # Two attempts in a row have many ends: small languages for them.
    language = ("twin ids", "forced", "twin ids" if method in EXACT else "two")[number % 3]
    check(Tiny(language, number, 1.5, Settings(max_tokens=3)), method, drafter, trees=number % 2 == 0)


SEEDS = dict.fromkeys(DRAFTERS, 6) | {"given": 30, "drawn": 2}  # of the models of each language


MANY = [(seed, drafter, method) for seed in range(30) for drafter in DRAFTERS for method in METHODS]


@pytest.mark.slow
@pytest.mark.parametrize("seed, drafter, method", [each for each in MANY if each[0] < SEEDS[each[1]]])
def test_the_law_on_many_models(method: str, drafter: str, seed: int) -> None:
    """210 models for each method; every other reads chains."""
    for number, case in enumerate(tiny_cases(1, first=seed), seed):
        if drafter != "drawn" or case.language in ("two", "forced", "twin ids", "empty too"):
            check(case, method, drafter, trees=number % 2 == 0)


@pytest.mark.parametrize("case", cases(2), ids=str)
@pytest.mark.parametrize("method", [Beam(width=3), Argmax(batch=3), Exact(batch=2)], ids=["beam", "argmax", "exact"])
def test_searches_find_the_same(case: Case, method: Any) -> None:
    plain = drive(method, case.job(TorchDraw(1), 2))
    for trees in (True, False):
        found = drive(method, drafted(case.job(TorchDraw(1), 2), [Given(3, 6), Lookup()], trees))
        for sample, other in zip(found, plain, strict=True):
            assert (sample.tokens, sample.finish_reason) == (other.tokens, other.finish_reason)
            assert sample.log_prob == pytest.approx(other.log_prob, abs=1e-12)
            assert sample.log_evidence == pytest.approx(other.log_evidence, abs=1e-12)
            assert sample.forwards <= other.forwards


@pytest.mark.parametrize("name", [*METHODS, "faithful", "smc of lines", "a check"])
def test_the_same_outputs_for_the_same_seed(name: str) -> None:
    """And fewer forward passes; they count rows of the model's sessions, not sequences."""
    no_b = predicate(lambda text: not text.startswith("b"), on="prefix")
    more: dict[str, Callable[[], Any]] = {
        "faithful": lambda: Faithful(prefixes=0, pilot=4),
        "smc of lines": lambda: SMC(particles=4, boundary=lambda text, new: len(text + new) % 2 == 0),
        "a check": lambda: SMC(particles=3, check=no_b),
    }
    method = {**METHODS, **more}[name]
    saved = 0
    for seed in range(3):
        case = Case(("dyck", "forced chain", "optional tail")[seed], seed, 1.0)
        given = {"token_bytes": case.constraint.vocabulary.tokens, "prompts": [[0, 1], [0, 1], [2]], "rows": 3}
        plain = drive(method(), case.job(TorchDraw(seed), **given))
        for trees in (True, False):
            drafts: list[Drafter] = [Given(4, 6), Recycling(), Model(TableModel(case.model.width, 5))]
            found = drive(method(), drafted(case.job(TorchDraw(seed), **given), drafts, trees))
            for sample, other in zip(found, plain, strict=True):
                assert (sample.tokens, sample.finish_reason) == (other.tokens, other.finish_reason)
                assert sample.log_weight == pytest.approx(other.log_weight, abs=1e-9)
                assert sample.log_evidence == pytest.approx(other.log_evidence, abs=1e-9)
                assert [each.tokens for each in sample.population] == [each.tokens for each in other.population]
                assert {count.fault for count in sample.drafts.values()} <= {None}
                saved += other.forwards - sample.forwards if trees else 0
    assert saved > 0


@pytest.mark.parametrize("method", [Rejection(attempts=1), CARS(attempts=1), ASAp()], ids=lambda method: method.name)
@pytest.mark.parametrize("prompts", [1, 3])
def test_forced_tokens_are_read_together(method: Any, prompts: int) -> None:
    """One forward pass for the prompt; one for a run of forced tokens, after the token before it, or after the
    prompt."""
    case = Case("forced chain", 1, 0.1)
    for seed in range(20):
        job = case.job(TorchDraw(seed), prompts, prompts=[[token] for token in range(prompts)])
        before = case.model.forwards
        samples = drive(method, job)
        assert max(sample.forwards for sample in samples) <= 2
        assert case.model.forwards - before <= 1 + max(sample.forwards for sample in samples)


def test_what_is_known_of_the_text_is_not_read_again() -> None:
    """With a drafter that knows the text, one attempt of each method needs a forward pass for each so many tokens."""
    case = Case("dyck", 4, settings=Settings(max_tokens=12))
    for method in (lcd, Rejection(attempts=30), CARS(attempts=30), ASAp(), AWRS()):
        (plain,) = drive(method, case.job(TorchDraw(3)))
        job = drafted(case.job(TorchDraw(3)), [Oracle(plain.tokens)], nodes=20)
        (sample,) = drive(method, job)
        assert sample.tokens == plain.tokens
        assert sample.forwards <= plain.forwards
        assert sample.drafts["oracle"].accepted <= sample.drafts["oracle"].drafted


def test_a_soft_potential_steers_as_without_drafts() -> None:
    for seed in range(3):
        case = Tiny(("two", "branching", "segmentations")[seed], seed, 1.5, Settings(max_tokens=3))
        taste = Taste(case, seed)
        found = walk(case, lambda taste=taste: SMC(particles=1, potential=taste), DRAFTERS["given"])
        assert weighted(found) == pytest.approx(taste.target(), rel=1e-9)


def test_temperature_and_truncation_come_before_the_method() -> None:
    settings = Settings(max_tokens=3, temperature=0.6, top_p=0.9)
    for name in ("cars", "smc", "mcmc"):
        case = replace(Tiny("two", 2, 1.5), settings=settings)
        plain, found = walk(case, METHODS[name], None), walk(case, METHODS[name], DRAFTERS["given"])
        assert table(found) == pytest.approx(table(plain), abs=TINY)
