"""MaskBench: the correctness of masks, and the time that they take.

Question: on schemas from the real world with valid and invalid instances, does an engine accept exactly the valid
ones, and what does it cost to compile a schema and to fill a mask and commit a token?

    python benchmarks/maskbench.py --engines constrain,llguidance --vocab llama3 --limit 500 --out benchmarks/out/today
    python benchmarks/maskbench.py --paired --vocab llama3,tekken,spm32k --limit 1000 --out DIR
    python benchmarks/maskbench.py --cold 10 --clock cpu --out DIR       # a start again after every ten files
    python benchmarks/maskbench.py --served --vocab llama3 --limit 120   # what users meet; served.py: all of it

Each engine runs in a process of its own, on one thread, over the same files in the same order: one engine after the
other, or, with `--paired`, alternating between the engines file by file, so that what else the machine does falls on
all of them. A file has a time limit; an engine whose process dies or hangs is started again. `--out` receives the
records (`<engine>.jsonl.gz`), the summary, the settings and `report.html`, in a folder for each vocabulary
where there are several; with `--resume` a run that stopped goes on. `--cold N` has engines forget all schemas after
every N files, so that a file meets an engine that has seen 0 to N - 1; what Python and its caches know stays.
`--served` measures this library by the defaults of engines and of `generate` (masks/served.py) beside its peers:
schemas are texts, CPU time, turns, instances read twice, times over the same tokens, and the garbage collector leaves
alone what stands when an engine has started, as in vLLM (`freeze_gc_heap` at the end of its EngineCore's start).

Answers are checked: every token of a valid instance must be in its mask, and the text must be allowed to end; an
invalid instance must be refused somewhere. What is not counted: the start of an engine (reading the vocabulary,
loading compiled kernels), which is shown apart. Bias: instances were written by `json.dumps`, with keys in the order
of the schema; a model writes other texts.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import sys
import time
from pathlib import Path
from typing import Any

from masks import code
from masks.engines import ENGINE_NAMES, OURS
from masks.measure import CLOCKS, empty_record, measure
from masks.options import add_files, add_records, chosen_engines, chosen_files
from masks.records import Record, data_folder, machine, open_folder, write_settings
from masks.runner import run
from masks.usage import refuse
from masks.vocabularies import VOCABULARIES
from masks.workers import Worker, WorkerError, claim_stdout, serve

HERE = Path(__file__).resolve().parent
DEFAULT = "constrain,llguidance"
DEFAULT_SERVED = "served,served-rehearsed,generate,served-complete,served-whole,llguidance,xgrammar-dynamic,xgrammar"
CODE = "code"  # asks a worker which modules of ours it has loaded
SKIPPED = "an XGrammar that makes all masks when it compiles gets the first files only"
Results, Metas = dict[str, list[Record]], dict[str, dict[str, Any]]
BASELINE = "baseline"  # the name of another checkout among the engines
LIBRARY = "generate"  # as served; the others stand in an engine, which freezes its heap when it has started
WARM_UP_TEXT = '{"a": "b", "b": [1, 2.5]}'


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="maskbench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_files(parser, None)
    parser.add_argument("--served", action="store_true", help="as users meet engines; implies --paired, --clock cpu")
    parser.add_argument("--eager", type=int, default=12, help="with --served: files for an eager XGrammar")
    parser.add_argument("--engines", help=f"some of {','.join(ENGINE_NAMES)} (default: {DEFAULT})")
    parser.add_argument("--vocab", default="llama3", help=f"some of {','.join(VOCABULARIES)} (default: llama3)")
    parser.add_argument("--paired", action="store_true", help="alternate between the engines file by file")
    parser.add_argument(
        "--baseline", type=Path, metavar="FOLDER", help="another checkout of this library, as an engine"
    )
    parser.add_argument("--any-order", action="store_true", help="properties in any order, where an engine offers it")
    parser.add_argument("--cold", type=int, metavar="N", help="engines forget what they have met after every N files")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for one file (default: 60)")
    parser.add_argument("--memory-limit", type=float, default=12.0, help="GB of address space for an engine")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"], help="cpu: the thread's own time")
    add_records(parser, "summary, settings and a page")
    parser.add_argument("--worker", choices=ENGINE_NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.engines = options.engines or (DEFAULT_SERVED if options.served else DEFAULT)
    if options.served:
        options.paired, options.clock = True, "cpu"
    return options


def chosen_vocabularies(text: str) -> list[str]:
    """The vocabularies of a list with commas, or an end with a message."""
    chosen = text.split(",")
    if unknown := [name for name in chosen if name not in VOCABULARIES]:
        refuse(f"maskbench: no vocabulary {', '.join(unknown)}; there are {', '.join(VOCABULARIES)}")
    return chosen


def work(options: argparse.Namespace) -> None:
    """A worker: one engine; a request is the path of a file, the answer its record."""
    answers = claim_stdout()
    from masks import engines, limits, parts, vocabularies
    from masks.interface import Settings

    limits.limit_memory(options.memory_limit)
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    begin = time.perf_counter()
    engine: Any = engines.make(options.worker, vocabulary, Settings(any_order=options.any_order))
    engines.warm_up(engine, vocabulary.encode(WARM_UP_TEXT))
    start_seconds = time.perf_counter() - begin
    if options.served and options.worker != LIBRARY:
        gc.collect()
        gc.freeze()
    limits.forget_peak_rss()
    ready = {"version": engine.version, "start_seconds": start_seconds, "start_rss_mb": limits.peak_rss_mb()}
    ready |= {"size": len(vocabulary.tokens), "eos_id": vocabulary.eos_id}
    met = itertools.count()

    def answer(request: Any) -> Any:
        if request == CODE:
            return code.loaded()
        if not isinstance(request, str):
            return parts.answer(request, engine, vocabulary)
        if options.cold and next(met) % options.cold == 0:
            engine.forget()
        return measure(
            engine, vocabulary, Path(request), CLOCKS[options.clock], options.time_limit, served=options.served
        )

    serve(answers, ready, answer)


def worker_command(name: str, vocab: str, options: argparse.Namespace) -> list[str | Path]:
    """The command line of a worker."""
    given = ["--worker", name, "--vocab", vocab, "--clock", options.clock, *["--any-order"] * options.any_order]
    given += ["--cold", str(options.cold)] * bool(options.cold) + ["--served"] * options.served
    limits = ["--time-limit", str(options.time_limit), "--memory-limit", str(options.memory_limit)]
    home = HERE if name != BASELINE else options.baseline.resolve() / "benchmarks"
    given[1] = name if name != BASELINE else "constrain"
    return [sys.executable, home / "maskbench.py", *given, *limits, "--data", data_folder(options.data)]


def ask(worker: Worker, path: Path, limit: float, skip: bool = False) -> Record:
    """The record of one file; an engine that dies or hangs is a record too. skip: it is not asked."""
    if skip:
        return empty_record(path.name) | {"error": "timeout", "message": SKIPPED}
    try:
        return worker.ask(str(path), limit)
    except WorkerError as error:
        return empty_record(path.name) | {"error": error.kind, "message": str(error)}


def settings(options: argparse.Namespace, vocab: str, n_files: int) -> dict[str, Any]:
    """The settings with which a reader can repeat the run."""
    command = f"maskbench.py --engines {options.engines} --vocab {vocab} --seed {options.seed}"
    command += f" --limit {options.limit}" if options.limit else ""
    command += f" --only {options.only}" if options.only else ""
    command += " --baseline FOLDER" if options.baseline else ""
    command += " --paired" * options.paired + " --any-order" * options.any_order
    command += f" --cold {options.cold}" if options.cold else ""
    command += f" --served --eager {options.eager}" if options.served else ""
    command += f" --clock {options.clock} --time-limit {options.time_limit:g}"
    return {**machine(), "command": command, "files": n_files}


def measure_vocabulary(
    files: list[Path], names: list[str], vocab: str, folder: Path | None, options: argparse.Namespace
) -> tuple[Results, Metas]:
    """Run over one vocabulary, write what it gave, print the summary."""
    described = settings(options, vocab, len(files))
    open_folder(folder, described, options.resume)
    late = set(files[options.eager :]) if options.served else set()  # files that an eager XGrammar does not get
    try:
        results, metas = run(
            names,
            files,
            key=lambda path: path.name,
            key_name="file",
            start=lambda name: Worker(
                name, worker_command(name, vocab, options), options.baseline if name == BASELINE else None
            ),
            ask=lambda worker, path: ask(worker, path, options.time_limit, worker.name == "xgrammar" and path in late),
            finish=lambda worker: {"code": worker.ask(CODE, 60.0)} if worker.name in OURS and options.served else {},
            folder=folder,
            paired=options.paired,
            label=f"{vocab}: ",
        )
    except WorkerError as error:
        refuse(f"maskbench: {error}")
    described |= {"machine": machine()["machine"]}  # the load at the end
    tell = told_as_served if options.served else told
    tell(results, metas, described, vocab, folder)
    return results, metas


def told(results: Results, metas: Metas, described: dict[str, Any], vocab: str, folder: Path | None) -> None:
    """Print and write the tables of a run."""
    from masks.summary import report

    text = report(results, metas, described) + "\n"
    if folder is not None:
        from masks import page

        write_settings(folder, described, metas)
        (folder / "summary.md").write_text(text, encoding="utf-8")
        (folder / "report.html").write_text(page.page(results, metas, described), encoding="utf-8")
    print(text)


def told_as_served(results: Results, metas: Metas, described: dict[str, Any], vocab: str, folder: Path | None) -> None:
    """Print and write the table of a run as served. Ends with a message where its answers are wrong."""
    from masks import served_table

    text = served_table.table_of(vocab, served_table.figures(results))
    print(text)
    if folder is not None:
        write_settings(folder, described, {name: {**meta, "code": None} for name, meta in metas.items()})
        (folder / "summary.md").write_text(text + "\n", encoding="utf-8")
    if faults := served_table.faults(results):
        refuse("maskbench: wrong answers as served\n" + "\n".join(faults))


def main() -> int:
    """Run, write, print. 1: constrain accepted an invalid instance, contradicted itself, or crashed; else 0."""
    options = parse()
    if options.worker:
        work(options)
        return 0
    names, vocabularies = chosen_engines(options.engines, "maskbench"), chosen_vocabularies(options.vocab)
    files = chosen_files(options, "maskbench")
    names = [*names, *[BASELINE] * (options.baseline is not None)]
    wrong = False
    for vocab in vocabularies:
        folder = options.out / vocab if options.out and len(vocabularies) > 1 else options.out
        results, _ = measure_vocabulary(files, names, vocab, folder, options)
        wrong |= any(r["invalid_accepted"] or r["error"] in ("fault", "crash") for r in results.get("constrain", []))
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
