"""benchmarks/guarded_calls.py: it runs, and a wrong output is no measurement."""

from __future__ import annotations

import jsonschema
import pytest

import constrain
import guarded_calls


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded_calls.main(["--outputs", "2", "--batch", "2", "--max-tokens", "60"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_repeated_keys_and_items_are_seen() -> None:
    with pytest.raises(ValueError, match="a key repeats"):
        guarded_calls.strict('{"a": 1, "a": 1}')
    form = guarded_calls.forms()[1]
    unguarded = form._replace(constraint=constrain.regex('<call>[{]"flags": [[]"a", "a"[]][}]</call>'))
    with pytest.raises(jsonschema.ValidationError, match="non-unique"):
        guarded_calls.measure(unguarded, constrain.reference.load(), 1, 1, 60)
