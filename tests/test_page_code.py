"""All Python of the pages is run by a test, or stands in a table with the reason (data/page_code.toml).

What is not run still names only what exists: imports and attributes of `constrain` are looked up in its source, so that
no engine has to be installed for it.
"""

import ast
import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import constrain
from constrain.languages.schema.read import keywords_values
from constrain.languages.schema.read.keywords import KEYWORDS
from constrain.masks.derived.members import is_member
from page_blocks import ran
from tables import table

TABLE = table("page_code")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^|\n)\n((?: {4}.*\n|\n(?= {4}))+)")
OF_THE_SHELL = re.compile(r"^(pip|python|constrain|make) .*\n+", re.MULTILINE)


class Block(NamedTuple):
    """A block of Python. fenced: marked as Python and without a title, so a test runs it."""

    code: str
    fenced: bool


def blocks(page: str) -> list[Block]:
    """The Python of a page: marked as such, or indented text that Python can read and that calls or imports."""
    found = [
        Block(textwrap.dedent(code), not title.strip() and not indent)
        for indent, language, title, code in FENCE.findall(page)
        if language == "python"
    ]
    for text in INDENTED.findall(FENCE.sub("", page)):
        code = OF_THE_SHELL.sub("", textwrap.dedent(text)).strip()
        try:
            nodes = list(ast.walk(ast.parse(code)))
        except SyntaxError:
            continue
        if any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in nodes):
            found.append(Block(code, False))
    return found


def pages(repository: Path) -> dict[str, list[Block]]:
    paths = {path for pattern in PAGES for path in repository.glob(pattern)}
    texts = {path.relative_to(repository).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}
    return {name: found for name, text in texts.items() if (found := blocks(text))}


def row_of(page: str, code: str) -> dict[str, Any] | None:
    rows = [row for row in TABLE["not_run"] if page.startswith(row["page"]) and code.startswith(row["begins"])]
    return rows[0] if rows else None


def test_every_block_is_run_or_listed(repository: Path) -> None:
    used, missing = set(), []
    for page, found in pages(repository).items():
        for block in found:
            if block.fenced:
                names = [each for each in TABLE["run"] if page == each or (each[-1] == "/" and page.startswith(each))]
                missing += [f"{page}: no test runs\n{block.code}"] if not names else []
                used.update(names)
            elif row := row_of(page, block.code):
                used.add((row["page"], row["begins"]))
            else:
                missing.append(f"{page}: neither run nor listed\n{block.code}")
    assert not missing, "\n\n".join(missing)
    assert used == {*TABLE["run"], *((row["page"], row["begins"]) for row in TABLE["not_run"])}  # no row is left over


def test_the_tests_of_the_table_exist_and_read_their_pages(repository: Path) -> None:
    for page, test in TABLE["run"].items():
        if test:
            text = (repository / test).read_text(encoding="utf-8")
            stem = Path(page).stem if page.endswith(".md") else Path(page).name
            assert stem in text, (page, test)
    for row in TABLE["not_run"]:
        assert (repository / row["tested"]).is_file() and row["why"], row


def defined(repository: Path, module: str) -> set[str] | None:
    """The names of a module of the library, by its source; None: there is no such module. Modules in it count."""
    path = repository / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return None
    names = {each.stem for each in path.glob("*")} if path.is_dir() else set()
    stub = file.with_suffix(".pyi")  # where names are loaded when asked for, it imports them
    for node in ast.walk(ast.parse((stub if stub.is_file() else file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            names.add(node.value)  # of `__all__`, or of a table of what is loaded when asked for
    return names


def unknown(repository: Path, code: str) -> list[str]:
    """The names that some code imports from the library, or reads from `constrain`, and that do not exist."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "constrain":
            names = defined(repository, str(node.module))
            found += [f"{node.module}.{each.name}" for each in node.names if names is None or each.name not in names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "constrain":
            found += [] if node.attr in (defined(repository, "constrain") or ()) else [f"constrain.{node.attr}"]
    return found


def test_what_is_not_run_names_what_exists(repository: Path) -> None:
    seen = 0
    for page, found in pages(repository).items():
        for block in found:
            if not (block.fenced and TABLE["run"].get(page, "run")):
                assert not unknown(repository, block.code), page
                seen += 1
    assert seen > 15


@pytest.mark.parametrize(
    "code, gone",
    [
        ("from constrain.engines.mlx import MLXModel, Gone", ["constrain.engines.mlx.Gone"]),
        ("from constrain.nowhere import x", ["constrain.nowhere.x"]),
        ("constrain.generate(1)\nconstrain.gone(1)", ["constrain.gone"]),
    ],
)
def test_what_is_gone_is_found(repository: Path, code: str, gone: list[str]) -> None:
    assert unknown(repository, code) == gone


def test_the_blocks_that_are_found() -> None:
    page = "a\n\n```python\nx = 1\n```\n\n```python title='t'\ny()\n```\n\n    pip install it\n\n    z(1)\n\n    a b\n"
    assert blocks(page) == [Block("x = 1\n", True), Block("y()\n", False)]
    assert blocks("a\n\n    pip install it\n\n    z(1)\n\nb\n") == [Block("z(1)", False)]


def test_the_reference_model_page_runs() -> None:
    names = ran("docs/reference-model.md")[-1]
    assert names["reference"].path().is_dir() and names["ref"].draft is not names["ref"].model


def test_the_keyword_of_the_first_contribution(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONTRIBUTING.md: with the function that it shows, its row of the table of tests holds."""
    text = (repository / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = dict(vars(keywords_values))
    exec(next(block.code for block in blocks(text) if "startsWith" in block.code), names)
    monkeypatch.setitem(KEYWORDS, "x-startsWith", names["startsWith"])
    [row] = tomllib.loads(block_of(text, "[[case]]"))["case"]
    constraint = constrain.json_schema(row["schema"], spelling="any")
    assert row["valid"] and [member for member in row["valid"] if not is_member(constraint, member)] == []
    assert row["invalid"] and [member for member in row["invalid"] if is_member(constraint, member)] == []


def test_the_format_and_the_grammar_of_the_next(repository: Path) -> None:
    text = (repository / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(next(block.code for block in blocks(text) if "SEMVER" in block.code), names)
    table = tomllib.loads(block_of(text, "[semver]"))["semver"]
    semver, ini = constrain.regex(names["SEMVER"]), constrain.grammar(block_of(text, "start: (section"))
    assert table["valid"] and all(is_member(semver, member) for member in table["valid"])
    assert table["invalid"] and not any(is_member(semver, member) for member in table["invalid"])
    assert is_member(ini, "[a]\nb=1\nc=\n") and not is_member(ini, "[a\n")


def block_of(text: str, begin: str) -> str:
    """The fenced block that begins so."""
    codes = (textwrap.dedent(code) for _, _, _, code in FENCE.findall(text))
    return next(code for code in codes if code.startswith(begin))
