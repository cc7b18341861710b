"""`constrain test-grammar`, and `--grammar` with a name or a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from constrain.cli.app import app


def invoke(*args: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, list(args), input=stdin)


def test_a_name_of_the_collection() -> None:
    assert invoke("check", "--grammar", "json", "-", stdin="[1, 2]").exit_code == 0
    assert invoke("check", "--grammar", "json", "-", stdin="[1, 2").exit_code == 1
    result = invoke("test-grammar", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "as they should be" in result.stdout


def test_a_file_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("json").write_text('start: "no brackets"')
    assert invoke("check", "--grammar", "json", "-", stdin="[]").exit_code == 1
    assert invoke("check", "--grammar", "json", "-", stdin="no brackets").exit_code == 0


def folder(path: Path) -> Path:
    path.mkdir()
    (path / "grammar.lark").write_text('root: A "b"\nA: /a+b?/\n')
    (path / "settings.json").write_text('{"start": "root", "lexer": "dynamic"}')
    for name, lines in (("accept", "ab\nabb\n"), ("reject", "a\nabbb\n")):
        (path / name).mkdir()
        (path / name / "short.lines").write_text(lines)
    return path


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    own = folder(tmp_path / "own")
    result = invoke("test-grammar", str(own))
    assert (result.exit_code, result.stdout) == (0, "4 of 4 as they should be (2 to accept, 2 to refuse)\n")
    assert invoke("check", "--grammar", str(own), "-", stdin="ab").exit_code == 0
    assert invoke("check", "--grammar", str(own), "--lexer", "greedy", "-", stdin="ab").exit_code == 1


def test_failures_are_shown(tmp_path: Path) -> None:
    own = folder(tmp_path / "own")
    result = invoke("test-grammar", str(own / "grammar.lark"), "--start", "root", "--lexer", "greedy")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "accept/short.lines:1: refused as unfinished",
        "  not a member: the text ends too early",
        "    at line 1, column 3",
        "       ab",
        "         ^",
        "    expected: `b`",
        '    in the grammar: "b"',
        "    inside root",
        '      root: A • "b"',
        "3 of 4 as they should be (2 to accept, 2 to refuse)",
    ]
    result = invoke("test-grammar", str(own), "--reject", str(own / "accept"))
    assert result.exit_code == 1
    assert "accept/short.lines:2: accepted\n" in result.stdout
