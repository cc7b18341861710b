"""Real text that every Python installation holds: its own source files, help topics, docstrings, package descriptions.

Documents come with a name; `held_out(name)` puts one in twenty into the validation set, whatever else is installed.
"""

from __future__ import annotations

import ast
import inspect
import random
import sysconfig
import zlib
from collections.abc import Iterator
from pathlib import Path

STDLIB = Path(sysconfig.get_paths()["stdlib"])
PACKAGES = Path(sysconfig.get_paths()["purelib"])
SKIPPED = {
    "test",
    "tests",
    "idle_test",
    "site-packages",
    "lib2to3",
    "pydoc_data",
    "encodings",
    "__pycache__",
    "ensurepip",
}


def held_out(name: str) -> bool:
    return zlib.crc32(name.encode()) % 20 == 0


def python() -> Iterator[tuple[str, str]]:
    """(name, source) of the standard library's modules, without its tests and its tables of characters."""
    for path in sorted(STDLIB.rglob("*.py")):
        relative = path.relative_to(STDLIB)
        if SKIPPED.isdisjoint(relative.parts) and path.stat().st_size < 300_000:
            yield relative.as_posix(), path.read_text(encoding="utf-8", errors="ignore")


def english() -> Iterator[tuple[str, str]]:
    """(name, text): help topics, licences and descriptions of installed packages, docstrings joined by module."""
    from pydoc_data import topics

    for name in sorted(topics.topics):
        yield f"topic {name}", topics.topics[name]
    for path in sorted(PACKAGES.glob("*.dist-info/**/*")):
        if (
            path.is_file()
            and path.name.upper().startswith(("METADATA", "LICENSE", "README"))
            and path.stat().st_size < 60_000
        ):
            yield f"{path.parent.name} {path.name}", path.read_text(encoding="utf-8", errors="ignore")
    for name, source in python():
        strings = list(_docstrings(source))
        if strings:
            yield f"docstrings {name}", "\n\n".join(strings)


def _docstrings(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a few files of the library are templates
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node)
            if text and len(text) > 60:
                yield inspect.cleandoc(text)


def shuffled(documents: Iterator[tuple[str, str]], *, validation: bool, seed: int) -> list[str]:
    """The texts of one side of the split in a seeded order."""
    texts = [text for name, text in documents if held_out(name) == validation]
    random.Random(seed).shuffle(texts)
    return texts
