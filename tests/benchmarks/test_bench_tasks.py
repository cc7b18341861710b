"""Tasks for real models: answers are read and judged by plain rules, and every arm makes a record."""

import json
import sqlite3
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import constrain
from constrain.models.hf import HFModel
from tasks import bbh, calls, extraction, gsm8k, humaneval, served, sql
from tasks.answer import Subject, judge, record
from tasks.arms import ARMS, constraint_of
from tasks.task import ChoiceTask, JsonTask, exactly

NUMBER = JsonTask("a 0", "", "?", exactly(5), wanted={"type": "integer"})
OBJECT = JsonTask(
    "a 1", "", "?", exactly({"a": 1}), wanted={"type": "object", "properties": {"a": {"type": "integer"}}}
)
CHOICE = ChoiceTask("a 2", "", "?", exactly("(B)"), choices=("(A)", "(B)", "Bern"))


@pytest.mark.parametrize(
    "task, text, value",
    [
        (NUMBER, "It is 5, I think, or 6.", 5),
        (NUMBER, "five", None),
        (OBJECT, 'Sure:\n```json\n{"a": 1}\n```', {"a": 1}),
        (OBJECT, '{"b": 2} no, {"a": 1}', {"a": 1}),
        (OBJECT, '{"a": "x"}', {"a": "x"}),
        (OBJECT, '{"a": 1', None),
        (CHOICE, "The answer is (B).", "(B)"),
        (CHOICE, "in bern", "Bern"),
        (CHOICE, "Bernhard", None),
    ],
)
def test_free_texts_are_read_kindly(task: Any, text: str, value: Any) -> None:
    assert task.read(text, True) == value


def test_an_unfinished_text_is_no_answer() -> None:
    free, ours = ARMS["free"], ARMS["default"]
    assert judge(free, NUMBER, "length", "5 or so")["right"]
    assert not judge(ours, NUMBER, "length", "5")["parsed"]
    assert judge(ours, NUMBER, "stop", "5")["right"]
    assert judge(ours, NUMBER, "stop", "6") == {
        "parsed": True, "valid": True, "right": False, "fault": "not 5", "parts": (0, 0)
    }  # fmt: skip
    assert judge(ARMS["reasoning"], NUMBER, "stop", '{"reasoning": "", "answer": 5}')["right"]
    assert judge(ARMS["thoughts"], NUMBER, "stop", "2 and 3\nAnswer: 5")["right"]
    assert not judge(ARMS["thoughts"], NUMBER, "length", "5, I think")["parsed"]
    assert judge(ARMS["vllm-free"], NUMBER, "length", "5 or so")["right"]


def test_extractions() -> None:
    """60 texts of three kinds: what is to be extracted is in the text, is valid, and counts as right."""
    tasks = list(extraction.tasks())
    assert len(tasks) == len({task.question for task in tasks}) == 60
    table = extraction.tomllib.loads(extraction.TEXTS.read_text(encoding="utf-8"))
    for task in tasks:
        kind, place = task.name.split()[1].split("-")
        row = table[kind][int(place)]
        assert task.fault(row["gold"]) is None
        assert task.judge(row["gold"]) == (True, "", (len(row["gold"]),) * 2)
        assert not task.judge({}).right
        assert task.question not in [asked for asked, _ in task.shots]
        for value in row["gold"].values():
            assert not isinstance(value, str) or value.lower() in row["text"].lower()


def test_calls(tmp_path: Path) -> None:
    """The schema of a call takes the accepted one; the prompt has the functions."""
    parameters = {"type": "dict", "properties": {"base": {"type": "float"}}, "required": ["base"]}
    function = {"name": "area", "description": "An area.", "parameters": parameters}
    row = {"id": "x_0", "question": [[{"role": "user", "content": "How large?"}]], "function": [function]}
    answer = {"id": "x_0", "ground_truth": [{"area": {"base": [10]}}]}
    (tmp_path / "possible_answer").mkdir()
    for name in calls.CATEGORIES:
        (tmp_path / f"BFCL_v4_{name}.json").write_text(f"{json.dumps(row)}\n" * 2)
        (tmp_path / "possible_answer" / f"BFCL_v4_{name}.json").write_text(f"{json.dumps(answer)}\n" * 2)
    (first, *_) = calls.tasks(tmp_path)
    right = {"name": "area", "arguments": {"base": 10}}
    assert first.fault(right) is None and first.judge(right).right
    assert first.fault({"name": "area", "arguments": {"base": 10, "c": 1}}) is not None
    assert "area" in first.prompt(True)[-1]["content"]


