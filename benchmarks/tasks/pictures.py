"""Bars and curves as the text of an SVG file: words are grey and the ground is clear, for light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from masks.page import COLOURS

GREY, FONT = "#808890", "font-family='sans-serif' font-size='11'"
ROW, LEFT, WIDE, GAP = 13, 110, 190, 60  # pixels: of a bar with its gap; of names; of a column; between columns
HEIGHT = 120  # of a panel of curves
COLOUR = {**COLOURS, "default": COLOURS["constrain"], "free": COLOURS["none"]}


def bars(groups: Mapping[str, Mapping[str, Sequence[float | None]]], columns: Mapping[str, float | None]) -> str:
    """Horizontal bars. groups: title → name → a value for each column. columns: title → largest value, None: found."""
    rows = [values for group in groups.values() for values in group.values()]
    tops = [top or max(row[i] or 0 for row in rows) or 1 for i, top in enumerate(columns.values())]
    drawn = [words(LEFT + i * (WIDE + GAP), 14, title) for i, title in enumerate(columns)]
    y = 22
    for title, group in groups.items():
        drawn.append(words(0, y + 12, title, "font-weight='bold'"))
        y += ROW + 5
        for name, values in group.items():
            drawn.append(words(LEFT - 8, y + 9, name, "text-anchor='end'"))
            for i, (value, top) in enumerate(zip(values, tops, strict=True)):
                x, width = LEFT + i * (WIDE + GAP), WIDE * (value or 0) / top
                drawn.append(f"<rect x='{x}' y='{y}' width='{width:.1f}' height='{ROW - 3}' fill='{COLOUR[name]}'/>")
                drawn.append(words(x + width + 4, y + 9, "–" if value is None else f"{value:.0f}"))
            y += ROW
    return picture(LEFT + len(columns) * (WIDE + GAP), y + 4, drawn)


def curves(panels: Mapping[str, Mapping[str, Sequence[float]]], bottom: float) -> str:
    """The values of each name in ascending order, as curves from `bottom` to 0, a panel for each title."""
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    drawn = [
        words(i * 100, 14, name, f"font-weight='bold' style='fill:{COLOUR[name]}'") for i, name in enumerate(names)
    ]
    for place, (title, panel) in enumerate(panels.items()):
        x, y = 40 + place % 3 * (WIDE + GAP), 44 + place // 3 * (HEIGHT + 34)
        drawn += [words(x, y - 6, title), words(x - 4, y + 9, "0", "text-anchor='end'")]
        drawn.append(words(x - 4, y + HEIGHT, f"{bottom:.0f}", "text-anchor='end'"))
        drawn.append(f"<path d='M{x} {y}v{HEIGHT}h{WIDE}' fill='none' stroke='{GREY}'/>")
        for name, values in panel.items():
            low = sorted(max(value, bottom) for value in values)
            at = [(x + WIDE * (i + 0.5) / len(low), y + HEIGHT * value / bottom) for i, value in enumerate(low)]
            line = " ".join(f"{across:.1f},{down:.1f}" for across, down in at)
            drawn.append(f"<polyline points='{line}' fill='none' stroke='{COLOUR[name]}' stroke-width='1.5'/>")
    rows = -(-len(panels) // 3)
    return picture(40 + 3 * (WIDE + GAP), 44 + rows * (HEIGHT + 34), drawn)


def words(x: float, y: float, text: str, more: str = "") -> str:
    """A line of text at a place."""
    return f"<text x='{x:.1f}' y='{y:.1f}' {more}>{escape(text)}</text>"


def picture(width: int, height: int, drawn: Sequence[str]) -> str:
    """The file."""
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' {FONT} fill='{GREY}'>"
    )
    return "\n".join([head, *drawn, "</svg>"]) + "\n"
