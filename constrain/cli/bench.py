"""`constrain bench`: benchmarks, run from the command line.

Their scripts lie in `benchmarks/` of a checkout, and inside of the installed package. They need other engines and
validators (the extra `[bench]`, but not for `--help`), and most need data. The options are handed over as they are.
Fuzzing asks oracles of `tests/`, so it runs in a checkout only.
"""

from __future__ import annotations

import subprocess
import sys
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


def maskbench(context: typer.Context) -> None:
    """Correctness and time of masks on MaskBench, beside other engines; --help shows the options."""
    _run("maskbench.py", context)


def keywords(context: typer.Context) -> None:
    """Test which keywords of JSON Schema engines obey, by the official suite; --help shows the options."""
    _run("keywords.py", context)


def jsonschemabench(context: typer.Context) -> None:
    """A model through engines: coverage, efficiency, quality; --help shows the options."""
    _run("jsonschemabench.py", context)


def quality(context: typer.Context) -> None:
    """A model's answers to questions with known answers: constrained, free, faithful; --help shows the options."""
    _run("quality.py", context)


def report(context: typer.Context) -> None:
    """One HTML page from records of maskbench and quality, engines side by side; --help shows the options."""
    _run("report.py", context)


def fuzz(context: typer.Context) -> None:
    """Draw schemas, patterns, grammars and calls until one breaks a rule (in a checkout); --help shows the options."""
    _run("fuzzing.py", context)


def _run(name: str, context: typer.Context) -> None:
    """Run a script of the checkout with the rest of the command line, and end as it ends."""
    if "--help" not in context.args:
        require("bench", f"constrain bench {name.removesuffix('.py')}")
    here = Path(__file__).resolve()
    folders = here.parent / "benchmarks", here.parents[2] / "benchmarks"
    script = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if script is None:
        raise ConstrainError(f"{name} needs a checkout: its oracles are among the tests", fix="git clone the project")
    done = subprocess.run([sys.executable, str(script), *context.args], check=False)
    raise typer.Exit(done.returncode)


for _benchmark in (maskbench, quality, report, keywords, jsonschemabench, fuzz):
    app.command(
        _benchmark.__name__,
        short_help=_benchmark.__doc__,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(reported(_benchmark))
