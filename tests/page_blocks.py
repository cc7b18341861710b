"""The Python of pages and of scripts, run as it stands."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from conftest import REPOSITORY


def blocks(page: str) -> list[str]:
    # A block with a title needs another library or model.
    return re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def ran(path: str, places: int | None = None) -> list[dict[str, Any]]:
    """Run a page; what its names are after each block. places: how many blocks there must be."""
    found = blocks(Path(REPOSITORY, path).read_text(encoding="utf-8"))
    assert found and len(found) == (places or len(found))
    names: dict[str, Any] = {}
    seen = []
    for block in found:
        exec(compile(block, path, "exec", dont_inherit=True), names)
        seen.append(dict(names))
    return seen


def module_at(path: Path, known: bool = False) -> ModuleType:
    """The module that a file is, anew. known: under its name among all modules, where pydantic looks annotations up."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if known:
        sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
