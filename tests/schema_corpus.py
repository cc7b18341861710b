"""Schemas with instances as the world writes them: 300 of ours, and MaskBench's where its data are.

Ours (`tests/data/schemas.jsonl`, written by `scripts/make_test_schemas.py`) are always there, so that a test of real
schemas runs in a fresh clone too. A test takes the parameter `corpus` and a sample of what it names.
"""

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import data_path

OURS = Path(__file__).parent / "data" / "schemas.jsonl"

corpora = pytest.mark.parametrize("corpus", ["ours", pytest.param("maskbench", marks=pytest.mark.slow)])


class Entry(NamedTuple):
    """One schema. tests: instances with their verdict, {"valid": bool, "data": …}."""

    name: str
    schema: Any
    tests: list[dict[str, Any]]


@functools.cache
def ours() -> list[Entry]:
    """The 300 schemas that come with the tests."""
    return [Entry(**json.loads(line)) for line in OURS.read_text(encoding="utf-8").splitlines()]


def sample(corpus: str, first: int = 0, step: int = 1) -> list[Entry]:
    """Every `step`-th schema of a corpus from `first` on; skips where MaskBench is asked for and absent."""
    if corpus == "ours":
        return ours()[first::step]
    return [read(path) for path in sorted(data_path("maskbench-dev").glob("*.json"))[first::step]]


def read(path: Path) -> Entry:
    """A file of MaskBench."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return Entry(path.stem, content["schema"], content["tests"])


def write_folder(folder: Path) -> Path:
    """Write ours into a folder of data as MaskBench lies there, for the programs of benchmarks/. Returns the folder."""
    files = folder / "maskbench-dev"
    files.mkdir(parents=True, exist_ok=True)
    for entry in ours():
        content = {"schema": entry.schema, "tests": entry.tests}
        (files / f"{entry.name}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return folder
