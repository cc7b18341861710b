"""`constrain warmup`: compile all numba kernels into their cache, so that the first request does not wait."""

from __future__ import annotations

import time

import typer


def command() -> None:
    """Compile all kernels into their cache (for images; once per version)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from constrain import kernels
    from constrain.automata import store  # noqa: F401  (declares every kernel)

    begin = time.perf_counter()
    columns = (TextColumn("compiling kernels"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        kernels.load(lambda done, total: progress.update(task, completed=done, total=total))
    typer.echo(f"kernels are ready ({time.perf_counter() - begin:.1f} s)")
