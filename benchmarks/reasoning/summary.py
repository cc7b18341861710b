"""From records to tables and a plot: how many answers are valid and right, by kind of question and by mode.

Shares are over all questions. Differences to the free text are paired: the same question in both modes, with the
standard error of the mean of the differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import nan, sqrt
from statistics import fmean, stdev
from typing import Any

from masks.summary import table
from reasoning.modes import FREE, MODES

Record = dict[str, Any]
COLOURS = {"constrained": "#3b76ef", FREE: "#8a94a0", "faithful": "#2e9e6b", "keys in any order": "#d9a406"}
ROW, LABEL, WIDTH = 20, 150, 320  # pixels of the plot
WHAT = ("valid", "right")


def error_of(values: Sequence[float]) -> float:
    """The standard error of a mean; NaN for fewer than two values."""
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else nan


def chosen(records: Sequence[Record], kind: str, mode: str) -> list[Record]:
    """The records of a kind of question in a mode, by the number of the question."""
    found = [record for record in records if record["mode"] == mode and kind in (record["kind"], "all")]
    return sorted(found, key=lambda record: (record["kind"], record["number"]))


def kinds_of(records: Sequence[Record]) -> list[str]:
    """The kinds of questions that were asked, and "all" of them together."""
    return [*dict.fromkeys(record["kind"] for record in records), "all"]


def rows(records: Sequence[Record]) -> list[list[str]]:
    """A row for each kind and mode; the columns are `HEAD`."""
    made = []
    for kind in kinds_of(records):
        free = chosen(records, kind, FREE)
        for mode in (mode for mode in MODES if chosen(records, kind, mode)):
            found = chosen(records, kind, mode)
            right = [float(record["right"]) for record in found]
            gained = [a - record["right"] for a, record in zip(right, free, strict=False)] if mode != FREE else []
            same = [record["number"] for record in free] == [record["number"] for record in found]
            made.append([
                kind, mode, f"{len(found):,}",
                _percent(fmean(record["valid"] for record in found)),
                f"{_percent(fmean(right))} ± {100 * error_of(right):.1f}",
                f"{100 * fmean(gained):+.1f} ± {100 * error_of(gained):.1f}" if gained and same else "–",
                f"{sum(record['finish_reason'] == 'length' for record in found):,}",
                f"{fmean(record['tokens'] for record in found):.1f}",
                f"{fmean(record['forwards'] for record in found):.1f}",
                f"{fmean(record['cpu_s'] for record in found):.2f}",
            ])  # fmt: skip
    return made


HEAD = (
    "questions", "mode", "asked", "valid", "right, % ± standard error", "right less free, points", "cut at the limit",
    "tokens", "forwards", "CPU s",
)  # fmt: skip


def markdown(records: Sequence[Record]) -> str:
    """The table as Markdown."""
    return table(list(HEAD), rows(records))


def section(records: Sequence[Record], settings: dict[str, Any]) -> str:
    """The part of a page: settings, plot, table, and how to read them."""
    told = "".join(
        f"<tr><td>{escape(str(name))}</td><td class=words>{escape(str(value))}</td></tr>"
        for name, value in settings.items()
    )
    head = "".join(f"<th>{escape(each)}</th>" for each in HEAD)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows(records))
    keys = "".join(f'<span class="key" style="background:{COLOURS[mode]}"></span>{escape(mode)}' for mode in MODES)
    return (
        f'<div class="wide"><table class="quiet">{told}</table></div><p class="quiet">{keys}</p>'
        f'<div class="plots">{"".join(plot(records, what) for what in WHAT)}</div>'
        f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>{READ}'
    )


READ = """<p>Questions are generated with known answers, or those of published data sets; SQL is executed and its rows
compared. <b>Valid</b>: finished, JSON, and valid under the <code>jsonschema</code> package. <b>Right</b>: valid,
and the known answer. Shares are of all questions: what was cut, stuck or is no JSON is wrong. Of a free text the
first JSON value counts, wherever it goes on. <b>Right less free</b> is paired, question by question. Thin lines are
one standard error to each side.</p>"""


def plot(records: Sequence[Record], what: str) -> str:
    """Bars of the shares by kind and mode, as an SVG. what: "valid" or "right"."""
    parts, top = [f'<text x="0" y="14">{what}, % of all questions</text>'], 26.0
    for kind in kinds_of(records):
        parts.append(f'<text x="{LABEL - 8}" y="{top + 10:.0f}" text-anchor="end">{escape(kind)}</text>')
        for mode in (mode for mode in MODES if chosen(records, kind, mode)):
            values = [float(record[what]) for record in chosen(records, kind, mode)]
            share, error = fmean(values), error_of(values)
            length = share * WIDTH
            hint = f"{kind}, {mode}: {100 * share:.1f} % of {len(values)}"
            parts.append(
                f'<g><title>{escape(hint)}</title><rect x="{LABEL}" y="{top:.1f}" width="{max(length, 1):.1f}" '
                f'height="12" fill="{COLOURS[mode]}"/><text x="{LABEL + WIDTH + 12}" y="{top + 10:.1f}">'
                f"{100 * share:.1f}</text>"
            )
            if error == error:  # not NaN
                low, high = LABEL + max(0.0, share - error) * WIDTH, LABEL + min(1.0, share + error) * WIDTH
                parts.append(f'<path d="M{low:.1f} {top + 6:.1f}H{high:.1f}" stroke="#3b3f46" stroke-width="1.5"/>')
            parts.append("</g>")
            top += 14
        top += ROW - 8
    across = LABEL + WIDTH + 60
    size = f'viewBox="0 0 {across} {top:.0f}" width="{across}" style="max-width:100%;height:auto"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{what}" {size}>{"".join(parts)}</svg>'


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
