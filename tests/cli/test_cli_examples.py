"""Grammars on the command line: `test-grammar`, `--grammar` with a name, a folder or a file; sets of bytes in words."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from constrain.cli.app import app
from constrain.cli.constraints import SourceOptions
from constrain.masks.derived.refusal import character_start, named
from constrain.masks.engine.expected import describe
from reading_oracle import member


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


FILES = {
    "plain.lark": 'start: "a"',
    "plain.gbnf": 'root ::= "a"',
    "plain.ebnf": 'root ::= "a"\n  (= "b")',
    "unnamed": 'root ::= "a"',
    "imports.lark": "%import .letters.A\nstart: A",
    "letters.lark": 'A: "a"',
}


@pytest.mark.parametrize("name", [name for name in FILES if name != "letters.lark"])
def test_files(tmp_path, name):
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    made = SourceOptions(grammar=str(tmp_path / name)).constraint().to_grammar()
    assert [text for text in ("", "a", "b", "ab") if member(made, text)] == ["a"]


@pytest.mark.parametrize(
    "allowed, may_end, said",
    [
        ([], False, "nothing"),
        ([], True, "the end of the text"),
        (list(b"abcxyz0"), False, "`0`, `a`–`c`, `x`–`z`"),
        (list(b"ab"), True, "`a`, `b`, the end of the text"),
        (list(b"\t\n\r "), False, "tab, newline, carriage return, space"),
        (list(range(32)), False, "0x00–0x08, tab, newline, 0x0b, 0x0c, carriage return, 0x0e–0x1f"),
        (list(range(0x20, 0x7F)), False, "space, `!`–`_`, backquote, `a`–`~`"),
        ([*b"a", *range(0xC2, 0xF5)], False, "`a`, any character beyond ASCII"),
        ([0xC3], False, "some characters beyond ASCII"),
        (list(range(0x80, 0xC0)), False, "the rest of a character (bytes 0x80–0xbf)"),
        ([0x80, 0x9F, 0xA0], False, "the rest of a character (bytes 0x80, 0x9f–0xa0)"),
    ],
)
def test_describe(allowed: list[int], may_end: bool, said: str) -> None:
    assert describe(sorted(allowed), may_end) == said


@pytest.mark.parametrize(
    "data, index, start, name",
    [
        (b"abc", 1, 1, "'b'"),
        ("é".encode(), 1, 0, "'é'"),
        ("a🎈".encode(), 4, 1, "'🎈'"),
        (b"a\xff", 1, 1, "byte 0xff"),
        (b"a\x80", 1, 1, "byte 0x80"),
        (b"a", 1, 1, None),
    ],
)
def test_a_place_inside_a_character_is_its_start(data: bytes, index: int, start: int, name: str | None) -> None:
    assert character_start(data, index) == start
    if name is not None:
        assert named(data, start, index) == name
