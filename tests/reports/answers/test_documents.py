"""Many inputs: answers by place, errors kept, files that go on where they ended."""

from __future__ import annotations

import json
import os
import re
import resource
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import polars
import pydantic
import pytest

import constrain
from constrain.errors import ConstrainError
from constrain.files import Lines
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
            "prompt does not fit a row: KeyError\\('title'\\)\n  at prompt\n  fix: the columns are name, text",
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


class Home(pydantic.BaseModel):
    city: str
    rooms: list[pydantic.BaseModel] = []


def test_fields_of_fields_in_columns() -> None:
    """Objects go as deep as they are, lists are cells, and what is absent has no column beside its fields."""
    values = [{"name": "A", "home": Home(city="B")}, {"name": "C", "home": None}, None, {"home": {}, "marks": [1]}]
    answers = Answers(["a"] * 4, [Answer(place, "x", value, "stop") for place, value in enumerate(values)])
    found = answers.frame(spread=True)
    columns = {name: found[name].tolist() for name in found if name.startswith("value")}
    assert {name: [None if cell != cell else cell for cell in cells] for name, cells in columns.items()} == {
        "value.name": ["A", "C", None, None],
        "value.home.city": ["B", None, None, None],
        "value.home.rooms": [[], None, None, None],
        "value.home": [None, None, None, {}],
        "value.marks": [None, None, None, [1]],
    }
    without = Answers(["a"] * 2, answers.answers[:2]).frame(spread=True)
    assert [name for name in without if name.startswith("value")] == [
        "value.name", "value.home.city", "value.home.rooms",
    ]  # fmt: skip


def test_answers_are_shown_on_one_screen() -> None:
    broken = Answer(1, error="ConstrainError: <no>")
    many = Answers(
        ["a"] * 99, [Answer(0, "{}", {"a": "x" * 999}, "stop"), broken, *[Answer(2, "b", None, "stop")] * 97]
    )
    shown = repr(many).splitlines()
    assert shown[0] == "<99 Answers, 98 stop, 1 error>" and len(shown) == 12 and max(map(len, shown)) < 120
    assert shown[2] == "  1  error  ConstrainError: <no>" and shown[3] == "  2  stop  'b'"
    html = many._repr_html_()
    assert "&lt;no&gt;" in html and html.count("<tr>") == 10
    assert repr(Answers([], [])) == "<0 Answers>"


def test_values_without_fields_do_not_spread() -> None:
    with pytest.raises(ConstrainError, match="spread needs values with fields, not 'x'"):
        Answers(["a"], [Answer(0, "x", "x", "stop")]).frame(spread=True)