def test_word_problems() -> None:
    answer = "She sells 16 - 3 = <<16-3=13>>13.\nSo $1,300.\n#### 1,300"
    assert gsm8k.worked(answer) == {"working": "She sells 16 - 3 = 13. So $1,300.", "answer": 1300}


@pytest.mark.parametrize(
    "name, asked, target, right, wrong",
    [
        ("object_counting", "How many?", "8", 8, 9),
        ("word_sorting", "Sort: List: b a", "a b", ["a", "b"], ["b", "a"]),
        ("sports_understanding", "Is it?", "yes", "yes", "no"),
        ("date_understanding", "When?\nOptions:\n(A) 1\n(B) 2", "(B)", "(B)", "(A)"),
    ],
)
def test_hard_tasks(name: str, asked: str, target: str, right: Any, wrong: Any) -> None:
    task = bbh.task(name, 3, asked, target, ())
    assert task.fault(right) is None and task.judge(right).right
    assert task.fault(wrong) is None and not task.judge(wrong).right


ASKED = {
    "How many?": "SELECT COUNT(*) FROM river WHERE name = 'Aare';",
    "Names?": "SELECT name FROM city;",
    "Long ones?": "SELECT name FROM river WHERE length > 500;",
    "No?": "SELECT x FROM river;",
}


@pytest.fixture
def question(tmp_path: Path) -> sql.SqlTask:
    """A question about two tables."""
    columns = [{"column_name": "id", "data_type": "bigint"}, {"column_name": "name", "data_type": "text"}]
    tables = {"city": columns, "river": [*columns, {"column_name": "length", "data_type": "real"}]}
    (tmp_path / "map.json").write_text(json.dumps({"table_metadata": tables}))
    rows = [{"database": "map", "question": each, "accepted": [query]} for each, query in ASKED.items()]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (task,) = sql.tasks(tmp_path)
    return task


def test_queries(question: sql.SqlTask) -> None:
    """Queries are compared by their rows; what SQLite does not run is never asked."""
    assert len(question.shots) == 2
    right = ASKED[question.question]
    assert question.judge(right).right and question.judge(right.replace("SELECT", "select")).right
    assert not question.judge("SELECT 1").right
    assert question.fault("SELECT length FROM city") == "no such column: length"
    assert question.read("```sql\nSELECT ';' FROM city; -- and\n```", True) == "SELECT ';' FROM city;"
    with pytest.raises(sqlite3.OperationalError):
        sqlite3.connect(":memory:").execute("SELECT length FROM city")


SELECTS = [
    "SELECT u.name, count(*) AS o FROM users AS u LEFT JOIN orders ON u.id = orders.id GROUP BY u.name LIMIT 10",
    "SELECT DISTINCT id FROM (SELECT * FROM o) AS q WHERE NOT a IN (1, 2) AND b LIKE '%it''s' OR c IS NOT NULL;",
    "SELECT CASE WHEN a = 1 THEN -2.5 ELSE (b || 'x') END FROM t WHERE a BETWEEN 1 AND 2\nORDER BY a DESC, b;",
]


@pytest.mark.parametrize("text", SELECTS)
def test_both_texts_of_the_grammar_of_queries_say_the_same(text: str) -> None:
    ours = constrain.grammar(sql.QUERIES["lark"], lexer="greedy")
    theirs = constrain.grammar(sql.QUERIES["ebnf"], format="ebnf", start="root")
    for constraint in (ours, theirs):
        assert constraint.accepts(text)
        assert not any(constraint.accepts(each) for each in (text + "(", ")" + text, text.replace("FROM", "")))


FUNCTION = "def twice(a: List[int]) -> List[int]:\n    return a + a"


