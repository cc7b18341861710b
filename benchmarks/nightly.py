"""All long checks in a given time: `make nightly`.

    python benchmarks/nightly.py --budget 100 --jobs 2 --out build/nightly
    python benchmarks/nightly.py --budget 10 --parts soak,fuzz      some of them
    python benchmarks/nightly.py --list                             the parts

A part is a program in a process of its own, with a share of the time that is left: shares are to each other as
`minutes` in the table below. A program that takes `--minutes` does in its share what it can; the others take what they
take, and those after them get the rest. A part that finds something, breaks down, or takes three times its share does
not keep the others from running. The last line that a part prints says what it did. The report is a table of these
lines; files named like the parts, beside it, hold all that they printed. Exits with 1 if one ended with anything but 0.

Two jobs on two quiet cores do everything in 100 minutes; with less time, fewer places, cases and schemas are tried, and
the report says how many.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SEED = time.strftime("%Y%m%d")
TOLD = 0.9  # of a share is told to a program: it starts, ends a round and compares, too
LONGEST = 3  # shares, after which a part is ended


class Part(NamedTuple):
    """One check.

    Attributes:
        name: Its name in the report.
        minutes: What it takes, or should get, of one of two cores in 100 minutes.
        command: Arguments of Python; `{minutes}` and `{out}` are filled in.
        environment: Variables for it.
    """

    name: str
    minutes: float
    command: str
    environment: Mapping[str, str] = {}


def tests(*names: str) -> str:
    """The command that runs some files of tests."""
    return " ".join(["-m pytest -p no:cacheprovider -m 'not slow'", *(f"tests/{name}.py" for name in names)])


CHECKED = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(ROOT / "build" / "boundscheck")}  # these kernels are others
FUZZ = f"benchmarks/fuzzing.py --minutes {{minutes}} --seed {SEED} --out {{out}}"
WALKS = f"benchmarks/real_walks.py --minutes {{minutes}} --seed {SEED} --vocab"
INTERRUPTS = "-m pytest -p no:cacheprovider -m 'slow or not slow' -k 'not 15' tests/masks/engine/test_interrupts.py"
PROCESSES = [f"masks/engine/test_{name}" for name in ("pickle", "interrupts", "memory", "threads")]
PROCESSES += ["generation/test_asynchronous", "engines/test_compiling_pool"]
KERNELS = ["masks/engine/test_exact", "masks/engine/test_masks", "kernels/test_arena", "masks/engine/test_interrupts"]
PARTS = (
    Part("no-compiler", 2, tests("masks/engine/test_bad_input"), {"NUMBA_DISABLE_JIT": "1"}),
    Part("processes", 5, tests(*PROCESSES)),
    Part("tests", 36, "-m pytest -p no:cacheprovider -m nightly"),
    Part("walks-49k", 8, f"{WALKS} smollm2"),
    Part("walks-128k", 8, f"{WALKS} llama3"),
    Part("walks-262k", 10, f"{WALKS} gemma3"),
    Part("bounds", 12, tests(*KERNELS), CHECKED),
    Part("bounds-fuzz", 4, f"{FUZZ} --targets walks,grammars,python-regex", CHECKED),
    Part("interrupts", 60, INTERRUPTS, {"CONSTRAIN_INTERRUPTS": "1500"}),
    Part("soak", 22, "benchmarks/soak.py --minutes {minutes} --out {out}"),
    Part("fuzz", 22, FUZZ),
)


class Outcome(NamedTuple):
    """The end of a part. Minutes are of wall time, `cpu` of all its processes."""

    part: Part
    told: float
    done: str
    result: str
    cpu: float
    wall: float


class Night:
    """Parts that wait, run and have ended."""

    def __init__(self, parts: list[Part], budget: float, jobs: int, out: Path) -> None:
        self.began = time.monotonic()
        self.end = self.began + 60 * budget
        self.budget, self.jobs, self.out = budget, jobs, out
        self.waiting = parts
        self.promised: dict[str, float] = {}  # the name of a part that runs -> when its share ends
        self.outcomes: list[Outcome] = []
        self.lock = threading.Lock()

    def next(self) -> tuple[Part, float] | None:
        """Take the next part and its share in seconds; None: all have begun."""
        with self.lock:
            if not self.waiting:
                return None
            now = time.monotonic()
            left = max(0.0, self.end - now)
            free = self.jobs * left - sum(max(0.0, end - now) for end in self.promised.values())
            share = min(left, max(0.0, free) * self.waiting[0].minutes / sum(each.minutes for each in self.waiting))
            part = self.waiting.pop(0)
            self.promised[part.name] = now + share
            return part, share

    def work(self) -> None:
        """Run parts until none waits."""
        while (taken := self.next()) is not None:
            outcome = self.run(*taken)
            with self.lock:
                del self.promised[outcome.part.name]
                self.outcomes.append(outcome)
                (self.out / "report.md").write_text(self.report(), encoding="utf-8")
            print(f"{outcome.part.name}: {outcome.result}: {outcome.done}", flush=True)

    def run(self, part: Part, share: float) -> Outcome:
        """Run one part in a group of processes of its own, which is ended when it takes too long."""
        told, began = TOLD * share / 60, time.monotonic()
        command = part.command.format(minutes=f"{told:.2f}", out=self.out / part.name)
        texts = [self.out / f"{part.name}.{kind}" for kind in ("txt", "err")]
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **part.environment}
        with texts[0].open("wb") as said, texts[1].open("wb") as wrong:
            arguments: dict[str, Any] = {"cwd": ROOT, "env": environment, "stdout": said, "stderr": wrong}
            process = subprocess.Popen([sys.executable, *shlex.split(command)], start_new_session=True, **arguments)
            timer = threading.Timer(60 + LONGEST * share, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
        process.returncode = code = os.waitstatus_to_exitcode(status)
        ended = {0: "nothing found", 1: "FOUND", -signal.SIGKILL: "NOT FINISHED"}
        lines = texts[0].read_text(encoding="utf-8", errors="replace").split("\n")
        done = next((line.strip("= ") for line in reversed(lines) if line.strip()), "nothing printed")
        cpu = (usage.ru_utime + usage.ru_stime) / 60
        return Outcome(part, told, done, ended.get(code, f"ENDED WITH {code}"), cpu, (time.monotonic() - began) / 60)

    def report(self) -> str:
        """The table of what has ended, in Markdown."""
        spent, load = (time.monotonic() - self.began) / 60, os.getloadavg()[0]
        lines = [
            f"`python benchmarks/nightly.py --budget {self.budget:g} --jobs {self.jobs}`, {time.strftime('%Y-%m-%d')}, "
            f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} at the end: "
            f"{spent:.1f} minutes, seed {SEED}.",
            "",
            "| part | done | result | share, min | wall, min | CPU, min |",
            "|---|---|---|---:|---:|---:|",
        ]
        for each in self.outcomes:
            cells = [f"{minutes:.1f}" for minutes in (each.told / TOLD, each.wall, each.cpu)]
            lines.append(f"| {each.part.name} | {each.done} | {each.result} | {' | '.join(cells)} |")
        return "\n".join([*lines, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--budget", type=float, default=100, metavar="MINUTES", help="of wall time for all parts")
    parser.add_argument("--jobs", type=int, default=2, help="parts that run at the same time")
    parser.add_argument("--parts", help="names, separated by commas (default: all)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "nightly", help="folder of the report")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    known = {part.name: part for part in PARTS}
    names = options.parts.split(",") if options.parts else list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(known)}")
    if options.list:
        print(*(f"{part.name:12} {part.command}" for part in PARTS), sep="\n")
        return 0
    out = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    night = Night([known[name] for name in names], options.budget, options.jobs, out)
    threads = [threading.Thread(target=night.work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"\n{night.report()}")
    return int(any(outcome.result != "nothing found" for outcome in night.outcomes))


if __name__ == "__main__":
    sys.exit(main())
