"""The benchmark itself: right answers are told from wrong ones, and what engines do wrong ends up in the records."""

import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schema_corpus
from masks import summary
from masks.engines import ENGINE_NAMES
from masks.interface import CompileError, is_set
from masks.measure import CLOCKS, measure
from masks.vocabularies import BenchVocabulary, load

BYTES = BenchVocabulary("bytes", [*(bytes([i]) for i in range(256)), None], 256, lambda text: list(text.encode()))


class Toy:
    """An engine whose "schema" is {"accept": [texts]}: exact, unless the schema says how it errs."""

    def __init__(self) -> None:
        self.row = np.zeros(BYTES.words, dtype=np.uint32)

    def compile(self, schema: Any) -> None:
        if "refuse" in schema:
            raise CompileError(schema["refuse"])
        self.schema = schema
        self.texts = [text.encode() for text in schema["accept"]]

    def start(self) -> None:
        self.so_far = b""

    def mask(self) -> None:
        if self.schema.get("late"):
            signal.raise_signal(signal.SIGALRM)  # as if the time were over
        if self.schema.get("raise"):
            raise ValueError("no mask today")
        self.row[:] = 0
        for text in self.texts:
            rest = text[len(self.so_far) :]
            if text.startswith(self.so_far) and rest:
                self.row[rest[0] >> 5] |= np.uint32(1) << np.uint32(rest[0] & 31)

    def advance(self, token: int) -> bool:
        self.so_far += bytes([token])
        return not self.schema.get("contradict")

    def at_end(self) -> bool:
        return self.so_far in self.texts

    def check(self, text: str) -> bool:
        return text not in self.schema.get("checked_off", ())


def record_of(tmp_path: Path, schema: dict[str, Any], tests: list[tuple[Any, bool]]) -> dict[str, Any]:
    path = tmp_path / "case.json"
    path.write_text(json.dumps({"schema": schema, "tests": [{"data": data, "valid": valid} for data, valid in tests]}))
    return measure(Toy(), BYTES, path, CLOCKS["wall"], 60)


def test_right_answers_pass(tmp_path: Path) -> None:
    record = record_of(tmp_path, {"accept": ["[1, 2]", '"é"']}, [([1, 2], True), ("é", True), ([1], False), (3, False)])
    assert summary.passes(record)
    assert (record["valid_ok"], record["invalid_ok"], record["error"]) == (2, 2, None)
    tokens = len("[1, 2]") + len('"é"'.encode()) + len("[1]") + len("3")  # to the end, or to the first that is refused
    assert len(record["mask_us"]) == len(record["tbm_us"]) == tokens
    assert record["first_mask_us"] == record["mask_us"][0]
    assert all(mask <= both for mask, both in zip(record["mask_us"], record["tbm_us"], strict=True))


def test_an_accepted_invalid_instance_does_not_pass(tmp_path: Path) -> None:
    record = record_of(tmp_path, {"accept": ["1"]}, [(1, False)])
    assert (record["invalid_accepted"], summary.passes(record)) == (1, False)


def test_what_only_the_check_refuses_is_counted_apart(tmp_path: Path) -> None:
    record = record_of(tmp_path, {"accept": ["1", "2"], "checked_off": ["1"]}, [(1, False), (2, True)])
    assert (record["invalid_ok"], record["checked_off"], summary.passes(record)) == (1, 1, True)
    assert record_of(tmp_path, {"accept": ["1"], "checked_off": ["1"]}, [(1, True)])["valid_refused"] == 1


def test_a_refused_valid_instance_does_not_pass(tmp_path: Path) -> None:
    assert record_of(tmp_path, {"accept": ["12"]}, [(13, True)])["valid_refused"] == 1
    early = record_of(tmp_path, {"accept": ["12"]}, [(1, True)])  # every token passes, but the text may not end
    assert (early["valid_refused"], summary.passes(early)) == (1, False)


@pytest.mark.parametrize(
    "schema, error, says",
    [
        ({"refuse": "no oneOf"}, "compile", "no oneOf"),
        ({"accept": ["1"], "raise": True}, "fault", "ValueError: no mask today"),
        ({"accept": ["1"], "contradict": True}, "fault", "the mask allows token 49, but committing it fails"),
        ({"accept": ["1"], "late": True}, "timeout", "masks: over 60 s"),
    ],
)
def test_what_goes_wrong_is_recorded(tmp_path: Path, schema: dict[str, Any], error: str, says: str) -> None:
    record = record_of(tmp_path, schema, [(1, True)])
    assert record["error"] == error
    assert says in record["message"]
    assert not summary.passes(record)


