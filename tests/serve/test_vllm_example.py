"""examples/vllm_offline.py runs as it stands, and its texts are members."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")

import jsonschema


def test_the_example(repository: Path) -> None:
    script = repository / "examples" / "vllm_offline.py"
    assert script.read_text(encoding="utf-8").count("\n") <= 60
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    person, date, total, refused = lines
    jsonschema.validate(json.loads(person["text"]), runpy.run_path(str(script))["PERSON"])
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", date["text"])
    assert re.fullmatch(r"[1-9]\d?(\+[1-9]\d?){1,3}", total["text"])
    assert refused["refused"].startswith("SchemaError: minimum") and "at $.properties.age" in refused["refused"]
