"""`constrain warmup`: compile the kernels and read tokenizers, so that no request waits; and the bar of other commands.

Where the kernels came as machine code with the package, nothing is compiled. What is computed of a tokenizer lies in
the disk cache afterwards (languages/vocab/disk_cache.py).
"""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from constrain.cli.console import say_json, terminal


def command(
    tokenizers: Annotated[
        list[str] | None,
        typer.Option("--tokenizer", help="Also read this model's tokenizer, by name, folder or file. Repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: seconds.")] = False,
) -> None:
    """Compile all kernels into their cache (for images; once per version)."""
    begin = time.perf_counter()
    load_kernels()
    for name in tokenizers or []:
        read_tokenizer(name)
    seconds = time.perf_counter() - begin
    if as_json:
        say_json({"seconds": round(seconds, 3)})
    else:
        typer.echo(" and ".join(["kernels", *(tokenizers or [])]) + f" are ready ({seconds:.1f} s)")


def read_tokenizer(name: str) -> None:
    """Compute all that a vocabulary needs, so that it lies in the disk cache."""
    from constrain.cli.vocabularies import named
    from constrain.languages.cuts import canonical_tokens

    vocabulary = named(name)
    assert len(vocabulary.trie) > 0
    canonical_tokens(None, vocabulary)


def load_kernels() -> None:
    """Make the kernels ready, with a bar on a terminal; elsewhere `kernels.load` itself says that it compiles."""
    from constrain import kernels

    kernels.declare_all()
    screen = terminal(sys.stderr)
    if screen is None or kernels.is_ready():
        kernels.load()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("compiling kernels, once"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("", total=None)
        kernels.load(lambda done, total: progress.update(task, completed=done, total=total))
