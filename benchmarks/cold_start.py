"""The time from the start of a process to its first mask.

Question: a process starts, reads a vocabulary, compiles a small schema and asks for a mask. How long does that take
when the kernels are compiled already, and how long the very first time, with an empty cache?

    python benchmarks/cold_start.py --runs 10 --out benchmarks/record/<date>-cold-start
    python benchmarks/cold_start.py --runs 1 --first          # also with an empty cache: a minute or more

Each run is a new process; the clock of the system is read before it is started and when it has its mask, so that the
start of the interpreter counts. Its stages are told by the process itself. `--first` compiles into an empty folder
(`NUMBA_CACHE_DIR`), once, and then starts from that folder again. With `CONSTRAIN_KERNELS=numba` numba compiles them;
else a checkout has built a library of them before the first start, and an installed wheel has one.

Answers are checked: the mask must allow an opening brace, and no token that begins otherwise but with white space;
torch must not be imported.
Bias: the operating system has the files in memory after the first run, which is left out; the vocabulary's own cache
is warm. CPU time of the process and its children stands beside wall time, for busy machines.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from masks.records import data_folder, machine, write_run
from masks.summary import table

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {"warm": 2.0, "first": 45.0, "warm after first": 2.0}  # seconds
STAGES = ("import", "vocabulary", "compile", "mask")
PROCESS = """
import sys, time
times = [time.time()]
import constrain, numpy as np
times.append(time.time())
VOCABULARY
times.append(time.time())
properties = {"name": {"type": "string"}, "age": {"type": "integer"}}
schema = {"type": "object", "properties": properties, "required": ["name"], "additionalProperties": False}
matcher = constrain.compile(constrain.json_schema(schema), vocabulary).matcher()
times.append(time.time())
row = np.zeros(vocabulary.words, np.uint32)
matcher.fill_mask(row)
times.append(time.time())
allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
wrong = [i for i in allowed if (vocabulary.tokens[i] or b"").strip()[:1] not in (b"", b"{")]
import json
heavy = [name for name in ("torch", "transformers") if name in sys.modules]
print(json.dumps({"times": times, "brace": vocabulary.tokens.index(b"{") in allowed, "wrong": wrong, "heavy": heavy}))
"""
LLAMA3 = """
special = {f"<|{i}|>": i for i in range(128000, 128256)}
vocabulary = constrain.Vocabulary.from_tiktoken(PATH, special_tokens=special, eos_ids=[128001])
"""
SMALL = "vocabulary = constrain.Vocabulary([bytes([i]) for i in range(256)] + [None], eos_ids=[256])"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="cold_start", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--vocab", default="llama3", choices=["llama3", "bytes"])
    parser.add_argument("--runs", type=int, default=10, help="with compiled kernels, after one that does not count")
    parser.add_argument("--first", action="store_true", help="also with an empty cache")
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    return parser.parse_args(arguments)


def script(options: argparse.Namespace) -> str:
    """The process."""
    if options.vocab == "bytes":
        return PROCESS.replace("VOCABULARY", SMALL)
    path = data_folder(options.data) / "tokenizers" / "llama3" / "tokenizer.model"
    return PROCESS.replace("VOCABULARY", LLAMA3.replace("PATH", repr(str(path))))


def checkout(cache: str | None) -> dict[str, str]:
    """The variables of a process that runs this checkout. cache: the folder of compiled kernels."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}


def start(code: str, kind: str, environment: dict[str, str], python: str | Path = sys.executable) -> dict[str, Any]:
    """One process: seconds to its first mask, by stage; ends with a message if its answer is wrong."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.time()
    done = subprocess.run(  # elsewhere: Python looks for packages where it is started
        [python, "-c", code], cwd=tempfile.gettempdir(), env=environment, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"cold_start: the process failed\n{done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    if answer["wrong"] or answer["heavy"] or not answer["brace"]:
        sys.exit(f"cold_start: wrong tokens {answer['wrong'][:5]}, imported {answer['heavy']}")
    times = answer["times"]
    stages = {"interpreter": times[0] - begin}
    stages |= {name: times[k + 1] - times[k] for k, name in enumerate(STAGES)}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"kind": kind, "seconds": times[-1] - begin, "cpu_seconds": cpu, **stages}


def summary(records: list[dict[str, Any]], described: dict[str, Any]) -> str:
    """The median of each kind of run, and the slowest."""
    import numpy as np

    rows = []
    for kind in dict.fromkeys(record["kind"] for record in records):
        mine = [record for record in records if record["kind"] == kind]
        keys = ("seconds", "cpu_seconds", "interpreter", *STAGES)
        medians = [f"{np.median([record[key] for record in mine]):.2f}" for key in keys]
        slowest = f"{max(record['seconds'] for record in mine):.2f}"
        rows.append([kind, str(len(mine)), f"{TARGETS[kind]:g}", medians[0], slowest, *medians[1:]])
    head = ["kernels", "runs", "target", "median", "slowest", "CPU", "interpreter", *STAGES]
    title = (
        f"# From the start of a process to its first mask, seconds\n\n{described['command']}\n{described['machine']}\n"
    )
    return "\n".join([title, table(head, rows), ""])


def main() -> int:
    """Run, write, print. 1: a median is over its target; else 0."""
    options = parse()
    code = script(options)
    records = []
    start(code, "warm", checkout(None))
    records += [start(code, "warm", checkout(None)) for _ in range(options.runs)]
    if options.first:
        with tempfile.TemporaryDirectory() as cache:
            records.append(start(code, "first", checkout(cache)))
            records += [start(code, "warm after first", checkout(cache)) for _ in range(max(1, options.runs // 2))]
    command = f"cold_start.py --vocab {options.vocab} --runs {options.runs}" + " --first" * options.first
    described = {**machine(), "command": command}
    text = summary(records, described)
    if options.out is not None:
        write_run(options.out, described, records, text)
    print(text)
    over = [kind for kind in TARGETS if _median(records, kind) > TARGETS[kind]]
    if over:
        print(f"over the target: {', '.join(over)}", file=sys.stderr)
    return int(bool(over))


def _median(records: list[dict[str, Any]], kind: str) -> float:
    found = sorted(record["seconds"] for record in records if record["kind"] == kind)
    return float(found[len(found) // 2]) if found else 0.0


if __name__ == "__main__":
    sys.exit(main())
