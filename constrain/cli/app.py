"""The program behind `constrain`: its commands and what they share.

The idea: a command reads its options, asks the library, and prints. A result goes to standard output; a fault is one
message on standard error and an exit code, never a traceback (`console.py`). Whatever takes time to load (numba,
torch, transformers) is imported inside the commands, so that `constrain --help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from constrain.cli import bench, check, diagram, examples, explain, generate, lint, warmup
from constrain.cli.console import EXIT_CODES, reported

app = typer.Typer(
    name="constrain",
    help="Make a language model's output obey a JSON Schema, a regex or a grammar.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
bench_app = typer.Typer(help="Measure: right and wrong, time, models.", no_args_is_help=True, rich_markup_mode=None)

app.command("generate", epilog=EXIT_CODES)(reported(generate.command))
app.command("check", epilog=EXIT_CODES)(reported(check.command))
app.command("explain", epilog=EXIT_CODES)(reported(explain.command))
app.command("test-grammar", epilog=EXIT_CODES)(reported(examples.command))
app.command("lint", epilog=EXIT_CODES)(reported(lint.command))
app.command("diagram", epilog=EXIT_CODES)(reported(diagram.command))
app.command("warmup", epilog=EXIT_CODES)(reported(warmup.command))
app.add_typer(bench_app, name="bench")
for benchmark in (bench.maskbench, bench.keywords, bench.jsonschemabench):
    bench_app.command(
        benchmark.__name__,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(reported(benchmark))


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"constrain {version('constrain-lm')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Make a language model's output obey a JSON Schema, a regex or a grammar."""
