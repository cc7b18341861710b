"""A model writes JSON under real schemas, through any engine: coverage, cost, and quality of the outputs.

Question: with this model, which schemas does an engine take, which outputs are valid, what do its masks add to the time
of a token, and do they help or hinder the right answer?

    python benchmarks/jsonschemabench.py --limit 200 --out benchmarks/out/reference
    python benchmarks/jsonschemabench.py --model Qwen/Qwen3-0.6B --chat --engines constrain,xgrammar,none --device cuda

After JSONSchemaBench (Geng et al. 2025): coverage (declared, empirical, true), efficiency (compiling, first token, each
output token, against the same without masks), quality (copying a known instance: exact match, leaf F1, likelihood).
`evaluation/report.py` and `evaluation/tasks.py` define each figure. `none` is the model without an engine.

Answers are checked by the `jsonschema` package, formats included. Each engine runs in a process of its own with the
model; a task has a time limit. With `--resume` a run that stopped goes on. Bias: the engines get masks only, token by
token; forced tokens are not skipped. An output that an engine's own check throws away is sampled again, as
`constrain.generate` does. The embedded model is tiny and wanders, so many outputs are cut at the limit, which counts as
not covered: an engine that allows less (closes open objects, fixes white space) finishes more often with such a model,
so empirical coverage wants to be read beside true coverage.

The exit code is 1 if an output that constrain finished is invalid, or constrain failed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from masks.engines import ENGINE_NAMES
from masks.options import add_files, add_records, chosen_engines, chosen_files
from masks.records import Record, machine, open_folder, write_settings
from masks.runner import run
from masks.usage import refuse
from masks.workers import Worker, WorkerError, claim_stdout, serve

HERE = Path(__file__).resolve().parent
NAMES = (*ENGINE_NAMES, "none")
PASSED_ON = (  # to the workers, and told in the settings
    "model", "max_tokens", "temperature", "retries", "seed", "time_limit", "schema_chars", "record_chars", "device",
)  # fmt: skip


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="jsonschemabench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", default="reference", help="a name or path for transformers (default: the embedded)")
    parser.add_argument("--engines", default=",".join(NAMES), help=f"some of {','.join(NAMES)} (default: all)")
    add_files(parser, 100)
    parser.add_argument("--per-dataset", type=int, metavar="N", help="N files of each data set, instead of --limit")
    parser.add_argument("--write", type=int, metavar="N", help="the model writes for N files of each data set only")
    parser.add_argument("--paired", action="store_true", help="alternate between the engines task by task")
    parser.add_argument("--max-tokens", type=int, default=300)
    parser.add_argument("--temperature", type=float, default=0.7, help="0 is greedy (default: 0.7)")
    parser.add_argument("--retries", type=int, default=8, help="when an engine's own check throws an output away")
    parser.add_argument("--schema-chars", type=int, default=600, help="of the schema in the prompt")
    parser.add_argument("--record-chars", type=int, default=600, help="of the known instance in the prompt")
    parser.add_argument("--chat", action="store_true", help="put the prompt into the tokenizer's chat template")
    parser.add_argument("--device", default="cpu", help="of the model")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for one task (default: 120)")
    add_records(parser, "and the report")
    parser.add_argument("--worker", choices=NAMES, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def work(options: argparse.Namespace) -> None:
    """A worker: the model and one engine; a request is (path, does the model write?), the answer a record."""
    answers = claim_stdout()
    from evaluation import decode, evaluate, tasks
    from masks import engines

    subject = decode.load(options.model, options.device, options.chat)
    vocabulary = subject.vocabulary
    if options.worker == "none":
        engine: Any = decode.Unconstrained(vocabulary)
    else:
        engine = engines.make(options.worker, vocabulary)
        engines.warm_up(engine, vocabulary.encode('{"a": "b"}'))
    how = evaluate.Options(options.max_tokens, options.temperature, options.seed, options.time_limit, options.retries)
    decode.write(subject, decode.Unconstrained(vocabulary), subject.prompt_ids("{"), 3, 0.0, 0)  # warm up the model

    def answer(request: list[Any]) -> Record:
        path, asked = request
        task = tasks.read_task(Path(path), options.schema_chars, options.record_chars)
        return evaluate.evaluate(engine, subject, task, how, asked)

    serve(answers, {"version": engine.version}, answer)


def worker_command(name: str, options: argparse.Namespace) -> list[str | Path]:
    """The command line of a worker."""
    passed = [f"--{key.replace('_', '-')}={getattr(options, key)}" for key in PASSED_ON]
    return [sys.executable, HERE / "jsonschemabench.py", "--worker", name, *passed, *["--chat"] * options.chat]


def spread(files: list[Path], count: int) -> list[Path]:
    """The first `count` files of each data set, in the order of all."""
    from evaluation.tasks import dataset_of

    seen: Counter[str] = Counter()
    chosen = []
    for path in files:
        seen[dataset_of(path.name)] += 1
        if seen[dataset_of(path.name)] <= count:
            chosen.append(path)
    return chosen


def ask(worker: Worker, path: Path, options: argparse.Namespace, asked: bool) -> Record:
    """The record of one task; an engine that dies or hangs is a record too."""
    from evaluation.tasks import empty_record, read_task

    try:
        return worker.ask([str(path), asked], options.time_limit)
    except WorkerError as error:
        task = read_task(path, options.schema_chars, options.record_chars)
        return empty_record(task) | {"asked": asked, "error": error.kind, "stage": "process", "message": str(error)}


def main() -> int:
    """Run, write, print."""
    options = parse()
    if options.worker:
        work(options)
        return 0
    from evaluation.report import report

    names = chosen_engines(options.engines, "jsonschemabench", extra=("none",))
    limit = f"--limit {options.limit}"
    if options.per_dataset:
        limit, options.limit = f"--per-dataset {options.per_dataset}", None
    files = chosen_files(options, "jsonschemabench")
    files = spread(files, options.per_dataset) if options.per_dataset else files
    asked = set(files if options.write is None else spread(files, options.write))
    command = f"jsonschemabench.py --engines {options.engines} {limit}"
    command += f" --write {options.write}" if options.write is not None else ""
    command += " --chat" * options.chat + " --paired" * options.paired
    command += f" --only {options.only}" if options.only else ""
    command += "".join(f" --{key.replace('_', '-')} {getattr(options, key)}" for key in PASSED_ON)
    settings = {**machine(), "command": command, "files": len(files)}
    open_folder(options.out, settings, options.resume)
    try:
        results, metas = run(
            names,
            files,
            key=lambda path: path.name,
            key_name="file",
            start=lambda name: Worker(name, worker_command(name, options)),
            ask=lambda worker, path: ask(worker, path, options, path in asked),
            folder=options.out,
            paired=options.paired,
        )
    except WorkerError as error:
        refuse(f"jsonschemabench: {error}")
    settings["versions"] = ", ".join(f"{name} {meta['version']}" for name, meta in metas.items())
    text = report(results, settings)
    if options.out:
        write_settings(options.out, settings, metas)
        (options.out / "report.md").write_text(text, encoding="utf-8")
    print(text)
    ours = results.get("constrain", [])
    failed = any(record["error"] not in (None, "compile", "timeout") for record in ours)
    return int(failed or any(record["outcome"] == "stop" and not record["valid"] for record in ours))


if __name__ == "__main__":
    sys.exit(main())
