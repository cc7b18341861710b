"""By default texts of a schema, of a type and with tools end within `max_tokens`; others do if it is asked for."""

from typing import Any

import pytest

import constrain
from constrain.errors import ConstrainError
from constrain.masks.completion.length_budget import BudgetError
from constrain.sampling import SMC
from toy_model import tiny_gpt2

WORDS = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
    "required": ["words"],
}


@pytest.mark.parametrize(
    "given",
    [
        {"schema": WORDS},
        {"type": list[str]},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "words", "schema": WORDS}}},
        {"constraint": constrain.json_schema(WORDS)},
        {"constraint": constrain.tools([{"name": "f", "parameters": WORDS}], format="llama3", choice="required")},
    ],
    ids=["schema", "type", "response_format", "constraint", "tools"],
)
def test_texts_end_in_time(given: dict[str, Any], tokenizer: Any, model: Any) -> None:
    asked = {"tokenizer": tokenizer, "n": 6, "max_tokens": 70, "seed": 1, **given}
    assert {output.finish_reason for output in constrain.generate(model, "red", **asked)} == {"stop"}
    assert "length" in {output.finish_reason for output in constrain.generate(model, "red", complete=False, **asked)}


@pytest.mark.parametrize("given", [{"regex": "[a-z]*"}, {"schema": WORDS, "method": "sir"}])
def test_others_are_asked(given: dict[str, Any], tokenizer: Any, model: Any) -> None:
    asked = {"tokenizer": tokenizer, "n": 6, "max_tokens": 50, "seed": 1, **given}
    outputs = constrain.generate(model, "red", **asked)
    assert [output.tokens for output in outputs] == [
        output.tokens for output in constrain.generate(model, "red", complete=False, **asked)
    ]
    assert {output.finish_reason for output in constrain.generate(model, "red", complete=True, **asked)} == {"stop"}


@pytest.mark.parametrize("method", ["smc", "awrs", SMC(particles=3, boundary="draft")], ids=["smc", "awrs", "blocks"])
def test_particles_do_not_die_of_the_limit(method: Any, tokenizer: Any, model: Any) -> None:
    """By default none; where the model is truncated before the mask, they are as they were."""
    asked = {"tokenizer": tokenizer, "schema": WORDS, "n": 4, "max_tokens": 50, "seed": 1, "method": method}
    for output in constrain.generate(model, "red", **asked):
        assert {each.finish_reason for each in output.population or [output]} == {"stop"}
    cut, truncated, same = (
        constrain.generate(model, "red", **asked, **more)
        for more in ({"complete": False}, {"top_k": 50}, {"top_k": 50, "complete": False})
    )
    assert "length" in {each.finish_reason for output in cut for each in output.population or [output]}
    assert [output.tokens for output in truncated] == [output.tokens for output in same]


@pytest.mark.parametrize("draft", [None, "auto"])
def test_a_limit_that_never_binds_changes_nothing(draft: Any, tokenizer: Any, model: Any) -> None:
    flags = {"type": "object", "properties": {"is": {"type": "array", "items": {"type": "boolean"}, "maxItems": 9}}}
    asked = {"tokenizer": tokenizer, "schema": flags, "n": 8, "max_tokens": 400, "seed": 2, "draft": draft}
    ended, cut = (constrain.generate(model, "red", complete=complete, **asked) for complete in (None, False))
    for one, other in zip(ended, cut, strict=True):
        assert one.finish_reason == other.finish_reason == "stop"
        assert (one.tokens, one.log_weight, one.trace) == (other.tokens, other.log_weight, other.trace)


def test_no_text_is_as_short(tokenizer: Any, model: Any) -> None:
    with pytest.raises(BudgetError) as caught:
        constrain.generate(model, "red", tokenizer=tokenizer, schema=WORDS, max_tokens=4)
    error = caught.value
    assert error.place == "max_tokens"
    assert error.fix is not None and "pass complete=False" in error.fix
    least = int(error.message.split("takes ")[1].split(",")[0])
    for complete in (None, True):
        asked = {"tokenizer": tokenizer, "schema": WORDS, "max_tokens": least, "complete": complete}
        assert constrain.generate(model, "red", **asked).finish_reason == "stop"
    asked = {"tokenizer": tokenizer, "schema": WORDS, "max_tokens": 4, "complete": False}
    assert constrain.generate(model, "red", **asked).finish_reason == "length"


def test_a_full_context_cuts_what_is_not_asked_to_end(tokenizer: Any) -> None:
    model, prompt = tiny_gpt2(tokenizer, seed=0), [64] * 124
    asked = {"tokenizer": tokenizer, "schema": WORDS}
    assert constrain.generate(model, prompt, **asked).finish_reason == "length"
    with pytest.raises(ConstrainError, match="too small"):
        constrain.generate(model, prompt, complete=True, **asked)


def test_explain_names_the_layer(tokenizer: Any, model: Any) -> None:
    asked = {"tokenizer": tokenizer, "schema": WORDS, "max_tokens": 40}
    begun = '{"words":["' + "a" * 20
    refusals = [
        constrain.explain(model, "red", "a" * 30, after=begun, complete=complete, **asked) for complete in (None, False)
    ]
    assert refusals[0] is not None and refusals[0].layer == "token budget"
    assert refusals[1] is None
