"""`constrain test-grammar`: whether a grammar accepts what it must, from byte to byte, and refuses what it must.

Reads the examples of a grammar's folder, or folders of your own for any grammar (`constrain.cli.grammar_examples` says
how they are laid out). For each example that fails, what `constrain check` says of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from constrain.cli.check import verdict
from constrain.cli.console import NOT_A_MEMBER, UsageError, say, say_json
from constrain.cli.constraints import SourceOptions, grammar_folder


def command(
    grammar: Annotated[
        str, typer.Argument(metavar="NAME|FOLDER|FILE", help="A grammar of the collection, its folder, or a file.")
    ],
    accept: Annotated[Path | None, typer.Option(help="Folder of members (accept, beside the grammar).")] = None,
    reject: Annotated[Path | None, typer.Option(help="Folder of texts to refuse (reject, beside it).")] = None,
    start: Annotated[str | None, typer.Option(help="The start rule.")] = None,
    lexer: Annotated[str | None, typer.Option(help="dynamic or greedy.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: examples, to_accept, failures (name, and as check --json).")
    ] = False,
) -> None:
    """Test a grammar on folders of members, and of texts that it must refuse."""
    from constrain.cli.grammar_examples import failures, read_examples

    folder = grammar_folder(grammar)
    home = folder.path if folder else Path(grammar).parent
    constraint = SourceOptions(grammar=grammar, start=start, lexer=lexer).constraint()
    examples = [
        example
        for given, default, member in ((accept, home / "accept", True), (reject, home / "reject", False))
        if given is not None or default.is_dir()
        for example in read_examples(given or default, member)
    ]
    if not examples:
        raise UsageError(f"there are no examples in {home}\n  fix: make folders accept and reject, or give --accept")
    failed = failures(constraint, examples)
    members = sum(example.member for example in examples)
    if as_json:
        rows = [
            {"name": failure.example.name} | verdict(constraint, failure.example.text).as_json() for failure in failed
        ]
        say_json({"examples": len(examples), "to_accept": members, "failures": rows})
    else:
        for failure in failed:
            say(str(failure))
            if failure.example.member:
                say("\n".join(f"  {line}" for line in verdict(constraint, failure.example.text).lines()))
        say(
            f"{len(examples) - len(failed)} of {len(examples)} as they should be "
            f"({members} to accept, {len(examples) - members} to refuse)"
        )
    if failed:
        raise typer.Exit(NOT_A_MEMBER)
