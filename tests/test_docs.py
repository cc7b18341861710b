"""What is written about the code holds: files that prose names exist, words that it leans on are in the glossary."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from fnmatch import fnmatch
from pathlib import Path

import pytest

NAMED = re.compile(r"(?<![\w./*<>{}$~-])([\w.*-]+(?:/[\w.*-]+)*\.(?:py|md|toml|tsv|jsonl))(?![\w/*-]|\.\w)")
"""A file: a path or a name, with `*` for any text, and an ending that only files of ours have."""
PROSE = ["README.md", "CONTRIBUTING.md", "docs/*.md", "tests/README.md", "benchmarks/README.md", "grammars/*.md"]
CODE = ["constrain/*.py", "tests/*.py", "scripts/*.py", "benchmarks/*.py"]
OTHERS = {  # files of other people, and examples of file names
    "pyproject.toml", "grammar.toml",
}  # fmt: skip


@pytest.fixture(scope="module")
def files(repository: Path) -> list[str]:
    """What git knows or would take, as paths from the root; in an unpacked archive all that lies there."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode == 0:
        return [name for name in listed.stdout.splitlines() if (repository / name).exists()]
    return [path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file()]


def prose_of(source: str) -> str:
    """The docstrings and comments of a module."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    parts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return "\n".join(parts + [token.string for token in tokens if token.type == tokenize.COMMENT])


def exists(name: str, where: str, files: list[str]) -> bool:
    """Whether a name means a file: a path from the root, or from a folder above, or the end of a path."""
    name = re.sub(r"^(\.\.?/)+", "", name)
    return name in OTHERS or any(fnmatch(file, name) or fnmatch(file, f"*/{name}") for file in files)


def missing(text: str, where: str, files: list[str]) -> list[str]:
    return [f"{where}: {name}" for name in dict.fromkeys(NAMED.findall(text)) if not exists(name, where, files)]


def test_files_that_prose_names_exist(repository: Path, files: list[str]) -> None:
    faults = []
    named = 0
    for file in files:
        if any(fnmatch(file, pattern) for pattern in PROSE + CODE):
            text = (repository / file).read_text(encoding="utf-8")
            text = prose_of(text) if file.endswith(".py") else text
            named += len(NAMED.findall(text))
            faults += missing(text, file, files)
    assert named > 300
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "text, found",
    [
        ("see `a/b.py` and c.md.", []),
        ("see `b.py` (../b.py), b*.py", []),
        ("`gone.py`, a/gone.md and `c/b.py`", ["gone.py", "a/gone.md", "c/b.py"]),
        ("https://example.org/x.md, <name>.toml, ~/y.py, $DIR/z.py", []),
    ],
)
def test_the_finder(text: str, found: list[str]) -> None:
    assert missing(text, "x", ["x/a/b.py", "c.md"]) == [f"x: {name}" for name in found]


# --- words ------------------------------------------------------------------------------------------------------------


def words_of_ours(text: str) -> set[str]:
    """The words that a page marks as terms, in italics or bold, and the names of classes that it shows as code."""
    text = re.sub(r"^```.*?^```|^    .*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    marked = re.findall(r"(?<![\w*])\*{1,2}([^*\n]+)\*{1,2}(?![\w*])", text)
    classes = re.findall(r"`([A-Z][a-z]\w+)(?:\.\w+)*`", text)
    return {word.strip().lower() for word in marked + classes}


def defined(glossary: str) -> set[str]:
    """The words of the glossary's left column, bold or code, each also alone where several share a row."""
    cells = re.findall(r"^\| (.*?) \|", glossary, re.MULTILINE)
    words = [word for cell in cells for word in re.findall(r"\*\*(.+?)\*\*|`(.+?)`", cell)]
    return {part.strip().lower() for pair in words for word in pair for part in (word, *word.split(","))}


def test_words_of_the_architecture_are_in_the_glossary(repository: Path) -> None:
    glossary = defined((repository / "docs" / "glossary.md").read_text(encoding="utf-8"))
    words = words_of_ours((repository / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert len(words) >= 6
    assert words <= glossary, f"docs/glossary.md lacks {sorted(words - glossary)}"


def test_the_words_that_are_found() -> None:
    text = "A *state* is a **lexer state**; `Matcher.fill_mask` and `a{0,9}`, 2 * 3 * 4, `DEAD`.\n\n    *code*\n"
    assert words_of_ours(text) == {"state", "lexer state", "matcher"}
    assert defined("| we say | x |\n|---|---|\n| **a, b**, `C` | d |\n") == {"a, b", "a", "b", "c"}
