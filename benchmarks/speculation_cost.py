"""Cost model of the verifier's kernels: launches, programs and bytes, counted while Triton's interpreter runs them.

    TRITON_INTERPRET=1 python benchmarks/speculation_cost.py --out DIR [--sizes 32000] [--nodes 1 16] [--batch 1]

Each row is one verdict on the trees of speculation_gpu.py, from logits and bitmasks to the entries that are copied
back. Counted are kernel launches, their programs, and the bytes at all addresses of every load and store, each address
once a load (32 ids share a word of a mask). What a program reads twice counts twice, though a cache may have it. Copies
from and to the host are not in it.

    lower bound of the device's time = launches · LAUNCH + bytes / BANDWIDTH

`pass` is the bytes in units of the logits of all places, so 1 is reading each logit once. LAUNCH is the gap between two
kernels of a replayed CUDA graph, BANDWIDTH the specification of an H200. A model, no measurement: programs that wait
for one another, which are few where a tree is alone, take longer (record 2026-11-26-gpu).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("TRITON_INTERPRET", "1")  # before triton is imported

import numpy as np
import torch
from triton.runtime import interpreter

from constrain.speculative.fused import Fused
from speculation_gpu import FILTERED, PLAIN, problem, verdicts, with_draws

LAUNCH = 1e-6  # seconds
BANDWIDTH = 4.8e12  # bytes a second
RULES = {"match": ("match", PLAIN), "filtered": ("match", FILTERED), "traversal": ("traversal", PLAIN)}


class Counting:
    """Counts what Triton's interpreter does. counts: by (what, kernel); the kernel is the one that runs now."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.kernel = ""
        builder, executor = interpreter.InterpreterBuilder, interpreter.GridExecutor
        load, store, run = builder.create_masked_load, builder.create_masked_store, executor.__call__

        def loaded(own: Any, ptrs: Any, mask: Any, *rest: Any) -> Any:
            found = load(own, ptrs, mask, *rest)
            self.counts["read", self.kernel] += len(np.unique(ptrs.data[mask.data])) * found.data.itemsize
            return found

        def stored(own: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
            self.counts["written", self.kernel] += len(np.unique(ptrs.data[mask.data])) * value.data.itemsize
            return store(own, ptrs, value, mask, *rest)

        def launched(own: Any, *given: Any, **named: Any) -> Any:
            self.kernel = own.fn.__name__
            grid = own.grid(named) if callable(own.grid) else own.grid
            programs = 1
            for count in grid:
                programs *= count
            self.counts["launches", self.kernel] += 1
            self.counts["programs", self.kernel] += programs
            return run(own, *given, **named)

        builder.create_masked_load, builder.create_masked_store = loaded, stored
        executor.__call__ = launched

    def total(self, what: str) -> int:
        """Over all kernels."""
        return sum(count for (each, _), count in self.counts.items() if each == what)


def counted(counting: Counting, size: int, nodes: int, batch: int, name: str) -> dict[str, Any]:
    """A row: one verdict of a rule."""
    rule, settings = RULES[name]
    given = problem(size, nodes, batch, torch.device("cpu"))
    given = with_draws(given) if rule == "traversal" else given
    run = verdicts(Fused(rule, kernels=True, graphs=False), given, settings)
    counting.counts.clear()
    run()
    moved = counting.total("read") + counting.total("written")
    launches = counting.total("launches")
    kernels = sorted({kernel for _, kernel in counting.counts})
    return {
        "rule": name, "vocabulary": size, "nodes": nodes, "trees": batch, "launches": launches,
        "programs": counting.total("programs"), "bytes": moved,
        "pass": moved / (batch * (nodes + 1) * size * 4), "bound_us": 1e6 * (launches * LAUNCH + moved / BANDWIDTH),
        "by kernel": {
            kernel: {what: counting.counts[what, kernel] for what in ("launches", "programs", "read", "written")}
            for kernel in kernels
        },
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| rule | vocabulary | nodes | trees | launches | programs | MB | passes over the logits | at least, µs |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['rule']} | {row['vocabulary']} | {row['nodes']} | {row['trees']} | {row['launches']} | "
        f"{row['programs']} | {row['bytes'] / 1e6:.1f} | {row['pass']:.2f} | {row['bound_us']:.0f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> int:
    """Count, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32_000], help="vocabularies")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 16], help="nodes of a tree")
    parser.add_argument("--batch", type=int, nargs="+", default=[1], help="trees")
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=RULES)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    counting, rows = Counting(), []
    for size, nodes, batch, name in itertools.product(options.sizes, options.nodes, options.batch, options.rules):
        rows.append(counted(counting, size, nodes, batch, name))
        print(json.dumps(rows[-1]), flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "cost.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (options.out / "cost.md").write_text(table(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
