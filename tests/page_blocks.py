"""The Python of pages, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
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
