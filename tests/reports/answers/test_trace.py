"""`constrain.trace`: its numbers are those of the generation, and the masks those of a matcher."""

import math

import pytest

import constrain
from constrain.errors import ConstrainError

MODEL = constrain.reference.load()
SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer"}},
    "required": ["age"],
    "additionalProperties": False,
}


def test_numbers_are_those_of_the_generation():
    for seed in range(3):
        output = constrain.generate(MODEL, "Person: ", schema=SCHEMA, seed=seed, max_tokens=60)
        trace = constrain.trace(MODEL, "Person: ", output, schema=SCHEMA)
        assert [token.token for token in trace] == output.tokens
        for token, record in zip(trace, output.trace, strict=True):
            assert math.log(token.probability) == pytest.approx(record.log_prob_raw, abs=1e-4)
            assert token.forced == record.forced
            assert token.allowed == pytest.approx(math.exp(record.log_z), abs=1e-4)


def test_alternatives_are_the_likeliest_with_what_the_mask_says():
    output = constrain.generate(MODEL, "Person: ", schema=SCHEMA, seed=1, max_tokens=60)
    everything = constrain.trace(MODEL, "Person: ", output, schema=SCHEMA, top=10**6)
    few = constrain.trace(MODEL, "Person: ", output, schema=SCHEMA, top=3)
    for token, all_of_it in zip(few, everything, strict=True):
        assert token.alternatives == all_of_it.alternatives[:3]
        masses = [each.probability for each in all_of_it.alternatives]
        assert masses == sorted(masses, reverse=True) and sum(masses) == pytest.approx(1)
        assert sum(each.probability for each in all_of_it.alternatives if each.allowed) == pytest.approx(token.allowed)


def test_texts_and_token_ids_can_be_traced():
    by_text = constrain.trace(MODEL, "A colour: ", "red", choices=["red", "green"])
    by_ids = constrain.trace(MODEL, "A colour: ", [token.token for token in by_text])
    assert [a.probability for a in by_text] == [b.probability for b in by_ids]
    assert {token.allowed for token in by_ids} == {None} and by_ids[0].alternatives[0].allowed is None
    assert constrain.trace(MODEL, "A colour: ", []) == []


@pytest.mark.parametrize(
    "prompt, output, options, said",
    [
        ("A colour: ", "blue", {"choices": ["red"]}, "does not allow the output"),
        ("A colour: ", [10**9], {}, "an output is a Generation, a text or token ids"),
        ("A colour: ", 7, {}, "an output is a Generation, a text or token ids"),
        (["a", "b"], "red", {}, "one prompt"),
        ("A colour: ", "red", {"top": -1}, "top is a number"),
        ("A colour: ", "red", {"temperature": 0}, "above 0"),
        ("A colour: ", "red", {"colour": "red"}, "no argument 'colour'"),
        ("A colour: ", "red " * 5000, {}, "positions"),
    ],
)
def test_bad_input(prompt, output, options, said):
    with pytest.raises(ConstrainError, match=said):
        constrain.trace(MODEL, prompt, output, **options)
