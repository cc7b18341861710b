"""A real model answers tasks with known answers, by each way to get an answer: what is valid, right, and dear.

    make real
    python benchmarks/run_tasks.py --model build/real/smollm2 --chat --functions BFCL --out DIR
    python benchmarks/run_tasks.py --model build/real/gemma3-270m --kinds extraction gsm8k sql --out DIR
    python benchmarks/run_tasks.py --judge DIR --functions BFCL           # judge the texts of a record again
    constrain bench tasks --quick --model build/real/smollm2 --chat --out DIR
    .venv-vllm/bin/python benchmarks/run_tasks.py --model build/real/smollm2 --chat --functions BFCL --out DIR \
        --kinds calls --arms vllm-free vllm vllm-drafts vllm-xgrammar vllm-guidance     # `make serve-test` makes it

Question: with the same model and prompts, how many answers are finished, parsed, valid and right, in how many tokens,
forwards and CPU seconds: without a constraint, with ours in several settings, and under the masks of XGrammar,
llguidance and outlines-core in the same loop? And by vLLM with each of its backends (arms `vllm…`; tasks/served.py)?

Tasks (tasks/): function calls of BFCL, extraction into model classes, GSM8K, BIG-Bench Hard, the choice of a function,
SQL, HumanEval. BFCL is the folder `bfcl_eval/data` of the wheel `bfcl-eval`; the others lie in `real/` of the data. Any
files in their layouts will do, and any model of transformers, or a file .gguf (by llama-cpp-python). Arms:
tasks/arms.py. A kind whose data are not there is left out with a message. Each record is kept as it comes, and
`--resume` goes on; they are described in tasks/answer.py.

Bias: the prompts are ours, one for each kind, and small models were at hand. Free answers are read kindly: the first
answer in a text counts, whatever comes before and behind. The exit code is 1 if a JSON answer or a choice that
constrain finished is not valid.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from masks.options import add_records
from masks.records import Records, data_folder, machine, open_folder, write_settings

ANSWERS = "answers"


class Kind(NamedTuple):
    """module: of `tasks`, with a function `tasks`. rows: of the published run. quick: of the short one.

    folder: below `real/` of the data; None: `--functions`; "": it needs none.
    """

    module: str
    folder: str | None
    rows: int
    quick: int


KINDS = {
    "calls": Kind("calls", None, 100, 12),
    "extraction": Kind("extraction", "", 60, 12),
    "gsm8k": Kind("gsm8k", "gsm8k", 50, 4),
    "bbh": Kind("bbh", "bbh", 150, 20),
    "tools": Kind("tools", None, 60, 8),
    "sql": Kind("sql", "sql", 60, 8),
    "humaneval": Kind("humaneval", "humaneval", 40, 3),
}
MAIN = ("free", "default", "xgrammar", "llguidance")
UNPROMISED = ("sql", "humaneval")  # a grammar knows no names


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="run_tasks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a folder that `make real` made, or another one of transformers")
    parser.add_argument("--chat", action="store_true", help="prompts are messages")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--arms", nargs="+", default=list(MAIN), metavar="ARM", help="of tasks/arms.py")
    parser.add_argument("--functions", type=Path, help="the folder bfcl_eval/data")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--count", type=int, help="of each kind (default: those of the published run)")
    parser.add_argument("--temperature", type=float, default=0.0, help="of the arms that have none of their own")
    parser.add_argument("--quick", action="store_true", help="few of each kind: about ten minutes on one core")
    parser.add_argument("--judge", type=Path, metavar="DIR", help="judge the texts of a record again, with no model")
    parser.add_argument("--serve", help=argparse.SUPPRESS)  # the process of one arm of vLLM
    add_records(parser, "settings and summary.md")
    options = parser.parse_args(arguments)
    if not options.judge and options.model is None:
        parser.error("--model: which model answers?")
    if options.out is None and any(arm.startswith("vllm") for arm in options.arms):
        parser.error("--out: vLLM's arms write their answers to a folder")
    return options


def tasks_of(name: str, options: argparse.Namespace) -> Iterator[Any]:
    """The tasks of a kind. Ends with a message where its data are not there."""
    kind = KINDS[name]
    module: Any = importlib.import_module(f"tasks.{kind.module}")
    if kind.folder == "":
        yield from module.tasks()
    elif kind.folder is None:
        yield from module.tasks(options.functions)
    else:
        yield from module.tasks(data_folder(options.data, "real", kind.folder))


def chosen(options: argparse.Namespace) -> Iterator[Any]:
    """The tasks of a run, kind after kind."""
    for name in options.kinds:
        if KINDS[name].folder is None and options.functions is None:
            print(f"{name}: left out, since --functions names no folder", file=sys.stderr)
            continue
        kind = KINDS[name]
        yield from islice(tasks_of(name, options), options.count or (kind.quick if options.quick else kind.rows))


def serve(arm: str, options: argparse.Namespace) -> None:
    """Ask an arm of vLLM, which answers all tasks at once, and write ARM.json: counts of the run, and records."""
    from tasks import served

    settings = served.Settings(str(options.model), options.chat, options.temperature)
    found, counts = served.records(arm, list(chosen(options)), settings)
    run = {"counts": {"arm": arm, "answers": len(found), **counts}, "records": found}
    (options.out / f"{arm}.json").write_text(json.dumps(run, ensure_ascii=False) + "\n", encoding="utf-8")


def ask_vllm(arms: list[str], options: argparse.Namespace, records: Records) -> None:
    """Ask each arm of vLLM in a process of its own; print what each took."""
    from tasks.served import table_of

    runs = []
    for arm in arms:
        path = options.out / f"{arm}.json"
        if not path.exists():
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--serve", arm], check=True)
        runs.append(json.loads(path.read_text(encoding="utf-8")))
        for each in runs[-1]["records"]:
            records.add(each)
    if runs:
        print(table_of([run["counts"] for run in runs]))


def ask(options: argparse.Namespace, records: Records) -> None:
    """Ask each task in each arm, arm after arm, so that noise of the machine falls on all."""
    import torch

    from constrain.generation.handles import handle_of
    from tasks.answer import Subject, record
    from tasks.arms import ARMS
    from tasks.peers import ENGINES, Peer

    torch.set_num_threads(1)
    handle = handle_of(_model(options.model))
    arms = [arm for arm in options.arms if ARMS[arm].engine != "vllm"]
    peers = {}
    for arm in arms:
        if ARMS[arm].engine in ENGINES:
            try:
                peers[arm] = Peer.of(arm, handle)
            except ImportError as error:
                print(f"{arm}: left out ({error})\n  fix: pip install 'constrain-lm[bench]'", file=sys.stderr)
    arms = [arm for arm in arms if ARMS[arm].engine not in ENGINES or arm in peers]
    subject = Subject(handle, peers, options.chat, options.temperature)
    for task in chosen(options):
        for arm in arms:
            if f"{task.name} {arm}" not in records.done and (made := record(subject, arm, task)):
                records.add(made)


def _model(path: Path) -> Any:
    """A model for `generate`: a folder by its name, a file .gguf as llama-cpp-python reads it."""
    if path.suffix != ".gguf":
        return str(path)
    from llama_cpp import Llama

    return Llama(str(path), n_ctx=4096, n_threads=1, verbose=False)


def judge_again(options: argparse.Namespace) -> None:
    """Judge the texts of a record by the rules of today, and write it anew."""
    from tasks.answer import judge
    from tasks.arms import ARMS

    records = Records(options.judge, ANSWERS, "id")
    options.kinds = list(dict.fromkeys(each["task"] for each in records.all()))
    by_name = {task.name: task for name in options.kinds for task in tasks_of(name, options)}
    for each in records.all():
        if each["finish"] != "refused":
            each.update(
                judge(ARMS[each["arm"]], by_name[f"{each['task']} {each['item']}"], each["finish"], each["text"])
            )
    lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in records.all())
    (options.judge / f"{ANSWERS}.jsonl").write_text("".join(lines), encoding="utf-8")
    records.pack()


def main(arguments: list[str] | None = None) -> int:
    """Ask, keep each record as it comes, print the tables."""
    options = parse(arguments)
    from tasks.arms import ARMS  # an extra, which --help does without
    from tasks.page import tables

    if options.serve:
        serve(options.serve, options)
        return 0
    if options.judge:
        judge_again(options)
        print(tables(Records(options.judge, ANSWERS, "id").all()))
        return 0
    command = (
        f"run_tasks.py --model {options.model.name}{' --chat' * options.chat} --temperature {options.temperature:g}"
    )
    settings = {**machine(), "command": command}
    open_folder(options.out, settings, options.resume)
    records = Records(options.out, ANSWERS, "id")
    in_vllm = [arm for arm in options.arms if ARMS[arm].engine == "vllm"]
    ask_vllm(in_vllm, options, records)
    if len(in_vllm) < len(options.arms):
        ask(options, records)
    text = tables(records.all())
    print(text)
    if options.out:
        write_settings(options.out, settings, {})
        (options.out / "summary.md").write_text(text + "\n", encoding="utf-8")
    ours = {name for name, arm in ARMS.items() if arm.engine == "constrain" or "additional_config" in arm.serve}
    promised = (r for r in records.all() if r["arm"] in ours and r["finish"] == "stop" and r["task"] not in UNPROMISED)
    return int(not all(each["valid"] for each in promised))


if __name__ == "__main__":
    sys.exit(main())
