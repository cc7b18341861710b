"""Budgets of thoughts, and turns with tools, for every method of sampling, under drafts, in batches and with limits."""

from typing import Any

import pytest

import constrain
from constrain.errors import ConstrainError, LimitError
from constrain.sampling.methods.table import METHODS

BUDGET = 4
ANSWER = constrain.choices(["yes", "no"])
SEARCHES = {"argmax", "exact"}  # they read all texts, or many: thoughts are too many for them
REFUSING = {"cars", "rejection", "asap"}  # they draw from the model until a member comes, as often as they may
THOUGHTFUL = constrain.after("</t>", ANSWER, max_tokens=BUDGET)


@pytest.fixture(scope="module")
def model() -> Any:
    return constrain.reference.load()


def thoughts_taken(output: Any, model: Any) -> int:
    """The number of tokens that begin before the close."""
    vocabulary = constrain.Vocabulary.from_huggingface(model.tokenizer)
    close = output.text.encode().index(b"</t>")
    at, taken = 0, 0
    for token in output.tokens:
        taken += at < close
        at += len(vocabulary.tokens[token] or b"")
    return taken


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_budget_holds_for_every_method(method: str, model: Any) -> None:
    most = 0 if method in SEARCHES else BUDGET
    constraint = constrain.after("</t>", ANSWER, max_tokens=most)
    options: dict[str, Any] = {"temperature": 0} if method in ("argmax", "beam") else {}
    outputs = constrain.generate(
        model, "Is it?", constraint=constraint, method=method, n=2, max_tokens=24, seed=1, **options
    )
    for output in outputs:
        if output.finish_reason == "stop":
            assert thoughts_taken(output, model) <= most
            assert output.value in ("yes", "no")
        else:
            assert output.finish_reason in ("budget", "dead_end"), output.finish_reason
    assert outputs[0].finish_reason == "stop" or method in REFUSING


def test_what_reads_every_text_says_that_there_are_too_many(model: Any) -> None:
    with pytest.raises(LimitError, match="the language has more than 10000 prefixes"):
        constrain.generate(model, "Is it?", constraint=THOUGHTFUL, method="exact", max_tokens=24, seed=1)


@pytest.mark.parametrize("draft", ["auto", "lookup"])
def test_drafts_do_not_change_the_text(draft: str, model: Any) -> None:
    options = {"constraint": THOUGHTFUL, "n": 3, "max_tokens": 24, "seed": 5}
    plain = constrain.generate(model, "Is it? no no no", **options)
    drafted = constrain.generate(model, "Is it? no no no", draft=draft, **options)
    assert [one.tokens for one in plain] == [one.tokens for one in drafted]
    assert all(thoughts_taken(one, model) <= BUDGET for one in drafted)


def test_complete_leaves_room_for_the_close(model: Any) -> None:
    constraint = constrain.after("</t>", ANSWER, max_tokens=100)
    for seed in range(3):
        output = constrain.generate(model, "Is it?", constraint=constraint, max_tokens=12, complete=True, seed=seed)
        assert output.finish_reason == "stop" and output.value in ("yes", "no")
    with pytest.raises(ConstrainError, match="a budget of 2 tokens is too small: the shortest text, '</t>"):
        constrain.generate(model, "Is it?", constraint=constraint, max_tokens=2, complete=True)


def test_a_turn_with_tools(model: Any) -> None:
    def weather(city: str, days: int = 1) -> str:
        """Tell the weather."""
        return city

    for form in ("qwen3", "qwen3-coder", "llama3"):
        turn = constrain.tools([weather], format=form, choice="required", thinking="none", parallel=False)
        output = constrain.generate(model, "Weather?", constraint=turn, max_tokens=60, complete=True, seed=1)
        assert output.finish_reason == "stop"
        [call] = output.tool_calls
        assert call.name == "weather" and isinstance(call.arguments["city"], str)
        assert call.function is weather and weather(**call.arguments) == call.arguments["city"]
        assert (output.thinking, output.content) == (None, "")
        cut = constrain.generate(model, "Weather?", constraint=turn, max_tokens=12, complete=False, seed=1)
        assert cut.finish_reason == "length" and cut.tool_calls == [] and cut.message.fault is not None
    plain = constrain.generate(model, "Weather?", regex="[a-z]{3}", seed=1)
    assert (plain.content, plain.thinking, plain.tool_calls, plain.message) == (plain.text, None, [], None)
