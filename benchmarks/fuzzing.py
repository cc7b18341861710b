"""Fuzzing: the search for inputs that hang, crash, raise what is no ConstrainError, or give a wrong answer.

    python benchmarks/fuzzing.py --minutes 10 --seed 1 --out benchmarks/record/<date>-fuzz
    python benchmarks/fuzzing.py --list                        the targets
    python benchmarks/fuzzing.py --targets walks --seed 7      some of them
    python benchmarks/fuzzing.py --replay tests/data/fuzz.jsonl     rows that were kept

Targets, each with its oracle, stand in `benchmarks/fuzz/`:

| target | draws | asks |
|---|---|---|
| schemas | schemas of five drafts, values near them | jsonschema, jsonschema-rs, the plain recogniser, the engine |
| python-regex, package-regex | patterns | `re`, the package `regex`, derivatives, the engine |
| ecma-regex | patterns | `re` by a translation, the engine |
| regex-operations | pairs of patterns | interegular |
| grammars, lark, gbnf | grammars | the plain Earley parser, lark, a plain reading of GBNF |
| lark-look-around | terminals with look-around | `re` at every place of every text |
| walks | steps, rollback, forks, flushes, exceptions, threads | an automaton that nobody touches, the oracles |
| vocabularies | vocabularies that lack bytes, finite languages | all sequences of tokens |
| missing-bytes | all bytes but some as tokens | masks that ask for the end by tokens |
| cuts | small tokenizers: stages, merges, added and special tokens, texts | the tokenizers themselves |
| sampling | options of `generate` beside each other | `re`, lark, jsonschema, jsonschema-rs: is each "stop" a member |
| laws | small languages, truncations, methods | the plain law, by every way the draws of a call can go |
| types | types of Python with bounds | pydantic: is each text of walks and of `generate` read, what it writes a text |
| texts, odd-schemas, calls | what is nearly right | whether it ends in an answer or a ConstrainError |
| tools | shapes of tools in every format, calls of them | jsonschema, the formats' templates |
| arguments | odd values for arguments of every public function | the same |
| answer-files, cache-files | files of `map` and of caches, spoiled | the same answers or the place; the same tables |
| small-monitored | small grammars of five languages, monitors | is a walk dead, or another after other searches |
| messages, results | chats with odd messages, and what tools return | token ids or the place; a text for each call |

A round is one target in a process of its own, with a seed; hypothesis draws and shrinks. A case may take `--cpu`
seconds of CPU time: then it is a hang. A finding is a line on standard error and a row of the record (target, seed,
case, error), and the command exits with 1. What is mended is kept as a row of tests/data/fuzz.jsonl.

Needs the packages of the extra `test`. `make nightly` runs it for twenty minutes.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import itertools
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis

from constrain import kernels

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "",
    "languages/schema",
    "masks/engine",
    "masks/completion",
    "languages/automata",
    "languages/cfg",
)  # of tests/: oracles, strategies
ROUND = 900.0  # seconds of wall time of a round, if its process can no longer say that it hangs
Row = dict[str, Any]


def targets() -> dict[str, Any]:
    """All targets by name: those of each file of the folder."""
    for folder in FOLDERS:
        sys.path.insert(0, str(ROOT / "tests" / folder))
    files = [
        path for path in sorted(Path(__file__).parent.glob("fuzz/*.py")) if path.stem not in ("__init__", "target")
    ]
    return {each.name: each for file in files for each in import_module(f"fuzz.{file.stem}").TARGETS}


class Watch:
    """Runs cases, and ends the process when one takes too much CPU time.

    Attributes:
        case: The one that runs.
        undecided: Cases on which a plain oracle gave up; the rest of them was checked.
        failed: The last one that failed, and the error.
    """

    def __init__(self, seconds: float, log: Path, tell: Any) -> None:
        self.seconds, self.log, self.tell = seconds, log, tell
        self.case: Any = None
        self.failed: tuple[Any, str] | None = None
        self.began = time.process_time()
        self.count = self.undecided = 0
        self.slowest = 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def run(self, check: Any, case: Any) -> None:
        """One case."""
        self.log.write_text(json.dumps(case, default=repr))
        self.case, self.began = case, time.process_time()
        self.count += 1
        try:
            self.undecided += bool(check(case))
        except BaseException as error:
            where = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
            self.failed = case, f"{type(error).__name__}: {error}"[:2000] + "\n" + " < ".join(where[::-1][:6])
            raise
        finally:
            self.slowest = max(self.slowest, time.process_time() - self.began)

    def _watch(self) -> None:
        while True:
            time.sleep(0.5)
            if time.process_time() - self.began > self.seconds and self.case is not None:
                faulthandler.dump_traceback(file=sys.stderr)
                self.tell({"case": self.case, "error": "hang", "count": self.count})
                os._exit(3)


def one_round(target: Any, seed: int, cpu: float, log: Path, tell: Any) -> None:
    """One target with one seed."""
    watch = Watch(cpu, log, tell)

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=target.examples,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
    )
    @hypothesis.given(target.cases)
    def run(case: Any) -> None:
        watch.run(target.check, case)

    row: Row = {}
    try:
        run()
    except BaseException as error:
        case, said = watch.failed or (None, repr(error))
        row = {"case": case, "error": said}
    watch.case = None
    tell({"count": watch.count, "undecided": watch.undecided, "slowest": round(watch.slowest, 2), **row})


def forked(target: Any, seed: int, cpu: float) -> Row:
    """A round in a process of its own: what it said, or how it ended."""
    here, there = multiprocessing.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "case"
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                one_round(target, seed, cpu, log, lambda row: there.send_bytes(json.dumps(row, default=repr).encode()))
            os._exit(0)
        there.close()
        try:
            if here.poll(ROUND):
                return dict(json.loads(here.recv_bytes()))
            error = "hang"
        except EOFError:
            error = "crash"
        finally:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        case = json.loads(log.read_text()) if log.exists() else None
        return {"case": case, "error": f"{error}: {status}", "count": 0}


class Run:
    """The counts and findings of one run."""

    def __init__(self, out: Path | None, names: list[str], first: int) -> None:
        self.out, self.first = out, first
        self.counts: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in names}
        self.slowest = dict.fromkeys(names, 0.0)
        self.found: set[tuple[str, str]] = set()
        if out:
            out.mkdir(parents=True, exist_ok=True)

    def note(self, name: str, seed: int, row: Row, seconds: float) -> None:
        """Count the outcome of a round, and record its finding if it has one."""
        self.counts[name].update(
            rounds=1, cases=row["count"], seconds=round(seconds), undecided=row.get("undecided", 0)
        )
        self.slowest[name] = max(self.slowest[name], row.get("slowest", 0.0))
        if "error" not in row:
            return
        self.counts[name]["findings"] += 1
        kind = name, row["error"].splitlines()[-1][:160]
        if kind in self.found:
            return
        self.found.add(kind)
        line = json.dumps({"target": name, "seed": seed, "case": row["case"], "error": row["error"]})
        print(line[:3000], file=sys.stderr, flush=True)
        if self.out:
            with (self.out / "findings.jsonl").open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def table(self, last: int) -> str:
        """The counts, in Markdown."""
        lines = [f"Seeds {self.first} to {last}.", ""]
        heads = [
            "target", "rounds", "cases", "wall s", "slowest case, CPU s", "without the oracle",
            "rounds with findings",
        ]  # fmt: skip
        lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for name, count in self.counts.items():
            cells = [*(count[each] for each in ("rounds", "cases", "seconds")), self.slowest[name]]
            cells += [count["undecided"], count["findings"]]
            lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
        return "\n".join([*lines, ""])


def fuzz(options: argparse.Namespace) -> int:
    """Rounds of all targets in turn until the time is over."""
    known = targets()
    names = options.targets.split(",") if options.targets else list(known)
    kernels.load()  # before the first fork
    run = Run(options.out, names, options.seed)
    end = time.monotonic() + 60 * options.minutes
    for turn in itertools.count(len(names) * options.seed):
        name, seed = names[turn % len(names)], turn // len(names)
        began = time.monotonic()
        run.note(name, seed, forked(known[name], seed, options.cpu), time.monotonic() - began)
        if options.out:
            (options.out / "table.md").write_text(run.table(seed), encoding="utf-8")
        if time.monotonic() > end:
            break
    print(run.table(seed))
    cases, undecided = (sum(count[name] for count in run.counts.values()) for name in ("cases", "undecided"))
    print(f"{cases:,} cases of {len(names)} kinds, {undecided} without the oracle, {len(run.found)} findings")
    return int(bool(run.found))


def replay(path: Path) -> int:
    """Rows that were kept."""
    found = targets()
    bad = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        try:
            found[row["target"]].check(row["case"])
        except Exception as error:
            bad += 1
            print(f"{row['target']}: {json.dumps(row['case'])[:500]}\n  {error!r}", file=sys.stderr)
    return int(bad > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first rounds; each turn has the next")
    parser.add_argument("--targets", help="names, separated by commas (default: all)")
    parser.add_argument("--cpu", type=float, default=30, help="CPU seconds of one case, then it hangs")
    parser.add_argument("--out", type=Path, help="folder of the record")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--replay", type=Path, help="a file of rows")
    options = parser.parse_args()
    if options.list:
        print(*targets(), sep="\n")
        return 0
    if options.replay:
        return replay(options.replay)
    return fuzz(options)


if __name__ == "__main__":
    sys.exit(main())
