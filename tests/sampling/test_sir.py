"""`sir` by enumeration: properly weighted for every number of samples, and closer to the target the more there are."""

import math

import pytest
from sampling_cases import Case, cases, conditional, distance, exact, law_of, outcomes, walk, weighted
from tiny_cases import Taste, Tiny, tiny_cases

from constrain.errors import ConstrainError
from constrain.sampling import Sample, Settings, TorchDraw
from constrain.sampling.core.potentials import predicate
from constrain.sampling.core.sampler import drive
from constrain.sampling.methods.sir import SIR

TINY = 1e-10


def check(found: list[tuple[float, Sample]], target: dict[tuple[int, ...], float]) -> None:
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert weighted(found) == pytest.approx(target, rel=1e-9, abs=1e-300)
    evidence = math.fsum(q * math.exp(sample.log_evidence or 0) for q, sample in found)
    assert evidence == pytest.approx(math.fsum(target.values()), rel=1e-9, abs=1e-300)
    for _, sample in found:
        assert (sample.log_weight == -math.inf) == (sample.finish_reason != "stop")
        assert sample.accepted == sum(each.log_weight > -math.inf for each in sample.population)
        assert sample.attempts == len(sample.population)


@pytest.mark.parametrize("case", tiny_cases(30), ids=str)
def test_every_text_is_properly_weighted(case: Tiny) -> None:
    """210 models; a soft potential in every second."""
    taste = Taste(case, case.seed) if case.seed % 2 else None
    target = taste.target() if taste else {t: math.exp(p) for t, p in exact(case).items()}
    check(walk(case, SIR(samples=2, potential=taste)), target)


@pytest.mark.parametrize(
    "case", [*cases(2), *(Case("forced chain", 1, settings=Settings(max_tokens=n)) for n in (2, 4))], ids=str
)
def test_languages_of_all_kinds(case: Case) -> None:
    """Also what is cut off, dead ends, and one sample, which is `lcd`."""
    check(walk(case, SIR(samples=1)), {t: math.exp(p) for t, p in exact(case).items()})


def test_more_samples_come_closer_to_the_target() -> None:
    case = Tiny("two", 0, 1.0, Settings(max_tokens=3))
    pi = conditional(exact(case))
    far = [distance(law_of(walk(case, SIR(samples=n))), pi) for n in (1, 2, 4)]
    assert far[0] > 0.05
    assert far == sorted(far, reverse=True)
    assert far[2] < far[0] / 4


def test_what_a_predicate_rules_out() -> None:
    case = Case("optional tail", 1)
    short = predicate(lambda text: len(text) == 1)
    found = walk(case, SIR(samples=2, potential=short))
    check(found, {t: math.exp(p) for t, p in exact(case).items() if len(t) == 2})
    assert {sample.evaluations for _, sample in found} == {1, 2}  # equal texts are asked about once
    dead = [sample for _, sample in found if sample.log_evidence == -math.inf]
    assert {sample.finish_reason for sample in dead} == {"dead_end"}


def test_the_prompt_is_read_once() -> None:
    case = Case("optional tail", 2)
    (sample,) = drive(SIR(samples=5), case.job(TorchDraw(0)))
    assert sample.forwards <= 1 + sum(len(each.tokens) - 1 for each in sample.population)
    assert case.model.forwards <= max(len(each.tokens) for each in sample.population)


def test_rows_are_independent() -> None:
    case = Case("dyck", 0, 0.5)
    batch = drive(SIR(samples=3), case.job(TorchDraw(4), rows=3))
    for row in range(3):
        (alone,) = drive(SIR(samples=3), case.job(TorchDraw(4), streams=[row]))
        assert (alone.tokens, alone.log_weight) == (batch[row].tokens, batch[row].log_weight)
    assert len({tuple(sample.tokens) for sample in batch}) > 1


def test_bad_options() -> None:
    with pytest.raises(ConstrainError, match="samples must be an int of at least 1, not 0"):
        SIR(samples=0)
    with pytest.raises(ConstrainError, match="wrap a function"):
        SIR(potential=len)  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match="need the bytes of tokens"):
        drive(SIR(potential=predicate(bool)), Tiny("two", 1).job(TorchDraw(0)))
    assert [s.finish_reason for _, (s,) in outcomes(Case("cut", 1, settings=Settings(max_tokens=1)), SIR)] == ["length"]
