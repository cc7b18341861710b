"""`constrain diagram`: the rules of a grammar as railroad diagrams, one SVG a rule, in one page.

Needs the extra `[diagrams]`. What is drawn are the rules as they were read: a
terminal by its name, with its regular expression's name where it has one. In GBNF, regular pieces are one box.
"""

from __future__ import annotations

import html
import io
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from constrain.cli.console import UsageError, say_json
from constrain.cli.lint import GrammarArgument, GrammarOption, load, one_of
from constrain.extras import require

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 2em; }}
h2 {{ font-size: 1em; margin: 1.5em 0 0.2em; }}
{css}
svg.railroad-diagram {{ background-color: transparent; }}
</style></head><body>
{body}
</body></html>
"""


def command(
    given: GrammarArgument = None,
    grammar: GrammarOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A page (.html) or one rule's picture (.svg); NAME.html by default."),
    ] = None,
    rule: Annotated[str | None, typer.Option(help="Draw this rule only; for .svg the start rule by default.")] = None,
    grammar_format: Annotated[str | None, typer.Option(help="lark or gbnf; guessed when left out.")] = None,
    start: Annotated[str | None, typer.Option(help="The start rule (start; in GBNF root).")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: out, the file; rules, their names.")
    ] = False,
) -> None:
    """Draw the rules of a grammar as railroad diagrams."""
    name = one_of(given, grammar)
    constraint = load(name, grammar_format, start, None)
    out = out or Path(f"{Path(name).stem if ':' not in name else 'grammar'}.html")
    rules = constraint.reading.rules
    if rule is not None and rule not in rules:
        raise UsageError(f"there is no rule {rule!r}; the rules are {', '.join(rules)}")
    if out.suffix == ".svg":
        text = picture(rules[rule or constraint.reading.start], standalone=True)
    elif out.suffix == ".html":
        text = page({rule: rules[rule]} if rule else rules, out.stem)
    else:
        raise UsageError(f"{out}: a name ends in .html or .svg, which says what is drawn")
    out.write_text(text, encoding="utf-8")
    if as_json:
        drawn = [rule] if rule else [constraint.reading.start] if out.suffix == ".svg" else list(rules)
        say_json({"out": str(out), "rules": drawn})


def page(rules: Any, title: str) -> str:
    """An HTML page with a diagram for each rule; a rule's name in a diagram leads to its own."""
    railroad = _railroad()
    parts = [
        f'<h2 id="{html.escape(name)}">{html.escape(name)}</h2>\n{picture(expression)}'
        for name, expression in rules.items()
    ]
    return PAGE.format(title=html.escape(title), css=railroad.DEFAULT_STYLE, body="\n".join(parts))


def picture(expression: Any, *, standalone: bool = False) -> str:
    """The SVG of a rule's expression. standalone: with its style, to stand in a file of its own."""
    railroad = _railroad()
    diagram = railroad.Diagram(_item(railroad, expression))
    text = io.StringIO()
    (diagram.writeStandalone if standalone else diagram.writeSvg)(text.write)
    return text.getvalue()


def _item(railroad: Any, expression: Any) -> Any:
    """An expression as an item of a diagram."""
    from constrain.languages.cfg.ebnf import Choice, Leaf, Part, Ref, Repeated, Sequence

    if isinstance(expression, Leaf):
        return railroad.Terminal(expression.terminal.name or "?")
    if isinstance(expression, Part):
        return railroad.Terminal(f"{expression.constraint!r:.60}")
    if isinstance(expression, Ref):
        return railroad.NonTerminal(expression.name, href=f"#{expression.name}")
    if isinstance(expression, Sequence) and not expression.parts:
        return railroad.Skip()
    if isinstance(expression, Sequence):
        return railroad.Sequence(*(_item(railroad, part) for part in expression.parts))
    if isinstance(expression, Choice):
        parts = [_item(railroad, part) for part in expression.parts]
        return parts[0] if len(parts) == 1 else railroad.Choice(0, *parts)
    assert isinstance(expression, Repeated)
    part, low, high = _item(railroad, expression.part), expression.low, expression.high
    if (low, high) == (0, 1):
        return railroad.Optional(part)
    if high is None and low <= 1:
        return railroad.OneOrMore(part) if low else railroad.ZeroOrMore(part)
    times = f"{low} or more times" if high is None else f"{low} times" if low == high else f"{low} to {high} times"
    return railroad.OneOrMore(part, railroad.Comment(times))


def _railroad() -> Any:
    require("diagrams", "constrain diagram")
    return import_module("railroad")
