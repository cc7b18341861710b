"""Workers that answer, die and hang; runs that stop and go on; tables against targets; plots."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masks import page, runner
from masks.records import Records, open_folder
from masks.workers import Worker, WorkerError, last_words

CHILD = """
import os, sys, time
sys.path.insert(0, {folder!r})
from masks.workers import claim_stdout, serve
answers = claim_stdout()
def answer(request):
    if request == "hang":
        time.sleep(60)
    if request == "die":
        print("something is wrong", flush=True)
        os._exit(3)
    print("noise on the standard output")
    return [request, os.getpid()]
serve(answers, {{"version": "1"}}, answer)
"""


@pytest.fixture
def worker(repository: Path) -> Worker:
    return Worker("toy", [sys.executable, "-c", CHILD.format(folder=str(repository / "benchmarks"))])


def test_a_worker_answers_and_is_started_again(worker: Worker) -> None:
    assert worker.meta == {"version": "1"}
    (text, first) = worker.ask("žluť", 60)
    assert (text, first == os.getpid()) == ("žluť", False)
    with pytest.raises(WorkerError, match="the process ended with code 3: something is wrong") as died:
        worker.ask("die", 60)
    assert died.value.kind == "crash"
    (_, second) = worker.ask({"any": "json"}, 60)
    assert second != first
    with pytest.raises(WorkerError, match=r"over 0.1 s: the process was ended") as hung:
        worker.ask("hang", 0.1)
    assert hung.value.kind == "timeout"
    (text, third) = worker.ask("again", 60)  # of another process: nobody waited for the one that hung
    assert (text, third != second) == ("again", True)
    worker.end()


def test_a_worker_that_does_not_start() -> None:
    with pytest.raises(WorkerError, match=r"does not start \(code 1\)\nno vocabulary"):
        Worker("toy", [sys.executable, "-c", "import sys; sys.exit('no vocabulary')"])


@pytest.mark.parametrize(
    "printed, said",
    [
        ("", "no message"),
        ("warning\n\nfix: this\n", "fix: this"),
        (
            'Fatal Python error: Bus error\n\nCurrent thread:\n  File "a.py", line 3\n  File "b.py"\n\nmodules: x\n',
            'Fatal Python error: Bus error; File "a.py", line 3',
        ),
    ],
)
def test_last_words(printed: str, said: str) -> None:
    assert last_words(printed) == said


class FakeWorker:
    """Counts what it is asked."""

    asked: list[tuple[str, int]] = []

    def __init__(self, name: str) -> None:
        self.name = name
        self.meta = {"version": name}

    def end(self) -> None: ...


def run_fake(items: list[int], folder: Path | None, paired: bool = False) -> tuple[Any, list[tuple[str, int]]]:
    FakeWorker.asked = []

    def ask(worker: Any, item: int) -> dict[str, Any]:
        worker.asked.append((worker.name, item))
        return {"item": str(item), "square": item * item}

    results, metas = runner.run(
        ["a", "b"],
        items,
        key=str,
        key_name="item",
        start=FakeWorker,  # type: ignore[arg-type]
        ask=ask,
        folder=folder,
        paired=paired,
    )
    assert metas == {"a": {"version": "a"}, "b": {"version": "b"}}
    return results, FakeWorker.asked


def test_paired_runs_alternate() -> None:
    results, asked = run_fake([1, 2, 3], None, paired=True)
    assert asked == [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)]
    assert [record["square"] for record in results["b"]] == [1, 4, 9]
    assert run_fake([1, 2], None)[1] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    run_fake([1, 2], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl.gz", "b.jsonl.gz"]
    with (tmp_path / "b.jsonl").open("w") as stopped:  # as a run leaves it that was ended in the middle of a line
        stopped.write(json.dumps({"item": "3", "square": -1}) + '\n{"item": "4", "squ')
    results, asked = run_fake([4, 3, 2, 1], tmp_path)
    assert asked == [("a", 4), ("a", 3), ("b", 4)]
    assert [record["square"] for record in results["b"]] == [16, -1, 4, 1]
    assert [record["item"] for record in Records(tmp_path, "b", "item").all()] == ["1", "2", "3", "4"]


def test_a_folder_belongs_to_one_run(tmp_path: Path) -> None:
    open_folder(tmp_path / "x", {"command": "bench --limit 5"}, resume=False)
    open_folder(tmp_path / "x", {"command": "bench --limit 5"}, resume=True)
    with pytest.raises(SystemExit, match="already holds a run\n  fix: --resume goes on with it"):
        open_folder(tmp_path / "x", {"command": "bench --limit 5"}, resume=False)
    with pytest.raises(SystemExit, match="holds another run\n  there: bench --limit 5\n  now:   bench --limit 6"):
        open_folder(tmp_path / "x", {"command": "bench --limit 6"}, resume=True)


def record(file: str, us: float, error: str | None = None) -> dict[str, Any]:
    return {
        "file": file,
        "error": error,
        "compile_us": 10 * us,
        "first_mask_us": us,
        "tbm_us": [us, 3 * us],
        "mask_us": [us, us],
        "peak_rss_mb": 150.0,
    }


@pytest.mark.parametrize("n", [1, 2, 10, 50_000])
def test_curves_keep_the_ends_of_a_distribution(n: int) -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, n + 1))
    t, share = page.curve(values)
    assert (t[0], t[-1], share[-1]) == (1 if n > 1 else n, n, 1.0)
    assert np.allclose(share * n, t)  # of 1..n, k values are at most k
    assert t.size <= 2 * page.POINTS
    assert n < 4 or t[-2] == n - 1  # the tail is complete
