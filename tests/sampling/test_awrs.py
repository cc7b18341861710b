"""Adaptive weighted rejection by enumeration: E[ŵ · 1(v = x)] = p(x) A(x) for every candidate x and all options."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from sampling_cases import LANGUAGES, Case, cases, exact, outcomes, weighted
from tiny_cases import Tiny, bare, membership, tiny_cases

from constrain.errors import ConstrainError
from constrain.sampling import Draw, Settings, TorchDraw, enumerate_draws
from constrain.sampling.core.draw import Chance
from constrain.sampling.core.potentials import Potential, predicate
from constrain.sampling.core.sampler import drive
from constrain.sampling.core.urns import TensorUrns
from constrain.sampling.methods.awrs import TokenChoice, TokenRejection, failures, settle
from constrain.sampling.methods.smc import AWRS
from toy_model import TableModel

TINY = 1e-10
OPTIONS = {
    "recursive": TokenRejection(),
    "recursive, 1 look": TokenRejection(looks=1),
    "recursive, 2 looks": TokenRejection(looks=2),
    "recursive, all looks": TokenRejection(looks=9),
    "recursive, 1 check": TokenRejection(max_checks=1),
    "recursive, 2 checks": TokenRejection(max_checks=2, looks=3),
    "recursive, 3 checks": TokenRejection(max_checks=3, looks=2),
    "head 2": TokenRejection(head=2),
    "head 9": TokenRejection(head=9),
    "head 1, 2 checks": TokenRejection(head=1, max_checks=2),
    "geometric, 2 rejects": TokenRejection("geometric", accepts=2, max_rejects=2),
    "geometric, 3 and 3": TokenRejection("geometric", accepts=3, max_rejects=3),
    "geometric, head 1": TokenRejection("geometric", accepts=2, max_rejects=3, head=1),
    "geometric, 1 reject": TokenRejection("geometric", accepts=2, max_rejects=1),
}


def choose(log_probs: torch.Tensor, valid: set[int], options: TokenRejection, draw: Draw) -> TokenChoice:
    asked: list[int] = []

    def check(pairs: list[tuple[int, int]]) -> list[bool]:
        asked.extend(candidate for _, candidate in pairs)
        return [candidate in valid for _, candidate in pairs]

    (choice,) = settle([options.choose(Chance(draw, 0))], TensorUrns(log_probs.unsqueeze(0), draw, [0]), check)
    assert len(asked) == len(set(asked)) == choice.checks  # nothing is asked twice
    assert all(log_probs[candidate] > -math.inf for candidate in asked)
    return choice


def laws() -> Iterator[tuple[list[float], set[int]]]:
    """log p of up to five candidates, and which of them are valid."""
    for seed in range(16):
        rng = np.random.default_rng(seed)
        size = 2 + seed % 3
        logits = rng.normal(scale=[0.5, 3.0, 15.0][seed % 3], size=size)
        yield (logits - seed % 4).tolist(), set(np.flatnonzero(rng.random(size) < 0.5).tolist())
    yield [-1.0, -math.inf, -2.0], {1, 2}  # one that the model rules out
    yield [math.log(0.5), math.log(0.5), math.log(5e-6)], {2}  # valid mass below 1e-5
    yield [0.0, -0.3, -80.0], {2}  # below what 1 − x can hold
    yield [-700.0, -701.0, -702.0], {0, 2}  # all of it is next to nothing
    yield [-1.0], {0}
    yield [-1.0], set()


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("log_probs, valid", list(laws()))
def test_every_candidate_is_properly_weighted(name: str, log_probs: list[float], valid: set[int]) -> None:
    options, given = OPTIONS[name], torch.tensor(log_probs, dtype=torch.float64)
    scale = max(log_probs)
    expected = np.zeros(len(log_probs))
    total = 0.0
    for probability, choice in enumerate_draws(lambda draw: choose(given, valid, options, draw)):
        total += probability
        if choice.candidate is None:
            assert choice.log_weight == -math.inf
        else:
            assert choice.candidate in valid
            expected[choice.candidate] += probability * math.exp(choice.log_weight - scale)
        if options.max_checks is None and options.max_rejects is None:  # alive if anything is valid
            assert (choice.candidate is not None) == any(log_probs[i] > -math.inf for i in valid)
        if options.max_checks is not None:
            assert choice.checks <= options.max_checks + options.head
    truth = [math.exp(log_p - scale) if i in valid else 0.0 for i, log_p in enumerate(log_probs)]
    assert total == pytest.approx(1, abs=TINY)
    assert expected.tolist() == pytest.approx(truth, rel=TINY, abs=1e-300)


def test_looking_at_everything_gives_the_mass_itself() -> None:
    log_probs = torch.tensor([-1.0, -2.0, -0.5, -4.0], dtype=torch.float64)
    for valid in map(set, itertools.chain.from_iterable(itertools.combinations(range(4), k) for k in range(1, 5))):
        log_mass = float(log_probs[sorted(valid)].logsumexp(0))
        for options in (TokenRejection(looks=4), TokenRejection(head=4)):
            for _, choice in enumerate_draws(lambda d, v=valid, o=options: choose(log_probs, v, o, d)):  # type: ignore[misc]
                assert choice.log_weight == pytest.approx(log_mass, abs=1e-12)


def relative_variance(options: TokenRejection, log_probs: torch.Tensor, valid: set[int], draws: int) -> float:
    draw = TorchDraw(5)
    weights = np.array([math.exp(choose(log_probs, valid, options, draw).log_weight) for _ in range(draws)])
    truth = math.fsum(math.exp(log_probs[i]) for i in valid)
    assert weights.mean() == pytest.approx(truth, abs=5 * weights.std() / math.sqrt(draws) + 1e-12)
    return float(weights.var() / truth**2)


def test_more_looks_and_a_head_make_the_estimate_better() -> None:
    log_probs = (-1.1 * torch.arange(1, 301, dtype=torch.float64).log()).log_softmax(0)  # Zipf's distribution
    valid = set(np.flatnonzero(np.random.default_rng(0).random(300) < 0.3).tolist())
    one = relative_variance(TokenRejection(looks=1), log_probs, valid, 600)
    assert relative_variance(TokenRejection(looks=8), log_probs, valid, 600) < one / 3
    assert relative_variance(TokenRejection(), log_probs, valid, 600) < one
    assert relative_variance(TokenRejection(head=20), log_probs, valid, 600) < one / 3
    assert relative_variance(TokenRejection("geometric", accepts=6), log_probs, valid, 600) < one


@pytest.mark.parametrize("log_mass", [math.log(5e-6), -30.0, -600.0])
@pytest.mark.parametrize("options", [TokenRejection(), TokenRejection("geometric")], ids=["recursive", "geometric"])
def test_a_small_valid_mass_is_found_and_weighted(log_mass: float, options: TokenRejection) -> None:
    log_probs = torch.tensor([math.log(0.5), math.log(0.5), log_mass], dtype=torch.float64)
    draw = TorchDraw(1)
    weights = []
    for _ in range(60):
        choice = choose(log_probs, {2}, options, draw)
        assert choice.candidate == 2
        weights.append(math.exp(choice.log_weight - log_mass))
    assert np.mean(weights) == pytest.approx(1, abs=0.4)


@pytest.mark.parametrize("success", [0.9, 0.5, 0.1, 0.02])
@pytest.mark.parametrize("most", [1, 2, 7])
def test_a_geometric_jump_has_the_geometric_law(success: float, most: int) -> None:
    law = dict(enumerate_law(lambda c: failures(math.log(success), c, most)))
    truth = {k: success * (1 - success) ** k for k in range(most)} | {most: (1 - success) ** most}
    assert law == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("success", [0.02, 0.05])
def test_the_digits_of_a_long_jump(success: float) -> None:
    """Beyond 64: all of the first twelve digits, in the order of their draws, and nothing else."""
    law: dict[float, float] = {}

    def run(draw: Draw) -> float:
        coins = iter(range(12))

        def choose_digit(probabilities: torch.Tensor) -> int:
            if len(probabilities) > 2:
                return 64  # "more than 63"
            if next(coins, None) is None:
                return 0
            return int(draw(probabilities.unsqueeze(0), [0]))

        return failures(math.log(success), choose_digit)

    for probability, count in enumerate_draws(run):
        law[count] = law.get(count, 0.0) + probability
    ratio = 1 - success
    scale = success / (1 - ratio**4096)
    assert len(law) == 4096
    for count, probability in law.items():
        assert probability == pytest.approx(scale * ratio ** (count - 64), rel=1e-9, abs=1e-300)


def enumerate_law(run: object) -> Iterator[tuple[float, float]]:
    law: dict[float, float] = {}
    for probability, outcome in enumerate_draws(lambda d: run(lambda row: int(d(row.unsqueeze(0), [0])))):  # type: ignore[operator]
        law[outcome] = law.get(outcome, 0.0) + probability
    yield from law.items()


def test_bad_options() -> None:
    for options, message in [
        ({"estimator": "guess"}, "no estimator 'guess'"),
        ({"looks": 0}, "looks must be an int of at least 1, not 0"),
        ({"accepts": 1}, "accepts must be an int of at least 2"),
        ({"head": -1}, "head must be"),
        ({"max_checks": True}, "max_checks must be an int of at least 1, not True"),
        ({"max_rejects": 3}, "max_rejects does not apply to the recursive estimator"),
        ({"estimator": "geometric", "max_checks": 3}, "max_checks does not apply to the geometric estimator"),
    ]:
        with pytest.raises(ConstrainError, match=message):
            TokenRejection(**options)  # type: ignore[arg-type]


# --- whole texts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", tiny_cases(30), ids=str)
def test_texts_under_a_black_box_are_properly_weighted(case: Case) -> None:
    truth = {tokens: math.exp(log_p) for tokens, log_p in exact(case).items()}
    found = []
    for probability, (sample,) in enumerate_draws(lambda d: drive(AWRS(membership(case)), bare(case, d))):
        found.append((probability, sample))
        assert (sample.finish_reason == "stop") == (sample.log_weight > -math.inf)
        assert sample.log_evidence == sample.log_weight
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert weighted(found) == pytest.approx(truth, rel=TINY, abs=1e-300)


@pytest.mark.parametrize("case", cases(2), ids=str)
def test_without_a_check_it_is_masked_decoding(case: Case) -> None:
    found = [(q, sample) for q, (sample,) in outcomes(case, AWRS)]
    assert weighted(found) == pytest.approx({t: math.exp(p) for t, p in exact(case).items()}, rel=TINY, abs=1e-300)
    for _, sample in found:
        assert sample.evaluations == 0


def test_the_check_sees_only_what_the_mask_allows() -> None:
    case = Case("skewed", 3)
    seen: list[bytes] = []
    even = predicate(lambda text: seen.append(text) is None and text.count(b"1") % 2 == 0, as_text=False)

    def run(draw: Draw) -> tuple[object, ...]:
        (sample,) = drive(AWRS(even), case.job(draw, token_bytes=case.constraint.vocabulary.tokens))
        return (sample,)

    found = [(q, sample) for q, (sample,) in enumerate_draws(run)]
    text_of = case.constraint.vocabulary.to_bytes
    truth = {t: math.exp(p) for t, p in exact(case).items() if text_of(t).count(b"1") % 2 == 0}
    assert weighted(found) == pytest.approx(truth, rel=TINY)  # type: ignore[arg-type]
    assert seen
    assert all(case.constraint.is_member(text) for text in seen)


def test_truncation_of_the_model_is_part_of_the_target() -> None:
    case = Tiny("two", 4, settings=Settings(max_tokens=3, top_k=2, temperature=0.8))
    masked = [(q, sample) for q, (sample,) in outcomes(case, AWRS)]
    checked = list(enumerate_draws(lambda d: drive(AWRS(membership(case)), bare(case, d))[0]))
    assert weighted(masked) == pytest.approx(weighted(checked), rel=TINY)


def test_bad_logits_are_named_and_absent_mass_is_a_dead_end() -> None:
    case = Case("optional tail", 1)
    for bad, message in [(math.nan, "NaN"), (math.inf, r"\+inf")]:
        model = TableModel(4, seed=1)
        model.logits([0, 1])[2] = bad
        with pytest.raises(ConstrainError, match=f"the model's logits contain {message}"):
            drive(AWRS(membership(case)), bare(case, TorchDraw(0), model=model))
    model = TableModel(4, seed=1)
    model.logits([0, 1])[[0, 1, 2]] = -math.inf  # only the end is left, and the empty text is no member
    (sample,) = drive(AWRS(membership(case)), bare(case, TorchDraw(0), model=model))
    assert (sample.finish_reason, sample.log_weight, sample.tokens) == ("dead_end", -math.inf, [])
    assert sample.evaluations == 1


def test_an_empty_language_costs_no_error() -> None:
    case = Case("optional tail", 1)
    (sample,) = drive(AWRS(predicate(lambda _: False, on="prefix")), bare(case, TorchDraw(0)))
    assert (sample.finish_reason, sample.log_evidence, sample.accepted) == ("dead_end", -math.inf, 0)
    assert sample.evaluations == LANGUAGES["optional tail"].vocabulary.size


def test_soft_checks_are_refused() -> None:
    class Soft(Potential):
        def prefix(self, text: bytes) -> float:
            return -1.0

    with pytest.raises(ConstrainError, match=r"gave -1.0; a check says 0 \(valid\) or -inf"):
        drive(AWRS(Soft()), bare(Case("optional tail", 1), TorchDraw(0)))
