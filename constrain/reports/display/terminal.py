"""A generation in a terminal: the colours of html.py, by rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from constrain.extras import require
from constrain.reports.display.html import MOST_BITS
from constrain.reports.display.tokens import ShownToken

if TYPE_CHECKING:
    from rich.console import Console, Group

LIKELY, UNLIKELY = (219, 234, 254), (29, 78, 216)  # backgrounds
LEGEND = "dark: unlikely for the model · dim: forced · underlined: the constraint took most of it away"
OVERRULED = 0.5  # the mass of what was allowed, below which a token is underlined


def print_tokens(tokens: Iterable[ShownToken], said: Sequence[str] = (), console: Console | None = None) -> None:
    """Print tokens: the darker, the less likely; dim: forced; underlined: the constraint took most of the mass away.

    Args:
        tokens: What is printed.
        said: Short sentences about the output, in a line above it.
        console: Of rich; None: one on the standard output.

    Raises:
        MissingExtraError: rich is not installed.
    """
    require("cli", "printing a generation in colours")
    from rich.console import Console

    (console or Console()).print(rendered(tokens, said))


def rendered(tokens: Iterable[ShownToken], said: Sequence[str] = ()) -> Group:
    """The output of `print_tokens` as a renderable of rich."""
    from rich.console import Group
    from rich.text import Text

    text = Text()
    for token in tokens:
        text.append(token.text.replace("\n", "↵\n"), style=_style(token))
    above = [Text(" · ".join(said), style="dim")] if said else []
    return Group(*above, text, Text(LEGEND, "dim"))


def _style(token: ShownToken) -> str:
    if token.forced:
        return "dim"
    share = min(token.surprise, MOST_BITS) / MOST_BITS
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(LIKELY, UNLIKELY, strict=True))
    ink = "white" if share > 0.4 else "black"
    overruled = token.allowed is not None and token.allowed < OVERRULED
    return f"{'underline ' if overruled else ''}{ink} on rgb({red},{green},{blue})"
