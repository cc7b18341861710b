"""One HTML page from the record of a MaskBench run: coverage, soundness, mask and compile times, engines side by side;
and the quality of answers, if a run of quality.py is named, too.

    python benchmarks/maskbench.py --engines constrain,llguidance --limit 500 --paired --out DIR     # measures
    python benchmarks/report.py DIR --out report.html                                                # draws
    python benchmarks/report.py DIR --engines llguidance,xgrammar --out report.html                  # any two of them
    python benchmarks/quality.py --out QUALITY && python benchmarks/report.py DIR --quality QUALITY -o report.html

The first engine is the one that the others are compared with. All records are of one run, over the same files; a file
that an engine lacks is a message, since shares over different files cannot be compared. Bias: see maskbench.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from masks.page import page
from masks.records import Records
from masks.usage import refuse
from reasoning.summary import section


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path, help="folder of a MaskBench run (--out of maskbench)")
    parser.add_argument("--engines", help="some of those in the record, in this order (default: all)")
    parser.add_argument("--quality", type=Path, help="folder of a run of quality (its --out): a part of the page")
    parser.add_argument("--out", "-o", type=Path, default=Path("report.html"), help="the page (default: report.html)")
    return parser.parse_args(arguments)


def read(folder: Path, engines: str | None) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Any], dict[str, Any]]:
    """(records by engine, what each engine said of itself, the settings) of a run, or an end with a message."""
    path = folder / "settings.json"
    if not path.is_file():
        refuse(f"report: {folder} holds no run of maskbench\n  fix: name the folder that was its --out")
    settings = json.loads(path.read_text(encoding="utf-8"))
    there = list(settings.get("engines", {}))
    names = engines.split(",") if engines else there
    if unknown := [name for name in names if name not in there]:
        refuse(f"report: no records of {', '.join(unknown)} in {folder}; there are {', '.join(there) or 'none'}")
    results = {name: Records(folder, name).all() for name in names}
    if not names or not all(results.values()):
        refuse(f"report: {folder} has no records\n  fix: finish the run: maskbench --resume")
    files = {name: {record["file"] for record in records} for name, records in results.items()}
    if any(files[name] != files[names[0]] for name in names):
        refuse("report: the engines were not run over the same files\n  fix: finish the run: maskbench --resume")
    return results, {name: settings["engines"][name] for name in names}, settings["run"]


def answers(folder: Path | None) -> str:
    """The part of the page about a run of quality.py, or an end with a message; "" where none is named."""
    if folder is None:
        return ""
    path = folder / "settings.json"
    records = Records(folder, "answers", "id").all()
    if not path.is_file() or not records:
        refuse(f"report: {folder} holds no run of quality\n  fix: name the folder that was its --out")
    settings = json.loads(path.read_text(encoding="utf-8"))["run"]
    asked = settings["count"] * len(settings["kinds"]) * len(settings["modes"])
    if len(records) != asked:
        refuse(f"report: {folder} has {len(records)} answers of {asked}\n  fix: finish the run: quality --resume")
    return section(records, settings)


def main(arguments: list[str] | None = None) -> int:
    """Read, draw, write."""
    options = parse(arguments)
    results, metas, run = read(options.record, options.engines)
    options.out.write_text(page(results, metas, run, answers(options.quality)), encoding="utf-8")
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
