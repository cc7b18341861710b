"""The night: parts go on after one that found something, shares follow the time that is left, the report says all."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nightly
from nightly import Night, Part

SAYS = "-c 'import sys; print(1); print(sys.argv[1:]); print(); print(\"x\", file=sys.stderr); sys.exit({})' {}"


def test_every_part_runs_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    parts = (
        Part("bad", 1, SAYS.format(1, "{minutes}")),
        Part("broken", 1, SAYS.format(7, "a b")),
        Part("killed", 1, "-c 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'"),
        Part("good", 1, "-c 'import os; print(os.environ[\"ASKED\"])'", {"ASKED": "yes"}),
    )
    monkeypatch.setattr(nightly, "PARTS", parts)
    monkeypatch.setattr(sys, "argv", ["nightly", "--budget", "40", "--jobs", "1", "--out", str(tmp_path)])
    assert nightly.main() == 1
    rows = [line.split(" | ")[:3] for line in (tmp_path / "report.md").read_text().splitlines() if line[:2] == "| "]
    assert rows[1:] == [
        ["| bad", "['9.00']", "FOUND"],  # nine tenths of a quarter
        ["| broken", "['a', 'b']", "ENDED WITH 7"],
        ["| killed", "nothing printed", "NOT FINISHED"],
        ["| good", "yes", "nothing found"],
    ]
    assert (tmp_path / "bad.err").read_text() == "x\n"
    monkeypatch.setattr(sys, "argv", ["nightly", "--parts", "good", "--out", str(tmp_path)])
    assert nightly.main() == 0
    assert "good: nothing found: yes" in capsys.readouterr().out


def test_shares_follow_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(nightly, "time", clock)
    night = Night(
        [Part(name, minutes, "") for name, minutes in zip("abcd", (10, 70, 20, 20), strict=True)], 60, 2, tmp_path
    )
    shares = [night.next(), night.next()]  # of two hours; 70 of 110 minutes are more than is left
    clock.now = 1200.0
    del night.promised["a"]  # it took twice its share
    shares.append(night.next())
    clock.now = 1800.0
    del night.promised["c"]  # it took half of its share
    shares.append(night.next())
    assert [(taken[0].name, taken[1]) for taken in shares if taken] == [
        ("a", 600),
        ("b", 3600),
        ("c", 1200),
        ("d", 1800),
    ]
    assert night.next() is None


def test_the_parts_name_files_that_exist() -> None:
    for part in nightly.PARTS:
        paths = [word for word in part.command.split() if word.endswith(".py")]
        assert (paths or " -m nightly" in part.command) and all((nightly.ROOT / path).is_file() for path in paths), part
    assert len({part.name for part in nightly.PARTS}) == len(nightly.PARTS)
