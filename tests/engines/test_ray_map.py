"""`constrain.map` over a data set of Ray: by a stand-in for Ray, and by Ray itself where it is installed."""

from __future__ import annotations

import json
from typing import Any

import pytest

import constrain
from constrain.errors import ConstrainError, SchemaError
from constrain.reports.answers.cluster import COLUMNS, _Worker, is_ray

pandas = pytest.importorskip("pandas", reason="the package pandas is not installed")
ROWS = [{"id": i, "text": f"number {i}"} for i in range(5)]
CALL = {"prompt": "{text} squared: ", "regex": "[0-9]{1,3}"}


class Dataset:
    """As much of Ray's data set as is used: batches of rows go to one worker."""

    __module__ = "ray.data.dataset"

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def map_batches(self, worker: Any, *, fn_constructor_kwargs: Any, batch_size: int, **told: Any) -> Dataset:
        assert told == {"batch_format": "pandas", "concurrency": 2}
        made = worker(**fn_constructor_kwargs)
        parts = [self.frame.iloc[i : i + batch_size] for i in range(0, len(self.frame), batch_size)]
        return Dataset(pandas.concat([made(part) for part in parts]))


def mapped(**more: Any) -> list[dict[str, Any]]:
    data = Dataset(pandas.DataFrame(ROWS))
    return constrain.map(constrain.reference.load, data, batch=2, workers=2, **CALL | more).frame.to_dict("records")


def test_columns_come_behind_those_of_the_rows() -> None:
    rows = mapped(seed=3)
    assert list(rows[0]) == ["id", "input_text", *COLUMNS]
    assert [row["input_text"] for row in rows] == [row["text"] for row in ROWS]
    assert all(row["text"].isdigit() and row["finish_reason"] == "stop" and row["error"] is None for row in rows)
    assert mapped(seed=3) == rows != mapped(seed=4)


def test_values_are_json_and_errors_stay_with_their_rows() -> None:
    schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "additionalProperties": False}
    rows = mapped(regex=None, schema=schema)
    assert all(json.loads(row["value"]) == json.loads(row["text"]) for row in rows)
    failing = _Worker(constrain.reference.load, {**CALL, "seed": 1, "prompt": lambda row: 7 if row["id"] else "a: "})
    first, second = failing(pandas.DataFrame(ROWS[:2])).to_dict("records")
    assert first["error"] is None and second["error"] is not None and second["text"] is None


@pytest.mark.parametrize(
    "change, says",
    [
        ({"out": "years.jsonl"}, "no file is kept"),
        ({"schema": {"type": "text"}, "regex": None}, "does not exist"),
        ({"batch": 0}, "batch must be"),
    ],
)
def test_faults_are_said_before_anything_runs(change: dict[str, Any], says: str) -> None:
    with pytest.raises((ConstrainError, SchemaError), match=says):
        constrain.map(constrain.reference.load, Dataset(None), **{"workers": 2, **CALL, **change})


def test_what_a_worker_cannot_load_is_refused() -> None:
    with pytest.raises(ConstrainError, match="each worker makes its own model"):
        constrain.map(constrain.reference.load(), Dataset(None), **CALL)
    with pytest.raises(ConstrainError, match="is for data sets of Ray"):
        constrain.map(constrain.reference.load(), ["a"], workers=2, regex="a")
    assert not is_ray([1]) and not is_ray(pandas.DataFrame(ROWS))


@pytest.mark.slow
def test_on_ray_itself() -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: `make serve-test` installs it")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        data = ray.data.from_items(ROWS)
        assert is_ray(data)
        rows = constrain.map(constrain.reference.load, data, batch=2, workers=1, seed=3, **CALL).take_all()
    finally:
        ray.shutdown()
    assert sorted(row["id"] for row in rows) == [0, 1, 2, 3, 4]
    assert all(row["text"].isdigit() and row["finish_reason"] == "stop" for row in rows)
