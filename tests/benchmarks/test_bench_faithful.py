"""benchmarks/faithful.py: its distances, its budgets, and that every runner writes members and counts what it costs."""

import itertools
import math
from collections import Counter
from types import SimpleNamespace

import pytest

from faithful import distances, null, spend
from faithful_cases import CASES
from faithful_checks import Rows, perfect, report
from faithful_methods import Atoms, ours

LAW = {b"a": 0.5, b"b": 0.25, b"c": 0.25}


def test_distances_by_hand() -> None:
    assert distances(Counter(LAW), LAW) == (0.0, 0.0)
    tv, kl = distances(Counter({b"a": 3.0, b"b": 1.0}), LAW)
    assert tv == pytest.approx(0.25)
    assert kl == pytest.approx(0.75 * math.log(1.5))
    assert distances(Counter(), LAW) == (1.0, math.inf)
    with pytest.raises(AssertionError, match="not members"):
        distances(Counter({b"x": 1.0}), LAW)


def test_a_budget_holds_the_calls_that_fit() -> None:
    case = SimpleNamespace(truth=(LAW, 0.0, 3))
    calls: list[tuple[int, Atoms]] = [(4, [(b"a", 0.0)]), (4, [(b"b", math.log(3.0))]), (4, [(b"c", 0.0)])]
    rows = spend(case, itertools.cycle(calls), [3, 4, 11])  # type: ignore[arg-type]
    assert [(row["used"], row["outputs"]) for row in rows] == [(0, 0), (4, 1), (8, 2)]
    assert [row["tv"] for row in rows] == pytest.approx([1.0, 0.5, 0.5])
    perfect = null(case, [11], [{"budget": 11, "outputs": 5000}], 2)  # type: ignore[arg-type]
    assert all(row["tv"] < 0.05 for row in perfect)


def test_every_runner_writes_members_and_counts_its_forwards() -> None:
    case = CASES["version"]
    law, log_z, members = case.truth
    assert len(law) == members == 1980
    assert math.fsum(law.values()) == pytest.approx(1)
    assert log_z < 0
    found: Counter[bytes] = Counter()
    for name, runner in ours().items():
        cost, atoms = next(runner(case, 0))
        assert cost > 0, name
        assert {text for text, _ in atoms} <= law.keys(), name
        found.update(text for text, _ in atoms)
    assert len(found) > 10


def rows_of(method: str, tvs: list[float], outputs: float = 400, ess: float = 400) -> Rows:
    return [{"method": method, "budget": 9, "tv": tv, "outputs": outputs, "ess": ess} for tv in tvs]


FLOOR = rows_of("lcd unweighted", [0.30, 0.31, 0.30, 0.29, 0.30])


@pytest.mark.parametrize(
    "rows, fails",
    [
        (rows_of("smc 64", [0.11, 0.09, 0.10, 0.10, 0.12]), 0),
        (rows_of("smc 64", [0.41, 0.39, 0.40, 0.40, 0.42]), 1),  # worth 400 draws, and worse than no weights at all
        (rows_of("smc 64", [0.41, 0.39, 0.40, 0.40, 0.42], ess=1), 0),  # one draw cannot do better
        (rows_of("smc 64", [0.1, 0.9, 0.4, 0.1, 0.7]), 0),  # within noise
        (rows_of("cars", [0.02, 0.03, 0.02, 0.03, 0.02]), 0),
        (rows_of("cars", [0.08, 0.09, 0.08, 0.09, 0.08]), 1),  # farther than perfect draws
        (rows_of("cars", [0.0, 0.0, 0.0, 0.0, 0.0]), 1),  # nearer than perfect draws can be
        (rows_of("cars", [0.9] * 5, outputs=2, ess=1), 0),
        (rows_of("lcd", [0.05, 0.06, 0.05, 0.06, 0.05]) + rows_of("sir 64", [0.055, 0.05, 0.06, 0.05, 0.06]), 0),
        (rows_of("lcd", [0.05, 0.06, 0.05, 0.06, 0.05]) + rows_of("sir 64", [0.15, 0.16, 0.15, 0.16, 0.15]), 1),
    ],
)
def test_what_theory_says_is_checked(rows: Rows, fails: int) -> None:
    words, failed = report(FLOOR + rows, 9, LAW)
    assert failed == fails
    assert ("FAILS" in words) == (fails > 0)


def test_perfect_draws_by_hand() -> None:
    """One draw of (½, ¼, ¼) is ½ or ¾ away, with probabilities ½ and ½."""
    expected, error = perfect([1] * 100, LAW)
    assert expected == pytest.approx(0.625, abs=0.03)
    assert error == pytest.approx(0.0125, rel=0.1)
