"""The time of a warm mask while other threads compile.

Question: one thread steps through texts whose states are all known, as an engine does between two forwards. How long do
its masks take alone, and beside threads that compile schemas on the same automaton without a pause?

    python benchmarks/tail.py --out benchmarks/record/<date>-threads

Each reading is one `fill_mask` and one `advance`, in wall time. Rounds alone and beside others alternate. Schemas that
the others compile are MaskBench files that are not among those of the texts; each is compiled, and the first tokens of
its instance are read, so that new states are made too; then it is dropped.

Answers are checked: every mask has a checksum, which must be that of the first reading. Bias: the threads compile
without a pause, and a server's do not; Python gives the interpreter from one thread to another every 5 ms, which is
what a step in the middle of a switch waits for.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from batch import cases
from masks import vocabularies
from masks.options import add_files, chosen_files
from masks.records import data_folder, machine, write_run
from masks.summary import table
from masks.vocabularies import VOCABULARIES


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="tail", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, 400)
    parser.add_argument("--vocab", default="llama3", choices=VOCABULARIES)
    parser.add_argument("--texts", type=int, default=16, help="texts that are read again and again (default: 16)")
    parser.add_argument("--steps", type=int, default=40, help="tokens of each (default: 40)")
    parser.add_argument("--threads", type=int, default=2, help="threads that compile (default: 2)")
    parser.add_argument("--rounds", type=int, default=6, help="rounds alone and beside others (default: 6)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a round (default: 2)")
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    return parser.parse_args(arguments)


class Reader:
    """Steps through texts under compiled constraints."""

    def __init__(self, chosen: list[Any], vocabulary: constrain.Vocabulary) -> None:
        self.row = np.zeros(vocabulary.words, np.uint32)
        self.texts = [
            (constrain.compile(constrain.json_schema(schema), vocabulary), np.asarray(tokens).tolist())
            for schema, tokens in chosen
        ]
        self.sums: dict[tuple[int, int], int] = {}
        self.read(0.0)

    def read(self, seconds: float) -> list[int]:
        """Nanoseconds of each step, in rounds through all texts until the time is over."""
        found, end = [], time.perf_counter() + seconds
        while True:
            for index, (compiled, tokens) in enumerate(self.texts):
                matcher = compiled.matcher()
                for place, token in enumerate(tokens):
                    begin = time.perf_counter_ns()
                    matcher.fill_mask(self.row)
                    taken = matcher.advance(token)
                    found.append(time.perf_counter_ns() - begin)
                    total = int(np.bitwise_xor.reduce(self.row)) if taken else -1
                    if total != self.sums.setdefault((index, place), total) or not taken:
                        raise SystemExit("tail: a mask differs from the first reading")
            if time.perf_counter() >= end:
                return found


def compile_until(
    stopped: threading.Event, others: list[Any], vocabulary: constrain.Vocabulary, made: list[int]
) -> None:
    """Compile one schema after the other, and read the first tokens of its instance."""
    for schema, tokens in itertools.cycle(others):
        if stopped.is_set():
            return
        matcher = constrain.compile(constrain.json_schema(schema), vocabulary).matcher()
        for token in np.asarray(tokens[:8]).tolist():
            matcher.mask()
            matcher.advance(token)
        made.append(1)


def round_beside(reader: Reader, others: list[Any], vocabulary: constrain.Vocabulary, options: Any) -> tuple[Any, int]:
    """One round beside threads that compile. (nanoseconds, schemas that were compiled)."""
    stopped, made = threading.Event(), []
    threads = [
        threading.Thread(target=compile_until, args=(stopped, others[k :: options.threads], vocabulary, made))
        for k in range(options.threads)
    ]
    for thread in threads:
        thread.start()
    try:
        return reader.read(options.seconds), len(made)
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def main() -> int:
    """Run, write, print."""
    options = parse()
    bench = vocabularies.load(options.vocab, data_folder(options.data))
    vocabulary = constrain.Vocabulary(bench.tokens, eos_ids=[bench.eos_id])
    found = cases(chosen_files(options, "tail"), bench, options)
    reader, others = Reader(found[: options.texts], vocabulary), found[options.texts :]
    if len(others) < options.threads:
        sys.exit("tail: too few files\n  fix: --limit more, or --steps fewer")
    records: list[dict[str, Any]] = []
    for number in range(options.rounds):
        alone = reader.read(options.seconds)
        beside, made = round_beside(reader, others, vocabulary, options)
        for way, times, count in (("alone", alone, 0), ("beside", beside, made)):
            at = {f"p{q}": float(np.percentile(times, q)) / 1000 for q in (50, 90, 99, 99.9)}
            records.append({"round": number, "way": way, "steps": len(times), "compiled": count, **at})
            records[-1]["max"] = max(times) / 1000
    keys = ("p50", "p90", "p99", "p99.9", "max", "steps", "compiled")
    medians = {way: [float(np.median([r[key] for r in records if r["way"] == way])) for key in keys]
               for way in ("alone", "beside")}  # fmt: skip
    rows = [[way, *(f"{value:.1f}" for value in values)] for way, values in medians.items()]
    ratios = [f"{two / one:.2f}" if one else "" for one, two in zip(medians["alone"], medians["beside"], strict=True)]
    described = {**machine(), "command": " ".join(["tail.py", *sys.argv[1:]]), "version": constrain.__version__}
    title = f"# A warm step beside {options.threads} threads that compile\n\n{described['machine']}\n"
    head = ["µs, median of rounds", *keys]
    text = "\n".join([title, table(head, [*rows, ["beside ÷ alone", *ratios]]), ""])
    if options.out is not None:
        write_run(options.out, described, records, text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
