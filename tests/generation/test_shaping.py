"""stop and complete of `generate`, `Length`, texts around outputs, on tiny random models that would rather not end."""

import json
from typing import Any

import pytest

import constrain
from constrain.errors import ConstrainError, GrammarError, UnsatisfiableError
from constrain.generation import Length, Prompt, generate
from constrain.languages.constraints.regular import regex
from constrain.languages.grammar_text.text import grammar
from constrain.masks.derived.members import is_member
from constrain.masks.derived.stopping import stopped
from reading_oracle import language, texts
from toy_model import tiny_llama, tiny_tokenizer

NESTED = 'start: "[" [start ("," start)*] "]" | /[0-9]/'
LIST = {"type": "array", "items": {"type": "string", "minLength": 2}, "minItems": 2}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    return tiny_llama(tokenizer, seed=3)


# --- stop -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "constraint, stops",
    [
        (grammar('start: "a" start? "b"'), ["bb"]),
        (grammar('start: ("a" | "b" start "a")*'), ["ab", "bba"]),
        (regex("[ab]*"), ["aba"]),
        (regex("a|bab"), ["ab", "b"]),
        (grammar('start: "a"* "b" | "(" start ")"'), ["b"]),
    ],
)
def test_the_language_with_stop_sequences(constraint, stops):
    """From the definition: a member, or one and a stop sequence, and no stop sequence ends before the end."""
    whole = language(constraint.to_grammar(), "ab()", 6)
    members = {text for text, (is_one, _) in whole.items() if is_one}
    made = stopped(constraint, stops)
    for text in texts("ab()", 5):
        expected = not any(stop in text[:-1] for stop in stops) and (
            text in members or any(text.endswith(stop) and text[: -len(stop)] in members for stop in stops)
        )
        assert is_member(made, text) == expected, text
        if expected:
            cut, stop = made.cut(text)
            assert cut + stop == text and cut in members
            assert stop or not any(text.endswith(each) and text[: -len(each)] in members for each in stops)


def test_free_text_ends_at_the_first_stop(tokenizer, model):
    stops = ["e", "th"]
    for seed in range(10):
        g = generate(model, "the red", tokenizer=tokenizer, stop=stops, seed=seed, max_tokens=60)
        written = b"".join(constrain.hf.HFModel.of(model, tokenizer).vocabulary.tokens[t] or b"" for t in g.tokens)
        text = written.decode(errors="replace")
        assert not any(stop in g.text for stop in stops)
        assert g.finish_reason == "length" or text == g.text + g.stats.stop
        assert not any(stop in text[:-1] for stop in stops)


def test_streams_hold_back_what_may_be_a_stop(tokenizer, model):
    for seed in range(8):
        given = {"tokenizer": tokenizer, "stop": "red", "seed": seed, "max_tokens": 40, "regex": "(a|re|red|the )*"}
        stream = generate(model, "the", stream=True, **given)
        pieces = list(stream)
        assert "".join(pieces) == stream.result.text == generate(model, "the", **given).text
        assert "red" not in stream.result.text


def test_values_are_those_without_the_stop(tokenizer, model):
    g = generate(model, "x", tokenizer=tokenizer, schema={"enum": [1, 22]}, stop=["\n", "2\n"], seed=1)
    assert g.finish_reason == "stop"
    assert g.value == json.loads(g.text)


# --- complete and at_least --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["lcd", "awrs", "smc"])
@pytest.mark.parametrize("constraint", [{"grammar": NESTED}, {"schema": LIST}, {"regex": "(ab|cd)*x{3}"}], ids=str)
def test_every_output_is_complete(tokenizer, model, method, constraint):
    """With an endless language and a small budget nothing is ever cut."""
    for max_tokens in (12, 17):
        outputs = generate(
            model,
            ["the red", "é"],
            tokenizer=tokenizer,
            method=method,
            max_tokens=max_tokens,
            complete=True,
            seed=5,
            n=3,
            **constraint,
        )
        for g in [each for group in outputs for each in group]:
            assert g.finish_reason == "stop"
            assert len(g.tokens) <= max_tokens
            if "schema" in constraint:
                assert len(g.value) >= 2


