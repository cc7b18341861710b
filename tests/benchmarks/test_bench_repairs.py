"""The benchmark of repairs: damage is damage, its sums by hand, and wrong outputs are faults."""

from __future__ import annotations

import ast
import itertools
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from repairs import DRAFTS, faults_of, judge_python, judge_sql, table

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from reference_model.repairs import KINDS, LEAST, MOST, _damaged, prompt, repairs


@pytest.mark.parametrize("seed", range(40))
def test_damage(seed: int) -> None:
    """A few marks are changed, and the fixed text stays."""
    fixed = '{"name":"Ann","ok":true,"sizes":[1,2,3],"note":null,"city":"Rome","street":"Via Appia"}'
    made = _damaged(random.Random(seed), "json", fixed)
    assert made.fixed == fixed
    assert abs(len(made.broken) - len(fixed)) <= 3
    assert made.broken in prompt(made)


@pytest.mark.slow
def test_repairs_are_texts_of_their_kind() -> None:
    for kind, repair in zip(itertools.cycle(KINDS), itertools.islice(repairs(3, validation=True), 30), strict=False):
        assert repair.kind == kind
        assert LEAST <= len(repair.fixed) <= MOST + 1
        if kind == "json":
            assert isinstance(json.loads(repair.fixed), dict)
            assert isinstance(json.loads(repair.schema), dict)
        elif kind == "python":
            ast.parse(repair.fixed)
        else:
            assert judge_sql(repair.fixed) is None


def test_judges() -> None:
    assert judge_sql("SELECT a FROM b;") is None  # there is no table, but that is not the question
    assert judge_sql("SELECT FROM b WHERE") is not None
    assert judge_python("def f():\n    return 1\n") is None
    assert judge_python("def f(:\n") is not None


def record(**changes: Any) -> dict[str, Any]:
    return {
        "set": "json", "item": "json 0", "row": "edit", "T": 0.0, "tokens": 40, "forwards": 8, "ended": True,
        "same": True, "right": True, "invalid": None, "drafts": {"edit": [50, 32, 1]}, "faults": [], "seconds": 0.2,
        "wall": 0.4, **changes,
    }  # fmt: skip


GENERATE = {"set": "json", "item": "json 0", "row": "model.generate", "T": 0.0, "tokens": 80, "forwards": 80,
            "seconds": 0.8, "wall": 0.8}  # fmt: skip


def test_the_table_of_repairs() -> None:
    cut = record(item="json 1", tokens=40, forwards=32, ended=False, right=False)
    text = table([record(), cut, GENERATE, record(row="none", drafts={}, forwards=40)])
    assert "| json | 0 | edit | 2 (1 ended) | 2.00 | 5.00 | 100 / 64 | 2.00 | 1.00 | 2 |" in text
    assert "| json | 0 | none | 1 (1 ended) | 1.00 | 1.00 |  | 2.00 | 1.00 | 1 |" in text
    assert "| json | 0 | *repaired as wanted, without drafts* | 1 |" in text
    assert "edit" in DRAFTS
    assert "| json | 0 | edit | 1 (1 ended) | 5.00 | 5.00 | 50 / 32 |  |  | 1 |" in table([record()])  # --greedy


@pytest.mark.parametrize(
    "changes, fault",
    [
        ({}, None),
        ({"same": False}, "another output than without drafts"),
        ({"same": False, "T": 1.0}, None),
        ({"invalid": "no object"}, "finished and invalid: no object"),
        ({"faults": ["KeyError: 3"]}, "a drafter failed: KeyError: 3"),
    ],
)
def test_faults_of_repairs(changes: dict[str, Any], fault: str | None) -> None:
    found = faults_of(record(**changes))
    assert (found == []) if fault is None else fault in found[0]
    assert faults_of(GENERATE) == []
