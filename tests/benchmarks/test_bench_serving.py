"""benchmarks/serving.py: verdicts about texts, the order of keys, clocks, the table; vLLM is not needed for these."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

import serving

SCHEMA = {
    "type": "object",
    "properties": {"b": {"type": "integer"}, "a": {"type": "array", "items": {"properties": {"y": {}, "x": {}}}}},
    "required": ["b"],
}
ROW = {"file": "f.json", "schema": SCHEMA, "text": '{"b": 1}', "ids": [1, 2]}


@pytest.mark.parametrize(
    "text, reason, expected",
    [
        ('{"b": 1}', "stop", "reproduced"),
        ('{"b": 2}', "stop", "other"),
        ('{"b": "2"}', "stop", "invalid: '2' is not of type 'integer'"),
        ('{"b": ', "stop", "invalid: Expecting value"),
        ('{"b": 1}', "length", "cut"),
        ("", "error", "failed: error"),
    ],
)
def test_verdicts(text: str, reason: str, expected: str) -> None:
    assert serving.verdict(ROW, text, reason).startswith(expected)


def test_the_draft_of_a_schema_counts() -> None:
    """`exclusiveMinimum: true` is draft 4."""
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
    assert serving.verdict({**ROW, "schema": schema}, "1", "stop").startswith("invalid")
    assert serving.verdict({**ROW, "schema": schema}, "2", "stop") == "other"


def test_keys_come_in_the_order_of_the_schema() -> None:
    value = {"z": 0, "a": [{"x": 1, "y": 2}], "b": 1}
    assert json.dumps(serving.in_order(value, SCHEMA)) == '{"b": 1, "a": [{"y": 2, "x": 1}], "z": 0}'
    assert serving.in_order(value, True) == value


def test_requests_are_drawn_by_the_seed(tmp_path: Path) -> None:
    folder = tmp_path / "maskbench-dev"
    folder.mkdir()
    for i in range(9):
        tests = [{"valid": False, "data": "no"}, {"valid": i != 3, "data": list(range(i + 4))}]
        (folder / f"{i}.json").write_text(json.dumps({"schema": {}, "tests": tests}))

    class Words:
        def encode(self, text: str, add_special_tokens: bool) -> list[int]:
            return [1] * len(text.split())

    one, two = (serving.requests(tmp_path, Words(), seed=1, count=7) for _ in range(2))
    assert one == two and "3.json" not in [row["file"] for row in one]
    assert all(serving.LEAST <= len(row["ids"]) <= serving.MOST for row in one)
    assert [row["file"] for row in serving.requests(tmp_path, Words(), seed=2, count=7)] != [row["file"] for row in one]
    with pytest.raises(SystemExit, match="only 7 requests"):
        serving.requests(tmp_path, Words(), seed=1, count=8)


def test_the_clock_counts_work_and_not_waiting() -> None:
    class Worker:
        def work(self) -> int:
            return sum(range(200_000))

        def wait(self) -> None:
            time.sleep(0.02)

    clock = serving.Clock()
    clock.wrap(Worker, "work", "fill")
    clock.wrap(Worker, "wait", "accept")
    assert Worker().work() == sum(range(200_000))
    Worker().wait()
    assert clock.spent["fill"] > clock.spent["accept"] > 0 and clock.rows == [clock.spent["fill"]]


def test_the_table_shows_what_differs_between_rounds() -> None:
    def run(backend: str, verdicts: dict[str, str], fill: float) -> dict[str, Any]:
        row = {"batch": 2, "state": "cold", "files": ["f"], "verdicts": verdicts, "tokens": 10, "wall_s": 2.0,
               "process_cpu_s": 1.5, "ms": {"check": 1.0, "compile": 2.0, "fill": fill, "accept": 1.0},
               "step_ms": [4.0, 2.0, 3.0], "fill_ms": 7.0, "row_us": {"mean": 8.0, "p99": 9.0}}  # fmt: skip
        return {"backend": backend, "passes": [row]}

    runs = [run("x", {"f": "reproduced", "g": "refused: no"}, 1.0), run("x", {"f": "cut", "g": "refused: no"}, 3.0)]
    last = serving.table(runs).splitlines()[-1]
    cells = [cell.strip() for cell in last.strip("|").split("|")]
    assert cells == [
        "2",
        "cold",
        "x",
        "1",
        "0",
        "0–1",
        "0",
        "0–1",
        "0",
        "1.0",
        "2.0",
        "2.0",
        "1.0",
        "6",
        "8.0",
        "9.0",
        "7.0",
        "1.5",
        "3.0",
        "4.0",
        "5",
    ]
