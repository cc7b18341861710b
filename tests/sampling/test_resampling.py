"""Resampling schemes by enumeration: what they promise for every particle, and how far the copies may vary."""

from __future__ import annotations

import math

import numpy as np
import pytest

from constrain.errors import ConstrainError
from constrain.sampling import TorchDraw, enumerate_draws
from constrain.sampling.core.resampling import SCHEMES, effective_size, log_mean, resample

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
