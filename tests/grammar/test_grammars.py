"""Every folder of `grammars/`: its texts are members or not, and every beginning of a member is viable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import constrain

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[2] / "grammars").glob("*/grammar.lark"))
BYTES = constrain.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_ids=[256])


@pytest.fixture(scope="module", params=["dynamic", "greedy"])
def lexer(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_texts(folder: Path, lexer: str) -> None:
    compiled = constrain.compile(constrain.grammar((folder / "grammar.lark").read_text(), lexer=lexer), BYTES)  # type: ignore[arg-type]
    accepted, rejected = sorted((folder / "accept").iterdir()), sorted((folder / "reject").iterdir())
    assert accepted
    assert rejected
    for path in accepted:
        matcher = compiled.matcher()
        for byte in path.read_bytes():
            assert matcher.advance_bytes(bytes([byte])), (path, matcher)
        assert matcher.is_accepting(), path
    for path in rejected:
        matcher = compiled.matcher()
        assert not (matcher.advance_bytes(path.read_bytes()) and matcher.is_accepting()), path


def test_json_agrees_with_python() -> None:
    folder = next(folder for folder in FOLDERS if folder.name == "json")
    for path in folder.glob("accept/*"):
        json.loads(path.read_text())
    for path in folder.glob("reject/*"):
        with pytest.raises(json.JSONDecodeError):
            json.loads(path.read_text())
