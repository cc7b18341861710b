"""The time of a batch of masks, with one thread and with two.

Question: 64 sequences under as many schemas, a token each at every step. What does a mask cost a sequence in one call
for all, beside a call for each? How much quicker are two threads than one?

    python benchmarks/batch.py --out benchmarks/record/<date>-batch
    python benchmarks/batch.py --ways 'constrain*' --batch 256

| way | |
|---|---|
| constrain, single | `fill_mask`, `advance` of each matcher |
| constrain, batch, 1 or 2 threads | `fill_masks`, `advance_all` |
| constrain, batch, rehearsed | the same after `compile(..., rehearse=True)`; processes of their own |
| constrain, two automata, 1 or 2 threads | the same, half of the constraints in each of two `TokenAutomaton`s |
| llguidance, single; executor, 1 or 2 threads | `LLMatcher`; `LLExecutor` |
| xgrammar, single; batch, 1 or 2 threads | `GrammarMatcher`; `BatchGrammarMatcher` |

Every sequence is the first valid instance of a MaskBench file, of which the first `--steps` tokens are taken; files are
the ones that every engine of the run takes so far. A pass begins all sequences anew. In the first, states are new to
the engine (*cold*); in the others they were met before (*warm*). Passes of all ways alternate, so that noise of the
machine falls on all. Wall time, of the fill alone and of the advance.

Answers are checked at every step: the bit of every next token is set, and every row equals that of the single calls of
the same engine. Bias: sequences move in step, and no request begins or ends in between; xgrammar compiles for seconds
a schema, so it is left out unless asked for with `--ways`.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from masks import batches, vocabularies
from masks.options import add_files, chosen_files
from masks.records import data_folder, machine, write_run
from masks.summary import table
from masks.vocabularies import VOCABULARIES, BenchVocabulary

DEFAULT = "constrain*,llguidance*"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="batch", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, 400)
    parser.add_argument("--vocab", default="llama3", choices=VOCABULARIES)
    parser.add_argument("--batch", type=int, default=64, help="sequences (default: 64)")
    parser.add_argument("--steps", type=int, default=40, help="tokens of each (default: 40)")
    parser.add_argument("--passes", type=int, default=6, help="the first is cold (default: 6)")
    parser.add_argument("--ways", default=DEFAULT, help=f"patterns of {', '.join(batches.WAYS)}")
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    return parser.parse_args(arguments)


def chosen_ways(text: str) -> list[str]:
    """The ways that one of the patterns names, or an end with a message."""
    ways = [way for way in batches.WAYS if any(fnmatch.fnmatch(way, p.strip()) for p in text.split(","))]
    if not ways:
        sys.exit(f"batch: no way is called {text!r}; there are {', '.join(batches.WAYS)}")
    return ways


def cases(files: list[Path], vocabulary: BenchVocabulary, options: argparse.Namespace) -> list[batches.Case]:
    """(schema, tokens) of files with a valid instance that is long enough, until there are enough to choose from."""
    found: list[batches.Case] = []
    for path in files:
        content = json.loads(path.read_text(encoding="utf-8"))
        for test in content["tests"]:
            tokens = vocabulary.encode(json.dumps(test["data"], ensure_ascii=False)) if test["valid"] else []
            if len(tokens) >= options.steps:
                found.append((content["schema"], tokens[: options.steps]))
                break
    return found


def measure(way: batches.Way, tokens: np.ndarray, expected: np.ndarray | None) -> tuple[dict[str, Any], np.ndarray]:
    """One pass. tokens: int64[T, B]. expected: uint32[T], a checksum of the rows of each step. (times, checksums)."""
    fill, advance, sums = [], [], []
    row = np.arange(tokens.shape[1])
    way.begin()
    for now in tokens:
        begin = time.perf_counter_ns()
        way.fill()
        filled = time.perf_counter_ns()
        if not (way.rows[row, now >> 5] >> (now & 31).astype(np.uint32) & 1).all():
            raise SystemExit(f"batch: {way.name} refuses a token that it accepted before")
        sums.append(int(np.bitwise_xor.reduce((way.rows * way.weights).ravel())))
        ids = now.tolist()
        stepped = time.perf_counter_ns()
        taken = way.advance(ids)
        advance.append((time.perf_counter_ns() - stepped) / 1000)
        fill.append((filled - begin) / 1000)
        if not all(taken):
            raise SystemExit(f"batch: {way.name} does not advance by a token that its mask allows")
    found = np.array(sums, np.uint32)
    if expected is not None and not np.array_equal(found, expected):
        raise SystemExit(f"batch: {way.name} has other masks than the single calls of its engine")
    return {"way": way.name, "fill_us": np.round(fill, 1).tolist(), "advance_us": np.round(advance, 1).tolist()}, found


def summary(records: list[dict[str, Any]], described: dict[str, Any], batch: int) -> str:
    """µs a mask and a step, cold and warm, and what a second thread and a batch bring."""
    figures: dict[str, dict[str, float]] = {}
    for way in dict.fromkeys(record["way"] for record in records):
        mine = [record for record in records if record["way"] == way]
        warm = np.array([record["fill_us"] for record in mine[1:]]) / batch
        steps = np.array([record["advance_us"] for record in mine[1:]]) / batch
        cold = np.array(mine[0]["fill_us"]) / batch
        figures[way] = {
            "cold": float(cold.mean()),
            "slowest": float(cold.max()),
            "warm": float(np.median(warm.mean(1))),
            "p50": float(np.percentile(warm, 50)),
            "p99": float(np.percentile(warm, 99)),
            "advance": float(np.median(steps.mean(1))),
        }
    rows = []
    for way, of in figures.items():
        single = figures.get(way.partition(",")[0] + ", single")
        one = figures.get(way.replace("2 threads", "1 thread")) if "2 threads" in way else None
        gains = [f"{one[key] / of[key]:.2f}" if one else "" for key in ("cold", "warm")]
        rows.append([way, *(f"{value:.2f}" for value in of.values()), *gains])
        rows[-1].append(f"{of['warm'] / single['warm']:.2f}" if single else "")
    head = ["µs a sequence", "mask, cold", "slowest step, cold", "mask, warm", "warm p50", "warm p99", "advance, warm"]
    head += ["1 ÷ 2 threads, cold", "1 ÷ 2 threads, warm", "warm ÷ single"]
    title = f"# Batches of {batch}\n\n{described['command']}\n{described['machine']}\n"
    return "\n".join([title, table(head, rows), ""])


def main() -> int:
    """Run, write, print."""
    options = parse()
    ways = chosen_ways(options.ways)
    files = chosen_files(options, "batch")
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    made = {name: batches.WAYS[name](name, vocabulary, options.batch) for name in ways}
    chosen = batches.agreed(list(made.values()), cases(files, vocabulary, options), options.batch)
    if len(chosen) < options.batch:
        sys.exit(f"batch: only {len(chosen)} files are taken by every engine\n  fix: --limit more, or --steps fewer")
    tokens = np.array([each for _, each in chosen]).T.copy()
    records, sums = [], {}
    for way in made.values():
        way.compile([schema for schema, _ in chosen])
    for number in range(options.passes):
        for way in made.values():
            record, found = measure(way, tokens, sums.get(way.engine))
            sums.setdefault(way.engine, found)
            records.append({**record, "pass": number})
            print(f"pass {number}, {way.name}: {sum(record['fill_us']) / tokens.size:.2f} µs a mask", file=sys.stderr)
    command = f"batch.py --ways '{options.ways}' --vocab {options.vocab} --batch {options.batch} --steps "
    command += f"{options.steps} --passes {options.passes} --limit {options.limit} --seed {options.seed}"
    described = {**machine(), "command": command, "versions": {way.engine: way.version for way in made.values()}}
    text = summary(records, described, options.batch)
    if options.out is not None:
        write_run(options.out, described, records, text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
