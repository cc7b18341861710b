"""A generation as HTML: tokens coloured by how likely they were, and marked where the constraint had a say.

    background       the darker, the less likely the token was for the model
    dotted line      forced: the constraint allowed nothing else
    orange line      the constraint took probability away: the thicker, the more of it

The page stands alone: no script, no font, no picture from elsewhere. Colours are half transparent, so they fit light
and dark pages. What a colour says is also written in the tooltip of the token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from constrain.reports.display.tokens import Alternative, ShownToken

MOST_BITS = 10.0  # of surprise; beyond, the background gets no darker
STYLE = """
.constrain{font:14px/1.5 system-ui,sans-serif;margin:.5em 0}
.constrain .said{opacity:.75;font-size:12px}
.constrain pre{font:14px/2 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:.4em 0;
padding:.6em;border:1px solid rgba(128,128,128,.35);border-radius:6px;background:none;color:inherit}
.constrain pre span{border-radius:3px;padding:.1em 0;margin-right:1px}
.constrain .forced{border-bottom:2px dotted rgba(128,128,128,.9)}
.constrain .newline{opacity:.5}
.constrain .bar{display:inline-block;height:.8em;background:rgba(37,99,235,.55);vertical-align:middle}
.constrain td{padding:.1em .6em;text-align:left;vertical-align:top}
"""
LEGEND = (
    '<span style="background:rgba(37,99,235,.45)">unlikely</span> for the model · '
    '<span class="forced">forced</span>: nothing else was allowed · '
    '<span style="border-bottom:3px solid rgba(234,88,12,.9)">overruled</span>: '
    "the constraint took probability away"
)


def tokens_html(tokens: Iterable[ShownToken], said: Sequence[str] = ()) -> str:
    """Tokens as a piece of HTML.

    Args:
        tokens: What is shown.
        said: Short sentences about the output, in a line above it.

    Returns:
        One element with its style, which may stand in any page.

    Example:
        >>> html = tokens_html([ShownToken("<", 7, 0.25, 0.5)], ["3 tokens"])
        >>> "&lt;" in html, "p = 0.25" in html
        (True, True)
    """
    spans = "".join(map(_span, tokens))
    above = f'<div class="said">{escape(" · ".join(said))}</div>' if said else ""
    return (
        f'<div class="constrain"><style>{STYLE}</style>{above}<pre>{spans}</pre><div class="said">{LEGEND}</div></div>'
    )


def page(title: str, body: str) -> str:
    """A whole page around some HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        f'content="light dark"><title>{escape(title)}</title></head><body>{body}</body></html>\n'
    )


def shares_html(rows: Sequence[tuple[str, float]], heading: str) -> str:
    """A table of texts with their shares as bars. rows: (text, share from 0 to 1), in the order of the table."""
    cells = (
        f'<td><code>{escape(text)}</code></td><td>{share:.3f}</td><td style="min-width:12em">'
        f'<span class="bar" style="width:{100 * share:.1f}%"></span></td>'
        for text, share in rows
    )
    return _table(cells, heading)


def table_html(rows: Iterable[Sequence[str]], heading: str) -> str:
    """A table of texts under a line. rows: their cells."""
    return _table(("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows), heading)


def _table(rows: Iterable[str], heading: str) -> str:
    """A table of rows of cells that are HTML."""
    table = "".join(f"<tr>{cells}</tr>" for cells in rows)
    said = f'<div class="said">{escape(heading)}</div>'
    return f'<div class="constrain"><style>{STYLE}</style>{said}<table>{table}</table></div>'


def _span(token: ShownToken) -> str:
    depth = 0.6 * min(token.surprise, MOST_BITS) / MOST_BITS
    styles = [f"background:rgba(37,99,235,{depth:.2f})"] if depth >= 0.01 and not token.forced else []
    if token.allowed is not None and not token.forced and token.allowed < 0.99:
        styles.append(f"border-bottom:{1 + round(3 * (1 - token.allowed))}px solid rgba(234,88,12,.9)")
    marked = ' class="forced"' if token.forced else ""
    shown = escape(token.text).replace("\n", '<span class="newline">↵</span>\n')
    style = f' style="{";".join(styles)}"' if styles else ""
    return f'<span{marked}{style} title="{escape(tooltip(token))}">{shown}</span>'


def tooltip(token: ShownToken) -> str:
    """The recorded facts of a token, in lines."""
    lines = [f"{token.text!r}, token {token.token}"]
    if token.probability is not None:
        lines.append(f"p = {token.probability:.4g}")
    if token.forced:
        lines.append("forced: the constraint allowed nothing else")
    elif token.allowed is not None:
        lines.append(f"the model gave {100 * token.allowed:.3g} % to what was allowed")
    lines += map(_alternative, token.alternatives)
    return "\n".join(lines)


def _alternative(alternative: Alternative) -> str:
    mark = {True: "", False: "  not allowed", None: ""}[alternative.allowed]
    return f"{alternative.probability:8.4f}  {alternative.text!r}{mark}"
