"""The commands for a GPU, run on the CPU: kernels by Triton's interpreter, a tiny model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = {"vocabulary", "nodes", "batch", "fused", "launched", "filtered", "traversal", "eager", "xgrammar", "mask"}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command, rows, columns",
    [
        ("kernels --sizes 70 --nodes 2 --batch 1 --repeat 1", 1, KERNELS),
        ("model --shape tiny --prompt 9 --tokens 6", 3, {"row", "forwards", "ms a forward", "tokens/s"}),
    ],
)
def test_the_commands(command: str, rows: int, columns: set[str], tmp_path: Path) -> None:
    pytest.importorskip("triton")
    script = ROOT / "benchmarks" / "speculation_gpu.py"
    done = subprocess.run(
        [sys.executable, str(script), *command.split(), "--out", str(tmp_path)],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    about, *records = map(json.loads, (tmp_path / f"{command.split()[0]}.jsonl").read_text().splitlines())
    assert about["device"]
    assert len(records) == rows
    assert all(columns <= record.keys() for record in records)
