"""benchmarks/partials.py: it runs, and checks its values."""

from __future__ import annotations

import json

import pytest

import partials


def test_it_runs_on_small_texts(capsys: pytest.CaptureFixture[str]) -> None:
    assert partials.main(["--sizes", "2000", "--anew", "1"]) == 0
    assert capsys.readouterr().out.count("\n") == 3


def test_a_wrong_value_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partials.JsonValues, "value", 1)
    with pytest.raises(AssertionError):
        partials.measure(partials.text_of(100), False)


def test_the_text_has_the_size() -> None:
    assert 1000 <= len(partials.text_of(1000)) < 1300 and json.loads(partials.text_of(1000))["rows"]
