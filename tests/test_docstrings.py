"""Examples in docstrings run, and scripts/check_docstrings.py finds what is missing."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
import check_docstrings

PUBLIC = {
    f"{value.__module__}.{value.__qualname__}": value
    for module in check_docstrings.MODULES
    for name in importlib.import_module(module).__all__
    if inspect.isclass(value := getattr(importlib.import_module(module), name)) or inspect.isroutine(value)
}


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if ">>>" in (value.__doc__ or "")])
def test_the_example_runs(name: str) -> None:
    (example,) = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name, globs={})
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=output.append)
    assert not output, "".join(output)


def test_docstrings_are_complete_but_for_the_list(repository: Path) -> None:
    script = repository / "scripts" / "check_docstrings.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def complete(number: int) -> int:
    """Add one.

    Args:
        number: any.

    Returns:
        The next.

    Raises:
        ValueError: it is negative.

    Example:
        >>> complete(1)
        2
    """
    if number < 0:
        raise ValueError(number)
    return number + 1


def without_anything(number: int) -> int:
    return number + 1


class Plain:
    """A class whose `__init__` is not described."""

    def __init__(self, number: int) -> None:
        if number < 0:
            raise ValueError(number)
        self.number = number


@pytest.mark.parametrize(
    "value, missing",
    [(complete, set()), (without_anything, {"summary"}), (Plain, {"Args", "Raises", "Example"})],
)
def test_what_is_missing(value: Any, missing: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(check_docstrings.lacking(value)) == missing


FOUND = ["constrain/room.py: f: a question", "constrain/room.py: g: see above"]


def test_questions_and_references_back_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "constrain").mkdir()
    (tmp_path / "constrain" / "room.py").write_text(
        '"""A room."""\ndef f():\n    """Is it?"""\ndef g():\n    """See above."""\n', encoding="utf-8"
    )
    monkeypatch.setattr(check_docstrings, "ROOT", tmp_path)
    assert list(check_docstrings.bad_phrases()) == [
        "constrain/room.py: f: a question",
        "constrain/room.py: g: see above",
    ]
