"""docs/speculative.md runs as it stands, and names every drafter and every verifier."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from constrain.speculative import NAMED, VERIFIERS


def test_the_examples_run(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (repository / "docs" / "speculative.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    results = []
    for block in blocks:
        exec(compile(block, "docs/speculative.md", "exec"), names)
        results.append(names["g"])
    auto, retrieved, drawn, own = results
    assert auto.stats.tokens_per_forward > 1
    assert auto.finish_reason == "stop"
    assert sum(count.accepted for count in auto.stats.drafts.values()) > 0
    assert retrieved.stats.drafts["retrieval"].fault is None
    assert (tmp_path / "texts.npz").exists()
    assert drawn.stats.drafts["model"].accepted > 0
    assert drawn.stats.drafts["model"].fault is None
    assert own.stats.drafts["again"].drafted > 0


def test_everything_is_named(repository: Path) -> None:
    page = (repository / "docs" / "speculative.md").read_text(encoding="utf-8")
    for name in NAMED:
        assert f'`"{name}"`' in page
    for name in VERIFIERS:
        assert re.search(rf"^\| `{name}`", page, re.MULTILINE)
