"""Published data sets as files of questions: three layouts, their answers, and what is said of other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import quality
from reasoning.files import files_in, question_of, questions_of_file

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
    for name, rows in (("gsm8k", SUMS), ("swaps", SWAPS["examples"]), ("last_letters", LETTERS["examples"])):
        asked = questions_of_file(files[name], 100, seed=1)
        assert len(asked) == len(rows) - 2
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
