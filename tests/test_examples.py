"""The examples (`>>>`) of all docstrings run as they stand."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import constrain
from constrain.sampling.core.registry import Registry
from constrain.sampling.methods import table

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
