"""The delay until work ends that was cancelled from another thread.

Question: for each case of attack_cases.py, cancelled at several moments of its reading, compiling and masks, how much
time passes until it ends in a LimitError?

    python benchmarks/cancelling.py --out benchmarks/record/<date>-cancelling

A case is run once without being cancelled, and then anew for each moment, on an automaton of its own. The delay is the
wall time from the moment to the error, beside the CPU time of the process: on a busy machine the first is longer.
A case that ends before the moment says nothing, and is counted apart. Checked: the error says that it was cancelled.
Not counted: making the schema and the tokens of the text, which is not the library's work. Between two masks the caller
asks by itself, as a server does: a mask that is known looks at no limits. What is alive after the first mask is kept
from Python's collector (`gc.freeze()`, as servers do): else each full collection, which nothing can stop, takes 100 ms.
"""

from __future__ import annotations

import argparse
import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import constrain
from attack_cases import CASES, Case
from constrain.masks.engine import TokenAutomaton
from masks import vocabularies
from masks.records import data_folder, machine, write_run
from masks.summary import table

GOAL = 0.05  # seconds


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="cancelling", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--vocab", default="llama3", choices=vocabularies.VOCABULARIES)
    parser.add_argument("--moments", type=int, default=5, help="how often each case is cancelled")
    parser.add_argument("--longest", type=float, default=3.0, help="seconds after which a case is left")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, ../shared/data)")
    parser.add_argument("--out", type=Path, help="folder for the record")
    return parser.parse_args(arguments)


def work(
    kind: str,
    language: Any,
    options: dict[str, Any],
    vocabulary: constrain.Vocabulary,
    tokens: list[int],
    cancelled: Callable[[], bool],
) -> None:
    """Read the constraint, compile it and read the text. Raises ConstrainError."""
    make = {"json": constrain.json_schema, "regex": constrain.regex, "lark": constrain.grammar}[kind]
    with constrain.Limits(seconds=None, cancelled=cancelled):
        constraint = make(language, **options)
        matcher = constrain.compile(constraint, vocabulary, automaton=TokenAutomaton(vocabulary)).matcher()
        for token in tokens:
            if cancelled():
                raise constrain.LimitError("the caller's own work was cancelled")
            matcher.mask()
            if not matcher.advance(token):
                return


def delay(attempt: Case, vocabulary: constrain.Vocabulary, tokens: list[int], moment: float) -> dict[str, Any] | None:
    """Cancel a case after `moment` seconds. Returns the delay in seconds; None if it ended before."""
    cancelled = threading.Event()
    ended: dict[str, Any] = {}
    kind, language = attempt.make()

    def run() -> None:
        try:
            work(kind, language, attempt.options, vocabulary, tokens, cancelled.is_set)
        except constrain.ConstrainError as error:
            ended["message"] = str(error)
        ended["at"], ended["cpu"] = time.perf_counter(), time.process_time()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(moment)
    at, cpu = time.perf_counter(), time.process_time()
    cancelled.set()
    thread.join()
    if ended["at"] < at or "was cancelled" not in ended.get("message", ""):
        return None
    return {"moment": moment, "wall": ended["at"] - at, "cpu": ended["cpu"] - cpu}


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark."""
    options = parse(arguments)
    listed = vocabularies.load(options.vocab, data_folder(options.data))
    vocabulary = constrain.Vocabulary(listed.tokens, eos_ids=[listed.eos_id])
    constrain.compile(constrain.json_schema({}), vocabulary).matcher().mask()  # kernels are loaded
    gc.collect()
    gc.freeze()
    rows = []
    for attempt in CASES:
        if options.only not in attempt.name:
            continue
        tokens = listed.encode(attempt.text())
        begin = time.perf_counter()
        whole = delay(attempt, vocabulary, tokens, options.longest)
        seconds = options.longest if whole else time.perf_counter() - begin
        moments = [seconds * (i + 1) / (options.moments + 1) for i in range(options.moments)]
        found = [each for moment in moments if (each := delay(attempt, vocabulary, tokens, moment))]
        found += [whole] if whole else []
        rows.append({"group": attempt.group, "name": attempt.name, "seconds": round(seconds, 3), "delays": found})
        worst = max((each["wall"] for each in found), default=0.0)
        print(f"{attempt.name}: {seconds:.2f} s, {len(found)} cancelled, slowest {1e3 * worst:.0f} ms", flush=True)
    shown = [
        [row["name"], f"{row['seconds']:.2f}", str(len(row["delays"])), *(
            f"{1e3 * max((each[clock] for each in row['delays']), default=0.0):.0f}" for clock in ("wall", "cpu")
        )]
        for row in rows
    ]  # fmt: skip
    delays = [each["wall"] for row in rows for each in row["delays"]]
    late = sum(each > GOAL for each in delays)
    summary = table(["case", "seconds", "cancelled", "slowest end, wall ms", "CPU ms"], shown)
    summary += f"\n{len(delays)} cancelled, {late} of them ended later than {1e3 * GOAL:.0f} ms.\n"
    print(summary)
    if options.out:
        write_run(options.out, {"command": "cancelling", **machine()}, rows, summary)


if __name__ == "__main__":
    main()
