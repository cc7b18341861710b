"""The tail of compiling: the CPU time of every schema of a folder, and the memory that they leave.

Question: which schemas take longest from JSON to the first mask, and what does a process keep of thousands of them?

    python benchmarks/compile_tail.py --any-order --out DIR                          # MaskBench's files
    python benchmarks/compile_tail.py --files SCHEMASTORE/src/schemas/json --out DIR # any folder of schemas

One process, bytes as vocabulary, one schema after the other in the order of their names; each is dropped when it was
measured. A schema that is refused counts with the time until then. Bias: what an automaton has learnt from the schemas
before makes first masks cheaper; collections of Python's garbage fall on whichever schema is next.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from masks.options import add_files
from masks.records import data_folder, machine, write_run
from masks.summary import table

SLOWEST = 20


def measured(schema: Any, order: str, seconds: float, vocabulary: constrain.Vocabulary) -> dict[str, Any]:
    """CPU seconds of reading and compiling, of these and the first mask, and the error if there is one."""
    begin, found = time.thread_time(), {"error": None, "left to the check": 0}
    try:
        limits = constrain.Limits(seconds=seconds)
        constraint = constrain.json_schema(schema, property_order=order, limits=limits)
        compiled = constrain.compile(constraint, vocabulary)
        found["compile"] = time.thread_time() - begin
        compiled.matcher().mask()
        found["left to the check"] = len(constraint.document.residuals)
    except (constrain.ConstrainError, RecursionError) as error:
        found["error"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    found["first mask"] = time.thread_time() - begin
    return {"compile": found["first mask"]} | found


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def summary_of(rows: list[dict[str, Any]], begun_mb: float) -> str:
    """A table of times, one of the slowest, and a line on memory."""
    done = [row for row in rows if row["error"] is None]
    lines = []
    for name in ("compile", "first mask"):
        times = 1e3 * np.array([row[name] for row in done])
        points = [f"{value:.2f}" for value in (*np.percentile(times, [50, 90, 99, 99.9]), times.max(), times.mean())]
        lines.append([name, *points])
    slowest = sorted(rows, key=lambda row: -row["first mask"])[:SLOWEST]
    return "\n\n".join(
        [
            f"{len(done)} of {len(rows)} schemas compile.",
            table(["CPU ms", "p50", "p90", "p99", "p99.9", "max", "mean"], lines),
            table(["slowest", "s"], [[row["name"], f"{row['first mask']:.3f}"] for row in slowest]),
            f"Resident memory: {begun_mb:.0f} MB before, {rows[-1]['mb']:.0f} MB after; "
            f"{rows[min(2000, len(rows)) - 1]['mb'] - begun_mb:.0f} MB more after {min(2000, len(rows))}.\n",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, None)
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    parser.add_argument("--any-order", action="store_true", help="properties in any order")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of reading one schema (default: 10)")
    options = parser.parse_args()
    order = "any" if options.any_order else "schema"
    files = sorted((options.files or data_folder(options.data, "maskbench-dev")).glob("*.json"))
    vocabulary = constrain.Vocabulary.of_bytes()
    measured({"type": "object", "properties": {"a": {"type": "number"}}}, order, options.seconds, vocabulary)
    begun_mb, rows = resident_mb(), []
    for path in [path for path in files if not options.only or options.only in path.name][: options.limit]:
        try:
            given = json.loads(path.read_bytes())
        except ValueError:
            continue  # a comment, say
        schema = given["schema"] if isinstance(given, dict) and {"schema", "tests"} <= given.keys() else given
        rows.append({"name": path.stem, **measured(schema, order, options.seconds, vocabulary), "mb": resident_mb()})
    summary = summary_of(rows, begun_mb)
    print(summary)
    if options.out:
        write_run(options.out, {**machine(), "order": order, "schemas": len(rows)}, rows, summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
