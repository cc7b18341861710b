"""The benchmark of what is served: its ways agree, wrong masks are noticed, times are of the same tokens."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evaluation.decode import Unconstrained
from masks import code, engines, parts, served_table
from masks.measure import CLOCKS, empty_record, measure
from masks.vocabularies import BenchVocabulary, load

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yz"]}, "c": {"type": "string"}},
    "required": ["a"],
}
TESTS = [
    ({"a": 12, "b": "yz"}, True),
    ({"a": 1, "d": 2}, True),  # an undeclared key
    ({"b": "x", "a": 1}, True),  # another order
    ({"a": "1"}, False),
]
WAYS = ("served", "served-rehearsed", "served-complete", "served-whole", "generate")


@cache
def vocabulary() -> BenchVocabulary:
    return load("reference", Path())


@cache
def engine(name: str) -> Any:
    return engines.make(name, vocabulary())


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "case.json"
    path.write_text(json.dumps({"schema": SCHEMA, "tests": [{"data": d, "valid": valid} for d, valid in TESTS]}))
    return path


def test_the_ways_of_serving_agree(case: Path) -> None:
    """Closed and in order as served; all that the schema allows where that is asked for; read twice alike."""
    results = {name: [measure(engine(name), vocabulary(), case, CLOCKS["cpu"], 60, served=True)] for name in WAYS}
    assert [record["error"] for (record,) in results.values()] == [None] * len(WAYS)
    assert [accepted for _, accepted in results["served"][0]["read"]] == [True, False, False, False]
    assert [accepted for _, accepted in results["served-whole"][0]["read"]] == [True, True, True, False]
    assert served_table.faults(results) == []
    assert results["served-rehearsed"][0]["rehearsal_us"] > 0
    found = served_table.figures(results)
    assert found["verdicts"]["served"] == [0, 2, 0] and found["verdicts"]["served-whole"] == [0, 0, 0]
    table = served_table.table_of("reference", found)
    assert "| a request, `complete` ÷ `constrain`, an engine's requests, 1 files |" in table
    assert "| reference, µs: 1 of 1 files, " in table


def record(read: list[tuple[int, bool]], us: float, **more: Any) -> dict[str, Any]:
    times = [us * (i + 1) for i in range(sum(n for n, _ in read))]
    return {
        **empty_record("f"), "compile_us": us, "read": [list(each) for each in read], "tbm_us": times,
        "again_us": times, **more,
    }  # fmt: skip


def test_times_are_of_the_tokens_that_all_read() -> None:
    one, other = record([(3, True), (1, False)], 1.0), record([(2, False), (2, True)], 10.0)
    times = served_table.same_tokens({"a": [one], "b": [other]})
    assert times["a"]["cold"].tolist() == [1.0, 2.0, 4.0]
    assert times["b"]["warm"].tolist() == [10.0, 20.0, 30.0]


@pytest.mark.parametrize(
    "name, changed",
    [
        ("served", {"invalid_accepted": 1}),
        ("served-whole", {"valid_refused": 1}),
        ("generate", {"read": [[3, False]]}),
        ("served-complete", {"error": "fault"}),
    ],
)
def test_wrong_answers_are_named(name: str, changed: dict[str, Any]) -> None:
    results = {each: [record([(3, True)], 1.0)] for each in WAYS}
    assert served_table.faults(results) == []
    results[name] = [record([(3, True)], 1.0) | changed]
    (fault,) = served_table.faults(results)
    assert fault.startswith(f"{name}, f: ")


@pytest.mark.parametrize("name", ["served", "generate"])
def test_tools_beside_free_text(name: str) -> None:
    found = parts.answer({"tools": [7, 12]}, engine(name), vocabulary())
    assert found["compile"] > 0 and len(found["free first"]) > 9
    assert len(found["calls first"]) == len(found["calls again"]) > len(found["free first"])


def test_tools_are_what_their_arguments_fulfil() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    made = [parts.tool(number) for number in range(300)]
    assert len({name for name, _, _ in made}) == 300
    for _, schema, arguments in made:
        jsonschema.validate(arguments, {**schema, "additionalProperties": False})


def test_a_mask_that_lets_a_wrong_call_pass_is_noticed() -> None:
    everything = Unconstrained(vocabulary())
    assert parts.answer({"tools": [0, 1]}, everything, vocabulary()) == {"wrong": "a wrong call is taken"}


def test_batches_and_threads(case: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    schema = {"type": "array", "items": SCHEMA}
    other.write_text(json.dumps({"schema": schema, "tests": [{"data": [{"a": 5}], "valid": True}]}))
    asked = {"files": [str(case), str(other)], "steps": 6}
    found = parts.answer(asked, engine("served-rehearsed"), vocabulary())
    assert len(found["compile"]) == len(found["rehearsal"]) == 2 and len(found["rows"]) >= len(found["steps"]) > 3
    threads = parts.answer({**asked, "threads": True}, engine("generate"), vocabulary())
    assert list(threads) == ["1 automata, 1 threads", "2 automata, 1 threads", "2 automata, 2 threads"]


@pytest.mark.parametrize(
    "source, same",
    [
        ('"""Told otherwise."""\n\nclass A:\n    """B."""\n    x = 1  # why\n', True),
        ('"""Told."""\nclass A:\n    x = 1\n', True),
        ('"""Told."""\nclass A:\n    x = 2\n', False),
        ('"""Told."""\nclass A:\n    x = "# why"\n', False),
    ],
)
def test_prose_does_not_change_the_digest(source: str, same: bool) -> None:
    assert (code.digest(source) == code.digest('"""Told."""\n\nclass A:\n    x = 1\n')) is same


def test_the_code_that_ran() -> None:
    engine("served")
    ran = code.loaded()
    assert "compiler.py" in ran["constrain/engines/requests"] and code.changed(ran) == []
    ran["constrain/engines/requests"]["compiler.py"] = "0"
    ran["constrain/engines/requests"]["gone.py"] = "0"
    assert code.changed(ran) == [f"constrain/engines/requests/{name}.py" for name in ("compiler", "gone")]
    assert code.merged([{"a": {"x": "1"}}, {"a": {"y": "2"}}]) == {"a": {"x": "1", "y": "2"}}
