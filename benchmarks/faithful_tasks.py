"""On tasks whose languages cannot be listed: how much of the model's mass is found, how evenly, for how much work?

    python benchmarks/faithful_tasks.py [--tasks patterns,json,smiles,slia,bv4] [--limit N] [--out DIR]

Problems: faithful_problems.py. Every method makes calls of 8 particles, on one model object, after one untimed call.

log Ẑ: mean of the log of the evidence estimate. By Jensen it is below log Z, and the nearer the better the estimate:
    with a true law out of reach, this is the yardstick of quality (Lipkin et al. 2025, appendix). −inf (a call in
    which every particle died) is counted apart, `died`; the mean is over the problems where no method died.
ess: effective number of particles, of 8. finished: particles that are complete members.
ms, forwards, checks: milliseconds and model forwards (as sequences) a finished text; predicate calls a token.

genlm-control takes part where it can be imported and reads the language. Answers are checked: every finished text of
every method must be a member according to an oracle that shares no code with it. Bias: one small, undertrained model,
which would rather write something else. Milliseconds are of the processor; waiting for a batch does not count.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.progress import track

import faithful_genlm
from constrain.sampling import SIR, SMC, automaton
from constrain.sampling.resampling import effective_size, log_mean
from constrain.sampling.sampler import drive
from faithful_cases import Case
from faithful_problems import TASKS, Problem, problems

PARTICLES = 8


class Call(NamedTuple):
    """One call: (text, log weight) of the particles that finished; forwards, tokens and checks of all of them."""

    finished: list[tuple[bytes, float]]
    forwards: float
    tokens: int
    checks: float


Method = Callable[[int], Call]


def methods(case: Case) -> dict[str, Callable[[], Method]]:
    """What runs on a case; each is made when its turn comes."""
    makers: dict[str, Callable[[], Method]] = {
        "sir 8": lambda: lambda call: _ours(case, SIR(samples=PARTICLES), call),
        "smc 8": lambda: lambda call: _ours(case, SMC(particles=PARTICLES), call),
        "smc 8 black box": lambda: _black_box(case),
    }
    if faithful_genlm.available():
        makers["genlm awrs-smc 8"] = lambda: _theirs(case)
    return makers


def _ours(case: Case, method: Any, call: int, masked: bool = True) -> Call:
    (sample,) = drive(method, case.job(0, [call], masked))
    done = [each for each in sample.population if each.finish_reason == "stop" and each.log_weight > -math.inf]
    tokens = sum(len(each.tokens) for each in sample.population)
    texts = [(case.text(each.tokens), each.log_weight) for each in done]
    return Call(texts, sample.forwards, tokens, sample.evaluations)


def _black_box(case: Case) -> Method:
    check = SMC(particles=PARTICLES, check=automaton(case.compiled))
    return lambda call: _ours(case, check, call, masked=False)


def _theirs(case: Case) -> Method:
    genlm = faithful_genlm.Genlm(case, 0, PARTICLES)

    def call(_: int) -> Call:
        atoms, forwards = genlm()
        return Call(atoms, forwards, forwards, math.nan)

    return call


class TimeoverError(BaseException):
    """A method took too long on a problem."""


def measure(problem: Problem, name: str, make: Callable[[], Method], given: argparse.Namespace) -> dict[str, Any]:
    """The figures of one method on one problem, or the error that it ended in."""
    record: dict[str, Any] = {"problem": problem.case.name, "method": name}
    signal.setitimer(signal.ITIMER_REAL, given.time_limit)
    try:
        method = make()
        method(given.calls)  # compiles, loads and caches what the first call needs
        started = time.process_time()
        calls = [method(call) for call in range(given.calls)]
        seconds = time.process_time() - started
    except (Exception, TimeoverError) as error:  # an engine that fails on a problem is a row, not the end of the run
        return record | {"error": f"{type(error).__name__}: {str(error)[:200]}"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    texts = [text for call in calls for text, _ in call.finished]
    wrong = [text.decode(errors="replace") for text in texts if not problem.is_member(text.decode())]
    weights = [[w for _, w in call.finished] + [-math.inf] * (PARTICLES - len(call.finished)) for call in calls]
    evidence = [log_mean(each) for each in weights]
    return record | {
        "seconds": seconds,
        "finished": len(texts),
        "wrong": wrong[:3],
        "log_z": evidence,
        "ess": [effective_size(each) for each in weights],
        "forwards": sum(call.forwards for call in calls),
        "tokens": sum(call.tokens for call in calls),
        "checks": sum(call.checks for call in calls),
    }


def table(records: list[dict[str, Any]], given: argparse.Namespace) -> str:
    """One row a method."""
    names = list(dict.fromkeys(record["method"] for record in records))
    fine = [record for record in records if "error" not in record]
    alive: dict[str, int] = {}
    for record in fine:
        alive[record["problem"]] = alive.get(record["problem"], 0) + all(map(math.isfinite, record["log_z"]))
    common = {problem for problem, count in alive.items() if count == len(names)}
    heads = ("problems", "errors", "died", "finished", "log Ẑ", "ess", "ms", "forwards", "checks", "wrong")
    lines = [f"| method | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for name in names:
        mine = [record for record in fine if record["method"] == name]
        shared = [value for record in mine if record["problem"] in common for value in record["log_z"]]
        texts = max(1, sum(record["finished"] for record in mine))
        cells = [
            f"{len(mine)}",
            f"{sum(record['method'] == name for record in records) - len(mine)}",
            f"{sum(not math.isfinite(value) for record in mine for value in record['log_z'])}",
            f"{sum(record['finished'] for record in mine) / max(1, len(mine) * given.calls * PARTICLES):.1%}",
            f"{np.mean(shared):.2f}" if shared else "–",
            f"{np.mean([value for record in mine for value in record['ess']]):.2f}" if mine else "–",
            f"{1e3 * sum(record['seconds'] for record in mine) / texts:.1f}",
            f"{sum(record['forwards'] for record in mine) / texts:.1f}",
            f"{sum(record['checks'] for record in mine) / max(1, sum(record['tokens'] for record in mine)):.2f}",
            f"{sum(len(record['wrong']) for record in mine)}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\nlog Ẑ over the {len(common)} problems where no method died or failed.\n"


def _ring(*_: Any) -> None:
    raise TimeoverError("time limit")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--limit", type=int, help="problems of each task (default: 402, 40, 20, 12, 12)")
    parser.add_argument("--calls", type=int, default=3, help="of each method on each problem (default: 3)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds a method and problem (default: 60)")
    parser.add_argument("--out", type=Path, help="folder for the raw records and tables")
    given = parser.parse_args()
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _ring)
    if not faithful_genlm.available():
        print("genlm-control is not installed: its rows are left out\n")
    wrong, tables = 0, []
    for task in given.tasks.split(","):
        chosen = list(problems(task, given.limit or TASKS[task], given.seed))
        console = Console(stderr=True)
        records = [
            measure(problem, name, make, given)
            for problem in track(chosen, task, console=console, disable=not sys.stderr.isatty())
            for name, make in methods(problem.case).items()
        ]
        tables.append(f"## {task}\n\n{table(records, given)}")
        print(tables[-1], flush=True)
        wrong += sum(len(record.get("wrong", ())) for record in records)
        if given.out:
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"{task}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
            (given.out / "summary.md").write_text("\n".join(tables))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
