"""A model through engines: tasks and their scores, the decoding loop against `generate`, figures, the whole program."""

import gzip
import json
import math
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import constrain
from evaluation import decode, report
from evaluation.decode import Subject, Unconstrained, likelihood, write
from evaluation.evaluate import Options, evaluate, invalid
from evaluation.tasks import Task, canonical, dataset_of, empty_record, first_value, leaf_f1, leaves, read_task
from jsonschemabench import spread
from masks import engines

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "n": {"enum": [1, 2]}},
    "required": ["ok", "n"],
    "additionalProperties": False,
}
CASE = {
    "schema": SCHEMA,
    "tests": [
        {"data": {"ok": 1}, "valid": False},
        {"data": {"ok": True, "n": 2}, "valid": True},
        {"data": {"ok": True, "n": 1}, "valid": True},
    ],
}


@pytest.fixture(scope="module")
def subject() -> Subject:
    return decode.load("reference")


@pytest.fixture(scope="module")
def engine(subject: Subject) -> Any:
    return engines.make("constrain", subject.vocabulary)


def write_case(folder: Path, name: str = "Github_easy---o1.json", case: Any = CASE) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(case))
    return path


def test_leaves_are_pointers() -> None:
    value = {"a/b": [1, {"~": None}], "e": [], "f": {}}
    assert leaves(value) == {"/a~1b/0": 1, "/a~1b/1/~0": None, "/e": [], "/f": {}}
    assert leaves(7) == {"": 7}


@pytest.mark.parametrize(
    "answer, truth, equal, f1",
    [
        ({"a": 1, "b": 2.0}, {"b": 2, "a": 1.0}, True, 1.0),
        ({"a": True}, {"a": 1}, False, 0.0),
        ({"a": 1, "b": 3, "c": 0}, {"a": 1, "b": 2}, False, 2 / 5),
        ([1, 2], [1, 2, 3], False, 4 / 5),
        ([], {}, False, 0.0),
    ],
)
def test_scores(answer: Any, truth: Any, equal: bool, f1: float) -> None:
    assert (canonical(answer) == canonical(truth)) is equal
    assert leaf_f1(answer, truth) == pytest.approx(f1)


@pytest.mark.parametrize(
    "text, found", [('{"a": 1} and more', [{"a": 1}]), (" \n[1", []), ("yes", []), ("null,", [None])]
)
def test_first_value(text: str, found: list[Any]) -> None:
    assert first_value(text) == found


def test_a_task_shows_the_schema_and_the_record(tmp_path: Path) -> None:
    task = read_task(write_case(tmp_path), 20, 600)
    assert task.prompt == f"Schema: {json.dumps(SCHEMA)[:20]} …\nRecord:\n/ok = true\n/n = 2\nJSON: "
    assert (task.instance, task.dataset) == ([{"ok": True, "n": 2}], "Github_easy")
    assert task.tests[0] == ('{"ok": 1}', False)
    assert read_task(write_case(tmp_path), 10_000, 5).instance == []  # the record is too long: left out
    assert dataset_of("BFCL_sql_2.json") == "BFCL"


def test_greedy_writing_is_what_generate_writes(subject: Subject, engine: Any) -> None:
    prompt = 'A person: {"ok": '
    engine.compile(SCHEMA)
    ours = write(subject, engine, subject.prompt_ids(prompt), 40, 0.0, 0)
    given = {"schema": SCHEMA, "temperature": 0, "max_tokens": 40, "canonical": False}  # the engines mask alone
    theirs = constrain.generate(constrain.reference.load(), prompt, **given)
    assert (ours.tokens, ours.outcome) == (theirs.tokens, theirs.finish_reason)
    assert len(ours.masks_s) == len(ours.tokens) == len(ours.steps_s) + 1
    assert ours.first_s >= ours.masks_s[0]


def test_writing_stops_at_limits(subject: Subject, engine: Any) -> None:
    engine.compile({"type": "string", "minLength": 400})
    cut = write(subject, engine, subject.prompt_ids("JSON: "), 7, 1.0, 0)
    assert (cut.outcome, len(cut.tokens)) == ("length", 7)
    again = write(subject, engine, subject.prompt_ids("JSON: "), 7, 1.0, 0)
    assert again.tokens == cut.tokens  # the seed says all


def test_likelihood(subject: Subject, engine: Any) -> None:
    prompt, text = subject.prompt_ids("JSON: "), '{"ok": true, "n": 2}'
    engine.compile(SCHEMA)
    log_p, log_q, n = likelihood(subject, engine, prompt, text)
    assert n == len(subject.vocabulary.encode(text))
    assert log_q is not None and log_p < log_q < 0
    alone = likelihood(subject, Unconstrained(subject.vocabulary), prompt, text)
    assert alone == (pytest.approx(log_p), pytest.approx(log_p, abs=1e-3), n)
    assert likelihood(subject, engine, prompt, '{"ok": 3}')[1] is None


def options(**changes: Any) -> Options:
    return Options(**{"max_tokens": 40, "temperature": 0.7, "seed": 0, "time_limit": 60, "retries": 8} | changes)


def test_an_evaluation(subject: Subject, engine: Any, tmp_path: Path) -> None:
    record = evaluate(engine, subject, read_task(write_case(tmp_path), 600, 600), options())
    assert set(record) == set(empty_record(read_task(write_case(tmp_path), 600, 600)))
    assert (record["outcome"], record["valid"], record["fault"], record["error"]) == ("stop", True, None, None)
    assert (record["right"], record["wrong"]) == (3, 0)
    assert json.loads(record["text"]).keys() == {"ok", "n"}
    assert record["exact"] == (json.loads(record["text"]) == {"ok": True, "n": 2})


