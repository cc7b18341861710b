"""Prose about the code is true: files that it names exist, its terms are in the glossary."""

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
OTHERS = {  # files of CPython, lark, jsonschema and llguidance; what a benchmark writes
    "re/_compiler.py", "Tools/build/generate_re_casefix.py", "lark/load_grammar.py", "_legacy_keywords.py",
    "jsonschema.py", "docs/syntax.md", "docs/toktrie.md", "disagreements.jsonl", "years.jsonl", "records.jsonl",
    "people.jsonl", "broken.py", "stale.toml",
}  # fmt: skip


def endings(files: list[str]) -> set[str]:
    """Every way to name a file: its path without some folders at the beginning."""
    return {"/".join(file.split("/")[i:]) for file in files for i in range(file.count("/") + 1)}


@pytest.fixture(scope="module")
def files(repository: Path) -> list[str]:
    """The files that git knows or would add, as paths from the root; in an unpacked archive all files."""
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
    if not any(NAMED.search(f"#{line}") for line in re.findall("#(.*)", source)):
        return "\n".join(parts)  # PERF: comments are looked for where one may name a file
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return "\n".join(parts + [token.string for token in tokens if token.type == tokenize.COMMENT])


def missing(text: str, known: set[str]) -> list[str]:
    """The names that no path ends with."""
    names = dict.fromkeys(re.sub(r"^(\.\.?/)+", "", name) for name in NAMED.findall(text))
    return [name for name in names if name not in known and not ("*" in name and fnmatch_any(name, known))]


def fnmatch_any(pattern: str, names: set[str]) -> bool:
    return any(fnmatch(name, pattern) for name in names)


def test_files_that_prose_names_exist(repository: Path, files: list[str]) -> None:
    faults, named, known = [], 0, endings(files) | OTHERS
    for file in files:
        if any(fnmatch(file, pattern) for pattern in PROSE + CODE):
            text = (repository / file).read_text(encoding="utf-8")
            if not NAMED.search(text):
                continue
            text = prose_of(text) if file.endswith(".py") else text
            named += len(NAMED.findall(text))
            faults += [f"{file}: {name}" for name in missing(text, known)]
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
    assert missing(text, endings(["x/a/b.py", "c.md"])) == found


def test_folders_and_files_of_the_table_of_layers_exist(repository: Path) -> None:
    page = (repository / "docs" / "howto" / "debugging-masks.md").read_text("utf-8")
    rows = [row.split("|")[3:5] for row in page.splitlines() if row.startswith("| `")]
    named = [(root, path) for row in rows for root, cell in zip(("constrain", "tests"), row, strict=True)
             for path in re.findall(r"`([\w/]+(?:/|\.py))`", cell)]  # fmt: skip
    assert len(rows) > 10 and len(named) > 20
    assert not [f"{root}/{path}" for root, path in named if not (repository / root / path).exists()]


def long_lines(text: str) -> list[str]:
    """The lines of prose beyond 120 columns: not those of code, tables and pictures, nor one long word or command."""
    text = re.sub(r"^ *(`{3,}|~{3,}).*?^ *\1", "", text, flags=re.MULTILINE | re.DOTALL)
    kept = (line for line in text.splitlines() if len(line) > 120 and not re.match(r"    | *\||!\[", line))
    return [line for line in kept if " " in re.sub(r"`[^`]*`", "", line).strip()]


def test_prose_wraps(repository: Path, files: list[str]) -> None:
    prose = [*PROSE, "SECURITY.md", "CHANGELOG.md", "benchmarks/record/*/README.md"]
    pages = [file for file in files if any(fnmatch(file, pattern) for pattern in prose)]
    assert len(pages) > 80
    faults = [f"{page}: {line[:60]}…" for page in pages for line in long_lines((repository / page).read_text("utf-8"))]
    assert not faults, "\n".join(faults)


def test_each_promise_of_security_names_tests_that_exist(repository: Path) -> None:
    promised = (repository / "SECURITY.md").read_text("utf-8").split("## What is promised")[1].split("\n## ")[0]
    promises = promised.split("\n- ")[1:]
    assert len(promises) == 6
    for promise in promises:
        tests = re.findall(r"`(tests/[\w/]+\.py)`", promise)
        assert tests, promise
        assert not [test for test in tests if "\ndef test_" not in (repository / test).read_text("utf-8")]


def test_the_long_lines_that_are_found() -> None:
    words = "word " * 30
    text = f"{words}\n| {words}|\n    {words}\n```text\n{words}\n```\n![{words}](x)\n`{words}`\n* {words}\n"
    assert [line[:3] for line in long_lines(text)] == ["wor", "* w"]


# --- words ------------------------------------------------------------------------------------------------------------


def words_of_ours(text: str) -> set[str]:
    """The words that a page marks as terms, in italics or bold, and the names of classes that it shows as code."""
    text = re.sub(r"^```.*?^```|^    .*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    marked = re.findall(r"(?<![\w*])\*{1,2}([^*\s](?:[^*\n]*[^*\s])?)\*{1,2}(?![\w*])", text)
    classes = re.findall(r"`([A-Z][a-z]\w+)(?:\.\w+)*`", text)
    return {word.lower() for word in [*marked, *classes] if word != "None"}


def defined(glossary: str) -> set[str]:
    """The words of the glossary's left column, bold or code, each also alone where several share a row."""
    cells = re.findall(r"^\| (.*?) \|", glossary, re.MULTILINE)
    words = [word for cell in cells for word in re.findall(r"\*\*(.+?)\*\*|`(.+?)`", cell)]
    return {part.strip().lower() for pair in words for word in pair if word for part in (word, *word.split(","))}


def test_words_of_the_architecture_are_in_the_glossary(repository: Path) -> None:
    glossary = defined((repository / "docs" / "glossary.md").read_text(encoding="utf-8"))
    words = words_of_ours((repository / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert len(words) >= 6
    assert words <= glossary, f"docs/glossary.md lacks {sorted(words - glossary)}"


def test_the_words_that_are_found() -> None:
    text = "A *state* is a **lexer state**; `Matcher.fill_mask` and `a{0,9}`, 2 * 3 * 4, `DEAD`.\n\n    *code*\n"
    assert words_of_ours(text) == {"state", "lexer state", "matcher"}
    assert defined("| we say | x |\n|---|---|\n| **a, b**, `C` | d |\n") == {"a, b", "a", "b", "c"}
