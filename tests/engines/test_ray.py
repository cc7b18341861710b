"""The examples of Ray Data and Ray Serve run to their end: jsonschema checks answers, a faulty request is a 400."""

import json
import os
import runpy
import subprocess
import sys
from typing import Any

import pytest

from conftest import REPOSITORY

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` installs it")
pytest.importorskip("ray", reason="Ray is not installed: `make serve-test` installs it")

import jsonschema


def lines_of(name: str) -> tuple[str, list[Any]]:
    """An example's path, and the JSON lines that it prints. It has at most 60 lines, and ends with exit code 0."""
    script = REPOSITORY / "examples" / name
    assert script.read_text(encoding="utf-8").count("\n") <= 60
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = (line for line in done.stdout.splitlines() if line.startswith("{"))
    return str(script), [row for row in map(json.loads, lines) if "asctime" not in row]


def test_ray_data() -> None:
    script, rows = lines_of("ray_vllm.py")
    assert [row["id"] for row in rows] == list(range(8))
    schemas = runpy.run_path(script)["SCHEMAS"]
    for row in rows:
        jsonschema.validate(json.loads(row["text"]), schemas[row["id"] % len(schemas)])


def test_ray_serve() -> None:
    pytest.importorskip("fastapi", reason="Ray Serve is not installed: pip install 'ray[data,serve]'")
    script, (answered, refused) = lines_of("ray_serve.py")
    jsonschema.validate(answered["value"], runpy.run_path(script)["PERSON"])
    assert refused["status"] == 400
    assert "SchemaError: minimum is a number, not 'young'\n  at $.properties.age" in refused["refused"]