def test_without_close_some_are_cut(tokenizer, model):
    outputs = generate(model, "the red", tokenizer=tokenizer, schema=LIST, max_tokens=12, complete=False, seed=5, n=6)
    assert any(g.finish_reason == "length" for g in outputs)


def test_a_budget_that_is_too_small(tokenizer, model):
    with pytest.raises(ConstrainError, match=r"budget of 4 tokens is too small.*takes \d+, EOS counted"):
        generate(model, "x", tokenizer=tokenizer, schema=LIST, complete=True, max_tokens=4)


def test_at_least_so_many_tokens(tokenizer, model):
    for seed in range(6):
        given = {"tokenizer": tokenizer, "seed": seed, "max_tokens": Length(20, at_least=9)}
        g = generate(model, "x", regex="[a-c]*", complete=True, **given)
        assert 9 <= len(g.tokens) <= 20
        assert g.finish_reason == "stop"
        assert generate(model, "x", choices=["a", "b"], **given).text in "ab"  # nothing more can follow


def test_unconstrained_texts_close_too(tokenizer, model):
    g = generate(model, "the", tokenizer=tokenizer, complete=True, max_tokens=Length(9, 4), seed=2)
    assert g.finish_reason == "stop"
    assert 4 <= len(g.tokens) <= 9


# --- prefix and suffix ------------------------------------------------------------------------------------------------


def test_filling_in_the_middle(tokenizer, model):
    for seed in range(10):
        given = {"tokenizer": tokenizer, "complete": True, "max_tokens": 20, "seed": seed}
        g = generate(model, Prompt("[1,[", suffix="]]"), grammar=NESTED, **given)
        assert is_member(grammar(NESTED), "[1,[" + g.text + "]]")
        g = generate(model, Prompt("Fill in: ", prefix='["a', suffix='z"]'), schema=LIST, **given)
        assert g.value == json.loads('["a' + g.text + 'z"]')
        assert g.value[0][0] == "a"
        assert g.value[-1][-1] == "z"
        g = generate(model, Prompt("the ", suffix=""), regex="the (red|green)", **given)
        assert g.text in ("red", "green")


@pytest.mark.parametrize(
    "arguments, match",
    [
        ({"prompt": Prompt("x", suffix="]")}, "need a constraint"),
        ({"grammar": NESTED, "prompt": Prompt([1, 2], suffix="]")}, "not one str"),
        ({"grammar": NESTED, "prompt": Prompt("[", suffix="(")}, "ends with the suffix"),
        ({"tools": [len], "prompt": Prompt("[", suffix="(")}, "suffix has no meaning beside tools"),
        ({"stop": ""}, "not empty"),
        ({"stop": []}, "empty list"),
        ({"stop": [3]}, "not 3"),
        ({"complete": 1}, "True, False or None"),
        ({"complete": True, "prompt": Prompt("x", healing=True)}, "healing"),
    ],
)
def test_faults(tokenizer, model, arguments, match):
    with pytest.raises((ConstrainError, UnsatisfiableError), match=match):
        generate(model, tokenizer=tokenizer, **{"prompt": "x", **arguments})


@pytest.mark.parametrize(
    "numbers, match", [((9, -1), "at_least must be"), ((5, 9), "greater than at_most"), ((0,), "at_most must be")]
)
def test_lengths_that_are_none(numbers, match):
    with pytest.raises(ConstrainError, match=match):
        Length(*numbers)


def test_only_generate_takes_a_prompt_object(tokenizer, model):
    with pytest.raises(ConstrainError, match="only generate takes a Prompt"):
        constrain.score(model, Prompt("x", healing=True), ["a"], tokenizer=tokenizer)


def test_greedy_grammars_have_no_stop():
    with pytest.raises(GrammarError, match="greedy"):
        stopped(grammar('start: "(" start? ")"', lexer="greedy"), "x")
