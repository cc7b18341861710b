"""benchmarks/speculation.py: what it counts, and that it finds answers that are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from speculation import FREE, PLAIN, faults, main, table


def output(tokens: list[int], forwards: int, seconds: float = 1.0, **changes: Any) -> dict[str, Any]:
    given = {"tokens": tokens, "forwards": forwards, "seconds": seconds, "end": "stop", "drafted": 0, "accepted": 0}
    return {**given, "faults": [], "member": True, **changes}


def record(**changes: Any) -> dict[str, Any]:
    plain, free = output([1, 2, 3, 4], 4, 0.008), output([1, 2], 2, 0.008, member=None)
    return {"file": "a.json", PLAIN: plain, FREE: free, **changes}


def test_the_table() -> None:
    drafted = output([1, 2, 3, 4], 2, 0.004, drafted=3, accepted=2)
    assert table([record(**{"lookup, match": drafted})] * 2).splitlines()[2:] == [
        "| no drafts | 8 | 8 | 1.00 |  | 2.00 | 0.50 |",
        "| no constraint | 4 | 4 | 1.00 |  | 4.00 | 1.00 |",
        "| lookup, match | 8 | 4 | 2.00 | 67% of 6 | 1.00 | 0.25 |",
    ]


@pytest.mark.parametrize(
    "name, changes, expected",
    [
        ("lookup, match", {}, []),
        ("lookup, match", {"tokens": [1]}, ["a.json: lookup, match: another output than without drafts"]),
        ("lookup, match", {"tokens": [1], "same in float64": True}, []),
        (
            "lookup, match",
            {"tokens": [1], "same in float64": False},
            ["a.json: lookup, match: another output than without drafts"],
        ),
        ("model, token", {"tokens": [1]}, []),
        ("model, token", {"member": False}, ["a.json: model, token: a finished output is no member"]),
        ("model, token", {"faults": ["E: x"]}, ["a.json: model, token: E: x"]),
    ],
)
def test_wrong_answers_are_found(name: str, changes: dict[str, Any], expected: list[str]) -> None:
    drafted = {**output([1, 2, 3, 4], 4), **changes}
    assert faults(record(**{name: drafted})) == expected


def test_a_run(maskbench_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--data", str(maskbench_dir.parent), "--limit", "1", "--max-tokens", "6", "--temperature", "1"]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 0
    summary = (tmp_path / "run" / "summary.md").read_text()
    assert summary in capsys.readouterr().out
    assert summary.count("\n") == 14
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["run"]["date"]
