"""One HTML page of a MaskBench run: what each engine covers, what it gets wrong, how long it takes, side by side.

The page stands alone: no script, no font and no picture from elsewhere; colours fit light and dark screens. Figures are
those of summary.py; nothing is computed twice. Schemas that an engine did not finish stay in every share,
and are left out of times only, for all engines alike ("finished by every engine").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from masks.summary import COMPILE, MASK, TBM, TTFM, Records, causes, counts, figure, matched, ratio_text, times

OUTCOMES = {  # of a schema, from right to wrong: colour
    "passes": "#2e9e6b",
    "valid refused": "#d9a406",
    "not compiled": "#8a94a0",
    "out of time or memory": "#6f5fb0",
    "fault": "#3b3f46",
    "invalid accepted": "#d1373f",
}
COLOURS = {
    "constrain": "#0b6e4f",
    "llguidance": "#c1440e",
    "xgrammar": "#3b5ba5",
    "outlines-core": "#8e6bbf",
    "lm-format-enforcer": "#8a7f70",
    "none": "#bbbbbb",
}
POINTS = 2_000  # of a curve: what a plot can show
EXAMPLES = 5  # files of a difference
WIDTH, HEIGHT, LEFT = 270, 180, 62  # of a plot, and what stands beside it
STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:68rem;padding:1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;font-size:.9rem}
td,th{padding:.25em .8em;border-bottom:1px solid rgba(128,128,128,.35);text-align:right;vertical-align:top}
td:first-child,th:first-child{text-align:left}td.words,td:has(code){text-align:left}
.wide{overflow-x:auto}.quiet{opacity:.75;font-size:.9rem}
.bar{display:flex;height:1.4em;border-radius:4px;overflow:hidden;margin:.15em 0 .5em}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .35em 0 1em}
.plots{display:flex;flex-wrap:wrap;gap:1rem}
svg text{fill:#808890;font-size:11px}code{font-size:.9em;overflow-wrap:anywhere}
"""


