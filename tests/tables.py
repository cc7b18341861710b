"""Tables of tests/data: a row is a case."""

import tomllib
from typing import Any

from conftest import REPOSITORY


def table(name: str) -> Any:
    """The content of a file of tests/data."""
    return tomllib.loads((REPOSITORY / "tests" / "data" / f"{name}.toml").read_text(encoding="utf-8"))


def filled(rows: Any, **texts: str) -> Any:
    """The rows, where a text of each name stands in place of {name}."""
    if isinstance(rows, list):
        return [filled(row, **texts) for row in rows]
    for name, text in texts.items():
        rows = rows.replace(f"{{{name}}}", text)
    return rows
