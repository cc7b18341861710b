"""The official suite as a benchmark: which tests there are, verdicts, tables, the whole program on a small suite."""

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from masks import suite, verdicts

SUITE = {
    "tests/draft2020-12/not.json": [
        {
            "description": "not a string",
            "schema": {"not": {"type": "string"}},
            "tests": [{"data": 1, "valid": True}, {"data": "é", "valid": False}],
        },
        {"description": "nothing", "schema": False, "tests": [{"data": {}, "valid": False}]},
    ],
    "tests/draft2020-12/ref.json": [
        {
            "description": "remote | reference",
            "schema": {"$ref": "http://localhost:1234/draft2020-12/integer.json"},
            "tests": [{"data": 1, "valid": True}, {"data": "1", "valid": False}],
        },
        {"description": "bad", "schema": {"$ref": "#/nowhere"}, "tests": [{"data": 1, "valid": True}]},
    ],
    "tests/draft2020-12/optional/format.json": [{"description": "not required", "schema": True, "tests": []}],
    "tests/draft7/not.json": [
        {"description": "seven", "schema": {"minimum": 2}, "tests": [{"data": [1.0, 1e300], "valid": True}]}
    ],
    "remotes/draft2020-12/integer.json": {"type": "integer"},
    "remotes/draft7/integer.json": {"type": "string"},
    "remotes/everywhere.json": {"type": "null"},
}


@pytest.fixture
def small_suite(tmp_path: Path) -> Path:
    root = tmp_path / "data" / "json-schema-test-suite"
    for name, contents in SUITE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(json.dumps(contents))
    return root


def test_groups_are_the_required_tests_of_a_draft(small_suite: Path) -> None:
    groups = list(suite.groups(small_suite, "draft2020-12"))
    files = ["not.json#0", "not.json#1", "ref.json#0", "ref.json#1"]
    assert [group.id for group in groups] == [f"draft2020-12/{name}" for name in files]
    assert (groups[0].keyword, groups[0].texts, groups[0].valid) == ("not", ["1", '"é"'], [True, False])
    assert groups[0].schema["$schema"] == suite.DRAFTS["draft2020-12"]
    assert groups[1].schema is False
    (seven,) = suite.groups(small_suite, "draft7")
    assert (seven.schema["$schema"], seven.texts) == ("http://json-schema.org/draft-07/schema#", ["[1.0, 1e+300]"])


def test_remotes_belong_to_drafts(small_suite: Path) -> None:
    registry = suite.registry(small_suite, "draft2020-12")
    assert set(registry) == {suite.SERVER + "draft2020-12/integer.json", suite.SERVER + "everywhere.json"}


def test_lone_surrogates_are_escaped() -> None:
    assert suite.instance_text("é") == '"é"'
    assert suite.instance_text("\ud800é") == '"\\ud800\\u00e9"'


@pytest.mark.parametrize(
    "answer, expected",
    [
        ({"accepted": [True, True, False, False], "error": None}, ["right", "accepted", "refused", "right"]),
        ({"accepted": [None] * 4, "error": "compile"}, ["compile"] * 4),
        ({"accepted": [True, None, None, None], "error": "failed"}, ["right", "failed", "failed", "failed"]),
    ],
)
def test_verdicts_on_valid_invalid_valid_invalid(answer: dict[str, Any], expected: list[str]) -> None:
    assert verdicts.verdicts(answer, [True, False, True, False]) == expected


def test_cells() -> None:
    assert verdicts.cell(Counter(right=3)) == "✓"
    assert verdicts.cell(Counter(right=3), share=True) == "3 (100.0 %)"
    assert verdicts.cell(Counter(right=1, accepted=2, compile=1)) == "1 · 2&nbsp;a 1&nbsp;c"
    assert verdicts.cell(Counter(refused=1, failed=1), share=True) == "0 (0.0 %) · 1&nbsp;r 1&nbsp;f"


def test_tables_add_up() -> None:
    def one(draft: str, keyword: str, *verdict: str) -> dict[str, Any]:
        return {"draft": draft, "keyword": keyword, "verdicts": list(verdict)}

    results = {
        "a": [one("d1", "not", "right", "right"), one("d1", "not", "accepted"), one("d2", "ref", "right")],
        "b": [one("d1", "not", "compile", "compile"), one("d1", "not", "right"), one("d2", "ref", "failed")],
    }
    by_draft = verdicts.draft_table(results)
    assert "| d1 | 3 | 2 (66.7 %) · 1&nbsp;a | 1 (33.3 %) · 2&nbsp;c |" in by_draft
    assert "| d2 | 1 | 1 (100.0 %) | 0 (0.0 %) · 1&nbsp;f |" in by_draft
    by_keyword = verdicts.keyword_table({name: records[:2] for name, records in results.items()})
    assert "| `not` | 3 | 2 · 1&nbsp;a | 1 · 2&nbsp;c |" in by_keyword
    assert by_keyword.endswith("| **all** | 3 | 2 (66.7 %) · 1&nbsp;a | 1 (33.3 %) · 2&nbsp;c |")


def test_the_whole_program(small_suite: Path, repository: Path, tmp_path: Path) -> None:
    page, out = tmp_path / "page.md", tmp_path / "out"
    command = [sys.executable, str(repository / "benchmarks" / "keywords.py"), "--data", str(small_suite.parent)]
    options = ["--engines", "constrain", "--drafts", "draft2020-12,draft7", "--out", str(out), "--page", str(page)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text == done.stdout.removesuffix("\n")
    assert "| `not` | 3 | ✓ |" in text
    assert "| `ref` | 3 | 2 · 1&nbsp;c |" in text
    assert "| draft7 | 1 | 1 (100.0 %) |" in text
    assert "| draft2020-12/ref.json#1 | bad | 1 compile | SchemaError: " in text
    with gzip.open(out / "constrain.jsonl.gz", "rt") as file:
        records = [json.loads(line) for line in file]
    right = [["right"] * 2, ["right"], ["right"] * 2]
    assert [record["verdicts"] for record in records] == [*right, ["compile"], ["right"]]
    again = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert "already holds a run" in again.stderr


def test_wrong_drafts_are_one_message(repository: Path) -> None:
    script = str(repository / "benchmarks" / "keywords.py")
    done = subprocess.run([sys.executable, script, "--drafts", "draft3"], capture_output=True, text=True, check=False)
    assert done.stderr == "keywords: no draft draft3; there are draft2020-12, draft2019-09, draft7, draft6, draft4\n"
