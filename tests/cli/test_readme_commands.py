"""Every command of the README runs as it stands, in a folder with the files that it names."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import vocabularies

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = README.split("## Command line\n")[1].split("\n## ")[0]
LINES = re.findall(r"^    (constrain .*)$", SECTION.split("`--schema`")[0], re.MULTILINE)
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
BENCHMARK = {"schema": PERSON, "tests": [{"data": {"name": "Zoë", "age": 1}, "valid": True}]}
FILES = {
    "person.json": json.dumps(PERSON),
    "answer.json": '{"name": "Zoë", "age": 40}\n',
    "my.lark": 'start: "[" [NAME ("," NAME)*] "]"\nNAME: /[a-z]+/\n',
    "DIR/person.json": json.dumps(BENCHMARK),
}
ENDS = {  # exit code, and what standard output has
    "generate": (0, ""),
    "check": (0, "member\n"),
    "explain": (1, "refused: '@@' after 'joe'"),
    "lint": (0, "nothing is doubtful\n"),
    "diagram": (0, ""),
    "test-grammar": (0, "as they should be"),
    "warmup": (0, "kernels are ready"),
    "bench": (0, "constrain"),
}


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, *args = shlex.split(line, comments=True)
    command = [str(Path(sys.executable).with_name(program)), *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_all_commands_are_in_the_readme() -> None:
    assert [shlex.split(line)[1] for line in LINES] == list(ENDS)


@pytest.mark.parametrize("line", LINES, ids=lambda line: shlex.split(line)[1])
def test_a_line_of_the_readme(line: str, tmp_path: Path) -> None:
    name = shlex.split(line)[1]
    if name == "diagram":
        pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
    if name == "bench":
        pytest.importorskip("llguidance", reason="the package llguidance is not installed")
        vocabularies.llama3_model()
    for file, text in FILES.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    done = run(line, tmp_path)
    code, said = ENDS[name]
    assert "Traceback" not in done.stderr
    if name == "generate" and done.returncode == 3:  # a random text may reach its length
        assert "did not finish" in done.stderr
        return
    assert (done.returncode, said in done.stdout) == (code, True), (done.stdout, done.stderr)
    if name == "generate":
        assert set(json.loads(done.stdout)) == {"name", "age"}
    if name == "diagram":
        assert "<svg" in (tmp_path / "my.html").read_text(encoding="utf-8")


def test_the_fault_that_the_readme_shows(tmp_path: Path) -> None:
    line, message = SECTION.split("\n    $ ")[1].split("\n", 1)
    done = run(line, tmp_path)
    assert (done.returncode, done.stderr.rstrip()) == (2, re.sub("^    ", "", message, flags=re.MULTILINE).rstrip())
