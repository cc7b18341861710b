"""From records to a table: what passed, what failed and why, and percentiles of the times.

Two sets of times are shown. "all": every schema that the engine compiled. "matched": the schemas that all engines
finished, so that an engine that refuses the hard schemas does not look fast for it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from masks.measure import VERDICTS

TBM = "TBM (mask + commit)"
MASK = "mask alone"
COMPILE = "compile"
TTFM = "TTFM (compile + first mask)"
PERCENTILES = (25, 50, 75, 90, 95, 99, 99.9, 100)
Records = list[dict[str, Any]]  # of one engine


def passes(record: dict[str, Any]) -> bool:
    """Compiled, every valid instance accepted to its end, every invalid one refused."""
    return record["error"] is None and not record["valid_refused"] and not record["invalid_accepted"]


def counts(records: Records, meta: dict[str, Any]) -> dict[str, str]:
    """The rows about correctness, and memory."""
    n = len(records)
    compiled = sum(record["error"] != "compile" and record["compile_us"] is not None for record in records)
    passing = sum(map(passes, records))
    errors = Counter(record["error"] for record in records)
    total: Counter[str] = Counter()
    for record in records:
        total.update({key: record[key] for key in VERDICTS})
    peak = max((record["peak_rss_mb"] for record in records), default=0.0)
    return {
        "version": meta["version"],
        "schemas": f"{n:,}",
        "compiled": _share(compiled, n),
        "passing": _share(passing, n),
        "over-constrained: a valid instance refused": _share(sum(r["valid_refused"] > 0 for r in records), n),
        "under-constrained: an invalid one accepted": _share(sum(r["invalid_accepted"] > 0 for r in records), n),
        "compile errors": f"{errors['compile']:,}",
        "timeouts": f"{errors['timeout']:,}",
        "out of memory": f"{errors['memory']:,}",
        "faults": f"{errors['fault']:,}",
        "crashes": f"{errors['crash']:,}",
        "valid accepted": f"{total['valid_ok']:,}",
        "valid refused": f"{total['valid_refused']:,}",
        "invalid refused": f"{total['invalid_ok']:,}",
        "of these, by the check of the finished text": f"{total['checked_off']:,}",
        "invalid accepted": f"{total['invalid_accepted']:,}",
        "start (s)": f"{meta['start_seconds']:.1f}",
        "RSS after start (MB)": f"{meta['start_rss_mb']:,.0f}",
        "peak RSS (MB)": f"{peak:,.0f}",
    }


def times(records: Records) -> dict[str, np.ndarray]:
    """Microseconds: between masks (fill + commit), of the fill alone, of compiling, of compiling and the first mask."""
    done = [record for record in records if record["compile_us"] is not None]
    first = [record for record in done if record["first_mask_us"] is not None]
    return {
        TBM: np.array([us for record in done for us in record["tbm_us"]]),
        MASK: np.array([us for record in done for us in record["mask_us"]]),
        COMPILE: np.array([record["compile_us"] for record in done]),
        TTFM: np.array([record["compile_us"] + record["first_mask_us"] for record in first]),
    }


def matched(results: dict[str, Records]) -> dict[str, Records]:
    """The records of the files that every engine finished without an error."""
    good = [{record["file"] for record in records if record["error"] is None} for records in results.values()]
    files = set.intersection(*good)
    return {name: [record for record in records if record["file"] in files] for name, records in results.items()}


def causes(records: Records, limit: int = 15) -> list[tuple[int, str, str]]:
    """(how often, kind and message with its values left out, an example file), most frequent first."""
    groups: dict[str, list[str]] = {}
    for record in records:
        if record["error"]:
            line = str(record["message"]).split("\n")[0]
            line = re.sub(r"\"[^\"]*\"|'[^']*'|`[^`]*`", "…", line)
            line = re.sub(r"\d[\d,.]*", "N", line)
            groups.setdefault(f"{record['error']}: {line[:140]}", []).append(record["file"])
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [(len(files), cause, files[0]) for cause, files in ordered[:limit]]


def table(head: list[str], rows: list[list[str]], align: str = "---:") -> str:
    """A Markdown table; all columns but the first are numbers, to the right, unless `align` says otherwise."""
    lines = [head, ["---", *(align for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def report(results: dict[str, Records], metas: dict[str, dict[str, Any]], run: dict[str, Any]) -> str:
    """The whole summary in Markdown."""
    names = list(results)
    parts = [f"# MaskBench: {', '.join(names)}", "\n".join(f"* {key}: {value}" for key, value in run.items())]
    columns = {name: counts(results[name], metas[name]) for name in names}
    keys = list(next(iter(columns.values())))
    parts.append(table(["", *names], [[key, *(columns[name][key] for name in names)] for key in keys]))
    sets = {"all that each compiled": results}
    if len(names) > 1:
        sets["matched: finished by every engine"] = matched(results)
    for label, chosen in sets.items():
        parts.append(f"## Times in µs — {label}")
        parts.append(_times_table(chosen))
    for name in names:
        rows = [[f"{count:,}", cause.replace("|", "\\|"), file] for count, cause, file in causes(results[name])]
        if rows:
            parts += [f"## {name}: what went wrong", table(["schemas", "cause", "for example"], rows, "---")]
        wrong = [r["file"] for r in results[name] if r["invalid_accepted"]]
        refused = [r["file"] for r in results[name] if r["valid_refused"]]
        if wrong:
            parts.append(f"Invalid accepted in {len(wrong):,}: {', '.join(wrong[:20])}")
        if refused:
            parts.append(f"Valid refused in {len(refused):,}: {', '.join(refused[:20])}")
    return "\n\n".join(parts) + "\n"


def _times_table(results: dict[str, Records]) -> str:
    head = ["", "n", "mean", *(f"p{p:g}" if p < 100 else "max" for p in PERCENTILES)]
    rows, ratios = [], []
    all_times = {name: times(records) for name, records in results.items()}
    first, *others = results
    for what in all_times[first]:
        figures = {}
        for name in results:
            values = all_times[name][what]
            if values.size:
                figures[name] = np.array([values.mean(), *np.percentile(values, PERCENTILES)])
                rows.append([f"{what}, {name}", f"{values.size:,}", *map(_number, figures[name])])
        for other in others:
            if first in figures and other in figures:
                ratio = figures[first] / np.maximum(figures[other], 1e-9)
                ratios.append([f"{what}, {first} ÷ {other}", "", *map(ratio_text, ratio)])
    return table(head, rows + ratios)


def figure(values: np.ndarray, percentile: float | None) -> float:
    """The mean, or a percentile. values: float[N], µs."""
    return float(values.mean() if percentile is None else np.percentile(values, percentile))


def ratio_text(ratio: float) -> str:
    """0.35, 12.40, 0.0021"""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def _number(us: float) -> str:
    return f"{us:,.1f}" if us < 1000 else f"{us:,.0f}"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / max(whole, 1):.2f} %)"
