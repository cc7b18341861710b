"""`g.value`: JSON, or an instance of the type that was asked for; nothing that fails a check ever stops as "stop"."""

from __future__ import annotations

import enum
import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
import pytest
import torch
from jsonschema import Draft202012Validator

import constrain
from constrain.errors import ConstrainError
from constrain.generation.plain import json_text, jsonable


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Person(pydantic.BaseModel):
    name: Literal["a", "the "]
    age: int = pydantic.Field(ge=0, le=99)


class Even(pydantic.BaseModel):
    """The validator is Python: no schema tells of it."""

    age: int = pydantic.Field(ge=0, le=9)

    @pydantic.field_validator("age")
    @classmethod
    def is_even(cls, age: int) -> int:
        if age % 2:
            raise ValueError(f"{age} is odd")
        return age


class Never(pydantic.BaseModel):
    """Nothing passes."""

    b: bool

    @pydantic.field_validator("b")
    @classmethod
    def refuse(cls, b: bool) -> bool:
        raise ValueError("no")


@dataclass
class Point:
    x: bool
    y: Literal["red", "green"]


def paint(color: Color, twice: bool) -> None:
    """A tool to call."""


@pytest.mark.parametrize("kind", ["schema", "type"])
@pytest.mark.parametrize("asked", [Person, Point, Color, Literal["a", "b"], bool, list[bool], Person | None])
def test_instances(tokenizer: Any, model: Any, kind: str, asked: Any) -> None:
    for output in constrain.generate(
        model, "the red", tokenizer=tokenizer, n=8, seed=0, max_tokens=80, **{kind: asked}
    ):
        if output.finish_reason == "stop":
            assert output.value == pydantic.TypeAdapter(asked).validate_json(output.text)
            assert not isinstance(output.value, dict)
        else:
            assert (output.value, output.finish_reason) == (None, "length")


def test_arguments_of_a_function(tokenizer: Any, model: Any) -> None:
    output = constrain.generate(model, "red", tokenizer=tokenizer, type=paint, seed=0, max_tokens=80)
    assert set(output.value) == {"color", "twice"}
    assert isinstance(output.value["color"], Color)
    paint(**output.value)


