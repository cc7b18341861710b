"""The explanation pages run and show what they print; their pictures equal the output of their script."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_pages_run(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = load(repository / "scripts" / "page_outputs.py")
    monkeypatch.chdir(tmp_path)
    pages = sorted((repository / "docs" / "explanation").glob("*.md"))
    assert [page.stem for page in pages] == ["bending", "masks", "other-programs"]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        written, _ = outputs.rewritten(text, page.name)
        assert written == text, page


def test_pictures_are_drawn_from_the_code(repository: Path) -> None:
    drawn = load(repository / "scripts" / "draw_explanations.py").pictures()
    for name, text in drawn.items():
        ElementTree.fromstring(text)
        assert (repository / "docs" / "pictures" / name).read_text(encoding="utf-8") == text, name
        used = [p for p in (repository / "docs" / "explanation").glob("*.md") if f"pictures/{name}" in p.read_text()]
        assert used, name


def test_the_toy_model_is_bent_and_mended(repository: Path) -> None:
    """By exhaustive sums: the weights turn the masked law into the conditioned one."""
    wanted, masked, weighted = load(repository / "scripts" / "draw_explanations.py").laws().values()
    for law in (wanted, masked, weighted):
        assert sum(law.values()) == pytest.approx(1)
    assert weighted == pytest.approx(wanted) and masked != pytest.approx(wanted)
