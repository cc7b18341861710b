"""`constrain bench`: benchmarks, run from the command line.

Their scripts lie in `benchmarks/` of a checkout, and inside of the installed package. They need other engines and
validators (the extra `[bench]`, but not for `--help`), and most need data. The options are handed over as they are.
Fuzzing asks oracles of `tests/`, and tasks have data of their own, so these run in a checkout only.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from constrain.cli.console import reported
from constrain.errors import ConstrainError
from constrain.extras import require

app = typer.Typer(
    name="bench",
    help="Measure: right and wrong, time, models.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


BENCHMARKS = {
    "maskbench": "Correctness and time of masks on MaskBench, beside other engines",
    "quality": "A model's answers to questions with known answers: constrained, free, faithful",
    "report": "One HTML page from records of maskbench and quality, engines side by side",
    "keywords": "Test which keywords of JSON Schema engines obey, by the official suite",
    "exactness": "Tokens that engines allow or refuse in error, each with a proof",
    "jsonschemabench": "A model through engines: coverage, efficiency, quality",
    "tasks": "What a real model answers, by each way to constrain it, beside other engines (in a checkout)",
    "fuzz": "Draw schemas, patterns, grammars and calls until one breaks a rule (in a checkout)",
}

SCRIPTS = {"fuzz": "fuzzing", "tasks": "run_tasks"}  # where they are not named like the command


def _run(name: str, context: typer.Context) -> None:
    """Run a script of the checkout with the rest of the command line, and end as it ends."""
    if "--help" not in context.args:
        require("bench", f"constrain bench {name.removesuffix('.py')}")
    here = Path(__file__).resolve()
    folders = here.parent / "benchmarks", here.parents[2] / "benchmarks"
    script = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if script is None:
        raise ConstrainError(f"{name} runs in a checkout only", fix="git clone the project")
    done = subprocess.run([sys.executable, str(script), *context.args], check=False)
    raise typer.Exit(done.returncode)


def _command(name: str) -> Callable[[typer.Context], None]:
    script = f"{SCRIPTS.get(name, name)}.py"

    def command(context: typer.Context) -> None:
        _run(script, context)

    return command


for _name, _line in BENCHMARKS.items():
    app.command(
        _name,
        short_help=f"{_line}; --help shows the options.",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(reported(_command(_name)))
