"""The examples (`>>>`) of all docstrings and the README's Python run as they stand."""

import doctest
import importlib
from pathlib import Path

import pytest

import constrain
from constrain.sampling.core.registry import Registry
from constrain.sampling.methods import table
from page_blocks import ran

ROOT = Path(constrain.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """An example registers a method, which no other test of the process should meet."""
    kept = Registry("method", dict(table.METHODS))
    monkeypatch.setattr(table, "METHODS", kept)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    failed, attempted = doctest.testmod(module)
    assert attempted and not failed


def test_the_examples_of_the_readme_run() -> None:
    names = ran("README.md", 4)[-1]
    g, schema, m = names["g"], names["schema"], names["m"]
    assert g.finish_reason in ("stop", "length")
    if g.finish_reason == "stop":
        assert set(g.value) == set(schema["properties"])
    assert abs(sum(names["outputs"].weights) - 1) < 1e-9
    assert not m.is_accepting()