def page(results: dict[str, Records], metas: dict[str, dict[str, Any]], run: dict[str, Any], quality: str = "") -> str:
    """The page of a run.

    Args:
        results: Records by engine, all over the same files.
        metas: What each engine said of itself: version, start_seconds, start_rss_mb.
        run: The settings: machine, command, date.
        quality: HTML about the answers of a model, which stands behind the engines; "" for none.
    """
    names = list(results)
    title = f"MaskBench: {', '.join(names)}"
    parts = [f"<h1>{escape(title)}</h1>", _settings(run), "<h2>What each engine covers</h2>", *_outcomes(results)]
    parts += ["<h2>In numbers</h2>", _counts(results, metas), "<h2>Times</h2>", *_times(results)]
    for other in names[1:]:
        parts += [f"<h2>{escape(names[0])} and {escape(other)}</h2>", *_pair(names[0], other, results)]
    for name in names:
        parts += _causes(name, results[name])
    parts += [f"<h2>Answers of a model, by the way to get them</h2>{quality}"] if quality else []
    parts += ["<h2>How it was measured</h2>", MEASURED]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{escape(title)}</title><style>{STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


MEASURED = """<p>Each schema comes with valid and invalid instances. An instance is fed token by token: a mask is
filled, the token is looked up in it and committed. A schema <b>passes</b> if every valid instance is accepted to its
end, and every invalid one is refused. <b>Valid refused</b>: the engine allows less than the schema (over-constrained).
<b>Invalid accepted</b>: it allows more (under-constrained, unsound). Times are microseconds on one thread. They count
schemas that every engine of this page finished, so that refusing the hard ones does not look fast.</p>
<p>Bias: instances are written by <code>json.dumps</code>, with keys in the order of the schema. Few instances meet each
schema. Every engine is used from Python.</p>"""


def outcome(record: dict[str, Any]) -> str:
    """A key of `OUTCOMES`; of several that fit the worst."""
    error = record["error"]
    if record["invalid_accepted"]:
        return "invalid accepted"
    if error == "compile":
        return "not compiled"
    if error in ("timeout", "memory"):
        return "out of time or memory"
    if error is not None:
        return "fault"
    return "valid refused" if record["valid_refused"] else "passes"


def _settings(run: dict[str, Any]) -> str:
    rows = "".join(f"<tr><td>{escape(str(k))}</td><td class=words>{escape(str(v))}</td></tr>" for k, v in run.items())
    return f'<div class="wide"><table class="quiet">{rows}</table></div>'


def _outcomes(results: dict[str, Records]) -> list[str]:
    """A bar for each engine: the shares of the outcomes."""
    parts = []
    for name, records in results.items():
        found = Counter(map(outcome, records))
        shares = [(kind, found[kind] / max(1, len(records))) for kind in OUTCOMES if found[kind]]
        pieces = "".join(
            f'<span style="width:{100 * share:.3f}%;background:{OUTCOMES[kind]}" '
            f'title="{kind}: {found[kind]:,} ({100 * share:.2f} %)"></span>'
            for kind, share in shares
        )
        said = ", ".join(f"{kind} {100 * share:.2f} %" for kind, share in shares)
        parts.append(
            f'<div><b>{escape(name)}</b> <span class="quiet">{said}</span><div class="bar">{pieces}</div></div>'
        )
    keys = "".join(f'<span class="key" style="background:{colour}"></span>{kind}' for kind, colour in OUTCOMES.items())
    return [*parts, f'<p class="quiet">{keys}</p>']


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; cells are HTML."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{top}</tr>{body}</table></div>'


def _counts(results: dict[str, Records], metas: dict[str, dict[str, Any]]) -> str:
    columns = [counts(records, metas[name]) for name, records in results.items()]
    return _table(["", *map(escape, results)], [[key, *(column[key] for column in columns)] for key in columns[0]])


def _times(results: dict[str, Records]) -> list[str]:
    """A table of percentiles and plots, over the files that every engine finished."""
    same = {name: times(records) for name, records in matched(results).items()}
    n = len(next(iter(matched(results).values())))
    parts = [f'<p class="quiet">{n:,} schemas, finished by every engine; microseconds.</p>']
    if not all(found[TBM].size for found in same.values()):
        return parts
    rows = []
    for what, percentile in ((w, p) for w in (TBM, MASK, COMPILE, TTFM) for p in (None, 50, 99, 99.9, 100)):
        cells = [figure(found[what], percentile) for found in same.values()]
        rows.append([f"{what}, {_label(percentile)}", *(f"{us:,.1f}" if us < 1000 else f"{us:,.0f}" for us in cells)])
    parts.append(_table(["", *map(escape, results)], rows))
    keys = "".join(
        f'<span class="key" style="background:{COLOURS.get(name, "#808890")}"></span>{escape(name)}' for name in results
    )
    parts.append(
        f'<p class="quiet">Above: the share of times up to t. Below: the share of times of t or more. {keys}</p>'
    )
    for tail in (False, True):
        plots = [
            _plot(what, {name: found[what] for name, found in same.items()}, tail) for what in (TBM, COMPILE, TTFM)
        ]
        parts.append(f'<div class="plots">{"".join(plots)}</div>')
    return parts


def _label(percentile: float | None) -> str:
    return "mean" if percentile is None else "max" if percentile == 100 else f"p{percentile:g}"


def _ratio(ours: np.ndarray, other: np.ndarray, percentile: float | None) -> str:
    return ratio_text(figure(ours, percentile) / max(figure(other, percentile), 1e-9))


def _plot(title: str, series: dict[str, np.ndarray], tail: bool) -> str:
    """Distributions as an SVG: t on a log scale; upwards the share, of the tail on a log scale."""
    low = math.floor(math.log10(max(1e-3, min(float(values.min()) for values in series.values()))))
    high = max(low + 1, math.ceil(math.log10(max(1e-3, *(float(values.max()) for values in series.values())))))
    floor = -math.ceil(math.log10(max(values.size for values in series.values()) + 1))

    def x(t: float) -> float:
        return LEFT + WIDTH * (math.log10(max(t, 10.0**low)) - low) / (high - low)

    def y(share: float) -> float:
        return 24 + HEIGHT * (math.log10(max(share, 10.0**floor)) / floor if tail else 1 - share)

    parts = [f'<text x="{LEFT}" y="14">{escape(title)}, µs</text>']
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(f'<path d="M{at:.1f} 24V{24 + HEIGHT}" stroke="#808890" stroke-opacity=".25"/>')
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT + 40}" text-anchor="middle">{_power(power)}</text>')
    for share in [10.0**-k for k in range(-floor + 1)] if tail else [0.0, 0.25, 0.5, 0.75, 1.0]:
        parts.append(f'<path d="M{LEFT} {y(share):.1f}H{LEFT + WIDTH}" stroke="#808890" stroke-opacity=".25"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y(share) + 4:.1f}" text-anchor="end">{_percent(share)}</text>')
    for name, values in series.items():
        t, up_to = curve(values)
        shares = 1 - up_to + 1 / values.size if tail else up_to
        points = " ".join(dict.fromkeys(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(t, shares, strict=True)))
        colour = COLOURS.get(name, "#808890")
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    across = WIDTH + LEFT + 14
    size = f'viewBox="0 0 {across} {HEIGHT + 48}" width="{across}" style="max-width:100%;height:auto"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" {size}>{"".join(parts)}</svg>'
    )


