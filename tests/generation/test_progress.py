"""`constrain.progress`: silent unless asked and on a terminal; every output is counted once, whatever the method."""

import asyncio
import io
import re
import sys
from typing import Any

import pytest

import constrain
from constrain.generation.progress import ProgressBar
from constrain.models.hf import HFModel
from constrain.sampling import METHODS
from toy_matcher import ToyConstraint

GIVEN = {"regex": "(red|green|blue){1,3}", "n": 3, "max_tokens": 12, "seed": 5}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def last_line(drawn: str) -> str:
    return drawn.split("\r")[-1].strip()


def test_silent_unless_asked_and_on_a_terminal(
    tokenizer: Any, model: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [each.text for each in constrain.generate(model, "a", tokenizer=tokenizer, **GIVEN)]
    capsys.readouterr()  # kernels may have been compiled, which is told
    with constrain.progress():
        again = constrain.generate(model, "a", tokenizer=tokenizer, **GIVEN)
    assert [each.text for each in again] == texts
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    constrain.generate(model, "a", tokenizer=tokenizer, **GIVEN)
    assert terminal.getvalue() == ""
    with constrain.progress():
        again = constrain.generate(model, "a", tokenizer=tokenizer, **GIVEN)
    assert [each.text for each in again] == texts
    assert "| 3/3 [" in last_line(terminal.getvalue())


def test_always_draws_elsewhere(tokenizer: Any, model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """And counts all tokens, of several prompts, drafts or not."""
    for draft in (None, "auto"):
        with constrain.progress(always=True):
            many = constrain.generate(model, ["a", "red"], tokenizer=tokenizer, draft=draft, **GIVEN)
        said = last_line(capsys.readouterr().err)
        assert "| 6/6 [" in said
        written = sum(len(each.tokens) for outputs in many for each in outputs)
        assert f" {written} tokens, " in said
        steps = re.search(r"(\d+) steps", said)
        assert steps is not None and int(steps[1]) > 1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_moves_the_bar(
    tokenizer: Any, model: Any, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {**GIVEN, "regex": "red|green|blue"}
    with constrain.progress(always=True):
        constrain.generate(model, "a", tokenizer=tokenizer, method=method, **given)
    said = last_line(capsys.readouterr().err)
    assert "| 3/3 [" in said and re.search(r"[1-9]\d* steps", said)


def test_methods_that_end_rows_one_by_one_say_so(
    tokenizer: Any, model: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the method returns, each row was told, by the number that it has in the call."""
    told: list[int] = []
    monkeypatch.setattr(ProgressBar, "ended", lambda self, row: told.append(row))
    for method in ("rejection", "cars", "beam", "argmax", "smc", "faithful"):
        told.clear()
        given = {**GIVEN, "n": 2, "regex": "red|green|blue"}
        with constrain.progress(always=True):
            constrain.generate(model, ["a", "b"], tokenizer=tokenizer, method=method, **given)
        assert len(told) >= 4 + (method != "faithful") * 4, method  # by the method, and at the end of the call
        assert set(told) == {0, 1, 2, 3}


def test_an_output_that_is_sampled_anew_is_open_again(
    tokenizer: Any, model: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vocabulary = HFModel(model, tokenizer).vocabulary
    constraint = ToyConstraint(vocabulary, [b"a", b"b", b"0", b"1"])
    constraint.residual_fault = lambda text: None if text in "ab" else f"{text} is no letter"  # type: ignore[attr-defined]
    reopened: list[int] = []
    monkeypatch.setattr(ProgressBar, "reopened", lambda self, row: (reopened.append(row), self.done.discard(row)))
    given = {"tokenizer": tokenizer, "constraint": constraint, "n": 20, "temperature": 3.0, "seed": 1}
    with constrain.progress(always=True):
        outputs = constrain.generate(model, "a", **given)
    assert len(reopened) == sum(each.stats.retries for each in outputs) > 0
    assert "| 20/20 [" in last_line(capsys.readouterr().err)


def test_calls_without_a_bar_are_refused(tokenizer: Any, model: Any) -> None:
    given: dict[str, Any] = {"tokenizer": tokenizer, "regex": "a"}
    with constrain.progress():
        with pytest.raises(constrain.ConstrainError, match="a stream draws no bar"):
            constrain.generate(model, "a", stream=True, **given)
        with pytest.raises(constrain.ConstrainError, match="agenerate draws no bar"):
            asyncio.run(constrain.agenerate(model, "a", **given))
    assert constrain.generate(model, "a", stream=True, **given).result.text == "a"
