"""The commands of pages run as they stand, and print what the page shows (those of docs/howto/command-line.md have a
test of their own, from an installed wheel)."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from constrain.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
COMMAND = re.compile(
    r"^    (\$ )?((?:echo '([^']*)' \| )?constrain ([^\n]*))\n((?:    (?! *\$|constrain)[^\n]*\n)*)", re.MULTILINE
)
FILES = {
    "broken.py": "def f(x):\n    return x +\n",
    "grammar.lark": 'start: "[" [NUMBER (", " NUMBER)*] "]"\nNUMBER: /[0-9]+/\n',
    "text": "[1, x]",
}
ENDS = {"generate": 0, "check": 1, "explain": 1, "lint": 0, "diagram": 0}  # exit codes
ELSEWHERE = {"docs/howto/command-line.md", "docs/howto/playground.md", "README.md"}  # tests/cli/test_readme_commands.py


class Line(NamedTuple):
    """A command of a page. stdin: what it reads; shown: what the page shows under it."""

    page: str
    command: str
    stdin: str
    shown: str


def lines() -> list[Line]:
    found = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.relative_to(ROOT).as_posix()
        if page not in ELSEWHERE and "/notes/" not in page:
            for prompt, _, stdin, command, shown in COMMAND.findall(path.read_text(encoding="utf-8")):
                found.append(Line(page, command, stdin, textwrap.dedent(shown) if prompt else ""))
    return found


def test_the_pages_with_commands() -> None:
    assert {line.page for line in lines()} == {"docs/start.md", "docs/howto/guided.md", "docs/tutorials/code.md"}
    assert [line.command.split()[0] for line in lines() if line.page == "docs/start.md"] == [
        "generate",
        "check",
        "explain",
    ]
    assert sum(bool(line.shown) for line in lines()) >= 2


@pytest.mark.parametrize("line", lines(), ids=lambda line: f"{Path(line.page).stem}-{line.command.split()[0]}")
def test_a_command_of_a_page(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / line.page).read_text(encoding="utf-8")
    titled = re.findall(r'^```json title="(\S+)"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    for name, text in [*FILES.items(), *titled]:
        (tmp_path / name).write_text(text, encoding="utf-8")
    arguments = shlex.split(line.command, comments=True)
    if arguments[0] == "diagram":
        pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
    done = CliRunner().invoke(app, arguments, input=line.stdin, env={"NO_COLOR": "1"})
    stated = "--text" in arguments or arguments[0] != "explain"  # without a text, `explain` has nothing to refuse
    assert done.exit_code == (ENDS[arguments[0]] if stated else 0), done.output
    if line.shown:
        assert done.stdout.rstrip() == line.shown.rstrip()
    if arguments[0] == "generate":  # of a schema with all keys required and no others
        assert set(json.loads(done.stdout)) == set(json.loads(dict(titled)["book.json"])["required"])