def curve(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(t, share of values ≤ t) of a sample: at most POINTS steps, closest together in the tail.

    values: float[N], N > 0. Returns float[K] ascending, float[K] in (0, 1].
    """
    ordered = np.sort(values)
    n = ordered.size
    from_end = np.unique(np.geomspace(1, n, min(n, POINTS)).astype(np.int64))  # ranks counted from the largest
    ranks = np.unique(np.concatenate([n - from_end, np.linspace(0, n - 1, min(n, POINTS)).astype(np.int64)]))
    return ordered[ranks], (ranks + 1) / n


def _percent(share: float) -> str:
    return f"{100 * share:.6f}".rstrip("0").rstrip(".") + " %"


def _power(power: int) -> str:
    return f"{10.0**power:g}" if power < 4 else f"{10 ** (power - 3):,} k" if power < 6 else f"{10 ** (power - 6)} M"


def _pair(first: str, other: str, results: dict[str, Records]) -> list[str]:
    """Two engines: what became of each schema with the one and with the other; ratios of times."""
    by_file = {record["file"]: outcome(record) for record in results[other]}
    cells: dict[tuple[str, str], list[str]] = {}
    for record in results[first]:
        if record["file"] in by_file:
            cells.setdefault((outcome(record), by_file[record["file"]]), []).append(record["file"])
    used = [kind for kind in OUTCOMES if any(kind in pair for pair in cells)]
    rows = [[kind, *(f"{len(cells.get((kind, column), [])):,}" for column in used)] for kind in used]
    parts = [
        f'<p class="quiet">Schemas by what {escape(first)} made of them (rows) and {escape(other)} (columns).</p>',
        _table(["", *used], rows),
    ]
    different = sorted((pair for pair in cells if pair[0] != pair[1]), key=lambda pair: -len(cells[pair]))
    if different:
        lines = [
            [
                f"{a} / {b}",
                f"{len(cells[a, b]):,}",
                "<br>".join(f"<code>{escape(f)}</code>" for f in cells[a, b][:EXAMPLES]),
            ]
            for a, b in different
        ]
        listed = _table([f"{escape(first)} / {escape(other)}", "schemas", "for example"], lines)
        parts.append(f"<details><summary>Where they differ, with examples</summary>{listed}</details>")
    pair = {name: times(records) for name, records in matched({n: results[n] for n in (first, other)}).items()}
    ratios = [
        [f"{what}, {_label(p)}, ratio", _ratio(pair[first][what], pair[other][what], p)]
        for what in (TBM, MASK, COMPILE, TTFM)
        for p in (None, 50, 99, 99.9)
        if pair[first][what].size
    ]
    return [*parts, _table([f"time of {escape(first)} ÷ {escape(other)}", "ratio"], ratios)]


def _causes(name: str, records: Records) -> list[str]:
    rows = [[escape(cause), f"{n:,}", f"<code>{escape(file)}</code>"] for n, cause, file in causes(records)]
    if not rows:
        return []
    unfinished = sum(record["error"] is not None for record in records)
    said = f"<summary>Why {escape(name)} did not finish {unfinished:,} schemas</summary>"
    return [f"<details>{said}{_table(['cause', 'schemas', 'for example'], rows)}</details>"]