def test_an_evaluation_without_writing(subject: Subject, engine: Any, tmp_path: Path) -> None:
    record = evaluate(engine, subject, read_task(write_case(tmp_path), 600, 600), options(), asked=False)
    assert (record["asked"], record["outcome"], record["tokens"], record["log_p"]) == (False, None, 0, None)
    assert (record["right"], record["wrong"], report.declared(record)) == (3, 0, True)
    assert record["compile_s"] > 0 and record["first_mask_us"] > 0 and record["token_us"] > 0


def test_what_goes_wrong_is_recorded(subject: Subject, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Task("f", "d", {"type": "string", "pattern": "("}, "JSON: ", [], [])
    record = evaluate(engine, subject, bad, options())
    assert (record["error"], record["stage"], record["compile_s"], record["outcome"]) == ("compile",) * 2 + (None,) * 2
    monkeypatch.setattr(engine, "mask", lambda: signal.raise_signal(signal.SIGALRM))  # as if the time were over
    record = evaluate(engine, subject, Task("f", "d", {"type": "string"}, "JSON: ", [], []), options())
    assert (record["error"], record["stage"], report.declared(record)) == ("timeout", "write", False)


def test_an_output_that_the_engine_throws_away_is_sampled_again(subject: Subject, engine: Any) -> None:
    class Picky:
        """Throws the first two outputs away."""

        def __init__(self) -> None:
            self.seen: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(engine, name)

        def check(self, text: str) -> bool:
            self.seen.append(text)
            return len(self.seen) > 2

    task = Task("f", "d", {"type": "integer", "minimum": 10, "maximum": 99}, "JSON: ", [], [])
    record = evaluate(Picky(), subject, task, options())  # type: ignore[arg-type]
    assert (record["outcome"], record["retries"], record["valid"]) == ("stop", 2, True)
    record = evaluate(Picky(), subject, task, options(retries=1))  # type: ignore[arg-type]
    assert (record["outcome"], record["retries"], record["valid"]) == ("discarded", 1, False)


def test_formats_are_checked() -> None:
    assert invalid({"type": "string", "format": "ipv4"}, "1.2.3.4") is None
    assert "'1.2.3' is not a 'ipv4'" in str(invalid({"type": "string", "format": "ipv4"}, "1.2.3"))


def test_figures() -> None:
    task = Task("x", "d", True, "", [], [])
    good = empty_record(task) | {"compile_s": 0.001, "outcome": "stop", "valid": True, "right": 2, "wrong": 0}
    good |= {"tokens": 3, "first_s": 0.01, "steps_s": [0.004, 0.006], "masks_s": [0.5, 0.001, 0.001]}
    good |= {"exact": True, "leaf_f1": 1.0, "log_p": -8.0, "log_q": -4.0, "known_tokens": 4}
    cut = good | {"file": "y", "outcome": "length", "valid": False, "wrong": 1, "exact": False, "leaf_f1": 0.0}
    refused = empty_record(task) | {"file": "z", "error": "compile", "message": "no"}
    assert report.coverage([good, cut, refused, good]) == {"declared": 0.75, "empirical": 0.5, "true": 0.5}
    unasked = empty_record(task) | {"asked": False, "compile_s": 0.001, "wrong": 0}
    assert report.coverage([good, unasked, refused]) == {"declared": 2 / 3, "empirical": 0.5, "true": 2 / 3}
    assert report.compliance([good, cut, unasked, refused]) == 0.5
    assert report.dataset_tables({"a": [good, cut, refused], "b": [unasked], "c": []}).splitlines()[-2:] == [
        "| a | 3 | 67 | 33 | 3 | 1 | 0 | 33 | 50 | 1.00 | – | – |",  # the times of x, which both took
        "| b | 1 | 100 | 100 | 0 | 0 | 0 | – | – | 1.00 | – | – |",
    ]
    assert report.slowdown([good]) == pytest.approx(10 / 8)  # the first mask is not in the time of later tokens
    assert math.isnan(report.slowdown([refused]))
    results = {"a": [good, cut, refused], "none": [good, cut, good | {"file": "z"}]}
    assert [len(records) for records in report.finished_by_all(results).values()] == [2, 2]
    text = report.report(results, {"date": "today"})
    assert "| compliance | 50.0 % |" in text
    assert "| true (no counterexample) | 33.3 % | – |" in text
    assert "| d | 3 | 67 / 33 / 33 | 100 / 67 |" in text
    assert "| exact | 50.0 % | 50.0 % |" in text
    assert "| nats per token of the instance, model | 2.000 | 2.000 |" in text


def test_files_of_each_data_set() -> None:
    files = [Path(f"{name}.json") for name in ("A---1", "A---2", "B---1", "A---3", "B---2", "C---1")]
    assert [path.stem for path in spread(files, 2)] == ["A---1", "A---2", "B---1", "B---2", "C---1"]
    assert [path.stem for path in spread(files, 1)] == ["A---1", "B---1", "C---1"]


@pytest.mark.slow
def test_the_whole_program(repository: Path, tmp_path: Path) -> None:
    for name in ("A---1.json", "A---2.json"):
        write_case(tmp_path / "files", name)
    out = tmp_path / "out"
    command = [sys.executable, str(repository / "benchmarks" / "jsonschemabench.py"), "--engines", "constrain"]
    given = ["--files", str(tmp_path / "files"), "--max-tokens", "40", "--out", str(out)]
    done = subprocess.run([*command, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| declared | 100.0 % |" in done.stdout
    assert (out / "report.md").read_text() == done.stdout.removesuffix("\n")
    with gzip.open(out / "constrain.jsonl.gz", "rt") as file:
        assert {json.loads(line)["file"] for line in file} == {"A---1.json", "A---2.json"}
