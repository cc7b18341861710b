"""The fuzzer: what it found once is mended, a fault that is put in is found and made small, a hang ends the round."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import fuzzing
from constrain import kernels
from fuzz import Target
from patience import OutOfPatienceError, patience
from reading_oracle import reading

TARGETS = fuzzing.targets()
ROWS = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "fuzz.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: json.dumps(row["case"])[:60])
def test_what_was_found_is_mended(row: dict[str, Any]) -> None:
    TARGETS[row["target"]].check(row["case"])


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in TARGETS])
def test_a_round_finds_nothing(name: str) -> None:
    kernels.load()
    row = fuzzing.forked(TARGETS[name]._replace(examples=8), 1, 60)
    assert row["count"] >= 8
    assert "error" not in row, row


@pytest.mark.parametrize(
    ("kind", "language", "member", "other"),
    [
        ("regex", "a+", "aa", "ab"),
        ("choices", ["a", "ab"], "ab", "b"),
        ("grammar", 'start: "(" start? ")"', "(())", "(()"),
        ("schema", {"$schema": "https://json-schema.org/draft/2020-12/schema", "maximum": 3}, "3", "4"),
        ("schema", {"$schema": "https://json-schema.org/draft/2020-12/schema"}, '[{"a": 1}]', '[{"a": 1, "a": 2}]'),
    ],
)
def test_readers_of_sampled_texts(kind: str, language: Any, member: str, other: str) -> None:
    from fuzz import sampling  # its oracles are found since `fuzzing.targets` was called

    assert sampling.member(kind, language, member)
    assert not sampling.member(kind, language, other)


def too_large(case: int) -> None:
    assert case < 1000, "too large"


def endless(case: int) -> None:
    while case >= 0:
        time.process_time()


def test_a_fault_is_found_and_made_small() -> None:
    row = fuzzing.forked(Target("faulty", st.integers(0, 10**6), too_large, 100), 1, 60)
    assert row["case"] == 1000
    assert row["error"].startswith("AssertionError: too large")


def test_a_hang_is_found() -> None:
    row = fuzzing.forked(Target("endless", st.integers(0, 9), endless, 100), 1, 0.2)
    assert row["error"] == "hang"
    assert 0 <= row["case"] <= 9


def out_of_patience(case: int) -> bool:
    try:
        with patience(0.01):
            while case >= 0:
                reading.derivative(reading.EPSILON, case)
    except OutOfPatienceError:
        return True
    return False


def test_an_oracle_that_gives_up_is_counted() -> None:
    row = fuzzing.forked(Target("patient", st.integers(0, 9), out_of_patience, 5), 1, 60)
    assert row["undecided"] == row["count"] > 0
    assert "error" not in row
    assert reading.derivative(reading.EPSILON, 0) is reading.NOTHING  # nobody waits any more


def test_the_table_counts_each_kind_of_finding_once(tmp_path: Path) -> None:
    run = fuzzing.Run(tmp_path, ["a"], 3)
    for seed in (3, 4):
        run.note("a", seed, {"count": 7, "undecided": 3, "slowest": 0.5, "case": seed, "error": "E: x\nhere"}, 2.0)
    assert run.table(4).splitlines()[-1] == "| a | 2 | 14 | 4 | 0.5 | 6 | 2 |"
    assert len((tmp_path / "findings.jsonl").read_text().splitlines()) == 1
