"""The law of each working pair of method and rule, and of drafts beside processors, by walking every decision.

Rules under `lcd` are walked in test_verifiers.py, methods that read ahead in test_ahead.py. `faithful` draws by one of
these methods.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from sampling_cases import Case, exact, weighted
from speculative_cases import branching
from test_ahead import METHODS, TINY, WEIGHTED, Found, table
from tiny_cases import Tiny, tiny_cases

from constrain.sampling import MCMC, SIR, Draw, Sample, Settings, enumerate_draws
from constrain.sampling.core.sampler import drive
from constrain.sampling.processors import MinP, Mirostat, Processor, Repetition, processed
from constrain.speculative import Fixed, Speculation, Verifier
from constrain.speculative.verifiers import VERIFIERS, verifier_named
from tree_target import Drawn, Given

RULES = [rule for rule in sorted(VERIFIERS) if rule != "match"]
CHOOSING: dict[str, Callable[[], Any]] = {
    "sir": lambda: SIR(samples=1),
    "sir of two": lambda: SIR(samples=2),
    "mcmc": lambda: MCMC(steps=1),
}
PROCESSORS: dict[str, Callable[[], list[Processor]]] = {
    "none": list,
    "scores": lambda: [MinP(0.3)],
    "text": lambda: [Repetition(1.7)],
    "state": lambda: [Mirostat(0.8, 0.6)],
}


class Asked(Verifier):
    """A rule that says which tokens were taken because they were drafted."""

    def __init__(self, rule: str) -> None:
        self.inner, self.taken = verifier_named(rule), 0
        self.name, self.draws = rule, self.inner.draws

    def verify(self, cases: Any, draw: Draw) -> Any:
        verdicts = self.inner.verify(cases, draw)
        self.taken += sum(len(each.path) for each in verdicts)
        return verdicts


def walk(case: Case, method: Callable[[], Any], drafts: Callable[[], Speculation] | None, processors: str) -> Found:
    """Every way the draws can turn out, as `generate` runs a method: what is drafted for are processed logits."""

    def run(draw: Draw) -> Sample:
        job = branching(case.job(draw, token_bytes=case.constraint.vocabulary.tokens))
        own = PROCESSORS[processors]()
        job = processed(job, own) if own else job
        if drafts is not None:
            speculation = drafts()
            job = replace(speculation.ahead(job), grow=None if speculation.matches else speculation.complete)
        (sample,) = drive(method(), job)
        return sample

    return list(enumerate_draws(run))


@cache
def plain(case: Case, method: Callable[[], Any], processors: str) -> dict[Any, float]:
    """The joint distribution without drafts: the same beside every rule."""
    return table(walk(case, method, None, processors))


def check(case: Case, method: Callable[[], Any], drafts: Callable[[], Speculation], processors: str = "none") -> Found:
    """Outputs, weights, evidence and populations have the joint distribution that they have without drafts."""
    found = walk(case, method, drafts, processors)
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    tables = table(found), plain(case, method, processors)
    likely = [{outcome: q for outcome, q in each.items() if q > TINY} for each in tables]
    assert likely[0] == pytest.approx(likely[1], abs=TINY)
    return found


def drawn(rule: str, seed: int, verifier: Verifier | None = None) -> Speculation:
    """One drafted token at a time, or two siblings, drawn as the rule wants it."""
    draws = verifier_named(rule).draws
    drafter = Drawn(seed, 1 if draws == "chain" else 2, 1, replacement=draws == "with")
    return Speculation([drafter], verifier=verifier or rule, controller=Fixed(2, 1))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", CHOOSING)
def test_rules_under_methods_that_draw_whole_sequences(method: str, rule: str) -> None:
    number = list(CHOOSING).index(method) + RULES.index(rule)
    verifier = Asked(rule)
    for language in ("branching", "twin ids"):
        case = Tiny(language, number, 1.5, Settings(max_tokens=3))
        found = check(case, CHOOSING[method], lambda: drawn(rule, number, verifier))
        if method in WEIGHTED:
            p = {x: math.exp(each) for x, each in exact(case).items()}
            assert weighted(found) == pytest.approx(p, rel=1e-9)
    assert verifier.taken > 0


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", ["sir", "mcmc"])
@pytest.mark.parametrize("seed", range(30))
def test_rules_on_many_models(seed: int, method: str, rule: str) -> None:
    """210 models for each pair."""
    for number, case in enumerate(tiny_cases(1, first=seed)):
        check(case, CHOOSING[method], lambda number=30 * number + seed: drawn(rule, number))


@pytest.mark.parametrize("rule", [*RULES, "match"])
@pytest.mark.parametrize("processors", [name for name in PROCESSORS if name != "none"])
def test_rules_beside_processors(rule: str, processors: str) -> None:
    """Under `lcd`: the target of a place is what processors make of it, with the states of its path."""
    verifier, changed = Asked(rule), False
    for seed in range(4):
        case = Tiny("branching", seed, 1.5, Settings(max_tokens=3))

        def run(draw: Draw, case: Tiny = case) -> Sample:
            job = branching(case.job(draw, token_bytes=case.constraint.vocabulary.tokens))
            (sample,) = drive(drawn(rule, case.seed, verifier), processed(job, PROCESSORS[processors]()))
            return sample

        undrafted = plain(case, METHODS["lcd"], processors)
        assert table(list(enumerate_draws(run))) == pytest.approx(undrafted, abs=TINY)
        changed |= undrafted != pytest.approx(plain(case, METHODS["lcd"], "none"), abs=1e-3)
    assert changed
    assert verifier.taken > 0


@pytest.mark.parametrize("processors", [name for name in PROCESSORS if name != "none"])
@pytest.mark.parametrize("method", METHODS)
def test_processors_beside_drafts_that_are_read_ahead(method: str, processors: str) -> None:
    number = list(METHODS).index(method)
    language = "twin ids" if method in ("rejection", "cars") else "branching"
    case = Tiny(language, number, 1.5, Settings(max_tokens=3))
    check(case, METHODS[method], lambda: Speculation([Given(number, 5)], controller=Fixed(6, 3)), processors)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(30))
def test_processors_beside_drafts_on_many_models(seed: int, method: str) -> None:
    """210 models for each method; processors take turns."""
    names = [name for name in PROCESSORS if name != "none"]
    for number, case in enumerate(tiny_cases(1, first=seed), seed):
        drafts = lambda number=number: Speculation([Given(number, 5)], controller=Fixed(6, 3))  # noqa: E731
        check(case, METHODS[method], drafts, names[number % 3])
