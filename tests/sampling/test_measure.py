"""Rows of logits by kernels against plain Python: sums, the likeliest token, what is kept, and the drawn token."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from sampling_cases import Case, conditional, exact, law_of, mass, outcomes

from constrain.errors import ConstrainError
from constrain.sampling import (
    CARS,
    Faithful,
    Memory,
    Rejection,
    Sample,
    Settings,
    TorchDraw,
    bitmask_words,
    diagnose,
    lcd,
    score,
    step,
)
from constrain.sampling.core.measure import is_measured, measured
from constrain.sampling.core.particles import Stems
from constrain.sampling.core.resampling import log_mean
from constrain.sampling.core.sampler import drive
from constrain.sampling.measure.diagnostics import normalised
from constrain.sampling.methods.faithful import PromptKept, count_prefixes

NEAR = 1e-5  # relative, of float32


def made(seed: int, width: int, spread: float, ties: bool) -> np.ndarray:
    """float32[width]: some -inf, zeros of both signs, and equal ones if wanted."""
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal(width) * spread).astype(np.float32)
    if ties:
        logits = np.round(logits)
    logits[rng.random(width) < 0.1] = -np.inf
    logits[rng.integers(width)] = 0.0
    return logits


def mask_of(seed: int, size: int, density: float) -> np.ndarray:
    """uint32[words], with bits beyond the size set, which nobody may read."""
    bits = np.random.default_rng(seed).random(bitmask_words(size) * 32) < density
    bits[size:] = True
    return np.packbits(bits, bitorder="little").view(np.uint32)


def kept(weights: dict[int, float], top_k: int | None, top_p: float | None) -> list[set[int]]:
    """The sets that truncation may keep: sums that are as good as p may be counted either way."""
    found = weights
    if top_k is not None and top_k < len(found):
        least = sorted(found.values(), reverse=True)[top_k - 1]
        found = {token: weight for token, weight in found.items() if weight >= least}
    if top_p is None or top_p == 1:
        return [set(found)]
    total, sets = math.fsum(found.values()), []
    for share in (top_p * (1 - NEAR), top_p, min(1.0, top_p * (1 + NEAR))):
        before = 0.0
        least = 0.0
        for weight in sorted(found.values(), reverse=True):
            if before >= share * total:
                break
            before, least = before + weight, weight
        sets.append({token for token, weight in found.items() if weight >= least})
    return sets


@given(
    st.integers(0, 2**31), st.sampled_from([1, 31, 33, 700, 1024, 2500]), st.sampled_from([0.0, 1.0, 8.0, 60.0]),
    st.booleans(), st.sampled_from([0.0, 0.003, 0.5, 1.0]), st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([None, 1, 3, 40]), st.sampled_from([None, 0.1, 0.9, 0.999, 1.0]), st.floats(0, 1, exclude_max=True),
)  # fmt: skip
@example(1, 2500, 60.0, False, 0.003, 1.0, None, None, 0.5)  # what is allowed is faint
@example(1, 700, 0.0, True, 1.0, 1.0, 3, 0.5, 0.999)  # all are equal
def test_rows_against_plain_python(
    seed: int, width: int, spread: float, ties: bool, density: float, temperature: float, top_k: int | None,
    top_p: float | None, uniform: float,
) -> None:  # fmt: skip
    logits, size = made(seed, width, spread, ties), max(1, width - seed % 3)
    mask = mask_of(seed, size, density)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:size].astype(bool)
    scores = [float(logit / np.float32(temperature)) for logit in logits]
    allowed = [token for token in range(size) if bits[token] and scores[token] > -math.inf]
    top = max(scores)
    rows = torch.from_numpy(logits)[None], mask[None], size, temperature
    (greedy,) = measured(*rows, None)
    (drawn,) = measured(*rows, lambda _: uniform, top_k, top_p)
    assert greedy is not None and drawn is not None
    log_total = top + math.log(math.fsum(math.exp(score - top) for score in scores))
    assert greedy.log_total == drawn.log_total == pytest.approx(log_total, rel=NEAR, abs=NEAR)
    if not allowed:
        assert greedy.token == drawn.token == -1 and greedy.log_mass == -math.inf
        return
    best = max(scores[token] for token in allowed)
    assert greedy.token == next(token for token in allowed if logits[token] == logits[allowed].max())
    weights = {token: math.exp(scores[token] - best) for token in allowed}
    assert greedy.log_mass == pytest.approx(best + math.log(math.fsum(weights.values())), rel=NEAR, abs=NEAR)
    assert drawn.value == scores[drawn.token]
    fits = []
    for some in kept(weights, top_k, top_p):
        target = uniform * math.fsum(weights[token] for token in some)
        mass = math.fsum(weights[token] for token in some)
        before = math.fsum(weights[token] for token in some if token < drawn.token)
        after = before + weights[drawn.token]
        near = drawn.token in some and before - NEAR * mass <= target <= after + NEAR * mass
        fits.append(near and drawn.log_kept == pytest.approx(best + math.log(mass), rel=NEAR, abs=NEAR))
    assert any(fits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("fault", [math.nan, -math.nan, math.inf])
def test_rows_that_are_no_logits(fault: float, dtype: torch.dtype) -> None:
    logits = torch.zeros((3, 2000), dtype=dtype)
    logits[1, 1500] = torch.copysign(torch.tensor(fault), torch.tensor(math.copysign(1.0, fault)))
    logits[2] = -math.inf
    found = list(measured(logits, None, 2000, 1.0, None))
    assert found[0] is not None and found[1:] == [None, None]


@pytest.mark.parametrize("temperature", [1e-38, 1e-45, 1e-50])
def test_temperatures_over_which_logits_are_infinite(temperature: float) -> None:
    """The largest is a fault, as infinite logits are; if only what is allowed is -inf, that is a dead end."""
    given = {"settings": Settings(temperature=temperature), "draw": TorchDraw(1), "streams": [0], "size": 3}
    with pytest.raises(ConstrainError, match="logits contain"):
        step(torch.tensor([[1.0, 2.0, 500.0]]), None, **given)
    with pytest.raises(ConstrainError, match="logits contain"):
        score(torch.tensor([[1.0, 2.0, 500.0]]), [1], temperature)
    if temperature == 1e-38:
        only_last = np.array([[0b100]], np.uint32)
        assert int(step(torch.tensor([[0.0, 1.0, -500.0]]), only_last, **given).token) == -1


def test_columns_that_are_not_contiguous_and_no_mask() -> None:
    logits = torch.arange(8.0).reshape(4, 2).T  # [2, 4]
    assert [each and each.token for each in measured(logits, None, 2, 1.0, None)] == [1, 1]
    assert [each and each.token for each in measured(logits, None, 4, 1.0, None)] == [3, 3]
    assert not is_measured(logits.double())


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
    small = Case("forced chain", 1, 0.5)
    pi = conditional(exact(small))
    assert law_of([(q, s) for q, (s,) in outcomes(small, Faithful)]) == pytest.approx(pi, abs=1e-10)
    assert chosen(small)[0].method == "exact: the language has 12 prefixes"
    likely = chosen(Case("optional tail", 1, 0.5), 3, Faithful(prefixes=1, attempts=1000))
    assert [sample.method.split(":")[0] for sample in likely] == ["cars"] * 3
    assert all(sample.log_weight == 0 for sample in likely)
    unlikely = chosen(Case("one member", 0, 5.0), 2, Faithful(prefixes=1, attempts=0))
    assert [sample.method.split(" of ")[0] for sample in unlikely] == ["sir"] * 2
    assert all("of the model's mass" in sample.method for sample in unlikely)
    free = drive(Faithful(), small.job(TorchDraw(1), matchers=None, settings=Settings(max_tokens=3)))
    assert free[0].method == "lcd: there is no constraint"


def test_a_language_that_is_dear_to_list_is_tried_first() -> None:
    """One output of many prefixes by attempts, then from the list; many outputs from the list at once."""
    case = Case("skewed", 1, 0.5)
    found = count_prefixes(case.job(TorchDraw(0)), 0, 500)
    assert found is not None and 32 < found <= 32 * 9
    assert {sample.method.split(":")[0] for sample in chosen(case, 9)} == {"exact"}
    for attempts, kind in ((1000, "cars"), (0, "exact")):
        (sample,) = chosen(case, 1, Faithful(attempts=attempts))
        assert sample.method.split(":")[0] == kind


@pytest.mark.parametrize("language, rows", [("one member", 1), ("one member", 2), ("forced chain", 1)])
@pytest.mark.parametrize("seed", range(3))
def test_each_choice_of_faithful_has_its_law(
    monkeypatch: pytest.MonkeyPatch, language: str, rows: int, seed: int
) -> None:
    """Outputs of `cars` are of the target, those of `sir` properly weighted, whichever the attempts led to."""
    for name in ("WORTH", "MOST"):
        monkeypatch.setattr(f"constrain.sampling.methods.faithful.{name}", 2)
    case = Case(language, seed, 1.0)
    target = exact(case)
    found = [
        (q, sample)
        for q, samples in outcomes(case, lambda: Faithful(prefixes=0, attempts=1, pilot=1), rows)
        for sample in samples[-1:]
    ]
    shares, sums = {"cars": 0.0, "sir": 0.0}, {"cars": dict.fromkeys(target, 0.0), "sir": dict.fromkeys(target, 0.0)}
    for q, sample in found:
        kind = sample.method.split(" ")[0].rstrip(":")
        shares[kind] += q
        if sample.log_weight > -math.inf:
            assert kind == "cars" or sample.log_evidence == sample.log_weight
            sums[kind][tuple(sample.tokens)] += q * (1 if kind == "cars" else math.exp(sample.log_weight))
    assert min(shares.values()) > 0
    pi = {tokens: shares["cars"] * share for tokens, share in conditional(target).items()}
    assert sums["cars"] == pytest.approx(pi, abs=1e-10)
    weighed = {tokens: shares["sir"] * math.exp(log) for tokens, log in target.items()}
    assert sums["sir"] == pytest.approx(weighed, abs=1e-10)


def test_faithful_falls_back_when_attempts_are_used_up() -> None:
    """Accepted outputs weigh as much as the others do on average, and all say the same of the mass."""
    case = Case("optional tail", 0, 2.0)
    samples = chosen(case, 100, Faithful(prefixes=1, attempts=1))
    kinds: dict[str, list[Sample]] = {"cars": [], "sir": []}
    for sample in samples:
        kinds[sample.method.split(" ")[0].rstrip(":")].append(sample)
    assert all(kinds.values()) and all(sample.finish_reason == "stop" for sample in samples)
    level = log_mean([sample.log_weight for sample in kinds["sir"]])
    assert {sample.log_weight for sample in kinds["cars"]} == {sample.log_evidence for sample in kinds["cars"]}
    assert kinds["cars"][0].log_weight == pytest.approx(level, abs=1e-12)
    assert diagnose(samples).log_evidence == pytest.approx(math.log(mass(exact(case))), abs=0.2)
    assert all(sample.attempts > 1 for sample in kinds["sir"])


def test_faithful_remembers() -> None:
    case, memory = Case("optional tail", 1, 0.5), Memory()
    for _ in range(3):
        chosen(case, 20, Faithful(memory=memory, prefixes=1))
    assert len(memory) == 1
    assert memory.nodes > 5


@pytest.mark.parametrize("keep", [1, 2])
def test_a_prompt_is_read_once_for_all_that_is_tried(keep: int) -> None:
    """The logits are the model's own, behind the prompt, behind more tokens, and of another prompt."""
    case = Case("dyck", 3)
    model = case.model
    begun: list[Any] = []
    start = model.start

    def counted(prefixes: Any, keep: Any) -> Any:
        begun.append(prefixes)
        return start(prefixes, keep)

    vars(model)["start"] = counted
    kept_model = PromptKept(Stems(replace(case.job(TorchDraw(0)), prompts=[[0, 1]])))
    for prefixes, keeps in [([[0, 1]], [1]), ([[0, 1, 2], [0, 1, 1]], [keep] * 2), ([[0, 1]] * 2, [1, 1])]:
        session, found = kept_model.start(prefixes, keeps)
        other, expected = start(prefixes, keeps)
        assert all(torch.equal(one, two) for one, two in zip(found, expected, strict=True))
        fed, again = (each.feed([[1]] * len(prefixes), [1] * len(prefixes)) for each in (session, other))
        assert all(torch.equal(one, two) for one, two in zip(fed, again, strict=True))
    assert begun == [[[0, 1]]]
    for prefixes, keeps in [([[1, 1, 2]], [1]), ([[0, 1, 2]], [3])]:
        assert torch.equal(kept_model.start(prefixes, keeps)[1][0], start(prefixes, keeps)[1][0])


def test_prefixes_are_counted() -> None:
    for language, expected in (("one member", 5), ("only the empty text", 2), ("forced chain", 12)):
        job = Case(language, 0).job(TorchDraw(0))
        assert count_prefixes(job, 0, 100) == expected
        assert count_prefixes(job, 0, expected) == expected
        assert count_prefixes(job, 0, expected - 1) is None
    assert count_prefixes(Case("cut", 0, settings=Settings(max_tokens=3)).job(TorchDraw(0)), 0, 100) == 1 + 2 + 3 + 3
