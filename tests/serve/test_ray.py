"""The example of Ray Data runs: it checks each answer against its schema itself."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conftest import REPOSITORY

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` installs it")
pytest.importorskip("ray", reason="Ray is not installed: `make serve-test` installs it")


def test_the_example() -> None:
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "examples" / "ray_vllm.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [row["id"] for row in rows] == list(range(8))
