"""Real schemas with the reference model: every output that ends is valid (see benchmarks/generate_schemas.py)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from jsonschema.validators import validator_for

import constrain
from constrain.errors import ConstrainError

SCHEMAS = 16


@pytest.mark.parametrize("whitespace", ["bounded", "compact"])
def test_finished_outputs_are_valid(maskbench_dir: Path, whitespace: str) -> None:
    files = sorted(maskbench_dir.glob("*.json"))
    random.Random(whitespace).shuffle(files)
    model = constrain.reference.load()
    finished = 0
    for path in [path for path in files if path.stat().st_size < 5000][:SCHEMAS]:
        schema = json.loads(path.read_text())["schema"]
        try:
            constraint = constrain.json_schema(schema, whitespace=whitespace)
            g = constrain.generate(model, "JSON: ", constraint=constraint, max_tokens=150, seed=1)
        except ConstrainError:
            continue  # what is refused is counted by the benchmark
        if g.finish_reason == "stop":
            finished += 1
            kind: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
            kind(schema, format_checker=kind.FORMAT_CHECKER).validate(json.loads(g.text))
        else:
            assert g.value is None, path.name
    assert finished >= SCHEMAS // 4
