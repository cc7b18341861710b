"""Long checks: the fuzzer finds a planted fault and makes it small; walks end in valid texts; a night reports all."""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st

import constrain
import fuzzing
import nightly
import schema_corpus
import vocabularies
from constrain import kernels
from fuzz import Target
from nightly import Night, Part
from patience import OutOfPatienceError, patience
from reading_oracle import reading
from real_walks import Walks

TARGETS = fuzzing.targets()
ROWS = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "fuzz.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: json.dumps(row["case"])[:60])
def test_what_was_found_is_mended(row: dict[str, Any]) -> None:
    TARGETS[row["target"]].check(row["case"])


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in TARGETS])
def test_a_round_finds_nothing(name: str) -> None:
    kernels.load()
    row = fuzzing.forked(TARGETS[name]._replace(examples=8), 1, 60)
    assert row["count"] >= 8
    assert "error" not in row, row


@pytest.mark.parametrize(
    ("kind", "language", "member", "other"),
    [
        ("regex", "a+", "aa", "ab"),
        ("choices", ["a", "ab"], "ab", "b"),
        ("grammar", 'start: "(" start? ")"', "(())", "(()"),
        ("schema", {"$schema": "https://json-schema.org/draft/2020-12/schema", "maximum": 3}, "3", "4"),
        ("schema", {"$schema": "https://json-schema.org/draft/2020-12/schema"}, '[{"a": 1}]', '[{"a": 1, "a": 2}]'),
    ],
)
def test_readers_of_sampled_texts(kind: str, language: Any, member: str, other: str) -> None:
    from fuzz import sampling  # its oracles are found since `fuzzing.targets` was called

    assert sampling.member(kind, language, member)
    assert not sampling.member(kind, language, other)


def too_large(case: int) -> None:
    assert case < 1000, "too large"


def endless(case: int) -> None:
    while case >= 0:
        time.process_time()


def test_a_fault_is_found_and_made_small() -> None:
    row = fuzzing.forked(Target("faulty", st.integers(0, 10**6), too_large, 100), 1, 60)
    assert row["case"] == 1000
    assert row["error"].startswith("AssertionError: too large")


def test_a_hang_is_found() -> None:
    row = fuzzing.forked(Target("endless", st.integers(0, 9), endless, 100), 1, 0.2)
    assert row["error"] == "hang"
    assert 0 <= row["case"] <= 9


def out_of_patience(case: int) -> bool:
    try:
        with patience(0.01):
            while case >= 0:
                reading.derivative(reading.EPSILON, case)
    except OutOfPatienceError:
        return True
    return False


def test_an_oracle_that_gives_up_is_counted() -> None:
    row = fuzzing.forked(Target("patient", st.integers(0, 9), out_of_patience, 5), 1, 60)
    assert row["undecided"] == row["count"] > 0
    assert "error" not in row
    assert reading.derivative(reading.EPSILON, 0) is reading.NOTHING  # nobody waits any more


def test_the_table_counts_each_kind_of_finding_once(tmp_path: Path) -> None:
    run = fuzzing.Run(tmp_path, ["a"], 3)
    for seed in (3, 4):
        run.note("a", seed, {"count": 7, "undecided": 3, "slowest": 0.5, "case": seed, "error": "E: x\nhere"}, 2.0)
    assert run.table(4).splitlines()[-1] == "| a | 2 | 14 | 4 | 0.5 | 6 | 2 |"
    assert len((tmp_path / "findings.jsonl").read_text().splitlines()) == 1


def test_walks_find_nothing() -> None:
    walks = Walks(vocabularies.tiny())
    for entry in schema_corpus.ours()[:6]:
        walks.schema(entry, 1)
    assert not walks.faults
    assert walks.counts["finished"] == 2 * walks.counts["schemas"] == 12
    assert "12 finished, 0 invalid, 0 dead ends, 0 contradictions" in walks.line()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b'{"a": 1}', None),
        (b'{"a": 1, "b": 2}', None),
        (b'{"n": 38E1856}', None),  # no float holds it
        (b'{"a": "x"}', "[False, False]"),
        (b'{"a": 1, "a": 2}', "a key is repeated"),
        (b'{"a": 1', "Expecting"),
    ],
)
def test_invalid_texts_are_seen(text: bytes, fault: str | None) -> None:
    walks, schema = Walks(vocabularies.tiny()), {"properties": {"a": {"type": "integer"}, "n": {"type": "number"}}}
    found: Any = walks.verdict(schema, constrain.json_schema({}), text)
    assert walks.counts["invalid"] == (fault is not None)
    assert found is None if fault is None else fault in found


SAYS = "-c 'import sys; print(1); print(sys.argv[1:]); print(); print(\"x\", file=sys.stderr); sys.exit({})' {}"


def test_every_part_runs_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    parts = (
        Part("bad", 1, SAYS.format(1, "{minutes}")),
        Part("broken", 1, SAYS.format(7, "a b")),
        Part("killed", 1, "-c 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'"),
        Part("good", 1, "-c 'import os; print(os.environ[\"ASKED\"])'", {"ASKED": "yes"}),
    )
    monkeypatch.setattr(nightly, "PARTS", parts)
    monkeypatch.setattr(sys, "argv", ["nightly", "--budget", "40", "--jobs", "1", "--out", str(tmp_path)])
    assert nightly.main() == 1
    rows = [line.split(" | ")[:3] for line in (tmp_path / "report.md").read_text().splitlines() if line[:2] == "| "]
    assert rows[1:] == [
        ["| bad", "['9.00']", "FOUND"],  # nine tenths of a quarter
        ["| broken", "['a', 'b']", "ENDED WITH 7"],
        ["| killed", "nothing printed", "NOT FINISHED"],
        ["| good", "yes", "nothing found"],
    ]
    assert (tmp_path / "bad.err").read_text() == "x\n"
    monkeypatch.setattr(sys, "argv", ["nightly", "--parts", "good", "--out", str(tmp_path)])
    assert nightly.main() == 0
    assert "good: nothing found: yes" in capsys.readouterr().out


def test_shares_follow_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(nightly, "time", clock)
    night = Night(
        [Part(name, minutes, "") for name, minutes in zip("abcd", (10, 70, 20, 20), strict=True)], 60, 2, tmp_path
    )
    shares = [night.next(), night.next()]  # of two hours; 70 of 110 minutes are more than is left
    clock.now = 1200.0
    del night.promised["a"]  # it took twice its share
    shares.append(night.next())
    clock.now = 1800.0
    del night.promised["c"]  # it took half of its share
    shares.append(night.next())
    assert [(taken[0].name, taken[1]) for taken in shares if taken] == [
        ("a", 600),
        ("b", 3600),
        ("c", 1200),
        ("d", 1800),
    ]
    assert night.next() is None


def test_the_parts_name_files_that_exist() -> None:
    for part in nightly.PARTS:
        paths = [word for word in part.command.split() if word.endswith(".py")]
        assert (paths or " -m nightly" in part.command) and all((nightly.ROOT / path).is_file() for path in paths), part
    assert len({part.name for part in nightly.PARTS}) == len(nightly.PARTS)
