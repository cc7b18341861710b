"""The scripts in examples/ that need no engine run with the reference model, and are short."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ENGINES = {
    "llama_cpp_json", "mlx_json", "onnx_json", "ray_serve", "ray_vllm", "sglang_offline",
    "vllm_offline", "vllm_weights",
}  # fmt: skip
"""Run by `make local-test`, `make serve-test` and tests of their own."""
SCRIPTS = (
    "call_tools", "draft_tokens", "extract_records", "mix_constraints", "own_decoding_loop", "query_a_database",
    "sample_faithfully", "score_options", "see_what_was_forced", "stream_fields", "think_then_answer", "write_python",
)  # fmt: skip
MOST = 60  # lines


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # pydantic looks annotations up there
    spec.loader.exec_module(module)
    return module


SLOW = {"call_tools", "query_a_database"}


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in SCRIPTS])
def test_a_script_runs_and_checks_its_answer(repository: Path, name: str) -> None:
    assert load(repository / "examples" / f"{name}.py").main()


def test_all_scripts_are_run_and_short(repository: Path) -> None:
    files = list((repository / "examples").glob("*.py"))
    assert {file.stem for file in files} == ENGINES | set(SCRIPTS)
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert text.count("\n") <= MOST or file.stem in ENGINES, file
        assert f"python examples/{file.name}" in text, file
