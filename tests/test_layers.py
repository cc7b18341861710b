"""The architecture is a list: a room of the package imports only rooms above it (docs/architecture.md).

The list is read from the document, the imports from the syntax trees of all modules, inside functions too. The
checker is tested on small packages made for it.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

import pytest

PACKAGE = "constrain"
MAX_CODE_LINES = 400  # of a file: docstrings, comments and empty lines do not count, so that they are never cut for it
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def read_rooms(architecture: str) -> list[str]:
    """The numbered list of "Rooms, in order", top first."""
    section = re.search(r"^## Rooms, in order$(.*?)^## ", architecture, re.M | re.S)
    assert section, "docs/architecture.md has no section 'Rooms, in order'"
    return re.findall(r"^\d+\. `(\w+)`", section[1], re.M)


def room_of(module: str) -> str:
    """`constrain.languages.schema.read.keywords` → `schema`; the package itself is a room too."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, root: Path) -> list[tuple[int, str]]:
    """(line, module) of every import of the package; `from constrain import x` is `constrain.x` if a module."""
    name = module_name(path, root)
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *base.split(".")]).rstrip(".")
            for alias in node.names:
                inner = root.joinpath(*base.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                found.append((node.lineno, f"{base}.{alias.name}" if is_module else base))
    return [(line, module) for line, module in found if module.split(".")[0] == PACKAGE]


def upward_imports(root: Path, rooms: list[str]) -> list[str]:
    """One line for each import that breaks the order, and for each module whose room is not listed."""
    rank = {room: i for i, room in enumerate(rooms)}
    faults = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        room = room_of(module_name(path, root))
        where = path.relative_to(root).as_posix()
        if room not in rank:
            faults.append(f"{where}: room {room} is not listed")
            continue
        if where == f"{PACKAGE}/__init__.py" and PACKAGE not in rank:
            continue
        for line, module in imports(path, root):
            other = room_of(module)
            if other not in rank:
                faults.append(f"{where}:{line}: imports {module}, whose room is not listed")
            elif rank[other] > rank[room]:
                faults.append(f"{where}:{line}: {room} may not import {other}, which is below it")
    return faults


def test_no_room_imports_a_room_below_it(repository: Path) -> None:
    rooms = read_rooms((repository / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert rooms[:4] == ["errors", "extras", "kernels", "limits"]
    faults = upward_imports(repository, rooms)
    assert not faults, "\n".join(faults)


def test_every_listed_room_exists(repository: Path) -> None:
    rooms = read_rooms((repository / "docs" / "architecture.md").read_text(encoding="utf-8"))
    present = {room_of(module_name(path, repository)) for path in (repository / PACKAGE).rglob("*.py")}
    assert set(rooms) == present
    assert len(rooms) == len(set(rooms))


def test_kernels_import_numpy_and_numba_only(repository: Path) -> None:
    allowed = sys.stdlib_module_names | {"numba", "numpy", "llvmlite"}  # llvmlite: the compiler under numba
    for path in sorted((repository / PACKAGE / "kernels").rglob("*.py")):
        outside = {module for _, module in imports(path, repository) if room_of(module) != "kernels"}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                outside |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                outside.add(node.module or "")
        inside = {module for module in outside if module.startswith(f"{PACKAGE}.kernels")}
        assert {module.split(".")[0] for module in outside - inside} <= allowed, path


def code_lines(text: str) -> int:
    """The number of lines with code of a module: with a token that is no comment and no docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                docstring = node.body[0]
                lines.difference_update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return len(lines)


@pytest.mark.parametrize(
    "text, lines",
    [
        ("", 0),
        ('"""Two\nlines."""\n\n# a comment\n', 0),
        ("x = 1  # a comment\n\n\ny = 2\n", 2),
        ('def f():\n    """What it does."""\n    return """a\nb\nc"""\n', 4),
        ('class C:\n    """One.\n\n    Two."""\n\n    x = (\n        1\n    )\n', 4),
        ('x = 1\n"""not a docstring"""\n', 2),
    ],
)
def test_lines_of_code_are_counted(text: str, lines: int) -> None:
    assert code_lines(text) == lines


def test_files_are_small_and_open_with_their_idea(repository: Path) -> None:
    for path in sorted((repository / PACKAGE).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text))
        assert docstring, f"{path} has no docstring"
        if "kernels" not in path.parts and "do not edit" not in docstring:  # tables written by a script may be long
            assert code_lines(text) <= MAX_CODE_LINES, f"{path} has more than {MAX_CODE_LINES} lines of code"


ROOMS = ["low", "middle", "high"]


@pytest.mark.parametrize(
    "files, faults",
    [
        ({"low.py": "", "high.py": "import constrain.low\n"}, []),
        ({"low.py": "import constrain.high\n", "high.py": ""}, ["constrain/low.py:1: low may not import high"]),
        ({"low.py": "from constrain import high\n", "high.py": ""}, ["constrain/low.py:1: low may not import high"]),
        ({"low.py": "from .high import x\n", "high.py": ""}, ["constrain/low.py:1: low may not import high"]),
        ({"low.py": "def f():\n    from . import high\n", "high.py": ""}, ["constrain/low.py:2: low may not import"]),
        ({"low/a.py": "from .b import x\n", "low/b.py": ""}, []),
        ({"low/a.py": "from ..high.c import x\n", "high/c.py": ""}, ["constrain/low/a.py:1: low may not import high"]),
        ({"low/__init__.py": "from ..high import c\n", "high/c.py": ""}, ["constrain/low/__init__.py:1: low may not"]),
        ({"middle/__init__.py": "from . import a\n", "middle/a.py": "import constrain.low.z\n", "low/z.py": ""}, []),
        ({"attic.py": ""}, ["constrain/attic.py: room attic is not listed"]),
        ({"low.py": "import json, numpy.linalg\n"}, []),
        ({"low.py": "from constrain.attic import x\n"}, ["constrain/low.py:1: imports constrain.attic"]),
    ],
)
def test_the_checker(tmp_path: Path, files: dict[str, str], faults: list[str]) -> None:
    for name, text in files.items():
        path = tmp_path / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = upward_imports(tmp_path, ROOMS)
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


def test_the_list_is_read_in_order() -> None:
    text = "# A\n## Rooms, in order\nwords\n1. `b` — x\n2. `a` — y\n## Next\n1. `c` — no\n"
    assert read_rooms(text) == ["b", "a"]
