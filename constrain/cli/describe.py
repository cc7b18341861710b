"""`constrain describe`: a schema, a type or choices in words, as they go into a prompt."""

from __future__ import annotations

from typing import Annotated

import typer

from constrain.cli.console import say_json
from constrain.cli.constraints import SourceOptions, with_source


@with_source
def command(
    options: SourceOptions,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: text.")] = False,
) -> None:
    """Say in words what a schema, a type or choices ask for, for a prompt."""
    import constrain

    text = constrain.describe(options.constraint(generating=True))
    if as_json:
        say_json({"text": text})
    else:
        typer.echo(text)
