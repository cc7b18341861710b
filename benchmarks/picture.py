"""The picture of the README: what passes and how long masks and compiling take, from the record of a MaskBench run.

    python benchmarks/picture.py DIR --out docs/pictures/maskbench.svg      # DIR: the --out of a run of maskbench

Bars: the share of schemas that pass (all valid instances accepted, all invalid ones refused), and means over the
schemas that all engines of the record finished. One file for light and dark pages: words are grey, the ground is clear.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from masks.plots import COLOURS
from masks.summary import COMPILE, TBM, matched, passes, times

GREY = "#808890"


def main(arguments: list[str] | None = None) -> int:
    """Read a record, draw, write."""
    parser = argparse.ArgumentParser(
        prog="picture", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path, help="folder of a MaskBench run with several engines")
    parser.add_argument("--out", type=Path, required=True, help="the SVG file")
    options = parser.parse_args(arguments)
    files = sorted(options.record.glob("*.jsonl.gz"))
    results = {file.name.partition(".")[0]: read(file) for file in files}
    draw(bars(results), options.out)
    return 0


def read(file: Path) -> list[dict[str, Any]]:
    """The records of an engine."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def bars(results: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Title of a panel -> engine -> value."""
    same = {name: times(records) for name, records in matched(results).items()}
    shares = {name: 100 * float(np.mean([passes(each) for each in records])) for name, records in results.items()}
    return {
        "schemas that pass, %": shares,
        "mask + commit of a token, µs": {name: float(np.mean(found[TBM])) for name, found in same.items()},
        "the slowest in a hundred, µs": {name: float(np.percentile(found[TBM], 99)) for name, found in same.items()},
        "compile a schema, µs": {name: float(np.mean(found[COMPILE])) for name, found in same.items()},
    }


def draw(panels: dict[str, dict[str, float]], path: Path) -> None:
    """Draw a row of panels."""
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "constrain"  # the same file each time
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9, "text.color": GREY, "axes.labelcolor": GREY, "svg.fonttype": "none"})
    figure, axes = pyplot.subplots(1, len(panels), figsize=(2.6 * len(panels), 1.35))
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        names = list(values)[::-1]
        drawn = ax.barh(names, [values[name] for name in names], color=[COLOURS[name] for name in names], height=0.6)
        ax.bar_label(
            drawn, labels=[f" {values[name]:,.{0 if values[name] >= 100 else 1}f}" for name in names], color=GREY
        )
        ax.set_title(title, fontsize=9, color=GREY, loc="left")
        ax.set_xlim(0, 1.3 * max(values.values()))
        ax.xaxis.set_visible(False)
        ax.tick_params(colors=GREY, length=0, labelleft=ax is axes[0])
        for side in ax.spines.values():
            side.set_visible(False)
    figure.tight_layout(pad=0.4)
    figure.savefig(path, transparent=True, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
