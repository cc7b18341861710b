"""Help at 80 columns says all of it; the shell completes commands, options and values."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from constrain.cli.app import app

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
