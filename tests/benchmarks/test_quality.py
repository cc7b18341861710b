"""Questions with known answers: the truths hold, every mode counts every question, the report says what is there.

Published data sets as files of questions: three layouts, their answers, and what is said of other files.
"""

import datetime
import json
import random
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import constrain
import quality
import report
from masks.page import page
from masks.records import Records
from reasoning.files import files_in, question_of, questions_of_file
from reasoning.modes import FREE, MODES, answer
from reasoning.summary import HEAD, error_of, markdown, rows
from reasoning.tasks import DAYS, KINDS, Question, object_of, questions, rows_of

PEOPLE = [("Ada", "Bern", 30), ("Emmy", "Oslo", 50), ("Alan", "Bern", 40)]


@pytest.mark.parametrize("kind", KINDS)
def test_questions_have_answers_that_are_right(kind: str) -> None:
    asked = questions(kind, 40, seed=3)
    assert [prompt for _, prompt in asked] == [prompt for _, prompt in questions(kind, 40, seed=3)]
    assert len({prompt for _, prompt in asked}) == 40
    for question, prompt in asked:
        jsonschema.validate(question.answer, question.schema, format_checker=jsonschema.FormatChecker())
        assert question.right(question.answer)
        assert prompt.endswith(f"Question: {question.text}\nJSON: ") and prompt.count("JSON: {") == 2


@pytest.mark.parametrize(
    "kind, wrong",
    [
        ("arithmetic", lambda value: {**value, "answer": value["answer"] + 1}),
        ("table", lambda value: {**value, "in_stock": not value["in_stock"]}),
        ("date", lambda value: {**value, "weekday": DAYS[DAYS.index(value["weekday"]) - 1]}),
        ("sql", lambda value: {"query": value["query"] + " AND 1 = 0" if "WHERE" in value["query"] else "SELECT -1"}),
        ("sql", lambda value: {"query": "SELECT nothing FROM nowhere"}),
    ],
)
def test_other_answers_are_wrong(kind: str, wrong: Any) -> None:
    for question, _ in questions(kind, 20, seed=4):
        if rows_of(question.answer.get("query", ""), PEOPLE) != rows_of("SELECT 1 WHERE 0", PEOPLE):
            assert not question.right(wrong(question.answer)), question


def test_truths_are_those_of_another_calculation() -> None:
    for question, _ in questions("arithmetic", 30, seed=5):
        assert question.answer["answer"] == eval(re.findall(r"[\d+* ]+(?=\?)", question.text)[0])
    for question, _ in questions("date", 30, seed=5):
        year, month, day, _, after = re.findall(r"(\d+)-(\d+)-(\d+) is a (\w+)\. Which day is (\d+)", question.text)[0]
        then = datetime.datetime(int(year), int(month), int(day)).timestamp() + int(after) * 86400 + 7200
        assert datetime.datetime.fromtimestamp(then).strftime("%Y-%m-%d %A") == " ".join(question.answer.values())
    for question, _ in questions("table", 30, seed=5):
        lines = [line.split(", ") for line in question.text.splitlines()[1:-1]]
        item, _, there = max(lines, key=lambda line: int(line[1]))
        assert question.answer == {"item": item, "in_stock": there == "yes"}


@pytest.mark.parametrize(
    "query, expected",
    [
        ("SELECT name FROM people WHERE city = 'Bern'", {("Ada",): 1, ("Alan",): 1}),
        ("SELECT name FROM people WHERE age > 90", {}),
        ("SELECT nothing FROM people", None),
        ("DELETE FROM people", None),
        ("SELECT 1; SELECT 2", None),
        ("SELECT \x00", None),
        ("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t", None),
    ],
)
def test_queries_are_executed(query: str, expected: Any) -> None:
    assert rows_of(query, PEOPLE) == expected


SCHEMA = object_of(n={"enum": [1, 2]}, s={"enum": ["a", "b"]})
ASKED = Question("table", "?", SCHEMA, {"n": 1, "s": "a"}, lambda value: value == {"n": 1, "s": "a"})
SETTING = {"max_tokens": 40, "temperature": 0.7, "seed": 1}


