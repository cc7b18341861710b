"""Checks of the distances that faithful.py measures against theory, where theory predicts them.

Of an estimate from n independent draws of π, TV is what n perfect draws give. Of a weighted one it is near what as many
perfect draws give as its weights are worth (their effective sample size); masked decoding without weights keeps the
distance between its distribution and π, whatever n. Hence, at the largest budget:

    exact       methods whose outputs have the distribution π (`cars`, `rejection`): TV is that of as many perfect draws
    alike       `sir` is masked decoding with weights, all of its particles told: TV is that of `lcd`
    not worse   no method is farther from π than masked decoding without weights, where as many perfect draws as its
                outputs are worth would be nearer

"Is" and "not farther" hold unless Student's t of the difference of the means over the repeats is one of 1 in 1,000; for
"exact" the error of perfect draws is known, and counts three times. A method with too few outputs for a check is named
with its outputs.
Limit: an effective sample size that misses heavy texts is too large; then "not worse" asks more than theory does.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from faithful_methods import EXACT, PUBLISHED, UNWEIGHTED

Rows = list[dict[str, Any]]
REFERENCES = (UNWEIGHTED, PUBLISHED, "null")
SIMULATED = 200  # sets of perfect draws


def mean(rows: Rows, method: str, budget: int, key: str = "tv") -> float:
    """Over the repeats."""
    return float(np.mean(_values(rows, method, budget, key)))


def standard_error(rows: Rows, method: str, budget: int) -> float:
    """Of the mean TV; NaN for a single repeat."""
    values = _values(rows, method, budget, "tv")
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def report(rows: Rows, budget: int, law: dict[bytes, float]) -> tuple[str, int]:
    """The checks in words, and how many fail. rows: of one case. law: π by text."""
    names = [name for name in dict.fromkeys(row["method"] for row in rows) if name not in REFERENCES]
    results: list[tuple[bool | None, str]] = []
    for name in names:
        if name in EXACT:
            results.append(_exact(rows, name, budget, law))
        if name.startswith("sir") and "lcd" in names:
            results.append(_alike(rows, name, budget))
        if any(row["method"] == UNWEIGHTED for row in rows) and not name.startswith("genlm"):
            results.append(_not_worse(rows, name, budget, law))
    words: dict[bool | None, list[str]] = {True: [], None: [], False: []}
    for holds, text in results:
        words[holds].append(text)
    heads = {True: "holds", None: "says nothing", False: "FAILS"}
    lines = [f"  theory {heads[key]}: {'; '.join(texts)}" for key, texts in words.items() if texts]
    return "\n".join(lines), len(words[False])


def _exact(rows: Rows, name: str, budget: int, law: dict[bytes, float]) -> tuple[bool | None, str]:
    counts = [int(each) for each in _values(rows, name, budget, "outputs")]
    if min(counts) < 5:
        return None, f"{name} made {np.mean(counts):.0f} outputs"
    expected, error = perfect(counts, law)
    measured = mean(rows, name, budget)
    return abs(measured - expected) <= 3 * error, f"{name} {measured:.3f}, perfect {expected:.3f} ± {3 * error:.3f}"


def _alike(rows: Rows, name: str, budget: int) -> tuple[bool | None, str]:
    own, other = mean(rows, name, budget), mean(rows, "lcd", budget)
    allowed = _allowed(rows, name, budget, standard_error(rows, "lcd", budget))
    return abs(own - other) <= allowed, f"{name} {own:.3f}, as lcd {other:.3f} ± {allowed:.3f}"


def _not_worse(rows: Rows, name: str, budget: int, law: dict[bytes, float]) -> tuple[bool | None, str]:
    worth = [int(each) for each in _values(rows, name, budget, "ess")]
    floor = mean(rows, UNWEIGHTED, budget)
    if min(worth) < 1 or perfect(worth, law)[0] >= floor:
        return None, f"{name} is worth {np.mean(worth):.0f} draws"
    measured = mean(rows, name, budget)
    allowed = _allowed(rows, name, budget, standard_error(rows, UNWEIGHTED, budget))
    return measured <= floor + allowed, f"{name} {measured:.3f} ≤ {floor:.3f} + {allowed:.3f}"


def _allowed(rows: Rows, name: str, budget: int, other: float) -> float:
    freedom = 2 * (len(_values(rows, name, budget, "tv")) - 1)
    return student(max(1, freedom)) * math.hypot(standard_error(rows, name, budget), other)


def student(freedom: int) -> float:
    """The 0.1 % quantile of |t|, by the expansion of Cornish and Fisher; 2 % off at 8 degrees of freedom."""
    z = 3.2905
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def perfect(counts: list[int], law: dict[bytes, float]) -> tuple[float, float]:
    """TV of perfect draws, on average over sets of these sizes: the mean, and its standard deviation for one set of
    each size."""
    pi = np.array(list(law.values()))
    pi /= pi.sum()
    rng = np.random.default_rng(0)
    variances, means = [], []
    for count, times in Counter(counts).items():
        draws = rng.multinomial(count, pi, size=SIMULATED) / count
        distances = 0.5 * np.abs(draws - pi).sum(axis=1)
        means += [float(distances.mean())] * times
        variances += [float(distances.var())] * times
    return float(np.mean(means)), math.sqrt(sum(variances)) / len(counts)


def _values(rows: Rows, method: str, budget: int, key: str) -> list[float]:
    return [row[key] for row in rows if row["method"] == method and row["budget"] == budget]
