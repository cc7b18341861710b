"""Policies that look back or around, each against a plain twin, and their settings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from toy_diffusion import Hashed, characters

from constrain.errors import ConstrainError
from constrain.languages.constraints.regular import regex
from constrain.papers.diffusion.decode import denoise
from constrain.papers.diffusion.policies import Credit, LocalLeap, Prophet, TopK

RNG = np.random.default_rng(0)


def rows(seed: int, count: int, sharpness: float = 2.0) -> np.ndarray:
    """Random distributions over five tokens."""
    logits = sharpness * np.random.default_rng(seed).standard_normal((count, 5))
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def chosen(policy, chances: np.ndarray, positions: list[int], due: int = 1) -> list[int]:
    """The positions that a policy sets in a step."""
    scores = policy.scores(chances, np.array(positions), RNG)
    order = np.argsort(-scores, kind="stable")
    return [positions[i] for i in order[: policy.count(scores[order], due)]]


@pytest.mark.parametrize("seed", range(20))
def test_local_leap(seed):
    chances, positions = rows(seed, 12, 4.0), [0, 1, 2, 5, 6, 9, 10, 11, 20, 21, 30, 31]
    best = {p: row.max() for p, row in zip(positions, chances, strict=True)}
    anchors = [p for p in positions if best[p] >= 0.9]
    wanted = {p for p in positions if best[p] >= 0.75 and any(abs(p - a) <= 4 for a in anchors)}
    wanted = wanted or {max(positions, key=lambda p: best[p])}
    assert set(chosen(LocalLeap(), chances, positions)) == wanted


@pytest.mark.parametrize("seed", range(20))
def test_prophet(seed):
    """All positions where the mean gap is above what the stage asks for, else as many as are due."""
    policy, left = Prophet(), list(range(9))
    policy.begin()
    for step in range(4):
        chances = rows(100 * seed + step, len(left), sharpness=1 + 2 * step)
        gaps = [math.log(a) - math.log(b) for b, a in np.sort(chances, axis=1)[:, -2:]]
        done = 1 - len(left) / 9
        enough = 7.5 if done <= 1 / 3 else 5.0 if done <= 2 / 3 else 2.5
        now = chosen(policy, chances, left, due=2)
        if sum(gaps) / len(gaps) >= enough:
            assert sorted(now) == left
            return
        assert now == [left[i] for i in sorted(range(len(left)), key=lambda i: -gaps[i])[:2]]
        left = [p for p in left if p not in now]
    policy.begin()
    assert chosen(policy, rows(seed, 9, 0.1), list(range(9)), due=1) != list(range(9))


@pytest.mark.parametrize("seed", range(10))
def test_credit(seed):
    """Scores after some steps, against the formula with a table of all tokens."""
    policy, credit = Credit(0.8), np.zeros((6, 5))
    for step in range(4):
        chances = rows(10 * seed + step, 6)
        credit *= 0.65
        for i, row in enumerate(chances):
            credit[i, row.argmax()] += row.max() ** 0.5
        raised = chances * (1 + credit) ** 0.7
        wanted = (raised / raised.sum(axis=1, keepdims=True)).max(axis=1)
        scores = policy.scores(chances, np.arange(6), RNG)
        assert scores == pytest.approx(wanted)
        assert policy.count(np.sort(scores)[::-1], 1) == max(1, (wanted >= 0.8).sum())
    policy.begin()
    assert policy.scores(chances, np.arange(6), RNG) != pytest.approx(wanted)


def test_top_k():
    assert denoise(Hashed(characters("ab"), 1), regex("[ab]{8}"), length=8, policy=TopK(3)).steps == 3
    with pytest.raises(ConstrainError, match="k is a number of positions"):
        TopK(0)


def test_a_policy_forgets_the_text_before():
    """An object that is used for two texts does what a new one does."""
    model, policy = Hashed(characters("ab"), 4, 2.0), Credit(0.7)
    first = denoise(model, regex("[ab]*"), length=8, policy=policy).order
    assert denoise(model, regex("[ab]*"), length=8, policy=policy).order == first