@pytest.mark.parametrize("mode", MODES)
def test_a_mode(mode: str) -> None:
    record = answer(constrain.reference.load(), ASKED, "JSON: ", mode, SETTING)
    assert record["mode"] == mode and record["kind"] == "table" and record["tokens"] <= 40
    if mode != FREE:
        assert record["finish_reason"] == "stop" and record["valid"]
        assert record["right"] == (json.loads(record["text"]) == ASKED.answer)


def test_what_is_cut_or_no_json_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    model = constrain.reference.load()
    assert not answer(model, ASKED, "JSON: ", "constrained", {**SETTING, "max_tokens": 2, "complete": False})["valid"]
    for text, valid, right in (
        ('{"n": 1, "s": "a"} and so on', True, True),
        ('{"n": 3, "s": "a"}', False, False),
        ('so: {"n": 1, "s": "a"}', False, False),
        ('{"n": 2, "s": "a"}', True, False),
    ):
        free = constrain.generate(model, "", max_tokens=2, seed=1)
        free.text = text
        monkeypatch.setattr(constrain, "generate", lambda *_, output=free, **__: output)
        record = answer(model, ASKED, "JSON: ", FREE, SETTING)
        assert (record["valid"], record["right"]) == (valid, right)
        monkeypatch.undo()


def made(mode: str, number: int, valid: bool, right: bool) -> dict[str, Any]:
    return {
        "id": f"table {number} {mode}", "number": number, "kind": "table", "mode": mode, "finish_reason": "stop",
        "valid": valid, "right": right, "tokens": 4, "forwards": 3, "cpu_s": 0.5,
    }  # fmt: skip


RECORDS = [made("constrained", i, True, i < 3) for i in range(4)] + [made(FREE, i, i < 2, i < 1) for i in range(4)]


def test_the_table_counts_every_question() -> None:
    (one, free, *both) = rows(RECORDS)
    assert one[:6] == ["table", "constrained", "4", "100.0 %", "75.0 % ± 25.0", "+50.0 ± 28.9"]
    assert free[:6] == ["table", FREE, "4", "50.0 %", "25.0 % ± 25.0", "–"]
    assert [row[0] for row in both] == ["all", "all"] and len(one) == len(HEAD)
    assert error_of([1.0, 1.0, 0.0, 0.0]) == pytest.approx((1 / 3) ** 0.5 / 2) and error_of([1.0]) != error_of([1.0])
    assert "| table | constrained | 4 |" in markdown(RECORDS)


def kept(folder: Path, records: list[dict[str, Any]], count: int = 4) -> Path:
    folder.mkdir()
    settings = {"command": "c", "model": "a <b>", "count": count, "kinds": ["table"], "modes": ["constrained", FREE]}
    (folder / "settings.json").write_text(json.dumps({"run": settings, "engines": {}}))
    store = Records(folder, "answers", "id")
    for record in records:
        store.add(record)
    return folder


def test_the_report_has_a_part_about_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = report.answers(kept(tmp_path / "run", RECORDS))
    html = page({"constrain": []}, {"constrain": {"version": "1", "start_seconds": 1.0, "start_rss_mb": 1.0}}, {}, part)
    assert "Answers of a model" in html and "a &lt;b&gt;" in html and "75.0 % ± 25.0" in html
    assert part.count("<svg ") == 2 and part.count("<rect ") == 2 * 2 * 2  # valid and right, kinds and modes
    assert report.answers(None) == ""
    for folder, says in ((kept(tmp_path / "part", RECORDS[1:]), "7 answers of 8"), (tmp_path / "none", "holds no run")):
        with pytest.raises(SystemExit):
            report.answers(folder)
        assert says in capsys.readouterr().err


def test_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--kinds", "table", "--modes", "constrained", FREE, "--count", "2", "--max-tokens", "40"]
    assert quality.main([*given, "--out", str(tmp_path / "run")]) == 0
    assert "| table | constrained | 2 | 100.0 % |" in capsys.readouterr().out
    text = (tmp_path / "run" / "answers.jsonl").read_text(encoding="utf-8")
    lines = text.splitlines()
    (tmp_path / "run" / "answers.jsonl").write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    assert quality.main([*given, "--out", str(tmp_path / "run"), "--resume"]) == 0  # asks what is missing
    again = [json.loads(line) for line in (tmp_path / "run" / "answers.jsonl").read_text().splitlines()]
    assert [record["text"] for record in again] == [json.loads(line)["text"] for line in lines]
    with pytest.raises(SystemExit):
        quality.main([*given[:-1], "30", "--out", str(tmp_path / "run"), "--resume"])
    assert "holds another run" in capsys.readouterr().err


