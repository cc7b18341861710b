"""Diagnostics by the identities, `compare` on a known target, and what `faithful` chooses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sampling_cases import Case, conditional, exact, law_of, mass, outcomes

from constrain.errors import ConstrainError
from constrain.sampling import CARS, Faithful, Memory, Rejection, Sample, Settings, TorchDraw, diagnose, lcd
from constrain.sampling.core.sampler import drive
from constrain.sampling.measure.diagnostics import normalised
from constrain.sampling.methods.faithful import count_prefixes


def kl(left: dict[tuple[int, ...], float], right: dict[tuple[int, ...], float]) -> float:
    return math.fsum(p * math.log(p / right[x]) for x, p in left.items() if p > 0)


@pytest.mark.parametrize("language", ["skewed", "dyck", "ambiguous", "cut", "dead end"])
def test_the_identities(language: str) -> None:
    """Every outcome of lcd with a multiplicity of q: then the estimates are what they estimate."""
    case = Case(language, 2, 1.0, Settings(max_tokens=4 if language == "cut" else 9))
    pi = conditional(exact(case))
    found = [(q, sample) for q, (sample,) in outcomes(case, lambda: lcd)]
    law = law_of(found)
    share = math.fsum(law.values())
    law = {x: q / share for x, q in law.items()}
    # q is the distribution of those that did not fail; log w of those, averaged by q, by hand:
    log_w = {tuple(s.tokens): s.log_weight for _, s in found if s.finish_reason == "stop"}
    log_z = math.log(mass(exact(case)))
    mean_q = math.fsum(q * log_w[x] for x, q in law.items()) + math.log(share)
    mean_pi = math.fsum(p * log_w[x] for x, p in pi.items()) + math.log(share)
    assert log_z - mean_q == pytest.approx(kl(law, pi), abs=1e-12)
    assert mean_pi - log_z == pytest.approx(kl(pi, law), abs=1e-12)
    # And `diagnose` comes near them with many outputs.
    report = diagnose(drive(lcd, case.job(TorchDraw(3), 3000)))
    assert report.log_evidence == pytest.approx(log_z, abs=0.1)
    assert report.kl_from_target == pytest.approx(kl(law, pi), abs=0.1)
    assert report.kl_to_target == pytest.approx(kl(pi, law), abs=0.1)
    assert report.share == pytest.approx(share, abs=0.05)
    assert report.acceptance == report.share
    assert report.forwards > 0
    assert report.tv_bound is None


def test_numbers_by_hand() -> None:
    samples = [
        Sample(tokens=[1, 2], log_weight=math.log(w), log_evidence=math.log(w), finish_reason="stop", accepted=1,
               forwards=4, evaluations=3, tv_bound=0.25)
        for w in (0.1, 0.3)
    ]  # fmt: skip
    samples.append(Sample(log_weight=-math.inf, log_evidence=-math.inf, finish_reason="dead_end", tv_bound=0.5))
    report = diagnose(samples)
    assert report.n == 3
    assert report.share == pytest.approx(2 / 3)
    assert report.ess == pytest.approx(0.4**2 / (0.01 + 0.09))
    assert report.log_evidence == pytest.approx(math.log(0.4 / 3))
    assert report.evidence_error == pytest.approx(np.std([0.1, 0.3, 0], ddof=1) / math.sqrt(3) / (0.4 / 3))
    assert diagnose(samples[:1]).evidence_error is None  # one output says nothing of how far it is off
    assert report.kl_from_target == pytest.approx(math.log(0.2) - (math.log(0.1) + math.log(0.3)) / 2)
    assert report.kl_to_target == pytest.approx(0.25 * math.log(0.1) + 0.75 * math.log(0.3) - math.log(0.2))
    assert report.acceptance == pytest.approx(2 / 3)
    assert report.forwards == pytest.approx(8 / 3)
    assert (report.evaluations, report.evaluations_per_token) == (2, 1.5)
    assert report.tv_bound == 0.5
    assert "ess                           1.6" in str(report)
    with pytest.raises(ConstrainError, match="there are no outputs to diagnose"):
        diagnose([])


def test_all_dead_is_no_crash() -> None:
    dead = [Sample(log_weight=-math.inf, log_evidence=-math.inf, finish_reason="dead_end")] * 3
    report = diagnose(dead)
    assert (report.share, report.ess, report.log_evidence) == (0, 0, -math.inf)
    assert report.evidence_error is None
    assert (report.kl_from_target, report.kl_to_target) == (None, None)
    assert normalised([-math.inf] * 2) == [0, 0]
    assert normalised([-1000, -1000]) == pytest.approx([0.5, 0.5])  # far below what exp can hold


def test_pooled_evidence_of_rejection() -> None:
    """Rows stop at their first success; weighted by their attempts, their estimates are successes / attempts."""
    case = Case("optional tail", 1, 0.5)
    truth = math.log(mass(exact(case)))
    for method in (Rejection(), CARS()):
        samples = drive(method, case.job(TorchDraw(0), 150))
        report = diagnose(samples)
        assert report.log_evidence == pytest.approx(truth, abs=0.25)
        assert report.ess == pytest.approx(150)
        assert (report.kl_from_target, report.kl_to_target) == (0, 0)
        if isinstance(method, Rejection):  # what the pooling is for
            assert math.log(np.mean([math.exp(sample.log_evidence) for sample in samples])) > truth + 0.5


@pytest.mark.parametrize("method", [lambda: lcd, Rejection], ids=["lcd", "rejection"])
def test_the_error_of_the_evidence_is_what_calls_spread_by(method: Any) -> None:
    case = Case("optional tail", 1, 0.5)
    truth = math.log(mass(exact(case)))
    reports = [diagnose(drive(method(), case.job(TorchDraw(seed), 40))) for seed in range(60)]
    off = np.array([(report.log_evidence - truth) / report.evidence_error for report in reports])
    assert 0.6 < np.sqrt((off**2).mean()) < 1.5
    assert (np.abs(off) < 2).mean() > 0.85


# --- faithful ---------------------------------------------------------------------------------------------------------


def chosen(case: Case, rows: int = 1, method: Faithful | None = None) -> list[Sample]:
    return drive(method or Faithful(), case.job(TorchDraw(1), rows))


def test_faithful_chooses_by_the_problem() -> None:
    small = Case("skewed", 1, 0.5)
    pi = conditional(exact(small))
    assert law_of([(q, s) for q, (s,) in outcomes(small, Faithful)]) == pytest.approx(pi, abs=1e-10)
    assert (
        chosen(small)[0].method == f"exact: the language has {count_prefixes(small.job(TorchDraw(0)), 0, 500)} prefixes"
    )
    likely = chosen(Case("optional tail", 1, 0.5), 3, Faithful(prefixes=1, mass=0.01))
    assert [sample.method.split(":")[0] for sample in likely] == ["cars"] * 3
    assert all(sample.log_weight == 0 for sample in likely)
    unlikely = chosen(Case("one member", 0, 5.0), 2, Faithful(prefixes=1))
    assert [sample.method.split(" of ")[0] for sample in unlikely] == ["sir"] * 2
    assert all("of the model's mass" in sample.method for sample in unlikely)
    free = drive(Faithful(), small.job(TorchDraw(1), matchers=None, settings=Settings(max_tokens=3)))
    assert free[0].method == "lcd: there is no constraint"


def test_faithful_falls_back_when_attempts_are_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot that was too hopeful: `cars` may try once, where it would need a dozen attempts."""
    monkeypatch.setattr(
        "constrain.sampling.methods.faithful.CARS", lambda memory, attempts: CARS(memory=memory, attempts=1)
    )
    case = Case("optional tail", 0, 2.0)
    samples = chosen(case, 100, Faithful(prefixes=1, mass=0.01, pilot=64))
    methods = [sample.method.split(" ")[0].rstrip(":") for sample in samples]
    assert set(methods) == {"cars", "sir"}
    assert all(sample.finish_reason == "stop" for sample in samples)


def test_faithful_remembers() -> None:
    case, memory = Case("optional tail", 1, 0.5), Memory()
    for _ in range(3):
        chosen(case, 20, Faithful(memory=memory, prefixes=1, mass=0.01))
    assert len(memory) == 1
    assert memory.nodes > 5


def test_prefixes_are_counted() -> None:
    for language, expected in (("one member", 5), ("only the empty text", 2), ("forced chain", 12)):
        job = Case(language, 0).job(TorchDraw(0))
        assert count_prefixes(job, 0, 100) == expected
        assert count_prefixes(job, 0, expected) == expected
        assert count_prefixes(job, 0, expected - 1) is None
    assert count_prefixes(Case("cut", 0, settings=Settings(max_tokens=3)).job(TorchDraw(0)), 0, 100) == 1 + 2 + 3 + 3
