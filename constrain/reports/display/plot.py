"""Plots of shares: one panel of horizontal bars for each question, as one SVG without any library.

    bar             the estimate of a share
    thin line       one standard error to each side
    orange mark     the share without weights, where it is another one

One picture for light and dark pages: the ground is clear, words are grey. Long labels are cut; hovering shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import NamedTuple

from constrain.errors import ConstrainError
from constrain.reports.display.html import page

GREY, BLUE, ORANGE = "#808890", "#3b76ef", "#ea7a2a"
LABEL, BAR, NUMBER, ROW, HEAD = 190, 300, 70, 22, 46  # pixels
LETTERS = 26  # of a label


class Bar(NamedTuple):
    """A row of a panel.

    Attributes:
        label: What it is the share of.
        share: The estimate, from 0 to 1.
        error: Its standard error.
        plain: The share without weights; None: it is not drawn.

    Example:
        >>> Bar("red", 0.5, 0.1).plain is None
        True
    """

    label: str
    share: float
    error: float = 0.0
    plain: float | None = None


class Panel(NamedTuple):
    """Bars under a title. said: one line about them.

    Example:
        >>> Panel("colour", "", (Bar("red", 1.0),)).bars[0].label
        'red'
    """

    title: str
    said: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Plot:
    """Panels of bars; a notebook shows it.

    Attributes:
        panels: What is drawn, from top to bottom.
        said: One line about all of them.

    Example:
        >>> plot = Plot([Panel("colour", "", (Bar("red", 0.75, 0.1), Bar("blue", 0.25, 0.1)))], "4 outputs")
        >>> plot.svg.startswith("<svg ") and "red" in plot.svg
        True
    """

    panels: Sequence[Panel]
    said: str = field(default="")

    @property
    def svg(self) -> str:
        """The picture as an SVG document."""
        parts: list[str] = []
        top = 0.0
        if self.said:
            parts.append(_text(0, 14, self.said, GREY))
            top = 24.0
        for panel in self.panels:
            parts += _panel(panel, top)
            top += HEAD + ROW * len(panel.bars)
        width = LABEL + BAR + NUMBER
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top:.0f}" width="{width}" '
            f'height="{top:.0f}" role="img" style="max-width:100%;height:auto" '
            f'font-family="system-ui,sans-serif" font-size="12">{"".join(parts)}</svg>'
        )

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, as SVG or as a page that stands alone.

        Args:
            path: Ends in ".svg" or ".html".

        Raises:
            ConstrainError: The name ends in something else.
            OSError: The file cannot be written.

        Example:
            >>> import tempfile, os
            >>> plot = Plot([Panel("colour", "", (Bar("red", 1.0),))])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     plot.save(os.path.join(folder, "colour.svg"))
            ...     os.listdir(folder)
            ['colour.svg']
        """
        ending = Path(path).suffix
        if ending not in (".svg", ".html"):
            raise ConstrainError(f"{path}: the name says what is written, and ends in .svg or .html")
        Path(path).write_text(self.svg + "\n" if ending == ".svg" else page("plot", self.svg), encoding="utf-8")

    def _repr_html_(self) -> str:
        return self.svg


def _panel(panel: Panel, top: float) -> list[str]:
    """The elements of a panel below a height."""
    parts = [_text(0, top + 18, panel.title, GREY, "bold"), _text(0, top + 34, panel.said, GREY)]
    scale = BAR / max([1e-9, *(max(min(1.0, bar.share + bar.error), bar.plain or 0.0) for bar in panel.bars)])
    for i, bar in enumerate(panel.bars):
        middle = top + HEAD + ROW * (i + 0.5) - 4
        label = bar.label if len(bar.label) <= LETTERS else bar.label[: LETTERS - 1] + "…"
        length = bar.share * scale
        hint = f"{bar.label}: {bar.share:.4f} ± {bar.error:.4f}"
        hint += f", {bar.plain:.4f} without weights" if bar.plain is not None else ""
        parts += [
            f"<g><title>{escape(hint)}</title>",
            _text(LABEL - 8, middle + 4, label, GREY, anchor="end"),
            f'<rect x="{LABEL}" y="{middle - 7:.1f}" width="{length:.1f}" height="14" fill="{BLUE}" opacity=".75"/>',
        ]
        if bar.error:
            low, high = max(0.0, bar.share - bar.error) * scale, min(1.0, bar.share + bar.error) * scale
            parts.append(_line(LABEL + low, middle, LABEL + high, middle, GREY, 1.5))
        if bar.plain is not None:
            x = LABEL + bar.plain * scale
            parts.append(_line(x, middle - 9, x, middle + 9, ORANGE, 2.5))
        parts += [_text(LABEL + BAR + 8, middle + 4, f"{bar.share:.3f}", GREY), "</g>"]
    return parts


def _text(x: float, y: float, text: str, colour: str, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width:g}"/>'
