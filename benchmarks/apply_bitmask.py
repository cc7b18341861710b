"""The time to set the logits of refused tokens to -inf.

Question: logits of a batch on a CPU, and a bitmask for each row: how long does `constrain.apply_bitmask_` take, beside
torch's `masked_fill_` with the mask unpacked already, and xgrammar's function for the same purpose?

    python benchmarks/apply_bitmask.py --out benchmarks/record/<date>-apply-bitmask

Answers are checked: all ways leave the same logits. Best of many runs, one thread, wall time of the call. Bias: the
same rows again and again, so they are in the cache as far as they fit; `masked_fill_` is spared the unpacking. On a GPU
(`--device cuda`) the time is that of a queue of calls, and xgrammar uses its own kernel; nobody has run that yet.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import torch

import constrain
from masks.records import machine, write_run
from masks.summary import table

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="apply_bitmask", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--size", type=int, default=128_256, help="tokens of the vocabulary")
    parser.add_argument("--rows", default="1,64", help="sizes of the batch")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    return parser.parse_args(arguments)


def bitmasks(rows: int, size: int) -> dict[str, np.ndarray]:
    """uint32[rows, ceil(size / 32)]: nearly all (inside a string), few (after a value), and half, at random."""
    shape = (rows, -(-size // 32))
    rng = np.random.default_rng(0)
    dense = np.full(shape, 0xFFFFFFFF, np.uint32)
    dense[:, ::20] ^= np.uint32(0x10)
    few = np.zeros(shape, np.uint32)
    few[:, ::300] = 5
    return {"nearly all": dense, "few": few, "half": rng.integers(0, 2**32, shape, dtype=np.uint32)}


def ways(words: np.ndarray, size: int, device: str) -> dict[str, Callable[[torch.Tensor], object]]:
    """Name -> a function that masks logits in place."""
    sent = torch.from_numpy(words.view(np.int32)).to(device)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :size]
    refused = torch.from_numpy(bits == 0).to(device)
    found: dict[str, Callable[[torch.Tensor], object]] = {
        "constrain": lambda logits: constrain.apply_bitmask_(logits, sent, size),
        "masked_fill_": lambda logits: logits.masked_fill_(refused, -torch.inf),
    }
    try:
        import xgrammar

        found["xgrammar " + version("xgrammar")] = lambda x: xgrammar.apply_token_bitmask_inplace(x, sent)
    except (ImportError, PackageNotFoundError):
        print("the package xgrammar is not installed: left out", file=sys.stderr)
    return found


def best_us(function: Callable[[], object], runs: int, device: str) -> float:
    """The tenth best of a hundred, so that neither luck nor the machine's other work counts."""
    times = []
    for _ in range(runs):
        if device != "cpu":
            torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        function()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append((time.perf_counter_ns() - begin) / 1000)
    return float(np.percentile(times, 10))


def measure(options: argparse.Namespace) -> list[dict[str, object]]:
    """A record for each batch, number format, mask and way."""
    records: list[dict[str, object]] = []
    for rows in map(int, options.rows.split(",")):
        for name, dtype in DTYPES.items():
            logits = torch.randn(rows, options.size).to(dtype).to(options.device)
            for kind, words in bitmasks(rows, options.size).items():
                functions = ways(words, options.size, options.device)
                wanted: torch.Tensor | None = None
                for way, function in functions.items():
                    masked = logits.clone()
                    function(masked)
                    wanted = masked if wanted is None else wanted
                    if not torch.equal(masked, wanted):
                        sys.exit(f"apply_bitmask: {way} and constrain leave other logits")
                    us = best_us(lambda f=function, x=masked: f(x), options.runs, options.device)
                    records.append({"rows": rows, "dtype": name, "mask": kind, "way": way, "us": round(us, 2)})
    return records


def main() -> int:
    """Run, write, print. 1: slower than masked_fill_ somewhere; else 0."""
    options = parse()
    torch.set_num_threads(1)
    records = measure(options)
    names = list(dict.fromkeys(str(record["way"]) for record in records))
    cases = dict.fromkeys((record["rows"], record["dtype"], record["mask"]) for record in records)
    rows, slower = [], 0
    for case in cases:
        times = {r["way"]: float(str(r["us"])) for r in records if (r["rows"], r["dtype"], r["mask"]) == case}
        slower += times["constrain"] > times["masked_fill_"]
        ratio = f"{times['constrain'] / times['masked_fill_']:.2f}"
        rows.append([", ".join(map(str, case)), *(f"{times[name]:,.1f}" for name in names), ratio])
    command = f"apply_bitmask.py --size {options.size} --rows {options.rows} --device {options.device}"
    described = {**machine(), "torch": torch.__version__, "command": f"{command} --runs {options.runs}"}
    head = ["rows, number format, allowed", *names, "÷ masked_fill_"]
    title = f"# Logits under bitmasks, µs a batch\n\n{described['command']}\n{described['machine']}\n"
    text = f"{title}\n{table(head, rows)}\n"
    if options.out is not None:
        write_run(options.out, described, records, text)
    print(text)
    return int(slower > 0)


if __name__ == "__main__":
    sys.exit(main())
