"""docs/howto/faithful.md runs as it stands, and docs/sampling.md names every method."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from constrain.sampling import METHODS


def test_the_examples_of_the_howto_run(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (repository / "docs" / "howto" / "faithful.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    results = []
    for block in blocks:
        exec(compile(block, "docs/howto/faithful.md", "exec"), names)
        results.append(dict(names))
    _, weights, chosen, memory, certified, best, compared = results
    assert math.fsum(weights["share"].values()) == pytest.approx(1)
    assert re.fullmatch(r"exact: the language has \d+ prefixes", chosen["outputs"][0].stats.method)
    assert memory["attempts"][1] < memory["attempts"][0] / 2
    assert memory["low"] <= memory["high"]
    assert (tmp_path / "colors.memory.npz").exists()
    assert certified["g"].tv_bound <= 0.05
    assert best["best"].logprob >= best["second"].logprob
    assert best["best"].tv_bound == 0
    assert "lcd unweighted" in compared["table"]


def test_the_page_of_methods_names_them_all(repository: Path) -> None:
    page = (repository / "docs" / "sampling.md").read_text(encoding="utf-8")
    table = page.split("## The methods")[1].split("## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(METHODS)
    for name, method in METHODS.items():
        assert name == "lcd" or len(method.distribution) > 10  # type: ignore[attr-defined]
