"""Time, memory and outcome of constraints that were made to take long.

Question: for each case of attack_cases.py, what does an engine do (an answer, a located error, a crash), in how much
CPU time, with how much memory, and how long does the slowest mask take?

    python benchmarks/attacks.py --out benchmarks/record/<date>-attacks

One process for each case, forked from one that has loaded the vocabulary and is warm, with a limit of CPU time. The
text is read token by token: a mask, the token looked up in it, the token. An answer is wrong where the engine refuses
the text, or says something else about its end than the case does. What an engine has no options for is "no form". A
case ends in time if it takes at most 2 s, and `A_TOKEN` for each token that was read; to a tenth, since a limit of 2 s
is noticed at the next look at the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import constrain
from attack_cases import CASES, Case
from masks import engines, vocabularies
from masks.interface import CompileError, Form, NoFormError, is_set
from masks.records import data_folder, machine, write_run
from masks.summary import table

ENGINES = ("constrain", "llguidance", "xgrammar")
GOAL = 2.0  # CPU seconds to an answer or an error
A_TOKEN = 1e-4  # CPU seconds for a token of a long text, all in all
GIGABYTE = 10**9


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="attacks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=["constrain"], choices=ENGINES)
    parser.add_argument("--vocab", default="llama3", choices=[*vocabularies.VOCABULARIES, "bytes"])
    parser.add_argument("--limit", type=int, default=30, help="CPU seconds for a case (default: 30)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, ../shared/data)")
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    return parser.parse_args(arguments)


def form_of(attempt: Case) -> Form:
    """The constraint of a case, made where it is compiled."""
    kind, language = attempt.make()
    make = {"json": constrain.json_schema, "regex": constrain.regex, "lark": constrain.grammar}[kind]
    options = {"strict_mode": False, "any_order": attempt.options.get("property_order") == "any"}
    return Form(kind, language, lambda: make(language, **attempt.options), options if kind == "json" else {})


def attack(name: str, engine: Any, attempt: Case, vocabulary: vocabularies.BenchVocabulary) -> dict[str, Any]:
    """Run one case. Returns its outcome: "answer", "error", "wrong", "no form" or "raw", with times in CPU seconds."""
    form, tokens = form_of(attempt), vocabulary.encode(attempt.text())
    found: dict[str, Any] = {"tokens": len(tokens), "read": 0}
    located: Any = (CompileError, constrain.ConstrainError if name == "constrain" else RuntimeError)
    begin = time.process_time()
    slowest = 0.0
    try:
        engine.compile(form)
        engine.start()
        found["compile"] = time.process_time() - begin
        outcome = "answer"
        for token in tokens:
            before = time.process_time()
            engine.mask()
            slowest = max(slowest, time.process_time() - before)
            if not is_set(engine.row, token) or not engine.advance(token):
                outcome = "wrong"
                break
            found["read"] += 1
        if outcome == "answer" and attempt.ends is not None and engine.at_end() != attempt.ends:
            outcome = "wrong"
    except NoFormError:
        outcome = "no form"
    except located as error:
        outcome, found["message"] = "error", str(error)[:200]
    except Exception as error:
        outcome, found["message"] = "raw", f"{type(error).__name__}: {error}"[:200]
    return {**found, "outcome": outcome, "seconds": time.process_time() - begin, "slowest": slowest}


def resident(key: str) -> int:
    """A line of /proc/self/status in bytes: VmRSS, or VmHWM, the most since the marks were cleared."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


def in_child(limit: int, *given: Any) -> dict[str, Any]:
    """`attack` in a process of its own, which ends when it has used `limit` CPU seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        used = int(sum(os.times()[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit + 1))
        resource.setrlimit(resource.RLIMIT_AS, (12 * GIGABYTE, 12 * GIGABYTE))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        Path("/proc/self/clear_refs").write_text("5")
        before = resident("VmRSS")
        found = attack(*given)
        found["memory"] = resident("VmHWM") - before
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answers:
        line = answers.read()
    _, status = os.waitpid(child, 0)
    if line:
        return json.loads(line)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    over = ended in (signal.SIGXCPU, signal.SIGKILL)
    return {"outcome": "hang" if over else "crash", "seconds": float(limit), "signal": ended}


def shown(row: dict[str, Any]) -> list[str]:
    """A line of the table."""
    memory = f"{row['memory'] / 1e6:.0f}" if "memory" in row else ""
    compiled, slowest = (f"{row[key]:.3f}" if key in row else "" for key in ("compile", "slowest"))
    text = [row[key] for key in ("group", "name", "engine", "outcome")]
    text += [f"{row['seconds']:.2f}", compiled, slowest, memory]
    return [*text, row.get("message", "")[:90].replace("|", "/").replace("\n", " ")]


def within(row: dict[str, Any]) -> bool:
    """True if a case ends as it should: an answer or a located error, in time and memory."""
    ends = row["outcome"] in ("answer", "error")
    in_time = round(row["seconds"] - A_TOKEN * row.get("read", 0), 1) <= GOAL
    return ends and in_time and row.get("memory", 0) <= GIGABYTE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases and print the table."""
    options = parse(list(arguments) if arguments is not None else None)
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    made = {name: engines.make(name, vocabulary) for name in options.engines}  # what is missing ends the run here
    rows = []
    for name in options.engines:
        engine = made[name]
        warm = Case("", "", lambda: ("json", {"type": "object"}), lambda: '{"a":[1,"b"]}')
        attack(name, engine, warm, vocabulary)
        for attempt in CASES:
            if options.only in attempt.name:
                found = in_child(options.limit, name, engine, attempt, vocabulary)
                rows.append({"engine": name, "group": attempt.group, "name": attempt.name, **found})
                print(" ".join(shown(rows[-1])), file=sys.stderr, flush=True)
    head = ["group", "case", "engine", "outcome", "CPU s", "compile s", "slowest mask s", "MB", "message"]
    counts = [
        f"{name}: {sum(map(within, own))} of {len(own)} within {GOAL:g} s and 1 GB"
        for name in options.engines
        if (own := [row for row in rows if row["engine"] == name and row["outcome"] != "no form"])
    ]
    text = "\n".join([table(head, [shown(row) for row in rows]), "", *counts])
    print(text)
    if options.out:
        write_run(options.out, {"command": "attacks", **machine()}, rows, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