@pytest.fixture
def function(tmp_path: Path) -> humaneval.PythonTask:
    import gzip

    row = {
        "task_id": "x/0", "entry_point": "twice", "test": "def check(f):\n    assert f([1]) == [1, 1]\n",
        "prompt": 'from typing import List\n\n\ndef twice(a: List[int]) -> List[int]:\n    """ Twice. """\n',
    }  # fmt: skip
    (tmp_path / "HumanEval.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    (task,) = humaneval.tasks(tmp_path)
    return task


@pytest.mark.parametrize(
    "text, fault, why",
    [
        (FUNCTION, None, ""),
        (f"Sure:\n```python\n{FUNCTION}\n```", None, ""),
        (f"{FUNCTION}\n\ndef other(): pass", None, ""),
        (FUNCTION.replace("a + a", "a"), None, "AssertionError"),
        (FUNCTION.replace("a + a", "b"), "not defined: b", ""),
        (FUNCTION.replace("a + a", "(a"), "'(' was never closed (<unknown>, line 2)", ""),
        (
            FUNCTION.replace("return a + a", "open('x', 'w', buffering=1).write('x\\n')"),
            None,
            "OSError: [Errno 27] File too large",
        ),
    ],
)
def test_functions(function: humaneval.PythonTask, text: str, fault: str | None, why: str) -> None:
    value = function.read(text, True)
    assert function.fault(value) == fault
    if fault is None:
        assert function.judge(value).why == why


@pytest.fixture(scope="module")
def subject() -> Subject:
    return Subject(HFModel.of(constrain.reference.load()), {}, False)


@pytest.mark.parametrize("arm", [arm for arm, each in ARMS.items() if each.engine in ("constrain", "free")])
def test_an_arm(arm: str, subject: Subject) -> None:
    """Any arm makes a record, whatever the model writes, or says that it has nothing for the task."""
    task = JsonTask("a 0", "", "A colour?", exactly("red"), tokens=12, wanted={"enum": ["red", "green"]})
    made = record(subject, arm, task)
    assert (made is None) == (ARMS[arm].constraint in ("monitor", "subset", "retry"))
    if made is not None:
        assert made["right"] <= made["valid"] <= made["parsed"]
        assert made["tokens"] > 0 and (made["log_mass"] is None or made["log_mass"] <= 1e-6)


def test_names_that_were_written_again(subject: Subject, question: sql.SqlTask, function: humaneval.PythonTask) -> None:
    """A text that was retried until a monitor, or CPython's analysis, takes it has no name that is not there."""
    for task in (question, function):
        made = record(subject, "retry", replace(task, tokens=24))
        assert made is not None and made["tokens"] > 0
        given = constraint_of(ARMS["retry"], task)
        assert given is not None and given["method"].check(made["text"])
    sound = constraint_of(ARMS["retry"], question)["method"].check  # type: ignore[index]
    assert sound("SELECT name FROM river") and not sound("SELECT colour FROM")


def test_the_likeliest_of_five(subject: Subject) -> None:
    """The record is the answer with the greatest log-probability among those which end."""
    task = JsonTask("a 0", "", "A colour?", exactly("red"), tokens=12, wanted={"enum": ["red", "green", "blue"]})
    made = record(subject, "best", task)
    assert made is not None
    drawn = constrain.generate(
        subject.handle, task.prompt(False), schema=task.wanted, n=5, max_tokens=12, temperature=0.7,
        seed=zlib.crc32(b"a 0"),
    )  # fmt: skip
    ended = [each for each in drawn if each.finish_reason == "stop"]
    assert len({each.logprob for each in ended}) > 1
    assert made["text"] == max(ended, key=lambda each: each.logprob).text


def test_records_of_an_engine(question: sql.SqlTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of vLLM are judged like all others; rows of the model and CPU time are means; queries are left out."""
    given = [("stop", "5", 2), ("length", "(A", 4)]
    outputs = [SimpleNamespace(finish_reason=end, text=text, token_ids=range(n)) for end, text, n in given]
    counts = {"steps": 3, "drafted": 2, "accepted": 1, "worker": 1.0, "front": 0.5, "engine": 9.0}
    monkeypatch.setattr(served, "answered", lambda arm, tasks, settings: (outputs[: len(tasks)], counts))
    found, run = served.records("vllm", [NUMBER, question, CHOICE], served.Settings("", True, 0.0))
    assert [(each["id"], each["right"], each["parsed"]) for each in found] == [
        ("a 0 vllm", True, True), ("a 2 vllm", False, False)
    ]  # fmt: skip
    assert [(each["tokens"], each["forwards"], each["seconds"]) for each in found] == [(2, 2.5, 0.75), (4, 2.5, 0.75)]
    assert "| vllm | 2 | 3 | 2 | 1 | 1.0 | 0.5 | 9.0 |" in served.table_of([{"arm": "vllm", "answers": 2, **run}])
