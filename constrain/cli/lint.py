"""`constrain lint`: what is doubtful about a grammar, with an example text where it can be read in two ways."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from constrain.cli.console import NOT_A_MEMBER, UsageError
from constrain.cli.constraints import format_of, read_grammar

DOUBTFUL = NOT_A_MEMBER


def command(
    grammar: Annotated[str, typer.Argument(metavar="FILE|TEXT", help="A Lark or GBNF grammar: a file, or the text.")],
    grammar_format: Annotated[str | None, typer.Option(help="lark or gbnf; guessed when left out.")] = None,
    start: Annotated[str | None, typer.Option(help="The start rule (start; in GBNF root).")] = None,
    lexer: Annotated[str, typer.Option(help="dynamic or greedy.")] = "dynamic",
    seconds: Annotated[float, typer.Option(help="How long to look for a text with two readings.", min=0.0)] = 5.0,
) -> None:
    """What is doubtful about a grammar? Unused and unreachable rules, endless loops, shadowed terminals, ambiguity."""
    lines = report(load(grammar, grammar_format, start, lexer), seconds)
    typer.echo("\n".join(lines) if lines else "nothing is doubtful")
    if lines:
        raise typer.Exit(DOUBTFUL)


def load(given: str, grammar_format: str | None, start: str | None, lexer: str) -> Any:
    """The constraint of a grammar text. Raises UsageError, GrammarError."""
    import constrain
    from constrain.grammar_text.text import GrammarText

    text, name = read_grammar(given)
    kind = grammar_format or format_of(text, name)
    base = str(Path(name).parent) if name else None
    constraint = constrain.grammar(text, format=cast(Any, kind), start=start, lexer=cast(Any, lexer), base=base)
    if not isinstance(constraint, GrammarText):
        raise UsageError("this is no grammar text")
    return constraint


def report(constraint: Any, seconds: float = 5.0) -> list[str]:
    """A line for each finding, and an example for an ambiguity."""
    from constrain.cfg.transform.walk import reachable
    from constrain.completion.shortest import least_texts
    from constrain.grammar_text.lint import lint

    lines = []
    for finding in lint(constraint, seconds=seconds):
        lines.append(f"{finding.kind}: {finding.message}")
        if finding.ambiguity is not None:
            least = least_texts(reachable(finding.ambiguity.rule, 1 << 30) or {})
            words = [least[symbol].decode(errors="replace") for symbol in finding.ambiguity.form]
            lines.append(f"  for example: {(' ' if constraint.to_grammar().ignore else '').join(words)!r}")
    return lines
