"""Ratios of times, engine against engine, on the files that both finished; and the targets that this project set.

A ratio is constrain's figure divided by the other engine's, over the same files in the same run, so that refusing the
hard schemas does not look fast, and machine noise falls on both where the run was paired.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from masks.records import Record
from masks.summary import COMPILE, MASK, TBM, TTFM, matched, ratio_text, table, times

OURS = "constrain"
FIGURES: list[tuple[str, str, float | None, float | None]] = [
    # name, which times, percentile (None: mean), target against llguidance (None: none)
    ("mask + commit, p50", TBM, 50, 0.35),
    ("mask + commit, mean", TBM, None, 0.40),
    ("mask + commit, p95", TBM, 95, 0.40),
    ("mask + commit, p99", TBM, 99, 0.40),
    ("mask + commit, p99.9", TBM, 99.9, 0.40),
    ("mask alone, p50", MASK, 50, 0.35),
    ("mask alone, mean", MASK, None, 0.40),
    ("mask alone, p99", MASK, 99, 0.40),
    ("mask alone, p99.9", MASK, 99.9, 0.40),
    ("compile, p50", COMPILE, 50, 0.50),
    ("compile, mean", COMPILE, None, 0.50),
    ("compile, p99", COMPILE, 99, 0.50),
    ("compile + first mask, p99", TTFM, 99, 0.75),
]
MAX_MASK_US = 5_000.0  # target, absolute
MAX_MEMORY_MB = 600.0  # target, beyond what the process held after its start


def figure(values: np.ndarray, percentile: float | None) -> float:
    """The mean, or a percentile. values: float[N], µs."""
    return float(values.mean() if percentile is None else np.percentile(values, percentile))


def ratios(ours: list[Record], other: list[Record]) -> dict[str, float]:
    """Our figure divided by the other engine's, by name, over the files that both finished."""
    pair = matched({OURS: ours, "other": other})
    mine, theirs = times(pair[OURS]), times(pair["other"])
    return {
        name: figure(mine[what], percentile) / max(figure(theirs[what], percentile), 1e-9)
        for name, what, percentile, _ in FIGURES
        if mine[what].size and theirs[what].size
    }


def ratio_page(vocab: str, results: dict[str, list[Record]], metas: dict[str, dict[str, Any]]) -> str:
    """One vocabulary: ratios against every other engine, and the absolute targets."""
    others = [name for name in results if name != OURS]
    parts = [f"## {vocab}: {OURS} ÷ others, over the files that both finished"]
    if OURS in results and others:
        by_other = {name: ratios(results[OURS], results[name]) for name in others}
        rows = []
        for name, _, _, target in FIGURES:
            cells = [ratio_text(by_other[other][name]) if name in by_other[other] else "–" for other in others]
            rows.append([name, f"{target:.2f}", *cells])
        rows.append(["files of both", "", *(f"{_both(results, other):,}" for other in others)])
        parts.append(table(["", "target (llguidance)", *others], rows))
    if OURS in results:
        parts.append(_absolute(results[OURS], metas[OURS]))
    return "\n\n".join(parts)


def _both(results: dict[str, list[Record]], other: str) -> int:
    return len(matched({OURS: results[OURS], other: results[other]})[OURS])


def _absolute(records: list[Record], meta: dict[str, Any]) -> str:
    """The targets that are no ratios, over all files."""
    slowest = max((us for record in records for us in record["tbm_us"]), default=0.0)
    beyond = max((record["peak_rss_mb"] for record in records), default=0.0) - meta["start_rss_mb"]
    rows = [
        ["slowest mask + commit (µs)", f"{MAX_MASK_US:,.0f}", f"{slowest:,.0f}"],
        ["peak RSS beyond the start (MB)", f"{MAX_MEMORY_MB:,.0f}", f"{beyond:,.0f}"],
    ]
    return table(["over all files", "target", OURS], rows)
