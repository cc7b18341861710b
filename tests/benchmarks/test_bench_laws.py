"""The checks of laws: they accept what follows a law, and refuse what does not."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import draw_laws
import enumerate_laws
from draw_laws import by_weight, chi_square, exactly, law


@pytest.mark.parametrize(("statistic", "freedom", "share"), [(3.841, 1, 0.05), (18.307, 10, 0.05), (23.209, 10, 0.01)])
def test_chi_square(statistic: float, freedom: int, share: float) -> None:
    assert chi_square(statistic, freedom) == pytest.approx(share, rel=1e-3)


def samples(target: dict[tuple[int, ...], float], drawn: np.ndarray, weight: float = 1.0) -> list[Any]:
    """20,000 draws from some shares, each with p / share as its weight."""
    outputs = list(target)
    rng = np.random.default_rng(1)
    return [
        SimpleNamespace(
            tokens=list(outputs[place]),
            finish_reason="stop",
            log_weight=math.log(weight * target[outputs[place]] / drawn[place]),
        )
        for place in rng.choice(len(outputs), 20_000, p=drawn)
    ]


def test_draws_of_the_law_pass_and_others_fail() -> None:
    target = law(draw_laws.Table(1), validated=True, ruled=False)
    shares = np.array(list(target.values())) / sum(target.values())
    flat = np.full(len(target), 1 / len(target))
    assert exactly(samples(target, shares), target)[0] > 1e-3
    assert exactly(samples(target, flat), target)[0] < 1e-9
    assert by_weight(samples(target, flat), target)[0] > 1e-3
    assert by_weight(samples(target, flat, weight=1.05), target)[0] < 1e-4
    stranger = [SimpleNamespace(tokens=[9], finish_reason="stop", log_weight=0.0)]
    assert exactly(stranger, target)[0] == by_weight(stranger, target)[0] == 0


def test_few_draws_of_some_methods(capsys: pytest.CaptureFixture[str]) -> None:
    assert draw_laws.main(["--draws", "200", "--methods", "exact", "lcd"]) == 0
    assert "| with a validator | counts, min-p | exact |" in capsys.readouterr().out


def test_every_cell_has_200_models(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for drafter in ("given", "drawn"):
        assert len(enumerate_laws.models(drafter, 200)) >= 200
    assert enumerate_laws.main(["--models", "7", "--methods", "lcd"]) == 0
    assert capsys.readouterr().out.count("| lcd |") == 5
