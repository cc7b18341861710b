"""MaskBench: are the masks right, and how long do they take?

Question: on schemas from the real world with valid and invalid instances, does an engine accept exactly the valid
ones, and what does it cost to compile a schema and to fill a mask and commit a token?

    python benchmarks/maskbench.py --engines constrain,llguidance --vocab llama3 --limit 500 --out benchmarks/out/today

Each engine runs in a process of its own, one engine at a time, over the same files in the same order. `--paired`
alternates between the engines file by file, so that what else the machine does falls on all of them. A file has a
time limit; an engine whose process dies is started again, and the file counts as a crash. `--out` receives the
records (`<engine>.jsonl.gz`), the summary and the settings.

Answers are checked: every token of a valid instance must be in its mask, and the text must be allowed to end; an
invalid instance must be refused somewhere. What is not counted: the start of an engine (reading the vocabulary,
loading compiled kernels), which is shown apart. Bias: instances were written by `json.dumps`, with keys in the order
of the schema; a model writes other texts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from masks.measure import CLOCKS, empty_record, forget_peak_rss, measure, peak_rss_mb

HERE = Path(__file__).resolve().parent
ENGINE_NAMES = ("constrain", "llguidance")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="maskbench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--files", type=Path, help="folder of MaskBench files (default: maskbench-dev in --data)")
    parser.add_argument("--engines", default="constrain,llguidance", help=f"some of {','.join(ENGINE_NAMES)}")
    parser.add_argument("--vocab", default="llama3", choices=["llama3", "tekken", "spm32k"])
    parser.add_argument("--limit", type=int, help="only so many files, drawn with --seed (default: all)")
    parser.add_argument("--only", help="only files whose name contains this")
    parser.add_argument("--seed", type=int, default=0, help="of the draw and the order of files")
    parser.add_argument("--paired", action="store_true", help="alternate between the engines file by file")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for one file (default: 60)")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"], help="cpu: the thread's own time")
    parser.add_argument("--out", type=Path, help="folder for records, summary and settings")
    parser.add_argument("--worker", choices=ENGINE_NAMES, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def data_dir(options: argparse.Namespace) -> Path:
    """The folder of data, or an end with a message."""
    path = options.data or Path(os.environ.get("CONSTRAIN_DATA") or HERE.parent.parent / "shared" / "data")
    if not path.is_dir():
        sys.exit(f"maskbench: {path} is no folder\n  fix: name the folder with --data or set CONSTRAIN_DATA")
    return path


def chosen_files(options: argparse.Namespace) -> list[Path]:
    """The files to measure, in the order of the run."""
    folder = options.files or data_dir(options) / "maskbench-dev"
    files = sorted(path for path in folder.glob("*.json") if not options.only or options.only in path.name)
    random.Random(options.seed).shuffle(files)
    if not files:
        sys.exit(f"maskbench: no files in {folder}" + (f" with {options.only!r} in their name" if options.only else ""))
    return files[: options.limit]


def work(options: argparse.Namespace) -> None:
    """A worker: one engine; reads a file name a line on standard input, answers with a record a line."""
    import faulthandler

    from masks import engines, vocabularies

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever an engine prints is no answer
    vocabulary = vocabularies.load(options.vocab, data_dir(options))
    begin = time.perf_counter()
    engine = engines.ENGINES[options.worker](vocabulary)
    engine.compile(engines.WARM_UP)
    engine.start()
    for token in vocabulary.encode('{"a": "b", "b": [1, 2.5]}'):
        engine.mask()
        engine.advance(token)
    start_seconds = time.perf_counter() - begin
    forget_peak_rss()
    ready = {"version": engine.version, "start_seconds": start_seconds, "start_rss_mb": peak_rss_mb()}
    print(json.dumps(ready), file=answers, flush=True)
    for line in sys.stdin:
        faulthandler.dump_traceback_later(3 * options.time_limit + 5, exit=True)  # stuck where no signal is heard
        record = measure(engine, vocabulary, Path(line.rstrip("\n")), CLOCKS[options.clock], options.time_limit)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(record), file=answers, flush=True)


class Worker:
    """The process of one engine, started again when it died."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name = name
        given = ["--vocab", options.vocab, "--clock", options.clock, "--time-limit", str(options.time_limit)]
        self.command = [
            sys.executable,
            str(HERE / "maskbench.py"),
            "--worker",
            name,
            "--data",
            str(data_dir(options)),
            *given,
        ]
        self.meta = self._begin()

    def _begin(self) -> dict[str, Any]:
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"maskbench: the engine {self.name} does not start (its message is above)")
        return json.loads(line)

    def measure(self, path: Path) -> dict[str, Any]:
        """The record of one file; a crash is a record too."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code = self.process.wait()
        self._begin()
        return empty_record(path.name) | {"error": "crash", "message": f"the process ended with code {code}"}

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def run(options: argparse.Namespace) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, Any]]]:
    """(records, what the workers said of themselves) by engine."""
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    files, names = chosen_files(options), options.engines.split(",")
    unknown = set(names) - set(ENGINE_NAMES)
    if unknown:
        sys.exit(f"maskbench: no engine {', '.join(sorted(unknown))}; there are {', '.join(ENGINE_NAMES)}")
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    metas = {}
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        for group in [names] if options.paired else [[name] for name in names]:
            task = progress.add_task(" + ".join(group), total=len(files))
            workers = [Worker(name, options) for name in group]
            for i, path in enumerate(files):
                for worker in workers if i % 2 == 0 else reversed(workers):
                    results[worker.name].append(worker.measure(path))
                progress.advance(task)
            for worker in workers:
                worker.end()
                metas[worker.name] = worker.meta
    return results, metas


def settings(options: argparse.Namespace, n_files: int) -> dict[str, Any]:
    """What a reader needs to repeat the run."""
    cpu = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "command": f"maskbench.py --engines {options.engines} --vocab {options.vocab} --seed {options.seed}"
        + (f" --limit {options.limit}" if options.limit else "")
        + (f" --only {options.only}" if options.only else "")
        + (" --paired" if options.paired else "")
        + f" --clock {options.clock} --time-limit {options.time_limit:g}",
        "files": n_files,
        "machine": f"{cpu or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def write(folder: Path, results: dict[str, Any], metas: dict[str, Any], described: dict[str, Any], text: str) -> None:
    """Records, settings and summary into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in results.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
    (folder / "settings.json").write_text(json.dumps({"run": described, "engines": metas}, indent=1) + "\n")
    (folder / "summary.md").write_text(text, encoding="utf-8")


def main() -> int:
    """Run, write, print. 1: constrain accepted an invalid instance, contradicted itself, or crashed; else 0."""
    options = parse()
    if options.worker:
        work(options)
        return 0
    from masks.summary import report

    results, metas = run(options)
    described = settings(options, len(next(iter(results.values()))))
    text = report(results, metas, described)
    if options.out:
        write(options.out, results, metas, described, text)
    print(text)
    ours = results.get("constrain", [])
    return int(any(record["invalid_accepted"] or record["error"] in ("fault", "crash") for record in ours))


if __name__ == "__main__":
    sys.exit(main())
