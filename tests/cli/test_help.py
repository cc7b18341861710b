"""Help at 80 columns says all of it; the shell completes commands, options and values."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from constrain.cli.app import EXAMPLES, app

CONSTRAIN = str(Path(sys.executable).with_name("constrain"))
GROUP: Any = typer.main.get_command(app)


@pytest.mark.parametrize("name", ["", *sorted(GROUP.commands.keys() - {"bench"})])
def test_nothing_is_cut(name: str) -> None:
    result = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "80"})
    words = " ".join(result.output.split())
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    assert "..." not in words.replace("[ARGS]...", "")
    if not name:
        for each, command in GROUP.commands.items():
            first = (command.short_help or command.help).split("\n")[0]
            assert f"{each} {first}" in words
            assert command.help.startswith(first)
    for parameter in GROUP.commands[name].params if name else GROUP.params:
        if getattr(parameter, "help", None):
            assert " ".join(parameter.help.split()) in words


@pytest.mark.parametrize(
    "name", ["maskbench", "quality", "report", "keywords", "jsonschemabench", "exactness", "tasks", "fuzz"]
)
def test_help_of_benchmarks_needs_no_extra(name: str, tmp_path: Path) -> None:
    missing = "import sys\nfor name in ('jsonschema', 'xgrammar'): sys.modules[name] = None\n"
    (tmp_path / "sitecustomize.py").write_text(missing)
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    code = f"import sys; sys.argv = ['constrain', 'bench', {name!r}, '--help']; from constrain.cli import main; main()"
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0 and done.stdout.startswith("usage:"), done.stderr


@pytest.mark.parametrize(
    "line, suggestions",
    [
        ("constrain che", {"check"}),
        ("constrain check --property", {"--property-order"}),
        ("constrain check --property-order s", {"schema"}),
        ("constrain check --grammar jso", {"json"}),
        ("constrain generate --method ca", {"cars"}),
    ],
)
def test_completion(line: str, suggestions: set[str]) -> None:
    environment = {"_CONSTRAIN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run([CONSTRAIN], env=os.environ | environment, capture_output=True, text=True, check=False)
    assert suggestions <= set(done.stdout.split()), done.stderr


def test_version() -> None:
    from importlib.metadata import version

    assert CliRunner().invoke(app, ["--version"]).stdout == f"constrain {version('constrain-lm')}\n"


def test_methods_are_all_named() -> None:
    from constrain.cli.generate import METHODS
    from constrain.sampling.methods.table import METHODS as table

    assert set(METHODS) <= set(table)


FILES = {
    "person.json": '{"type": "object", "properties": {"name": {"enum": ["Zoe", "Ada"]}}, "required": ["name"]}',
    "answer.json": '{"name": "Zoe"}',
    "my.lark": 'start: "a" "b"?\n',
    "good/1.txt": "ab",
    "bad/1.txt": "b",
}
LINES = [(name, line) for name, lines in EXAMPLES.items() for line in lines]


def test_fuzzing_runs_in_a_checkout() -> None:
    done = subprocess.run([CONSTRAIN, "bench", "fuzz", "--list"], capture_output=True, text=True, check=False)
    assert "walks" in done.stdout.split(), done.stderr


def test_every_command_has_examples_and_json() -> None:
    assert set(EXAMPLES) == set(GROUP.commands)
    for name, lines in EXAMPLES.items():
        shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "80"}).output
        assert all(f"  {line}\n" in shown for line in lines), shown
        if name not in ("bench", "playground"):  # a folder of records, and a page
            assert "--json" in shown


@pytest.mark.parametrize("name, line", LINES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(LINES)])
def test_an_example_runs(name: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in FILES.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    said, piped, command = line.partition(" | ") if line.startswith("echo") else ("", "", line)
    words = shlex.split(command)[1:]
    if name == "bench":
        assert words[1] in GROUP.commands["bench"].commands
    elif name == "playground":  # it does not end: its options are read
        assert GROUP.commands[name].make_context(name, words[1:]).params
    elif name == "warmup":
        monkeypatch.setattr("constrain.cli.warmup.load_kernels", lambda: None)
        assert CliRunner().invoke(app, words).exit_code == 0
    else:
        if name == "diagram":
            pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
        done = CliRunner().invoke(app, words, input=shlex.split(said)[1] if piped else None)
        assert done.exit_code == int(bool(piped) or "--text" in words), done.output
        if "--json" in words:
            json.loads(done.stdout)


@pytest.mark.parametrize("more, rules", [([], ["start", "b"]), (["--rule", "b"], ["b"]), (["-o", "x.svg"], ["start"])])
def test_diagram_says_what_it_drew(more: list[str], rules: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.lark").write_text('start: b b\nb: "x"\n')
    done = json.loads(CliRunner().invoke(app, ["diagram", "my.lark", "--json", *more]).stdout)
    assert done["rules"] == rules and (tmp_path / done["out"]).stat().st_size > 100
