"""Plots of times: how they are distributed, and how long the tail is.

Each figure has a column for each kind of time. Above: the share of times up to t (t on a log scale). Below: the share
of times of t or more, both axes logarithmic, which is where a slow mask in ten thousand can be seen. matplotlib is
needed for nothing else, so without it a benchmark says so and goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from masks.records import Record
from masks.summary import COMPILE, TBM, TTFM, times

COLOURS = {
    "constrain": "#0b6e4f",
    "llguidance": "#c1440e",
    "xgrammar": "#3b5ba5",
    "outlines-core": "#8e6bbf",
    "lm-format-enforcer": "#8a7f70",
    "none": "#bbbbbb",
}
POINTS = 2_000  # of a curve: what a plot can show


def curve(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(t, share of values ≤ t) of a sample: at most POINTS steps, closest together in the tail.

    values: float[N], N > 0. Returns float[K] ascending, float[K] in (0, 1].
    """
    ordered = np.sort(values)
    n = ordered.size
    from_end = np.unique(np.geomspace(1, n, min(n, POINTS)).astype(np.int64))  # ranks counted from the largest
    ranks = np.unique(np.concatenate([n - from_end, np.linspace(0, n - 1, min(n, POINTS)).astype(np.int64)]))
    return ordered[ranks], (ranks + 1) / n


def _pyplot() -> Any:
    """matplotlib's, drawing into files; None, and a line on standard error, where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed\n  fix: pip install 'constrain-lm[bench]'", file=sys.stderr)
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def draw(panels: dict[str, dict[str, np.ndarray]], path: Path, title: str, unit: str = "µs") -> bool:
    """Draw distributions (above) and tails (below) into a file. panels: title of a column → engine → values."""
    pyplot = _pyplot()
    if pyplot is None:
        return False
    figure, axes = pyplot.subplots(2, len(panels), figsize=(4.6 * len(panels), 7.2), squeeze=False)
    for column, (name, series) in enumerate(panels.items()):
        for engine, values in series.items():
            if values.size:
                _lines(axes[:, column], engine, np.maximum(values, 1e-3))
        axes[0, column].set(title=name)
        if not any(values.size for values in series.values()):
            continue  # a log scale needs something to show
        axes[0, column].set(xscale="log", ylim=(0, 1.02))
        axes[1, column].set(xscale="log", yscale="log", xlabel=unit)
        for ax in axes[:, column]:
            ax.grid(alpha=0.25)
            ax.xaxis.set_minor_formatter("")
    axes[0, 0].set_ylabel("share of times ≤ t")
    axes[1, 0].set_ylabel("share of times ≥ t")
    if axes[0, 0].lines:
        axes[0, 0].legend(loc="lower right", fontsize=8)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return True


def _lines(axes: Any, engine: str, values: np.ndarray) -> None:
    t, share = curve(values)
    style = {"label": engine, "color": COLOURS.get(engine), "linewidth": 1.4, "drawstyle": "steps-post"}
    axes[0].plot(t, share, **style)
    axes[1].plot(t, 1 - share + 1 / values.size, **style)


def draw_times(results: dict[str, list[Record]], path: Path, title: str) -> bool:
    """The times of a MaskBench run: everything that each engine compiled."""
    by_engine = {name: times(records) for name, records in results.items()}
    panels = {what: {name: by_engine[name][what] for name in results} for what in (TBM, COMPILE, TTFM)}
    return draw(panels, path, title)


def draw_bars(groups: dict[str, dict[str, float]], path: Path, title: str) -> bool:
    """Shares as bars. groups: engine → kind → share in [0, 1], NaN where there is none."""
    pyplot = _pyplot()
    if pyplot is None:
        return False
    kinds = list(next(iter(groups.values())))
    figure, ax = pyplot.subplots(figsize=(7.5, 4))
    width = 0.8 / len(groups)
    for i, (name, shares) in enumerate(groups.items()):
        places = np.arange(len(kinds)) + (i - (len(groups) - 1) / 2) * width
        bars = ax.bar(places, [100 * shares[kind] for kind in kinds], width, label=name, color=COLOURS.get(name))
        ax.bar_label(bars, fmt="%.0f", fontsize=7)
    ax.set(xticks=range(len(kinds)), xticklabels=kinds, ylabel="% of schemas", ylim=(0, 108), title=title)
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return True
