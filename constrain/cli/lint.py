"""`constrain lint`: what is doubtful about a grammar, with an example text where it can be read in two ways."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from constrain.cli.console import NOT_A_MEMBER, UsageError, say, say_json
from constrain.cli.constraints import SourceOptions

DOUBTFUL = NOT_A_MEMBER
GRAMMAR = "A Lark or GBNF grammar: a file, a grammar's folder, the text itself, or a name of the collection."
GrammarArgument = Annotated[str | None, typer.Argument(metavar="FILE|TEXT|NAME", help=GRAMMAR, show_default=False)]
GrammarOption = Annotated[
    str | None, typer.Option("--grammar", metavar="FILE|TEXT|NAME", help="The same, as an option.")
]


def command(
    given: GrammarArgument = None,
    grammar: GrammarOption = None,
    grammar_format: Annotated[str | None, typer.Option(help="lark or gbnf; guessed when left out.")] = None,
    start: Annotated[str | None, typer.Option(help="The start rule (start; in GBNF root).")] = None,
    lexer: Annotated[str | None, typer.Option(help="dynamic or greedy (dynamic, or as the folder says).")] = None,
    seconds: Annotated[float, typer.Option(help="How long to look for a text with two readings.", min=0.0)] = 5.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: findings (kind, message, and example of an ambiguity).")
    ] = False,
) -> None:
    """Name what is doubtful in a grammar: unused rules, endless loops, shadowed terminals, ambiguity."""
    found = findings(load(one_of(given, grammar), grammar_format, start, lexer), seconds)
    if as_json:
        say_json({"findings": found})
    else:
        say("\n".join(as_lines(found)) if found else "nothing is doubtful")
    if found:
        raise typer.Exit(DOUBTFUL)


def one_of(argument: str | None, option: str | None) -> str:
    """The grammar, given as an argument or as `--grammar`. Raises UsageError."""
    if (argument is None) == (option is None):
        raise UsageError("give one grammar: as the argument, or with --grammar")
    return argument or option or ""


def load(given: str, grammar_format: str | None, start: str | None, lexer: str | None) -> Any:
    """The constraint of a grammar text. Raises UsageError, GrammarError."""
    from constrain.languages.grammar_text.words import WholeWords

    options = SourceOptions(grammar_format=grammar_format, start=start, lexer=lexer)
    constraint = options.grammar_constraint(given)
    return constraint.text if isinstance(constraint, WholeWords) else constraint


def findings(constraint: Any, seconds: float = 5.0) -> list[dict[str, str]]:
    """Kind and message of each finding, and an example of an ambiguity."""
    from constrain.languages.cfg.transform.walk import RuleTable, reachable
    from constrain.masks.completion.least import least_texts
    from constrain.reports.lint import lint

    found = []
    for finding in lint(constraint, seconds=seconds):
        found.append({"kind": finding.kind, "message": finding.message})
        if finding.ambiguity is not None:
            least = least_texts(reachable(finding.ambiguity.rule, 1 << 30) or RuleTable())
            words = [least[symbol].decode(errors="replace") for symbol in finding.ambiguity.form]
            found[-1]["example"] = (" " if constraint.to_grammar().ignore else "").join(words)
    return found


def as_lines(found: list[dict[str, str]]) -> list[str]:
    """The findings as lines of text."""
    lines = []
    for finding in found:
        lines.append(f"{finding['kind']}: {finding['message']}")
        if "example" in finding:
            lines.append(f"  for example: {finding['example']!r}")
    return lines
