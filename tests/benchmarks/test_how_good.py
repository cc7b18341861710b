"""The page How good is it says what the record says, and the statistics are those of their formulas."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from masks.records import Records
from tasks.measures import exact_test, paired, wilson
from tasks.page import by_arm, written_into

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "benchmarks" / "record" / "2026-11-26-tasks"


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    if not RECORD.is_dir():
        pytest.skip("a source distribution has no records")
    return Records(RECORD, "answers", "id").all()


def test_the_page(records: list[dict[str, Any]]) -> None:
    """All tables are made anew, and the numbers in the text around them."""
    page = (ROOT / "docs" / "how-good.md").read_text(encoding="utf-8")
    assert written_into(page, records) == page
    assert f"answers {len({(each['task'], each['item']) for each in records})} questions" in page


def test_other_pages(records: list[dict[str, Any]]) -> None:
    """Numbers of the record that another page tells."""
    ended = {arm: sum(r["finish"] == "stop" for r in rows) for arm, rows in by_arm(records, "calls").items()}
    sampling = " ".join((ROOT / "docs" / "sampling.md").read_text(encoding="utf-8").split())
    assert f"{ended['default']} end by default and {ended['canonical']} with `canonical=True`" in sampling


def test_records_are_sound(records: list[dict[str, Any]]) -> None:
    """Right answers are valid, valid ones were found, and what constrain finished as JSON or choice is valid."""
    for each in records:
        assert each["right"] <= each["valid"] <= each["parsed"], each["id"]
        assert each["parts"][0] <= each["parts"][1] and (each["fault"] == "") == each["right"], each["id"]
        if each["arm"] != "free" and each["finish"] == "stop" and each["task"] not in ("sql", "humaneval"):
            assert each["valid"], each["id"]


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_exact_test(n: int) -> None:
    """p is the share of all outcomes of n fair coins that are as far from the middle."""
    for better in range(n + 1):
        far = abs(2 * better - n)
        as_far = sum(abs(2 * sum(coins) - n) >= far for coins in product((0, 1), repeat=n))
        assert exact_test(better, n - better) == pytest.approx(float(Fraction(as_far, 2**n)))


def test_pairs() -> None:
    assert paired([True, True, False, False], [True, False, True, False]) == (1, 1, 1.0)
    assert exact_test(0, 0) == 1.0


@pytest.mark.parametrize("successes, n", [(0, 10), (3, 10), (10, 10), (39, 100)])
def test_the_interval(successes: int, n: int) -> None:
    """Its ends solve (share − p)² = z² p (1 − p) / n, Wilson's equation."""
    share = successes / n
    for p in wilson(successes, n):
        assert (share - p) ** 2 == pytest.approx(1.959964**2 * p * (1 - p) / n, abs=1e-12)
