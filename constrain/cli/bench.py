"""`constrain bench`: the benchmarks of the source checkout, run from the command line.

The benchmarks are not part of the installed package: they need data and other engines. This finds them beside the
package and hands over the options as they are.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from constrain.cli.console import UsageError


def maskbench(context: typer.Context) -> None:
    """Correctness and time of masks on MaskBench, beside other engines; --help shows the options."""
    _run("maskbench.py", context)


def keywords(context: typer.Context) -> None:
    """Which keywords of JSON Schema engines obey, by the official suite; --help shows the options."""
    _run("keywords.py", context)


def jsonschemabench(context: typer.Context) -> None:
    """A model through engines: coverage, efficiency, quality; --help shows the options."""
    _run("jsonschemabench.py", context)


def _run(name: str, context: typer.Context) -> None:
    """Run a script of the checkout with the rest of the command line, and end as it ends."""
    script = Path(__file__).resolve().parents[2] / "benchmarks" / name
    if not script.is_file():
        raise UsageError(f"{script}: no such file\n  fix: install a source checkout with pip install -e .")
    done = subprocess.run([sys.executable, str(script), *context.args], check=False)
    raise typer.Exit(done.returncode)
