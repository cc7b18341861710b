"""Resampling by enumeration: what schemes promise for every particle, how far copies may vary, and at which units.

The model reads no prefix twice at a time, whatever the particles do.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import PROMPT, Case, compiled_outcomes, law_of, weighted

import constrain
from constrain.errors import ConstrainError
from constrain.sampling import MCMC, SIR, SMC, ASAp, Exact, Rejection, Sample, TorchDraw, enumerate_draws, lcd
from constrain.sampling.core.potentials import Potential
from constrain.sampling.core.resampling import SCHEMES, effective_size, log_mean, resample
from constrain.sampling.core.sampler import drive
from toy_model import TableModel, TableSession

ALL = [*SCHEMES, "optimal"]
WEIGHTS = [
    [1.0], [1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.5, 0.25, 0.25], [1e-9, 1.0, 1e-9],
    [1e-200, 3e-200, 2e-200, 1e-210], [0.7, 0.1, 0.1, 0.1], [1 / 3, 1 / 3, 1 / 3],
]  # fmt: skip
RANDOM = [np.random.default_rng(seed).gamma(0.5, size=3 + seed % 3).tolist() for seed in range(24)]


def logs(weights: list[float]) -> list[float]:
    return [math.log(weight) if weight else -math.inf for weight in weights]


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("weights", [*WEIGHTS, *RANDOM], ids=str)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_expected_weight_of_every_particle_is_kept(scheme: str, weights: list[float], count: int) -> None:
    total = math.fsum(weights)
    expected = [0.0] * len(weights)
    sure = 0.0
    for probability, (ancestors, new) in enumerate_draws(lambda d: resample(scheme, logs(weights), count, d, 0)):
        sure += probability
        assert len(ancestors) == len(new) <= count
        copies = np.bincount(ancestors, minlength=len(weights))
        assert not any(copies[i] for i, weight in enumerate(weights) if weight == 0)
        for ancestor, log_weight in zip(ancestors, new, strict=True):
            expected[ancestor] += probability * math.exp(log_weight)
        mean = np.array(weights) * count / total
        if scheme in ("systematic", "stratified"):  # how far the copies may be from their mean
            assert (abs(copies - mean) < (1 if scheme == "systematic" else 2) + 1e-9).all()
        if scheme == "residual":
            assert (copies >= np.floor(mean - 1e-9)).all()
        if scheme == "optimal":
            assert copies.max() == 1
        else:
            assert len(ancestors) == count
            assert new == pytest.approx([math.log(total / count)] * count, abs=1e-9)
    assert sure == pytest.approx(1, abs=1e-12)
    assert expected == pytest.approx(weights, rel=1e-9, abs=1e-10 * total)


def test_without_replacement_keeps_the_heavy_as_they_are() -> None:
    # 4 to 2: the heavy one stays with its weight; of the three others one gets all that they weigh.
    seen = set()
    for _, (ancestors, new) in enumerate_draws(lambda d: resample("optimal", logs([0.7, 0.1, 0.1, 0.1]), 2, d, 0)):
        assert ancestors[0] == 0
        assert [math.exp(weight) for weight in new] == pytest.approx([0.7, 0.3])
        seen.add(ancestors[1])
    assert seen == {1, 2, 3}
    assert resample("optimal", logs([0.5, 0.0, 0.1]), 2, TorchDraw(0), 0)[0] == [0, 2]  # nothing to choose


@pytest.mark.parametrize("scheme", ALL)
def test_what_is_drawn_at_random_is_unbiased_too(scheme: str) -> None:
    weights, draw, rounds = [0.05, 0.4, 0.15, 0.3, 0.1], TorchDraw(3), 4000
    mean = np.zeros(5)
    for _ in range(rounds):
        for ancestor, weight in zip(*resample(scheme, logs(weights), 3, draw, 0), strict=True):
            mean[ancestor] += math.exp(weight) / rounds
    assert mean.tolist() == pytest.approx(weights, abs=4 * 0.5 / math.sqrt(rounds))


def test_effective_size_and_mean() -> None:
    assert effective_size([0.0, 0.0, 0.0]) == pytest.approx(3)
    assert effective_size([-800.0, -800.0, -math.inf]) == pytest.approx(2)
    assert effective_size([]) == effective_size([-math.inf]) == 0
    assert log_mean([math.log(2), math.log(4)]) == pytest.approx(math.log(3))
    assert log_mean([-1000.0, -math.inf]) == pytest.approx(-1000 - math.log(2))
    assert log_mean([]) == log_mean([-math.inf]) == -math.inf


def test_bad_arguments() -> None:
    with pytest.raises(ConstrainError, match="every weight is zero"):
        resample("systematic", [-math.inf] * 2, 2, TorchDraw(0), 0)
    with pytest.raises(ConstrainError, match=r"no resampling 'roulette'\n  fix: choose one of: multinomial, .*optimal"):
        resample("roulette", [0.0], 1, TorchDraw(0), 0)


ROWS = 24


class Watched(TableModel):
    """read: the prefixes of every forward pass, with the prompt's tokens."""

    def __init__(self, case: Case) -> None:
        super().__init__(case.model.width, case.seed, case.spread)
        self.read: list[list[tuple[int, ...]]] = []

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[TableSession, list[torch.Tensor]]:
        session = WatchedSession(self, len(prefixes))
        return session, session.feed(prefixes, keep)


class WatchedSession(TableSession):
    model: Watched

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        given = super().feed(chunks, keep)
        self.model.read.append([tuple(row) for row in self.rows])
        return given


