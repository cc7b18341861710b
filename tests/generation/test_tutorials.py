"""The tutorials run as they stand, and show what their code prints (scripts/page_outputs.py).

What the constraint forces is compared letter by letter. What the model chooses is compared by its form, which
data/page_shapes.toml has, and by `CHECKS`: another CPU rounds otherwise, and then another token may be drawn.
"""

import copy
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import constrain
from constrain.masks.derived.members import is_member
from page_blocks import module_at
from tables import table

PAGES = ("extraction", "tool-calls", "reasoning", "code", "sql", "faithful", "serving")
SLOW = {"extraction", "code", "sql", "faithful"}
EACH = [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in PAGES]
ROWS = table("page_shapes")["shape"]
SHAPES = {(row["page"], row["block"]): row["shape"] for row in ROWS}


def laws_agree(names: dict[str, Any]) -> bool:
    """The weighted shares and the faithful ones differ by less than five standard errors of their difference."""
    weighted, faithful = (
        {bar.label: bar for bar in names[name].plot(key=lambda output: output.text.removesuffix('"}')).panels[0].bars}
        for name in ("outputs", "faithful")
    )
    return all(
        abs(bar.share - weighted[label].share) < 5 * math.hypot(bar.error, weighted[label].error)
        for label, bar in faithful.items()
    )


CHECKS: dict[str, Callable[[dict[str, Any]], bool]] = {  # what holds of a page's names, whatever the model chose
    "extraction": lambda names: all(type(answer.value) is names["Person"] for answer in names["answers"]),
    "tool-calls": lambda names: names["call"].name in names["functions"],
    "reasoning": lambda names: all(names["turn"].parse(output.text) for output in names["outputs"]),
    "code": lambda names: is_member(names["robot"], names["output"].text),
    "sql": lambda names: len(names["statements"]) == 4,
    "faithful": laws_agree,
    "serving": lambda names: set(names["answers"]) == set(names["requests"]),
}


@pytest.fixture(scope="module")
def outputs(repository: Path) -> ModuleType:
    return module_at(repository / "scripts" / "page_outputs.py")


def test_all_pages_are_run_and_listed(repository: Path) -> None:
    pages = {page.stem for page in (repository / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert pages == set(PAGES) == set(CHECKS)
    assert {page for page, _ in SHAPES} == pages and len(SHAPES) == len(ROWS)
    index = (repository / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\((\S+)\.md\)", index) == list(PAGES)


def faults(page: str, blocks: list[Any]) -> list[str]:
    """The wrong outputs of a page: each equals the shown one, or both have the form of the table."""
    found = []
    for number, (shown, printed) in enumerate(blocks, 1):
        shape = SHAPES.get((page, number))
        if shape is None:
            right = shown == printed  # python scripts/page_outputs.py docs/tutorials/*.md writes the pages anew
        else:
            right = bool(re.fullmatch(shape, shown) and re.fullmatch(shape, printed))
        if not right:
            found.append(f"{page}, block {number} shows\n{shown}\nand prints\n{printed}")
    return found


def run(repository: Path, outputs: ModuleType, name: str) -> None:
    text = (repository / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    _, names, blocks = outputs.ran(text, f"docs/tutorials/{name}.md")
    assert {block for page, block in SHAPES if page == name} <= set(range(1, len(blocks) + 1))
    assert not faults(name, blocks), "\n\n".join(faults(name, blocks))
    assert "constrain" in names and CHECKS[name](names)


@pytest.mark.parametrize("name", EACH)
def test_a_page_shows_what_it_prints(
    repository: Path, outputs: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(repository, outputs, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_holds_where_numbers_round_otherwise(
    repository: Path, outputs: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far more noise than another CPU makes: weights off by 2 %, so that most texts come out otherwise."""
    loaded = constrain.reference.load()
    noisy = copy.deepcopy(loaded)
    torch.manual_seed(5)
    with torch.no_grad():
        for weight in noisy.model.parameters():
            weight.mul_(1 + 0.02 * torch.randn_like(weight))
    monkeypatch.setattr(constrain.reference, "load", lambda: noisy)
    monkeypatch.chdir(tmp_path)
    run(repository, outputs, name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['page']}-{row['block']}")
def test_a_form_refuses(row: dict[str, Any]) -> None:
    for text in ("", row["refuses"]):
        assert not re.fullmatch(row["shape"], text), text


def test_what_differs_is_a_fault() -> None:
    assert faults("code", [("a", "a"), ("x = 1", "y = 2"), ("Module stop", "Module length")]) == [
        "code, block 3 shows\nModule stop\nand prints\nModule length"
    ]
    assert len(faults("serving", [("", "")] * 2 + [("colour: blue\ndate: 2022-01-12\nflag: true", "")])) == 1


PAGE = "a\n\n```python\nx = 2\n```\n\n```python\nprint(x, 'a ')\n```\n\n{}b\n\n```python title=\"no\"\n1 / 0\n```\n"


@pytest.mark.parametrize("shown", ["", "```text\nold\n```\n\n", "```text\n2 a\n```\n\n"])
def test_the_writer(outputs: ModuleType, shown: str) -> None:
    new, names = outputs.rewritten(PAGE.format(shown), "page")
    assert "```text\n2 a\n```\n" in new and "old" not in new and names["x"] == 2
    assert outputs.rewritten(new, "page")[0] == new
