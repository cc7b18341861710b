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
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
bench_app = typer.Typer(help="Measure: right and wrong, time, models.", no_args_is_help=True, rich_markup_mode=None)

for name, module in {
    "generate": generate,
    "check": check,
    "explain": explain,
    "test-grammar": examples,
    "lint": lint,
    "diagram": diagram,
    "warmup": warmup,
}.items():
    first = (module.command.__doc__ or "").split("\n")[0]  # click would cut it to 45 characters
    app.command(name, short_help=first, epilog=EXIT_CODES)(reported(module.command))
app.add_typer(bench_app, name="bench")
for benchmark in (bench.maskbench, bench.keywords, bench.jsonschemabench):
    bench_app.command(
        benchmark.__name__,
        short_help=benchmark.__doc__,
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
