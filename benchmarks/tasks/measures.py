"""Shares with intervals, and paired differences with an exact test."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt

Z = 1.959964  # of 95 %


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The interval of a share at 95 % (Wilson 1927). n: at least 1."""
    share = successes / n
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def exact_test(better: int, worse: int) -> float:
    """The two-sided p of a sign test over the pairs that differ (McNemar's, exact)."""
    n, least = better + worse, min(better, worse)
    return min(1.0, 2 * sum(comb(n, k) for k in range(least + 1)) / 2**n)


def paired(one: Sequence[bool], other: Sequence[bool]) -> tuple[int, int, float]:
    """(items that only the first has right, only the other, p) of the same items by two arms."""
    better = sum(a and not b for a, b in zip(one, other, strict=True))
    worse = sum(b and not a for a, b in zip(one, other, strict=True))
    return better, worse, exact_test(better, worse)
