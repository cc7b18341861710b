"""The program behind `constrain`: its commands and what they share.

The idea: a command reads its options, asks the library, and prints. A result goes to standard output; a fault is one
message on standard error and an exit code, never a traceback (`console.py`). Whatever takes time to load (numba,
torch, transformers) is imported inside the commands, and a command's own module when it is asked for (`lazy.py`), so
that `constrain --help` answers at once.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer

from constrain.cli.console import EXIT_CODES, reported
from constrain.cli.lazy import CommandRow, LazyGroup

MODULES = {  # name: (module of constrain.cli, first line of help)
    "generate": ("generate", "Write text that obeys the constraint."),
    "check": ("check", "Say whether a text is a member; if not, where it fails and what could follow there."),
    "explain": ("explain", "Say why a token is refused: which byte has no continuation, and what is expected there."),
    "describe": ("describe", "Say in words what a schema, a type or choices ask for, for a prompt."),
    "test-grammar": ("examples", "Test a grammar on folders of members, and of texts that it must refuse."),
    "lint": ("lint", "Name what is doubtful in a grammar: unused rules, endless loops, shadowed terminals, ambiguity."),
    "diagram": ("diagram", "Draw the rules of a grammar as railroad diagrams."),
    "playground": ("playground", "Open a page on this machine: what may follow a text, and why not."),
    "warmup": ("warmup", "Compile all kernels into their cache (for images; once per version)."),
}
EXAMPLES = {  # what --help shows at its end
    "generate": (
        'constrain generate --schema person.json --prompt "A person: " --seed 1',
        'constrain generate --regex "[0-9]{4}" --json',
        "constrain generate --grammar sql --max-tokens 60 --complete",
    ),
    "check": ("constrain check --schema person.json answer.json", "echo '[1, 2' | constrain check --grammar json -"),
    "explain": (
        'constrain explain --regex "[a-z]+@[a-z]+" --prefix joe --text @@',
        "constrain explain --schema person.json --prefix '{\"name\"'",
    ),
    "describe": ("constrain describe --schema person.json", "constrain describe --choices yes,no --json"),
    "test-grammar": ("constrain test-grammar json", "constrain test-grammar my.lark --accept good --reject bad"),
    "lint": ("constrain lint my.lark", "constrain lint json --seconds 1 --json"),
    "diagram": ("constrain diagram my.lark -o my.html", "constrain diagram my.lark --rule start -o start.svg"),
    "playground": ("constrain playground", "constrain playground --vocab Qwen/Qwen3-0.6B --port 0"),
    "warmup": ("constrain warmup", "constrain warmup --json"),
    "bench": (
        "constrain bench maskbench --data DIR --limit 100 --out RUN",
        "constrain bench quality --model Qwen/Qwen3-0.6B --chat --out ANSWERS",
        "constrain bench report RUN --quality ANSWERS -o report.html",
        "constrain bench fuzz --minutes 10 --seed 1 --out FOUND",
    ),
}


def epilog_of(name: str) -> str:
    """The end of the help of a command: its examples, a line each, and the exit codes."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in EXAMPLES[name]), "", EXIT_CODES])


def _load(name: str) -> Any:
    """The command of a module, by the name of the command."""
    module, help_line = MODULES[name]
    single = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    command = reported(import_module(f"constrain.cli.{module}").command)
    single.command(name, short_help=help_line, epilog=epilog_of(name))(command)
    return typer.main.get_command(single)


def _load_bench() -> Any:
    from constrain.cli.bench import app

    group = typer.main.get_command(app)
    group.epilog = epilog_of("bench").removesuffix(EXIT_CODES)
    return group


class _Commands(LazyGroup):
    table: ClassVar = {
        **{name: CommandRow(line, partial(_load, name)) for name, (_, line) in MODULES.items()},
        "bench": CommandRow("Measure: right and wrong, time, models.", _load_bench),
    }


app = typer.Typer(
    name="constrain",
    cls=_Commands,
    help="Make a language model's output obey a JSON Schema, a regex or a grammar.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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
