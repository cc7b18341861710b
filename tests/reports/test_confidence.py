"""The confidence of parts of an output: where a part stands, and which probabilities it has."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import constrain
from constrain.errors import ConstrainError
from constrain.reports.confidence import confidence_of, value_span
from constrain.reports.display.tokens import Alternative, ShownToken
from toy_handle import PIECES, ToyHandle

KEYS = st.sampled_from(["", "a", "b", "a/b", "~", "~1", "0", "é", '"', "\\"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def parts(value: Any, pointer: str = "") -> list[tuple[str, Any]]:
    """Every part of a value with its pointer."""
    found = [(pointer, value)]
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        found += parts(inner, f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}")
    return found


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans(), st.sampled_from(["", " ", "\n\t "]))
def test_every_part_is_found(value: Any, indent: int | None, escaped: bool, around: str) -> None:
    text = around + json.dumps(value, indent=indent, ensure_ascii=escaped) + around
    for pointer, part in parts(value):
        begin, end = value_span(text, pointer)
        assert json.loads(text[begin:end]) == part
        assert text[begin:end] == text[begin:end].strip()


def test_of_equal_keys_the_last_counts() -> None:
    text = '{"a": 1, "a": 2}'
    begin, end = value_span(text, "/a")
    assert text[begin:end] == "2" == str(json.loads(text)["a"])


@pytest.mark.parametrize(
    "text, pointer, message",
    [
        ('{"a": 1}', "a", "no JSON pointer"),
        ('{"a": 1}', "/b", "no value at '/b'"),
        ('{"a": 1}', "/a/0", "no value at '/a/0'"),
        ("[1]", "/1", "no value at '/1'"),
        ("[1]", "/-", "no value at '/-'"),
        ('{"a": 1', "/a", "no JSON value"),
        ('{"a', "/a", "no JSON value"),
        ("", "", "no JSON value"),
        ("so: 1", "", "no JSON value"),
        ("[" * 100_000, "/0/0", "no JSON value"),
    ],
)
def test_parts_that_are_not_there(text: str, pointer: str, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        value_span(text, pointer)


def test_tokens_that_have_some_of_a_part_count() -> None:
    pieces = [b'{"a": "', b"\xc3", b"\xa9t", b"\xc3\xa9", b'"}', b"<end>"]
    tokens = [ShownToken("", place, 0.5, 1.0 if place else 0.25) for place in range(6)]
    text = '{"a": "été"}'
    found = confidence_of(text, value_span(text, "/a"), pieces, tokens)
    assert found.text == '"été"'
    assert found.tokens == 5
    assert found.log_prob == pytest.approx(5 * math.log(0.5))
    assert found.log_allowed == pytest.approx(math.log(0.25))
    assert found.probability == pytest.approx(0.5**5 / 0.25)
    assert found.margin is None
    inner = confidence_of(text, (8, 9), pieces, tokens)
    assert (inner.text, inner.tokens) == ("t", 1)


def test_the_margin_is_the_least_of_those_that_were_chosen() -> None:
    def token(probability: float, other: float, allowed: bool = True, forced: bool = False) -> ShownToken:
        alternatives = (Alternative("x", probability, True, 1), Alternative("y", other, allowed, 2))
        return ShownToken("x", 1, probability, 1.0, forced, alternatives)

    def margin(*tokens: ShownToken) -> float | None:
        return confidence_of("x" * len(tokens), (0, len(tokens)), [b"x"] * len(tokens), tokens).margin

    assert margin(token(0.6, 0.3), token(0.5, 0.4)) == pytest.approx(math.log(0.5 / 0.4))
    assert margin(token(0.2, 0.6)) == pytest.approx(math.log(0.2 / 0.6))
    assert margin(token(0.6, 0.3), token(0.01, 0.9, forced=True)) == pytest.approx(math.log(2))
    assert margin(token(0.6, 0.3, allowed=False)) is None
    assert margin(token(0.6, 0.3, forced=True)) == math.inf


def test_without_a_record_it_says_so() -> None:
    with pytest.raises(ConstrainError, match="no record"):
        confidence_of("1", (0, 1), [b"1"], [ShownToken("1", 1)])


LANGUAGE = constrain.regex("(a|b|ab){1,3}")


def test_probabilities_of_the_whole_are_those_of_masked_decoding() -> None:
    """All sequences of tokens of a language, by the table of logits: their masked probabilities sum to one, and each is
    the confidence of its text times that of its end."""
    model = ToyHandle(len(PIECES), seed=5)
    compiled = constrain.compile(LANGUAGE, model.vocabulary)
    total, pending = 0.0, [(compiled.matcher(), [], 1.0)]
    while pending:
        matcher, tokens, masked = pending.pop()
        probabilities = [math.exp(value) for value in model.log_probs([6, *tokens])]
        allowed = [token for token in range(len(PIECES)) if matcher.allows(token)]
        mass = sum(probabilities[token] for token in allowed)
        for token in allowed:
            then = masked * probabilities[token] / mass
            if PIECES[token] is not None:
                following = matcher.fork()
                assert following.advance(token)
                pending.append((following, [*tokens, token], then))
                continue
            total += then
            trace = constrain.trace(model, "", [*tokens, token], constraint=LANGUAGE, top=0)
            pieces = [PIECES[each] or b"" for each in [*tokens, token]]
            text = b"".join(pieces).decode()
            found = confidence_of(text, (0, len(text)), pieces, trace)
            assert found.tokens == len(tokens)
            assert found.probability * probabilities[token] / mass == pytest.approx(then)
    assert total == pytest.approx(1)


def test_of_an_output() -> None:
    model = constrain.reference.load()
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 99}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    g = constrain.generate(model, "A person: ", schema=schema, seed=3, temperature=0.7)
    whole, ended = g.confidence(""), g.trace[-1]
    assert whole.log_prob + ended.log_prob_raw == pytest.approx(g.logprob)
    assert whole.text == g.text
    name, age = g.confidence("/name"), g.confidence("/age")
    assert (json.loads(name.text), json.loads(age.text)) == (g.value["name"], g.value["age"])
    assert 0 < name.probability <= 1
    assert name.tokens + age.tokens <= whole.tokens
    traced = constrain.trace(model, "A person: ", g, schema=schema, temperature=0.7, top=30)
    assert traced.confidence("/age").log_prob == pytest.approx(age.log_prob, abs=1e-3)
    assert traced.confidence("/age").text == age.text
    with pytest.raises(ConstrainError, match="no capture 'age'"):
        g.confidence("age")


def test_of_a_capture() -> None:
    pair = constrain.grammar('start: key "=" value\nkey[capture]: /[a-z]{1,5}/\nvalue[capture="v"]: /[0-9]{1,4}/')
    g = constrain.generate(constrain.reference.load(), "A: ", constraint=pair, seed=1, max_tokens=30)
    assert g.finish_reason == "stop"
    assert g.confidence("v").text == g.text.split("=")[1]
    assert g.confidence("key").text == g.text.split("=")[0]


def test_many_documents_have_it(tmp_path: Any) -> None:
    model, out = constrain.reference.load(), tmp_path / "answers.jsonl"
    schema = {
        "type": "object",
        "properties": {"name": {"enum": ["Ada", "Bo"]}, "a/b": {"type": "boolean"}},
        "required": ["name", "a/b"],
    }
    answers = constrain.map(model, ["A: ", "B: "], schema=schema, seed=1, out=out, progress=False)
    assert [sorted(answer.confidence) for answer in answers] == [["a/b", "name"]] * 2
    assert all(0 < each <= 1 for answer in answers for each in answer.confidence.values())
    assert (
        constrain.map(model, ["A: ", "B: "], schema=schema, seed=1, out=out, progress=False).answers == answers.answers
    )
    assert "confidence.a/b" in answers.frame(spread=True).columns
    assert "confidence" not in answers.frame().columns
    plain = constrain.map(model, ["A: "], choices=["[1]", "1"], seed=1, progress=False)
    assert plain[0].confidence == {}
