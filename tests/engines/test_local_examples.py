"""The examples of local engines run as they stand: values are members of their schema."""

import json
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from constrain import reference

LINES = 60  # of an example, at most


def model_of(kind: str, repository: Path, folder: Path) -> list[str]:
    """The arguments of an example: where the reference model is, written for its engine."""
    if kind == "llama_cpp":
        runpy.run_path(str(repository / "scripts" / "write_gguf.py"))["write_reference"](folder / "reference.gguf")
        return [str(folder / "reference.gguf")]
    if kind == "onnxruntime_genai":
        options = ["-i", str(reference.path()), "-o", str(folder), "-p", "fp32", "-e", "cpu"]
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder"]
        subprocess.run([*builder, *options], capture_output=True, check=True)
        return [str(folder)]
    return []


@pytest.mark.parametrize(
    "kind, name, loop",
    [
        ("mlx_lm", "mlx_json", "mlx-lm"),
        ("llama_cpp", "llama_cpp_json", "llama-cpp-python"),
        ("onnxruntime_genai", "onnx_json", "onnxruntime-genai"),
    ],
)
def test_an_example(kind: str, name: str, loop: str, repository: Path, tmp_path: Path) -> None:
    script = repository / "examples" / f"{name}.py"
    assert script.read_text(encoding="utf-8").count("\n") <= LINES
    if find_spec(kind) is None:
        pytest.skip(f"{kind} is not installed: make local-test installs it")
    command = [sys.executable, str(script), *model_of(kind, repository, tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines: list[Any] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [line["by"] for line in lines] == ["generate", "generate", loop]
    schema = runpy.run_path(str(script))["PERSON"]
    for line in lines:
        jsonschema.validate(line["value"], schema)