def test_a_schema_without_instances_has_a_first_mask(tmp_path: Path) -> None:
    record = record_of(tmp_path, {"accept": ["1"]}, [])
    assert record["first_mask_us"] is not None
    assert record["mask_us"] == []
    assert summary.passes(record)


def test_the_summary_counts_and_groups() -> None:
    base = {"compile_us": 10.0, "first_mask_us": 5.0, "mask_us": [5.0], "tbm_us": [6.0], "error": None, "message": None}
    base |= {
        "valid_ok": 1,
        "valid_refused": 0,
        "invalid_ok": 1,
        "invalid_accepted": 0,
        "checked_off": 0,
        "peak_rss_mb": 50.0,
    }
    failed = base | {"compile_us": None, "first_mask_us": None, "error": "compile", "mask_us": [], "tbm_us": []}
    a = [
        base | {"file": "x"},
        failed | {"file": "y", "message": 'key "a" at 3'},
        failed | {"file": "z", "message": 'key "b" at 12'},
    ]
    b = [base | {"file": "x", "tbm_us": [12.0]}, base | {"file": "y"}, base | {"file": "z", "invalid_accepted": 1}]
    assert summary.causes(a) == [(2, "compile: key … at N", "y")]
    assert [len(records) for records in summary.matched({"a": a, "b": b}).values()] == [1, 1]
    meta = {"version": "1", "start_seconds": 0.1, "start_rss_mb": 40.0}
    assert summary.counts(a, meta)["compiled"] == "1 (33.33 %)"
    assert summary.counts(b, meta)["passing"] == "2 (66.67 %)"
    text = summary.report({"a": a, "b": b}, {"a": meta, "b": meta}, {"date": "today"})
    assert "| TBM (mask + commit), a ÷ b |  | 0.50 |" in text
    assert "Invalid accepted in 1: z" in text


def test_bits_are_read_low_first() -> None:
    row = np.array([1, 1 << 31], dtype=np.uint32)
    assert [token for token in range(64) if is_set(row, token)] == [0, 63]


@pytest.mark.parametrize("name, size", [("tekken", 131_072), ("spm32k", 32_000)])
def test_vocabularies_spell_what_they_encode(name: str, size: int, tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    vocabulary = load(name, tmp_path)  # checks texts in several scripts by itself
    assert len(vocabulary.tokens) == size
    assert vocabulary.tokens[vocabulary.eos_id] is None


def run_maskbench(repository: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(repository / "benchmarks" / "maskbench.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_whole_program(repository: Path, tmp_path: Path) -> None:
    """Ten files, this library; paired with llguidance where that is installed."""
    data, out = schema_corpus.write_folder(tmp_path / "data"), tmp_path / "out"
    try:
        import llguidance  # noqa: F401

        engines = "constrain,llguidance"
    except ImportError:
        engines = "constrain"
    args = [
        "--data", str(data), "--vocab", "tekken", "--engines", engines, "--paired", "--limit", "10", "--out",
        str(out),
    ]  # fmt: skip
    done = run_maskbench(repository, *args)
    assert done.returncode == 0, done.stderr
    assert "invalid accepted | 0 |" in done.stdout
    with gzip.open(out / "constrain.jsonl.gz", "rt") as file:
        assert len([json.loads(line) for line in file]) == 10
    assert (out / "summary.md").read_text(encoding="utf-8") == done.stdout.removesuffix("\n")


def test_bad_options_are_one_message(repository: Path, tmp_path: Path) -> None:
    done = run_maskbench(repository, "--engines", "constrain", "--data", str(tmp_path / "nowhere"))
    assert (done.returncode, done.stderr.startswith("no data: ")) == (2, True)
    done = run_maskbench(repository, "--engines", "constrain", "--files", str(tmp_path))
    assert done.stderr.startswith("maskbench: no files in ")
    (tmp_path / "a.json").write_text("{}")
    done = run_maskbench(repository, "--files", str(tmp_path), "--engines", "abacus")
    names = ", ".join(ENGINE_NAMES)
    assert done.stderr == f"maskbench: no engine abacus; there are {names}\n"
