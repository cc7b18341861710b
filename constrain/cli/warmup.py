"""`constrain warmup`: compile the kernels, so that no request waits; and the bar that other commands show.

Where the kernels came as machine code with the package, nothing is compiled.
"""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from constrain.cli.console import say_json, terminal


def command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: seconds.")] = False,
) -> None:
    """Compile all kernels into their cache (for images; once per version)."""
    begin = time.perf_counter()
    load_kernels()
    seconds = time.perf_counter() - begin
    if as_json:
        say_json({"seconds": round(seconds, 3)})
    else:
        typer.echo(f"kernels are ready ({seconds:.1f} s)")


def load_kernels() -> None:
    """Make the kernels ready, with a bar on a terminal; elsewhere `kernels.load` itself says that it compiles."""
    from constrain import kernels
    from constrain.kernels import cuts, gaps  # noqa: F401  (declares their kernels)
    from constrain.languages.automata import store  # noqa: F401  (declares the kernels of masks)

    screen = terminal(sys.stderr)
    if screen is None or kernels.is_ready():
        kernels.load()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("compiling kernels, once"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("", total=None)
        kernels.load(lambda done, total: progress.update(task, completed=done, total=total))
