"""Many inputs: answers by place, errors kept, files that go on where they ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import polars
import pydantic
import pytest

import constrain
from constrain.errors import ConstrainError
from constrain.generation.request.request import Request
from constrain.reports.answers import Answer, Answers

MODEL = constrain.reference.load()
PEOPLE = [{"name": name, "text": None} for name in ("Ada", "Emmy", "Kurt", "Alan", "Rosa")]
OPTIONS: dict[str, Any] = {"prompt": "{name} was born in ", "regex": "1[0-9]{3}", "seed": 3, "batch": 2}


def texts(answers: Answers) -> list[str | None]:
    return [answer.text for answer in answers]


def test_answers_are_those_of_their_batches() -> None:
    answers = constrain.map(MODEL, PEOPLE, **OPTIONS)
    assert [answer.index for answer in answers] == list(range(5))
    assert all(answer.finish_reason == "stop" and answer.text.isdigit() for answer in answers)
    assert texts(constrain.map(MODEL, PEOPLE, **OPTIONS)) == texts(answers)
    assert texts(constrain.map(MODEL, PEOPLE[:2], **OPTIONS)) == texts(answers)[:2]
    by_function = constrain.map(MODEL, PEOPLE, **OPTIONS | {"prompt": lambda row: f"{row['name']} was born in "})
    assert texts(by_function) == texts(answers)
    plain = constrain.map(MODEL, [row["name"] for row in PEOPLE], **OPTIONS | {"prompt": "{input} was born in "})
    assert texts(plain) == texts(answers)
    assert len(constrain.map(MODEL, [], regex="a")) == 0
    assert len(set(texts(constrain.map(MODEL, ["A: "] * 12, regex="[0-9]{6}", batch=4)))) > 9  # seeds of their own


class Person(pydantic.BaseModel):
    """The type of the outputs."""

    age: int = pydantic.Field(ge=0, le=99)


def test_a_file_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"type": Person, "max_tokens": 20, "complete": True, "batch": 2, "seed": 1}
    prompts = [f"{name}: " for name in "abcde"]
    whole = constrain.map(MODEL, prompts, out=tmp_path / "whole.jsonl", **options)
    assert all(isinstance(value, Person) for value in whole.values)
    lines = (tmp_path / "whole.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 3

    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join(lines[:2]) + "\n" + lines[2][:30])  # ended while a batch was written
    asked: list[int] = []
    prepare = constrain.reports.answers.documents.prepare

    def counted(model: Any, request: Request) -> Any:
        asked.append(len(request.prompts.each))
        return prepare(model, request)

    monkeypatch.setattr(constrain.reports.answers.documents, "prepare", counted)
    again = constrain.map(MODEL, prompts, out=cut, **options)
    assert asked == [1, 2, 1]  # the call itself is checked first
    assert again.answers == whole.answers
    assert cut.read_text() == (tmp_path / "whole.jsonl").read_text()
    assert constrain.map(MODEL, prompts, out=cut, **options).answers == whole.answers
    assert asked == [1, 2, 1, 1]


def test_a_file_of_another_call_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    constrain.map(MODEL, ["a: ", "b: "], regex="[0-9]", batch=1, out=out)
    before = out.read_text()
    for changes, message in (
        ({"regex": "[a-z]"}, "is of another call: options"),
        ({"seed": 2}, "is of another call: seed"),
        ({"batch": 3}, "is of another call: batch"),
        ({"inputs": ["a: ", "c: "]}, "has other inputs, from 1 on"),
        ({"inputs": ["a: "]}, "has other inputs, from 1 on"),
    ):
        options: dict[str, Any] = {"inputs": ["a: ", "b: "], "regex": "[0-9]", "batch": 1} | changes
        with pytest.raises(ConstrainError, match=message):
            constrain.map(MODEL, out=out, **options)
    (tmp_path / "other.txt").write_text("notes\n")
    with pytest.raises(ConstrainError, match="is of another call"):
        constrain.map(MODEL, ["a"], regex="a", out=tmp_path / "other.txt")
    assert out.read_text() == before


def test_a_file_goes_on_with_more_inputs(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    inputs = ["a: ", "b: ", "c: ", "d: ", "e: "]
    constrain.map(MODEL, inputs[:3], regex="[0-9]{4}", batch=2, out=out)
    longer = constrain.map(MODEL, inputs, regex="[0-9]{4}", batch=2, out=out)
    assert longer.answers == constrain.map(MODEL, inputs, regex="[0-9]{4}", batch=2).answers
    assert len(out.read_text().splitlines()) == 1 + 3


def test_errors_are_kept() -> None:
    inputs = ["good: ", "long " * 3000, "good: ", 7]
    answers = constrain.map(MODEL, inputs, regex="[0-9]{3}", batch=3)
    assert [answer.error is None for answer in answers] == [True, False, True, False]
    assert [answer.index for answer in answers.errors] == [1, 3]
    assert all(answer.finish_reason == "error" and "ConstrainError" in str(answer.error) for answer in answers.errors)
    assert all(len(answer.text) == 3 for answer in answers if answer.error is None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"regex": "("}, "unterminated subpattern"),
        ({"regex": "a", "batch": 0}, "batch must be an int of at least 1, not 0"),
        ({"regex": "a", "n": 3}, "map has no argument 'n'"),
        ({"regex": "a", "method": "psychic"}, "psychic"),
        ({"regex": "a", "temperature": -1}, "temperature"),
        (
            {"regex": "a", "prompt": "{title}"},
            "prompt does not fit a row: KeyError\\('title'\\)\n  at prompt\n  fix: columns: name, text",
        ),
        ({"regex": "a", "prompt": None}, "prompt does not say how a row becomes a prompt"),
        ({"regex": "a", "inputs": "one prompt"}, "several prompts or rows, not str"),
        ({"regex": "a", "choices": ["a"]}, "one constraint, not 2"),
    ],
    ids=str,
)
def test_bad_arguments(given: dict[str, Any], message: str) -> None:
    with pytest.raises((ConstrainError, TypeError), match=message):
        constrain.map(MODEL, **{"inputs": PEOPLE, "prompt": "{name}"} | given)


@pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])
def test_frames(library: Any) -> None:
    frame = library.DataFrame(PEOPLE)
    answers = constrain.map(MODEL, frame, schema={"type": "object", "properties": {}}, prompt="{name}: ", max_tokens=4)
    plain = constrain.map(MODEL, PEOPLE, schema={"type": "object", "properties": {}}, prompt="{name}: ", max_tokens=4)
    assert answers.answers == plain.answers
    with pytest.warns(UserWarning, match="in the frame 'text' becomes 'input_text'"):
        found = answers.frame()
    assert isinstance(found, library.DataFrame)
    assert list(found["name"]) == [row["name"] for row in PEOPLE]
    assert list(found["text"]) == texts(answers)  # a column of the input has this name, too
    assert "input_text" in found.columns
    assert list(found["finish_reason"]) == [answer.finish_reason for answer in answers]


def test_a_frame_of_plain_inputs() -> None:
    found = constrain.map(MODEL, ["A: ", "B: "], choices=["yes", "no"]).frame()
    assert list(found["input"]) == ["A: ", "B: "]
    assert set(found["text"]) <= {"yes", "no"}


@dataclass
class Pair:
    """Another kind of value with fields."""

    age: int
    b: bool


@pytest.mark.parametrize(
    "schema, columns",
    [
        (Person, {"value.age": [1, 2, None]}),
        (Pair, {"value.age": [1, 2, None], "value.b": [True, False, None]}),
        ({"type": "object"}, {"value.age": [1, None, None], "value.c": [None, [2], None]}),
    ],
)
@pytest.mark.parametrize("library", [None, "pandas", "polars"])
def test_fields_of_values_in_columns(library: str | None, schema: Any, columns: dict[str, list[Any]]) -> None:
    values: list[Any] = {
        Person: [Person(age=1), Person(age=2), None], Pair: [Pair(1, True), Pair(2, False), None],
    }.get(schema if isinstance(schema, type) else Any, [{"age": 1}, {"c": [2]}, None])  # fmt: skip
    rows = [{"name": name} for name in "abc"]
    inputs: Any = rows if library is None else {"pandas": pandas, "polars": polars}[library].DataFrame(rows)
    found = Answers(inputs, [Answer(place, "x", value, "stop") for place, value in enumerate(values)]).frame(
        spread=True
    )
    assert list(found.columns)[: 2 + len(columns)] == ["name", "text", *columns]
    for name, cells in columns.items():
        column = [None if isinstance(cell, float) and cell != cell else cell for cell in found[name]]
        assert [cell.to_list() if hasattr(cell, "to_list") else cell for cell in column] == cells


def test_values_without_fields_do_not_spread() -> None:
    with pytest.raises(ConstrainError, match="spread needs values with fields, not 'x'"):
        Answers(["a"], [Answer(0, "x", "x", "stop")]).frame(spread=True)


def test_what_is_written_is_json(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    constrain.map(MODEL, ["a: "], type=Person, max_tokens=20, complete=True, out=out)
    head, batch = map(json.loads, out.read_text().splitlines())
    assert head["format"] == "constrain.map 1"
    assert set(batch[0]["value"]) == {"age"}