def test_random_questions_are_of_their_kind() -> None:
    assert all(make(random.Random(1)).kind == kind for kind, make in KINDS.items())


SUMS = [
    {"question": f"What is {i} + 1000?", "answer": f"{i} + 1000 = <<{i}+1000={n}>>{n}\n#### {n:,}"}
    for i, n in enumerate(range(1000, 1008))
]
BALL = "Who has the ball?\nOptions:\n(A) Alice\n(B) Bob"
SWAPS = {"examples": [{"input": f"{BALL} {i}", "target": f"({'AB'[i % 2]})"} for i in range(6)]}
NAMES = ("Bo", "Cy", "Di", "Ed")
LETTERS = {"examples": [{"question": f'The last letters of "Ada {name}"?', "answer": "a" + name[-1]} for name in NAMES]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gsm8k.jsonl").write_text("\n".join(map(json.dumps, SUMS)) + "\n")
    (tmp_path / "swaps.json").write_text(json.dumps(SWAPS))
    (tmp_path / "last_letters.json").write_text(json.dumps(LETTERS))
    (tmp_path / "README.md").write_text("not questions")
    return tmp_path


def test_answers_are_right_and_others_are_wrong(folder: Path) -> None:
    files = files_in(folder)
    assert list(files) == ["gsm8k", "last_letters", "swaps"]
    for name, given in (("gsm8k", SUMS), ("swaps", SWAPS["examples"]), ("last_letters", LETTERS["examples"])):
        asked = questions_of_file(files[name], 100, seed=1)
        assert len(asked) == len(given) - 2
        for question, prompt in asked:
            jsonschema.validate(question.answer, question.schema)
            assert question.kind == name and question.right(question.answer)
            assert prompt.count("JSON: {") == 2 and prompt.endswith(f"Question: {question.text}\nJSON: ")
            assert sum(other.right(question.answer) for other, _ in asked) < len(asked)
    sums = [question for question, _ in questions_of_file(files["gsm8k"], 100, seed=1)]
    assert sums[0].answer == {"working": "2 + 1000 = 1002", "answer": 1002} and sums[0].right({"answer": 1002.0})
    assert not sums[0].right({"answer": 1003})


def test_questions_are_drawn_by_the_seed(folder: Path) -> None:
    first, again, other = (questions_of_file(folder / "gsm8k.jsonl", 3, seed) for seed in (1, 1, 3))
    assert [prompt for _, prompt in first] == [prompt for _, prompt in again] != [prompt for _, prompt in other]


@pytest.mark.parametrize(
    "text, answer, found, right",
    [
        ("?", "so\n#### -1,234.50", {"answer": -1234.5}, True),
        ("?", "so\n#### 7", {"answer": 8}, False),
        ("pick\n(A) x\n(B) y", "(B)", {"answer": "B"}, True),
        ("pick\n(A) x\n(B) y", "(B)", {"answer": "A"}, False),
        ("valid or not?", "invalid", {"answer": " Invalid"}, True),
        ("last letters?", "nk", {"answer": "kn"}, False),
    ],
)
def test_a_row(text: str, answer: str, found: dict[str, Any], right: bool) -> None:
    assert question_of("k", text, answer).right(found) is right


@pytest.mark.parametrize("name, text", [("a.jsonl", "{}"), ("a.json", "[1, 2, 3]"), ("a.json", '{"examples": []}'),
                                        ("a.jsonl", '{"question": "?", "answer": "1"}'), ("a.csv", "x")])  # fmt: skip
def test_other_files_are_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"no rows of questions|are examples|no file of questions"):
        questions_of_file(files_in(tmp_path)["a"], 1, 1)


def test_a_run_over_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["--folder", str(folder), "--kinds", "swaps", "--modes", "constrained", "--count", "2"]
    assert quality.main([*told, "--out", str(folder / "run")]) == 0
    assert "| swaps | constrained | 2 |" in capsys.readouterr().out
    for wrong in (
        ["--kinds", "arithmetic", "--folder", str(folder)],
        ["--kinds", "swaps"],
        ["--folder", str(folder / "x")],
    ):
        with pytest.raises(SystemExit):
            quality.parse(wrong)
