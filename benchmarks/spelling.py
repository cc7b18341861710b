"""Plain spelling beside all of JSON: the verdicts, which have to be the same, and the cost of a mask.

Question: does `spelling="plain"`, the default of `json_schema`, accept exactly the instances of MaskBench that
`spelling="any"` accepts, and what do compiling, masks and commits take under either?

    python benchmarks/spelling.py --limit 500 --out DIR

Both run in one process, file by file in turn, each with states of its own; which is first alternates, too. Instances
are written by `json.dumps`. Times are of the thread's clock. Bias: one process, so that collections of garbage fall on
both.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

from masks import engines, vocabularies
from masks.interface import Settings
from masks.measure import VERDICTS, measure
from masks.options import add_files, add_records, chosen_files
from masks.records import data_folder, machine

SPELLINGS = ("any", "plain")
WARM_UP_TEXT = '{"a": "b", "b": [1, 2.5]}'


def summary_of(records: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Verdicts and times by spelling; and the plain ones divided by the others."""
    found: dict[str, Any] = {}
    for spelling, rows in records.items():
        verdicts = {name: sum(row[name] for row in rows) for name in VERDICTS}
        masks = np.concatenate([row["mask_us"] for row in rows])
        both = np.concatenate([row["tbm_us"] for row in rows])
        compiled = np.array([row["compile_us"] for row in rows if row["compile_us"] is not None])
        found[spelling] = verdicts | {
            "errors": sum(row["error"] is not None for row in rows),
            "masks": len(masks),
            **_times("mask", masks),
            **_times("mask + commit", both),
            **_times("compile", compiled),
        }
    ratios = {key: round(found["plain"][key] / found["any"][key], 3) for key in found["any"] if key.endswith("µs")}
    return found | {"plain / any": ratios}


def _times(name: str, times: np.ndarray) -> dict[str, float]:
    points = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9}
    found = {f"{name} {point}, µs": float(np.percentile(times, share)) for point, share in points.items()}
    return {key: round(each, 2) for key, each in (found | {f"{name} mean, µs": float(times.mean())}).items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, 500)
    add_records(parser, "summary")
    parser.add_argument("--vocab", default="llama3", help="one vocabulary (default: llama3)")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for one file (default: 60)")
    parser.add_argument("--any-order", action="store_true", help="properties in any order")
    options = parser.parse_args()
    files = chosen_files(options, "spelling")
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    made = {}
    for spelling in SPELLINGS:
        made[spelling] = engines.make("constrain", vocabulary, Settings(options.any_order, spelling=spelling))
        engines.warm_up(made[spelling], vocabulary.encode(WARM_UP_TEXT))
    records: dict[str, list[dict[str, Any]]] = {spelling: [] for spelling in SPELLINGS}
    differ = []
    for number, path in enumerate(files):
        for spelling in SPELLINGS[:: 1 if number % 2 else -1]:
            row = measure(made[spelling], vocabulary, path, time.thread_time_ns, options.time_limit)
            records[spelling].append(row)
        one, other = (records[spelling][-1] for spelling in SPELLINGS)
        if [one[name] for name in (*VERDICTS, "error")] != [other[name] for name in (*VERDICTS, "error")]:
            differ.append(path.name)
    summary = {**machine(), "vocabulary": options.vocab, "files": len(files)} | summary_of(records)
    summary["files whose verdicts differ"] = differ
    print(json.dumps(summary, indent=1, ensure_ascii=False))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
        (options.out / "summary.json").write_text(text, encoding="utf-8")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
