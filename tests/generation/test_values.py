"""`g.value`: JSON, or an instance of the type that was asked for; nothing that fails a check ever stops as "stop"."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
import pytest
from jsonschema import Draft202012Validator

import constrain


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
        output = constrain.generate(model, "a", tokenizer=tokenizer, constraint=given, seed=2, max_tokens=200)
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


def test_types_with_one_schema_are_told_apart() -> None:
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
    assert one.schema == other.schema
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
