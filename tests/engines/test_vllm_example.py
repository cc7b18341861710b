"""The examples run as they stand: texts are members, weighted shares those of the model."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")

import jsonschema


def lines_of(script: Path) -> list[Any]:
    """The JSON lines that an example prints."""
    assert script.read_text(encoding="utf-8").count("\n") <= 60
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_the_example(repository: Path) -> None:
    script = repository / "examples" / "vllm_offline.py"
    person, date, total, refused = lines_of(script)
    jsonschema.validate(json.loads(person["text"]), runpy.run_path(str(script))["PERSON"])
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", date["text"])
    assert re.fullmatch(r"[1-9]\d?(\+[1-9]\d?){1,3}", total["text"])
    assert refused["refused"].startswith("SchemaError: minimum") and "at $.properties.age" in refused["refused"]


def test_the_example_with_weights(repository: Path) -> None:
    """Masked decoding writes orange one time in eight; the model, given that it writes a colour, every second time."""
    lcd, smc = lines_of(repository / "examples" / "vllm_weights.py")
    assert lcd["method"] == "lcd" and smc["method"] == "smc"
    for shares in (lcd["weighted"], lcd["as drawn"], smc["weighted"]):
        assert sum(shares.values()) == pytest.approx(1)
    assert lcd["as drawn"]['orange"}'] < 0.3 < lcd["weighted"]['orange"}']
    assert smc["weighted"]['orange"}'] > 0.3
