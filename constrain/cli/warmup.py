"""`constrain warmup`: compile all numba kernels into their cache, so that the first request does not wait.

Kernels are compiled when they are first called, for the types that they are called with, and kept on disk. So warming
up is using them: each stage below runs a small constraint through the public interface.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import typer

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]", "maxLength": 9},
        "size": {"type": "number", "minimum": 0, "maximum": 9.5},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 2},
    },
    "required": ["name"],
}
TEXT = b'{"name": "ab", "size": 1.5, "tags": ["red"]}'
GRAMMAR = 'start: (WORD | NUMBER)+\nWORD: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore " "'


def command() -> None:
    """Compile all kernels into their cache (for images; once per version)."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    begin = time.perf_counter()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for name, stage in stages():
            task = progress.add_task(name, total=1)
            stage()
            progress.update(task, completed=1)
    typer.echo(f"kernels are ready ({time.perf_counter() - begin:.1f} s)")


def stages() -> Iterator[tuple[str, Callable[[], Any]]]:
    """(what is compiled, how to make it so), in the order of the rooms."""
    import constrain

    yield "modules", lambda: (constrain.Vocabulary, constrain.compile)
    yield "JSON Schema", lambda: use(constrain.json_schema(SCHEMA), TEXT)
    yield "regex", lambda: use(constrain.regex(r"\d{2,4}-[a-z]+") & constrain.regex(r".*z"), b"123-xyz")
    yield "grammar, dynamic lexer", lambda: use(constrain.grammar(GRAMMAR), b"ab 12 c")
    yield "grammar, greedy lexer", lambda: use(constrain.grammar(GRAMMAR, lexer="greedy"), b"ab 12 c")


def use(source: Any, text: bytes) -> None:
    """Every verb of a matcher once, over bytes: masks, batches, advance, fork, rollback, forced bytes."""
    import numpy as np

    import constrain
    from constrain.cli.expected import byte_vocabulary

    vocabulary = byte_vocabulary()
    matcher = constrain.compile(source, vocabulary).matcher()
    row = np.zeros(9, dtype=np.uint32)
    for byte in text:
        matcher.fill_mask(row)
        matcher.allows(byte)
        matcher.advance(byte)
    matcher.rollback(1)
    fork = matcher.fork()
    fork.advance_bytes(text[-1:])
    fork.forced_tokens()
    fork.forced_bytes()
    fork.is_finished()
    constrain.fill_masks([matcher, fork], np.zeros((2, 9), dtype=np.uint32))
