"""Tasks whose languages cannot be listed: the model's mass that each method finds, its evenness, and the work for it.

    python benchmarks/faithful_tasks.py [--tasks goals,trees,…] [--limit N] [--one-by-one] [--out DIR]

Problems: faithful_problems.py. Every method makes calls of 8 particles, on one model object, after one untimed call;
all calls run at once, and share batches of the model, unless --one-by-one. A record is written after every problem, and
--minutes ends a task early.

log Ẑ: mean of the log of the evidence estimate. By Jensen it is below log Z, and the nearer the better the estimate:
    with the true distribution out of reach, this is the yardstick of quality (Lipkin et al. 2025, appendix). −inf (a
    call in which every particle died) is counted apart, `died`; the mean is over the problems where no method died.
ess: effective number of particles, of 8. finished: particles that are complete members.
ms, forwards, checks: milliseconds and model forwards (as sequences) a finished text; predicate calls a token.

genlm-control takes part where it can be imported and reads the language. Answers are checked: every finished text of
every method must be a member according to an oracle that shares no code with it. Bias: one small, undertrained model,
which would rather write something else. Times are of the processor; waiting for a batch does not count.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.progress import track

import faithful_genlm
from constrain.sampling import SIR, SMC, automaton
from constrain.sampling.core.resampling import effective_size, log_mean
from constrain.sampling.core.sampler import drive
from faithful_cases import Case
from faithful_problems import TASKS, Problem, problems

PARTICLES = 8
WAITING = 30  # seconds that may pass for one of the processor: a method that waits for ever is ended too


class Call(NamedTuple):
    """One call: (text, log weight) of the particles that finished; forwards, tokens and checks of all of them."""

    finished: list[tuple[bytes, float]]
    forwards: float
    tokens: int
    checks: float


Method = Callable[[Sequence[int]], list[Call]]  # numbers of calls → what each gave
Maker = Callable[[Case, int], Method]  # (case, how many calls run at once) → a method


def methods() -> dict[str, Maker]:
    """The makers of all methods, by name."""

    def black_box(case: Case, _: int) -> Method:
        check = SMC(particles=PARTICLES, check=automaton(case.compiled))
        return lambda calls: _ours(case, check, calls, masked=False)

    makers: dict[str, Maker] = {
        "sir 8": lambda case, _: lambda calls: _ours(case, SIR(samples=PARTICLES), calls),
        "smc 8": lambda case, _: lambda calls: _ours(case, SMC(particles=PARTICLES), calls),
        "smc 8 black box": black_box,
    }
    if faithful_genlm.available():
        makers["genlm awrs-smc 8"] = _theirs
    return makers


def _ours(case: Case, method: Any, calls: Sequence[int], masked: bool = True) -> list[Call]:
    found = []
    for sample in drive(method, case.job(0, calls, masked)):
        done = [each for each in sample.population if each.finish_reason == "stop" and each.log_weight > -math.inf]
        tokens = sum(len(each.tokens) for each in sample.population)
        texts = [(case.text(each.tokens), each.log_weight) for each in done]
        found.append(Call(texts, sample.forwards, tokens, sample.evaluations))
    return found


def _theirs(case: Case, together: int) -> Method:
    genlm = faithful_genlm.Genlm(case, 0, PARTICLES, together=together)
    return lambda _: [Call(atoms, forwards, forwards, math.nan) for atoms, forwards in genlm()]


class TimeoverError(BaseException):
    """A method took too long on a problem."""


def measure(problem: Problem, name: str, make: Maker, given: argparse.Namespace) -> dict[str, Any]:
    """The figures of one method on one problem, or the error that it ended in."""
    batches = [[call] for call in range(given.calls)] if given.one_by_one else [list(range(given.calls))]
    record: dict[str, Any] = {"problem": problem.case.name, "method": name}
    signal.setitimer(signal.ITIMER_PROF, given.time_limit)
    signal.setitimer(signal.ITIMER_REAL, WAITING * given.time_limit)
    try:
        make(problem.case, 1)([given.calls])  # compiles, loads and caches what the first call needs
        method = make(problem.case, len(batches[0]))
        started = time.process_time()
        calls = [call for batch in batches for call in method(batch)]
        seconds = time.process_time() - started
    except (Exception, TimeoverError) as error:  # an engine that fails on a problem is a row, not the end of the run
        return record | {"error": f"{type(error).__name__}: {str(error)[:200]}"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
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


def run(task: str, makers: dict[str, Maker], given: argparse.Namespace) -> list[dict[str, Any]]:
    """All methods on the problems of a task, as many as there is time for."""
    chosen = list(problems(task, given.limit or TASKS[task], given.seed))
    if given.model:
        chosen = [replace(each, case=replace(each.case, model=given.model)) for each in chosen]
    records: list[dict[str, Any]] = []
    started = time.process_time()
    console = Console(stderr=True)
    for problem in track(chosen, task, console=console, disable=not sys.stderr.isatty()):
        if time.process_time() - started > 60 * given.minutes:
            print(f"{task}: the time was up after {len(records) // len(makers)} of {len(chosen)} problems\n")
            break
        records += [measure(problem, name, make, given) for name, make in makers.items()]
        if given.out:
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"{task}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return records


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
    parser.add_argument("--limit", type=int, help="problems of each task (default: 402, 40, 20, and 12)")
    parser.add_argument("--model", default="", help="a model's folder in place of the reference model")
    parser.add_argument("--methods", help="only these, separated by commas")
    parser.add_argument("--one-by-one", action="store_true", help="one call after the other")
    parser.add_argument("--calls", type=int, default=3, help="of each method and problem (default: 3)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds a method and problem (default: 60)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no problem of a task is begun")
    parser.add_argument("--out", type=Path, help="folder for the raw records and tables")
    given = parser.parse_args()
    torch.set_num_threads(1)
    signal.signal(signal.SIGPROF, _ring)
    signal.signal(signal.SIGALRM, _ring)
    if not faithful_genlm.available():
        print("genlm-control is not installed: its rows are left out\n")
    wrong, tables = 0, []
    wanted = given.methods.split(",") if given.methods else list(methods())
    makers = {name: make for name, make in methods().items() if name in wanted}
    for task in given.tasks.split(","):
        records = run(task, makers, given)
        tables.append(f"## {task}\n\n{table(records, given)}")
        print(tables[-1], flush=True)
        wrong += sum(len(record.get("wrong", ())) for record in records)
        if given.out:
            (given.out / "summary.md").write_text("\n".join(tables))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