SCHEMAS: list[Any] = [
    {
        "type": "object",
        "properties": {"name": {"enum": ["a", "é日本"]}, "age": {"type": "integer"}},
        "required": ["age"],
    },
    {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
    {"anyOf": [{"const": None}, {"type": "string", "maxLength": 2}]},
    True,
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_json(tokenizer: Any, model: Any, schema: Any) -> None:
    outputs = constrain.generate(model, "the red", tokenizer=tokenizer, n=12, seed=0, max_tokens=60, schema=schema)
    stopped = [output for output in outputs if output.finish_reason == "stop"]
    assert stopped
    for output in stopped:
        assert output.value == json.loads(output.text)
        assert Draft202012Validator(schema).is_valid(output.value)
    assert all(output.value is None for output in outputs if output.finish_reason != "stop")


def test_a_compiled_schema_and_a_source(tokenizer: Any, model: Any) -> None:
    constraint = constrain.json_schema(Person)
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    for given in (constraint, constrain.compile(constraint, vocabulary)):
        output = constrain.generate(model, "a", tokenizer=tokenizer, constraint=given, seed=1, max_tokens=200)
        assert isinstance(output.value, Person)


def test_a_validator_is_a_residual_check(tokenizer: Any, model: Any) -> None:
    outputs = constrain.generate(model, "a", tokenizer=tokenizer, type=Even, n=10, seed=0, max_tokens=60, temperature=3)
    done = [output for output in outputs if output.finish_reason == "stop"]
    assert done
    assert all(output.value.age % 2 == 0 for output in done)
    assert any(output.stats.retries for output in outputs)
    for output in outputs:
        if output.finish_reason == "dead_end":
            assert "is odd" in str(output.fault)
            assert output.value is None


class Small(pydantic.BaseModel):
    """Few texts, so that all can be counted."""

    model_config = pydantic.ConfigDict(extra="forbid")
    age: Annotated[int, pydantic.Field(ge=0, le=9), pydantic.AfterValidator(lambda age: _even(age))]


def _even(age: int) -> int:
    if age % 2:
        raise ValueError(f"{age} is odd")
    return age


SAME = {**Small.model_json_schema(), "properties": {"age": {"enum": [0, 2, 4, 6, 8]}}}  # with the validator written out


@pytest.fixture(scope="module")
def law(tokenizer: Any, model: Any) -> Any:
    """The exact law of the texts that pass, without a validator."""
    constraint = constrain.json_schema(SAME, whitespace="compact")
    return constrain.generate(
        model, "a", tokenizer=tokenizer, constraint=constraint, method="exact", seed=0, max_tokens=30
    )


@pytest.mark.parametrize("method", ["exact", "cars", "asap", "rejection", "sir", "smc", "beam"])
def test_a_validator_is_part_of_the_language(tokenizer: Any, model: Any, law: Any, method: str) -> None:
    constraint = constrain.json_schema(Small, whitespace="compact")
    outputs = constrain.generate(
        model, "a", tokenizer=tokenizer, constraint=constraint, method=method, n=5, seed=0, max_tokens=30
    )
    for output in outputs:
        if output.finish_reason == "stop":
            assert output.value.age % 2 == 0
        if method in ("exact", "cars"):
            assert output.stats.retries == 0
        if method == "exact":
            assert output.log_evidence == pytest.approx(law.log_evidence, abs=1e-5)
        if output.evidence_bounds is not None:
            low, high = output.evidence_bounds
            assert low - 1e-5 <= law.log_evidence <= high + 1e-5
        if output.stats.retries:
            assert output.log_evidence is None


def test_a_text_that_fails_its_check_is_not_finished(tokenizer: Any) -> None:
    vocabulary = constrain.Vocabulary.of_bytes()
    matcher = constrain.compile(constrain.json_schema(Small, whitespace="compact"), vocabulary).matcher()
    assert matcher.advance_bytes(b'{"age":3}')
    assert not matcher.is_finished()
    assert "is odd" in str(matcher.fault)
    matcher.rollback(1)
    assert matcher.fault is None
    matcher = matcher.compiled.matcher()
    assert matcher.advance_bytes(b'{"age":4}')
    assert matcher.is_finished()
    assert matcher.fault is None


def test_types_that_a_validator_tells_apart_are_not_equal() -> None:
    def odd(age: int) -> int:
        if not age % 2:
            raise ValueError(f"{age} is even")
        return age

    model = pydantic.create_model(
        "Small",
        __config__=pydantic.ConfigDict(extra="forbid"),
        __doc__=Small.__doc__,
        age=(Annotated[int, pydantic.Field(ge=0, le=9), pydantic.AfterValidator(odd)], ...),
    )
    one, other = (constrain.json_schema(kind, whitespace="compact") for kind in (Small, model))
    assert "odd" in other.schema["properties"]["age"]["x-python"]["later"][0]
    assert one != other
    either = constrain.compile(one | other, constrain.Vocabulary.of_bytes())
    for text in (b'{"age":3}', b'{"age":4}'):
        matcher = either.matcher()
        assert matcher.advance_bytes(text)
        assert matcher.is_accepting()


def test_unions_take_the_part_that_the_text_belongs_to(tokenizer: Any, model: Any) -> None:
    constraint = constrain.json_schema(Color) | constrain.json_schema(Even) | constrain.regex("[a-d]")
    outputs = constrain.generate(
        model, "a", tokenizer=tokenizer, constraint=constraint, n=60, seed=0, max_tokens=60, temperature=4
    )
    kinds = set()
    for output in outputs:
        if output.finish_reason == "stop":
            kinds.add(type(output.value))
            if output.text in ("a", "b", "c", "d"):
                assert output.value == output.text
    assert kinds == {Color, Even, str}


@pytest.mark.parametrize(
    "options",
    [
        {"choices": ["1", "2"]},
        {"regex": "[ab]"},
        {"grammar": 'start: "x" | "y"'},
        {"constraint": constrain.seq("a", constrain.choices(["b", "c"]))},
        {"regex": "a[bc]*", "stop": "c"},
    ],
)
def test_the_value_of_any_other_constraint_is_the_text(tokenizer: Any, model: Any, options: dict[str, Any]) -> None:
    given = {"tokenizer": tokenizer, "seed": 0, "max_tokens": 30, **options}
    output = constrain.generate(model, "a", **given)
    assert (output.finish_reason, output.value) == ("stop", output.text)
    outputs = constrain.generate(model, "a", n=3, **given)
    assert outputs.vote().answer in [each.text for each in outputs]
    stream = constrain.generate(model, "a", stream=True, **given)
    assert "".join(stream) == stream.result.value == output.text
    answers = constrain.map(model, ["a", "b"], **given)
    assert answers.values == [answer.text for answer in answers]


def test_stop_sequences_keep_values(tokenizer: Any, model: Any) -> None:
    output = constrain.generate(model, "a", tokenizer=tokenizer, choices=Color, stop="!", seed=0)
    assert isinstance(output.value, Color)


SHORT: list[tuple[dict[str, Any], str, str]] = [  # options, the sentence of the error, its fix
    (
        {"regex": "[a-c]{20}", "max_tokens": 2},
        "the output was cut off after 2 tokens: '",
        "raise max_tokens, or ask for complete=True",
    ),
    (
        {"type": Never, "method": constrain.sampling.Retried(2)},
        "no valid text was completed in 3 attempts: '",
        "method=constrain.sampling.Retried(...)",
    ),
    ({"choices": ["x" * 60], "method": constrain.sampling.Rejection(attempts=3)}, "gave up after 3 attempts", "allow"),
]


@pytest.mark.parametrize("options, why, fix", SHORT, ids=["length", "dead_end", "budget"])
def test_unwrap_says_why(tokenizer: Any, model: Any, options: dict[str, Any], why: str, fix: str) -> None:
    given = {"tokenizer": tokenizer, "seed": 0, "max_tokens": 20, **options}
    output = constrain.generate(model, "red", **given)
    with pytest.raises(constrain.IncompleteError) as caught:
        output.unwrap()
    assert why in caught.value.message and fix in str(caught.value.fix) and caught.value.place is None
    with pytest.raises(constrain.IncompleteError) as caught:
        constrain.generate(model, "red", n=2, **given).unwrap()
    assert caught.value.place == "output 0 of 2"


def test_unwrap_gives_null_too(tokenizer: Any, model: Any) -> None:
    output = constrain.generate(model, "red", tokenizer=tokenizer, schema={"const": None}, seed=0)
    assert (output.finish_reason, output.unwrap()) == ("stop", None)
    assert constrain.generate(model, "red", tokenizer=tokenizer, schema={"const": None}, n=2).unwrap() == [None, None]


@pytest.mark.parametrize(
    "options",
    [
        {"type": Person, "max_tokens": 80},
        {"type": Point, "max_tokens": 80},
        {"choices": Color},
        {"regex": "(a\\n){90}", "max_tokens": 200},
        {"regex": "(a\\n){90}", "max_tokens": 2},
        {"type": dict[str, float], "max_tokens": 3, "method": "smc"},
    ],
)
def test_an_output_is_shown_as_text_as_one_line_and_as_json(tokenizer: Any, model: Any, options: Any) -> None:
    given = {"tokenizer": tokenizer, "seed": 2, **options}
    output = constrain.generate(model, "red", **given)
    assert str(output) == output.text
    outputs = constrain.generate(model, "red", n=2, **given)
    assert str(outputs) == outputs[0].text + "\n" + outputs[1].text
    for each in (output, outputs):
        assert "\n" not in repr(each) and len(repr(each)) <= 120
        read = json.loads(json.dumps(each.to_dict(), allow_nan=False))
        assert read == each.to_dict()
    found = output.to_dict()
    assert (found["text"], found["tokens"]) == (output.text, output.tokens)
    if isinstance(output.value, Person):
        assert found["value"] == output.value.model_dump()
    elif isinstance(output.value, Color):
        assert found["value"] == output.value.value


@pytest.mark.parametrize("retries", [0, 2, 12])
def test_the_caller_says_how_often_an_output_is_tried(tokenizer: Any, model: Any, retries: int) -> None:
    method = constrain.sampling.Retried(retries, "lcd")
    output = constrain.generate(model, "red", tokenizer=tokenizer, type=Never, method=method, seed=0, max_tokens=120)
    assert (output.finish_reason, output.stats.retries, output.stats.method) == ("dead_end", retries, "lcd")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"temperature": 0}, "at temperature 0"),
        ({"method": constrain.sampling.Retried(3, "beam")}, "draws nothing"),
        ({"stream": True}, "a stream cannot be taken back"),
    ],
)
def test_retries_that_could_not_help_are_refused(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstrainError, match=f"retries=3: .*{message}"):
        constrain.generate(model, "red", **{"regex": "a", "method": constrain.sampling.Retried(3), **options})
    constrain.sampling.Retried(0)


@pytest.mark.parametrize("retries", [-1, True, 1.5, None])
def test_retries_are_a_number(retries: Any) -> None:
    with pytest.raises(ConstrainError, match="retries must be an int of at least 0"):
        constrain.sampling.Retried(retries)


@pytest.mark.parametrize(
    "value, plain",
    [
        (Person(name="a", age=3), {"name": "a", "age": 3}),
        ([Point(True, "red")], [{"x": True, "y": "red"}]),
        ({Color.RED: math.inf}, {"red": None}),
        ((1, {"a": math.nan}), [1, {"a": None}]),
        ("\ud800é", "\ud800é"),
        (b"\xff", "_w=="),
        (torch.zeros(2), "tensor([0., 0.])"),
    ],
)
def test_values_as_json(value: Any, plain: Any) -> None:
    assert jsonable(value) == plain
    assert json.loads(json_text(value).encode()) == plain
