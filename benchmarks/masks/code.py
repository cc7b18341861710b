"""The code that was measured: a digest of each module of the package that was loaded.

Comments, docstrings and blank lines are left out, so that prose may change. A record keeps the digests as {folder:
{file: digest}}; `changed` says which of its files are other ones today.
"""

from __future__ import annotations

import ast
import hashlib
import io
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "constrain"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Code = dict[str, dict[str, str]]


def digest(source: str) -> str:
    """Twelve hexadecimal digits of a module's source."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            told = node.body[0]
            if not lines[told.lineno - 1][: told.col_offset].strip():
                lines[told.lineno - 1 : told.end_lineno] = [""] * ((told.end_lineno or 0) - told.lineno + 1)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column]
    text = "\n".join(line.rstrip() for line in lines if line.strip())
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def of_files(paths: list[str]) -> Code:
    """The digests of files of this checkout, named from its root."""
    found: Code = {}
    for name in sorted(paths):
        folder, _, file = name.rpartition("/")
        found.setdefault(folder, {})[file] = digest((ROOT / name).read_text(encoding="utf-8"))
    return found


def loaded() -> Code:
    """The digests of the modules of the package that this process has loaded."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    inside = {Path(file).resolve() for file in files if file and file.endswith(".py")}
    return of_files([f.relative_to(ROOT).as_posix() for f in inside if f.is_relative_to(ROOT / PACKAGE)])


def merged(codes: list[Code]) -> Code:
    """All files of several processes."""
    every: Code = {}
    for code in codes:
        for folder, files in code.items():
            every.setdefault(folder, {}).update(files)
    return {folder: dict(sorted(every[folder].items())) for folder in sorted(every)}


def changed(recorded: Code) -> list[str]:
    """The files of a record that are other ones in this checkout, or gone."""
    flat = {f"{folder}/{file}": found for folder, files in recorded.items() for file, found in files.items()}
    there = [name for name in flat if (ROOT / name).is_file()]
    now = {name: digest((ROOT / name).read_text(encoding="utf-8")) for name in there}
    return [name for name, found in flat.items() if now.get(name) != found]