def test_what_is_written_is_json(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    constrain.map(MODEL, ["a: "], type=Person, max_tokens=20, complete=True, out=out)
    head, batch = map(json.loads, out.read_text().splitlines())
    assert head["format"] == "constrain.map 1"
    assert set(batch[0]["value"]) == {"age"}


SEVEN = [f"{letter}: " for letter in "abcdefg"]
DIGITS: dict[str, Any] = {"regex": "[0-9]{4}", "batch": 2, "seed": 1}


@pytest.fixture(scope="module")
def good() -> tuple[Answers, bytes]:
    """Answers, and the file of them: a head, three batches of two and one of one."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answers.jsonl"
        return constrain.map(MODEL, SEVEN, out=out, **DIGITS), out.read_bytes()


def at_line(number: int, *new: bytes) -> Callable[[bytes], bytes]:
    """Write other lines in the place of one, from 1."""
    return lambda file: b"\n".join([*(lines := file.split(b"\n"))[: number - 1], *new, *lines[number:]])


def swapped(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Write another text in the place of the first one that a pattern matches."""
    return lambda file: re.sub(old, new, file, count=1)


# How a file was changed, and what is said of it; None: it goes on, to the same answers.
ODD_FILES: dict[str, tuple[Callable[[bytes], bytes], str | None]] = {
    "cut in a line": (lambda file: file[:-20], None),
    "cut in the head": (lambda file: file[:20], None),
    "nothing": (lambda file: b"", None),
    "zeros in place of a line": (lambda file: file[:-30] + b"\0" * 30, None),
    "zeros behind, and an end": (lambda file: file + b"\0\0\0\n", None),
    "brackets behind": (lambda file: file + b"[" * 100_000, None),
    "without the last end": (lambda file: file[:-1], None),
    "blank lines": (lambda file: file.replace(b"\n", b"\n\n"), None),
    "ends of Windows": (lambda file: file.replace(b"\n", b"\r\n"), None),
    "a mark of an editor": (lambda file: b"\xef\xbb\xbf" + file, None),
    "more is said": (swapped(b'"fault": null', b'"fault": null, "seen": true'), None),
    "brackets": (at_line(3, b"[" * 100_000), "line 3 .* is odd: it is no batch of answers"),
    "a number": (at_line(3, b"5"), "line 3 .* is odd: it is no batch of answers"),
    "an empty batch": (at_line(3, b"[]"), "line 3 .* is odd: it is no batch of answers"),
    "numbers": (at_line(2, b"[1, 2]"), "line 2 .* is odd: it is no batch of answers"),
    "an empty answer": (at_line(2, b"[{}]"), "line 2 .* is odd: answer 0 names no prompt"),
    "no UTF-8": (at_line(2, b'["\xff"]'), "line 2 .* is odd: it is no batch of answers"),
    "an unfinished line before others": (at_line(2, b'[{"index"'), "line 2 .* is odd: it is no batch of answers"),
    "an index of another place": (swapped(b'"index": 2', b'"index": 7'), "line 3 .* answer 2 has the index 7"),
    "a text that is refused": (swapped(b'"text": "[0-9]+"', b'"text": "abcd"'), "answer 0 is not in the language"),
    "a text that is none": (swapped(b'"text": "[0-9]+"', b'"text": 5'), "answer 0 is none: .'text',., Input should"),
    "a text that is gone": (swapped(b'"text": "[0-9]+"', b'"text": null'), "answer 0 is not in the language: None"),
    "a batch twice": (lambda file: at_line(3, file.split(b"\n")[1])(file), "has other inputs, from 2 on\n  at out"),
    "a line is gone": (at_line(2), "has other inputs, from 0 on\n  at out, line 2"),
    "notes": (lambda file: b"notes\n" + file, "is of another call: its first line says no call"),
    "16 bits": (lambda file: file.decode().encode("utf-16"), "is of another call"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD_FILES)
def test_odd_files(kind: str, good: tuple[Answers, bytes], tmp_path: Path) -> None:
    """Whatever stands in the file: the answers are the same, or the line is named and nothing in the file changes."""
    change, said = ODD_FILES[kind]
    out = tmp_path / "answers.jsonl"
    out.write_bytes(change(good[1]))
    if said is None:
        for _ in range(2):
            assert constrain.map(MODEL, SEVEN, out=out, **DIGITS).answers == good[0].answers
        return
    with pytest.raises(ConstrainError, match=said):
        constrain.map(MODEL, SEVEN, out=out, **DIGITS)
    assert out.read_bytes() == change(good[1])


@pytest.mark.parametrize("character", list("\u2028\u2029\x85\x0b\x0c\x1c\x1e\r\n"), ids=ascii)
def test_texts_with_ends_of_lines(character: str, tmp_path: Path) -> None:
    out, texts = tmp_path / "answers.jsonl", [f"x{character}y"]
    answers = constrain.map(MODEL, ["a: ", "b: "], choices=texts, batch=1, out=out)
    assert constrain.map(MODEL, ["a: ", "b: "], choices=texts, batch=1, out=out).answers == answers.answers


def test_texts_around_outputs_and_stops(tmp_path: Path) -> None:
    """A text that is read back is judged with the texts around it, and up to a stop sequence."""
    prompts = [constrain.Prompt("A: ", prefix="[1", suffix="]"), constrain.Prompt("B: ", prefix="[", suffix="2]")]
    pair = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    options: dict[str, Any] = {"schema": pair, "max_tokens": 30, "complete": True, "seed": 1}
    answers = constrain.map(MODEL, prompts, out=tmp_path / "a", **options)
    assert constrain.map(MODEL, prompts, out=tmp_path / "a", **options).values == answers.values
    options = {"regex": "[a-c]{1,30}", "stop": ["b"], "seed": 1}
    answers = constrain.map(MODEL, SEVEN, out=tmp_path / "b", **options)
    assert constrain.map(MODEL, SEVEN, out=tmp_path / "b", **options).answers == answers.answers


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("is_link", [False, True])
def test_a_full_disk_takes_nothing(torn: bool, is_link: bool, good: tuple[Answers, bytes], tmp_path: Path) -> None:
    out = real = tmp_path / "answers.jsonl"
    if is_link:
        out = tmp_path / "link"
        out.symlink_to(real)
    content = b"\n".join(good[1].split(b"\n")[:3]) + (b'\n[{"in' if torn else b"\n")
    real.write_bytes(content)
    real.chmod(0o640)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) + 50, limits[1]))
    try:
        with pytest.raises(ConstrainError, match="cannot be written: File too large; what it has stays"):
            constrain.map(MODEL, SEVEN, out=out, **DIGITS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert real.read_bytes() == content
    assert constrain.map(MODEL, SEVEN, out=out, **DIGITS).answers == good[0].answers
    assert real.read_bytes() == good[1] and real.stat().st_mode & 0o777 == 0o640
    assert {path.name for path in tmp_path.iterdir()} == {out.name, real.name}


def test_a_last_batch_stays_until_its_inputs_are_done_again(good: tuple[Answers, bytes], tmp_path: Path) -> None:
    lines = Lines(_written(tmp_path, good[1]))
    lines.keep(4)
    lines.close()
    assert lines.path.read_bytes() == good[1]
    constrain.map(MODEL, [*SEVEN, "h: "], out=lines.path, **DIGITS)
    assert len(lines.path.read_bytes().split(b"\n")) == 1 + 4 + 1


def _written(folder: Path, content: bytes) -> Path:
    path = folder / "answers.jsonl"
    path.write_bytes(content)
    return path


def test_one_call_at_a_time_writes_a_file(good: tuple[Answers, bytes], tmp_path: Path) -> None:
    lines = Lines(_written(tmp_path, good[1][:-20]))
    with pytest.raises(ConstrainError, match="another call is writing to"):
        constrain.map(MODEL, SEVEN, out=lines.path, **DIGITS)
    lines.keep(4)
    lines.append(b"[]")  # in another file of this name, which is locked too
    with pytest.raises(ConstrainError, match="another call is writing to"):
        constrain.map(MODEL, SEVEN, out=lines.path, **DIGITS)
    lines.close()


@pytest.mark.parametrize("change", [lambda path: path.write_text("x"), Path.unlink], ids=["written", "removed"])
def test_a_file_that_somebody_else_changes(change: Callable[[Path], Any], tmp_path: Path) -> None:
    lines = Lines(tmp_path / "answers.jsonl")
    lines.append(b"a")
    lines.append(b"b")
    change(lines.path)
    with pytest.raises(OSError, match="was changed by another program meanwhile"):
        lines.append(b"c")
    lines.close()


def test_places_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for out, said in (
        (tmp_path / "pipe", "is no regular file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "no" / "file", "No such file"),
        ("/dev/null", "is no regular file"),
    ):
        with pytest.raises(ConstrainError, match=f"cannot be opened: .*{said}"):
            constrain.map(MODEL, SEVEN, out=out, **DIGITS)
