"""The tutorials run as they stand, and show what their code prints (scripts/page_outputs.py)."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

PAGES = ("extraction", "tool-calls", "reasoning", "code", "sql", "faithful", "serving")
SLOW = {"extraction", "code", "sql", "faithful"}


@pytest.fixture(scope="module")
def outputs(repository: Path) -> ModuleType:
    path = repository / "scripts" / "page_outputs.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_pages_are_run_and_listed(repository: Path) -> None:
    pages = {page.stem for page in (repository / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert pages == set(PAGES)
    index = (repository / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\((\S+)\.md\)", index) == list(PAGES)


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in PAGES])
def test_a_page_shows_what_it_prints(
    repository: Path, outputs: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (repository / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    written, names = outputs.rewritten(page, f"docs/tutorials/{name}.md")
    assert written == page  # python scripts/page_outputs.py docs/tutorials/*.md writes the pages anew
    assert "constrain" in names


PAGE = "a\n\n```python\nx = 2\n```\n\n```python\nprint(x, 'a ')\n```\n\n{}b\n\n```python title=\"no\"\n1 / 0\n```\n"


@pytest.mark.parametrize("shown", ["", "```text\nold\n```\n\n", "```text\n2 a\n```\n\n"])
def test_the_writer(outputs: ModuleType, shown: str) -> None:
    new, names = outputs.rewritten(PAGE.format(shown), "page")
    assert "```text\n2 a\n```\n" in new and "old" not in new and names["x"] == 2
    assert outputs.rewritten(new, "page")[0] == new
