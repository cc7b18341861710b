"""The log-evidence that drafts_methods.py states, beside numbers that are known."""

from __future__ import annotations

import math
import random

import pytest

from drafts_methods import log_evidence


def test_equal_estimates_leave_no_interval() -> None:
    """Also of masses that are no doubles; a question whose estimates are all zero has no logarithm."""
    assert log_evidence([[-2.0, -2.0], [-4000.0] * 3]) == (-2001.0, 0.0)
    assert all(map(math.isnan, log_evidence([[-1.0], [-math.inf]])))
    assert math.isnan(log_evidence([[-1.0]])[1])


def test_the_interval_holds_the_mass_of_nineteen_in_twenty() -> None:
    """Estimates of a known mass: one half or three halves of it, as likely."""
    drawn = random.Random(1)
    inside = 0
    for _ in range(400):
        questions = [[math.log(drawn.choice((0.5, 1.5)) * mass) for _ in range(200)] for mass in (1e-3, 1e-9)]
        mean, half = log_evidence(questions)
        inside += abs(mean - (math.log(1e-3) + math.log(1e-9)) / 2) <= half
    assert inside == pytest.approx(380, abs=20)
