"""The cost of the second request of a schema.

Question: servers see the same schemas again and again. When a schema and its texts were met before in the process,
what do compiling, a mask and a commit cost, the call from Python included?

    python benchmarks/warm.py --limit 500 --clock cpu --out benchmarks/record/<date>-warm

Every file is measured twice in a row as `maskbench.py` does; the second time is the record. Both engines run over the
same files in the same run, alternating file by file. Answers are checked both times, and the second ones must equal
the first. Bias: the second request has the texts of the first, so each of its states was visited: it is the best case
of whatever an engine remembers.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from masks.engines import ENGINE_NAMES
from masks.measure import CLOCKS, VERDICTS, empty_record, measure
from masks.options import add_files, add_records, chosen_engines, chosen_files
from masks.records import Record, data_folder, machine, open_folder, write_settings
from masks.runner import run
from masks.summary import COMPILE, MASK, TBM, matched, table, times
from masks.vocabularies import VOCABULARIES
from masks.workers import Worker, WorkerError, claim_stdout, serve

HERE = Path(__file__).resolve().parent
WARM_UP_TEXT = '{"a": "b", "b": [1, 2.5]}'
OURS = "constrain"
TARGETS = {(MASK, 50.0): 3.0, (MASK, None): 6.0}  # µs
FIGURES: list[tuple[str, float | None]] = [
    (MASK, 50.0),
    (MASK, 99.0),
    (MASK, 100.0),
    (MASK, None),
    (TBM, 50.0),
    (TBM, None),
    (COMPILE, 50.0),
    (COMPILE, None),
]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="warm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, 500)
    parser.add_argument("--engines", default="constrain,llguidance", help=f"some of {','.join(ENGINE_NAMES)}")
    parser.add_argument("--vocab", default="llama3", choices=VOCABULARIES)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for one request (default: 60)")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"], help="cpu: the thread's own time")
    add_records(parser, "and the summary")
    parser.add_argument("--worker", choices=ENGINE_NAMES, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def work(options: argparse.Namespace) -> None:
    """A worker: one engine; a request is the path of a file, the answer its record."""
    answers = claim_stdout()
    from masks import engines, limits, vocabularies

    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    begin = time.perf_counter()
    engine = engines.make(options.worker, vocabulary)
    engines.warm_up(engine, vocabulary.encode(WARM_UP_TEXT))
    ready = {"version": engine.version, "start_seconds": time.perf_counter() - begin}
    ready["start_rss_mb"] = limits.peak_rss_mb()

    def twice(path: str) -> Record:
        first = measure(engine, vocabulary, Path(path), CLOCKS[options.clock], options.time_limit)
        if first["error"] is not None:
            return first
        second = measure(engine, vocabulary, Path(path), CLOCKS[options.clock], options.time_limit)
        if [first[key] for key in VERDICTS] != [second[key] for key in VERDICTS]:
            second |= {"error": "fault", "message": "the second request has other verdicts than the first"}
        return second | {"first_compile_us": first["compile_us"], "first_mask_sum_us": round(sum(first["mask_us"]), 1)}

    serve(answers, ready, twice)


def worker_command(name: str, options: argparse.Namespace) -> list[str | Path]:
    """The command line of a worker."""
    given = ["--worker", name, "--vocab", options.vocab, "--clock", options.clock]
    limits = ["--time-limit", str(options.time_limit), "--data", data_folder(options.data)]
    return [sys.executable, HERE / "warm.py", *given, *limits]


def ask(worker: Worker, path: Path, limit: float) -> Record:
    """The record of one file; an engine that dies or hangs is a record too."""
    try:
        return worker.ask(str(path), 2 * limit)
    except WorkerError as error:
        return empty_record(path.name) | {"error": error.kind, "message": str(error)}


def summary(results: dict[str, list[Record]], metas: dict[str, dict[str, Any]], run_settings: dict[str, Any]) -> str:
    """The page: figures of each engine over the files that all finished, ratios, and the targets."""
    import numpy as np

    shared = matched(results)
    found = {name: times(records) for name, records in shared.items()}
    rows = []
    for what, percentile in FIGURES:
        cells = [np.nan if not t[what].size else _figure(t[what], percentile) for t in found.values()]
        named = f"{what}, " + ("mean" if percentile is None else f"p{percentile:g}" if percentile < 100 else "max")
        ours = cells[list(found).index(OURS)] if OURS in found else np.nan
        target = TARGETS.get((what, percentile))
        ratios = [f"{ours / cell:.2f}" for name, cell in zip(found, cells, strict=True) if name != OURS]
        rows.append([named, f"{target:g}" if target else "", *(f"{cell:,.1f}" for cell in cells), *ratios])
    others = [f"÷ {name}" for name in found if name != OURS]
    head = [f"{name} {metas[name]['version']}" for name in found]
    files = len(next(iter(shared.values()), []))
    title = f"# The second request of a schema\n\n{run_settings['command']}\n{run_settings['machine']}\n"
    note = f"{files:,} of {run_settings['files']:,} files, which all engines finished; µs, with the call from Python."
    return "\n".join([title, note, "", table(["", "target", *head, *others], rows), ""])


def _figure(values: Any, percentile: float | None) -> float:
    import numpy as np

    return float(values.mean() if percentile is None else np.percentile(values, percentile))


def main() -> int:
    """Run, write, print. 1: constrain accepted an invalid instance, contradicted itself, or crashed; else 0."""
    options = parse()
    if options.worker:
        work(options)
        return 0
    names, files = chosen_engines(options.engines, "warm"), chosen_files(options, "warm")
    command = f"warm.py --engines {options.engines} --vocab {options.vocab} --limit {options.limit}"
    command += f" --seed {options.seed} --clock {options.clock}" + (f" --only {options.only}" if options.only else "")
    described = {**machine(), "command": command, "files": len(files)}
    open_folder(options.out, described, options.resume)
    try:
        results, metas = run(
            names,
            files,
            key=lambda path: path.name,
            key_name="file",
            start=lambda name: Worker(name, worker_command(name, options)),
            ask=lambda worker, path: ask(worker, path, options.time_limit),
            folder=options.out,
            paired=True,
        )
    except WorkerError as error:
        sys.exit(f"warm: {error}")
    text = summary(results, metas, described)
    if options.out is not None:
        write_settings(options.out, described | {"machine": machine()["machine"]}, metas)
        (options.out / "summary.md").write_text(text, encoding="utf-8")
    print(text)
    return int(any(r["invalid_accepted"] or r["error"] in ("fault", "crash") for r in results.get(OURS, [])))


if __name__ == "__main__":
    sys.exit(main())