def all_of(samples: Sequence[Sample]) -> list[Sample]:
    return [each for sample in samples for each in sample.population or [sample]]


@pytest.mark.parametrize("language", ["skewed", "dyck", "ambiguous", "forced chain", "cut"])
@pytest.mark.parametrize(
    "method",
    [lambda: lcd, lambda: SIR(samples=4), lambda: SMC(particles=4), lambda: MCMC(steps=3), Rejection, ASAp],
    ids=["lcd", "sir", "smc", "mcmc", "rejection", "asap"],
)
def test_no_prefix_is_read_twice_at_a_time(language: str, method: Callable[[], Any]) -> None:
    case = Case(language, 4, 1.0)
    model = Watched(case)
    samples = drive(method(), case.job(TorchDraw(2), ROWS, model=model))
    assert any(len(rows) > 1 for rows in model.read)
    for rows in model.read:
        assert len(rows) == len(set(rows))
    for sample in all_of(samples):
        before: tuple[int, ...] = ()
        for record in sample.trace:
            assert record.log_prob_raw == pytest.approx(float(model.log_probs([*PROMPT, *before])[record.token]))
            before += (record.token,)


def test_forks_part_without_disturbing_each_other() -> None:
    """Many particles, resampled at every token: the log-probabilities of each are those of its own text."""
    case = Case("skewed", 1, 1.0)
    model = Watched(case)
    (sample,) = drive(SMC(particles=40, ess_threshold=1), case.job(TorchDraw(5), model=model))
    assert len({tuple(each.tokens) for each in sample.population}) > 1
    for each in sample.population:
        prefixes = [[*PROMPT, *each.tokens[:i]] for i in range(len(each.tokens))]
        expected = [model.log_probs(prefix)[token] for prefix, token in zip(prefixes, each.tokens, strict=True)]
        assert each.log_prob == pytest.approx(math.fsum(expected))
    assert sum(map(len, model.read)) == sample.forwards  # those that say the same are read, and counted, once


def test_rows_with_constraints_of_their_own_may_share_a_prefix() -> None:
    """Equal prompts are one row of the session even where the rows are constrained differently."""
    left, right = Case("one member", 3), Case("only the empty text", 3)
    model = Watched(left)
    matchers = [left.constraint.matcher(), right.constraint.matcher()]
    samples = drive(lcd, left.job(TorchDraw(0), 2, model=model, matchers=matchers, row_keys=["left", "right"]))
    assert [sample.tokens for sample in samples] == [[0, 1, 2, 3], [3]]
    for sample in samples:
        expected = [model.log_probs([*PROMPT, *sample.tokens[:i]])[t] for i, t in enumerate(sample.tokens)]
        assert sample.log_prob == pytest.approx(math.fsum(expected))


TOKENS = [b"a", b";", b"\n", b"a;", None]
EOS = 4
LIMIT = 4  # tokens, EOS counted
GRAMMAR = 'start: item "\\n"?\nitem: NAME ";"?\nNAME: "a" | "aa"'
TEXTS = [b"a", b"aa", b"a;", b"aa;", b"a\n", b"aa\n", b"a;\n", b"aa;\n"]
Tokens = tuple[int, ...]


class Likes(Potential):
    """Prefers semicolons, and says so as soon as one is there."""

    def complete(self, text: bytes) -> float:
        return 0.8 * text.count(b";") - 0.3 * len(text)

    def prefix(self, text: bytes) -> float:
        return 0.8 * text.count(b";")


@cache
def members() -> list[Tokens]:
    """Every way to spell a text of the language that fits, from the list of texts alone."""
    texts = (ids for length in range(1, LIMIT) for ids in itertools.product(range(EOS), repeat=length))
    return [(*ids, EOS) for ids in texts if b"".join(TOKENS[i] or b"" for i in ids) in TEXTS]


def target(model: TableModel, potential: Potential | None) -> dict[Tokens, float]:
    law = {}
    for ids in members():
        log_p = math.fsum(float(model.log_probs([*PROMPT, *ids[:i]])[token]) for i, token in enumerate(ids))
        text = b"".join(TOKENS[i] or b"" for i in ids)
        law[ids] = math.exp(log_p + (potential.complete(text) if potential else 0.0))
    return law


@cache
def compiled() -> Any:
    vocabulary = constrain.Vocabulary(TOKENS, [EOS])
    return constrain.compile(constrain.grammar(GRAMMAR), vocabulary)


def outcomes(model: TableModel, method: Callable[[], Any]) -> list[tuple[float, Sample]]:
    return compiled_outcomes(model, compiled(), method, max_tokens=LIMIT)


@pytest.mark.parametrize("seed", range(3))
def test_the_engine_and_the_list_agree(seed: int) -> None:
    model = TableModel(len(TOKENS), seed, 1.5)
    law = target(model, None)
    total = math.fsum(law.values())
    assert law_of(outcomes(model, Exact)) == pytest.approx({x: p / total for x, p in law.items()}, abs=1e-10)


@pytest.mark.parametrize("potential", [None, Likes()], ids=["mask", "potential"])
@pytest.mark.parametrize("boundary", ["token", "lexeme", "line", "rule:item"])
def test_every_text_is_properly_weighted_whatever_the_unit(boundary: str, potential: Potential | None) -> None:
    model = TableModel(len(TOKENS), 1, 1.5)
    method = SMC(particles=2, ess_threshold=1, resampling="systematic", boundary=boundary, potential=potential)
    found = outcomes(model, lambda: method)
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=1e-10)
    assert weighted(found) == pytest.approx(target(model, potential), rel=1e-9, abs=1e-300)
