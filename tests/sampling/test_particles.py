"""The model reads no prefix twice at a time, whatever the particles do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from sampling_cases import PROMPT, Case

from constrain.sampling import MCMC, SIR, SMC, ASAp, Rejection, Sample, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from toy_model import TableModel, TableSession

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
