"""Many threads on one small automaton: memory has to stay flat, and masks to be those of one thread alone.

Question: 24 threads read friendly and hostile constraints on one vocabulary for minutes, with the smallest budget
and an automaton that forgets all twice a second, and with cancellations. Does anything hang, or raise what is no
ConstrainError, does memory grow, and is every mask what a single thread finds afterwards on an automaton of its own?

    python benchmarks/soak.py --minutes 20 --threads 24 --out benchmarks/record/<date>-soak

A job has a number, which says all: the constraint (schemas of tests/data, patterns, grammars; one in eight an attack
of `attack_cases.py`), and the tokens, drawn from each mask. Its answer is a digest of its masks. Numbers repeat, so
threads are compared with each other too. One in ten jobs is cancelled: its reading by `Limits(cancelled=...)`, or its
matcher is dropped on the way. Attacks may end in a LimitError, whose moment depends on the machine; all else has one
answer. Memory is the resident set, every ten seconds; the record has it with the counts, and what it is made of: the
number of Python's blocks ("blocks"); in MB, the arrays of the automaton ("arrays") and of the store of decisions about
languages ("decisions", at most 256), what C has handed out ("heap"), and what it keeps though it is free ("free": glibc
has as many heaps as threads once needed at the same time). At the end: Python's own heap ("arenas", of which "used").
Bias: the vocabulary is small (271 tokens), so that more jobs are done.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import faulthandler
import hashlib
import json
import os
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import constrain
import schema_corpus
import vocabularies
from attack_cases import CASES
from constrain.languages.automata.decide import shared_store
from constrain.limits import resident_megabytes

VOCABULARY = vocabularies.tiny()
NUMBERS = 600  # jobs; each is done again and again
STEPS = 40
PATIENCE = 600.0  # seconds without a finished job, after which it hangs
SCHEMAS = [entry.schema for entry in schema_corpus.sample("ours", 0, 120)]
TEXTS = [
    lambda: constrain.regex(r"[A-Z][a-z]{2,11}( [A-Z]\.)?( [a-z]+)*"),
    lambda: constrain.regex(r"(.{1,63}\.){1,127}[a-z]+"),
    lambda: constrain.grammar('start: (W | "if" W)+\nW: /[a-z]+/\n%ignore / +/', lexer="greedy"),
    lambda: constrain.grammar('start: "(" start? ")" start? | /[0-9]+/'),
    lambda: constrain.triggered([("<n>", constrain.regex("[0-9]+"), "</n>")]),
]
ATTACKS = [each for each in CASES if each.group in ("counts", "values", "reading")]
SHORT = constrain.Limits(seconds=0.3)  # of an attack


class Heap(ctypes.Structure):
    """The sizes of glibc's heaps (mallinfo2), in bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "mapped", "usmblks", "fsmblks", "used", "free", "keepcost")
    ]


def made_of(automaton: constrain.TokenAutomaton) -> dict[str, float]:
    """The parts of the memory of the process, as far as they can be told."""
    parts: dict[str, float] = {"blocks": sys.getallocatedblocks()}
    for name, memory in (("arrays", automaton.memory), ("decisions", shared_store().memory)):
        parts[name] = round(sum(array.nbytes for array in (memory.A, memory.H, memory.S)) / 2**20, 1)
    try:
        heap = ctypes.CDLL(None).mallinfo2
    except AttributeError:  # not glibc, or an old one
        return parts
    heap.restype = Heap
    found = heap()
    return parts | {"heap": round((found.used + found.mapped) / 2**20, 1), "free": round(found.free / 2**20, 1)}


def python_heap() -> dict[str, float]:
    """Python's own heap in MB: how large its arenas are, and what is used of them (sys._debugmallocstats)."""
    with tempfile.TemporaryFile() as file:
        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(before, 2)
            os.close(before)
        file.seek(0)
        text = file.read().decode().replace(",", "")
    found = {
        name: re.search(pattern, text)
        for name, pattern in {
            "arenas": r"arenas \* \d+ bytes/arena\s+=\s+(\d+)",
            "used": r"bytes in allocated blocks\s+=\s+(\d+)",
        }.items()
    }
    return {name: round(int(each[1]) / 2**20, 1) for name, each in found.items() if each}


class Job:
    """The job of a number: what is read, and which tokens are taken."""

    def __init__(self, number: int) -> None:
        self.rng = random.Random(number)
        kind = self.rng.randrange(8)
        self.is_attack = kind == 7
        if self.is_attack:
            case = self.rng.choice(ATTACKS)
            self.make = lambda: attack(case)
        elif kind == 6:
            self.make = self.rng.choice(TEXTS)
        else:
            schema, order = self.rng.choice(SCHEMAS), self.rng.choice(["schema", "any"])
            self.make = lambda: constrain.json_schema(schema, property_order=order)  # type: ignore[arg-type]

    def masks(self, automaton: Any, steps: int) -> str:
        """A digest of the masks of a walk; the name of the error if reading, or a mask of an attack, ended in one."""
        try:
            matcher = constrain.compile(self.make(), VOCABULARY, automaton=automaton).matcher()
        except constrain.ConstrainError as error:
            return type(error).__name__
        try:
            return self.walk(matcher, steps)
        except constrain.LimitError:
            if self.is_attack:
                return "LimitError"
            raise

    def walk(self, matcher: constrain.Matcher, steps: int) -> str:
        """A digest of the masks of a walk."""
        digest = hashlib.sha256()
        for _ in range(steps):
            row = matcher.mask()
            digest.update(row.tobytes())
            ids = [i for i in range(256) if row[i >> 5] >> (i & 31) & 1]
            if not ids or not matcher.advance(self.rng.choice(ids)):
                break
        return digest.hexdigest()[:16]


def attack(case: Any) -> Any:
    """The constraint of an attack, under short limits."""
    kind, language = case.make()
    with SHORT:
        if kind == "json":
            return constrain.json_schema(language, **case.options)
        return constrain.regex(language) if kind == "regex" else constrain.grammar(language)


class Soak:
    """Threads, what they found, and the memory meanwhile."""

    def __init__(self, threads: int, minutes: float, out: Path | None) -> None:
        self.automaton = constrain.TokenAutomaton(VOCABULARY, budget=0)
        self.found: dict[int, set[str]] = collections.defaultdict(set)
        self.faults: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.end = time.monotonic() + 60 * minutes
        self.out = out
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True) for n in range(threads)]

    def run(self, seed: int) -> None:
        """One thread."""
        rng = random.Random(f"thread {seed}")
        while time.monotonic() < self.end:
            number = rng.randrange(NUMBERS)
            job = Job(number)
            try:
                if rng.randrange(10) == 0:
                    self.cancel(job, rng)
                else:
                    self.found[number].add(job.masks(self.automaton, STEPS))
                    self.counts["attacks" if job.is_attack else "friendly"] += 1
            except Exception as error:
                self.faults.append(f"{number}: {error!r}")

    def cancel(self, job: Job, rng: random.Random) -> None:
        """Begin a job, and do not finish it."""
        self.counts["cancelled"] += 1
        if rng.randrange(2):
            job.masks(self.automaton, rng.randrange(STEPS))
            return
        looks = iter(range(rng.randrange(20)))
        try:
            with constrain.Limits(cancelled=lambda: next(looks, None) is None):
                job.masks(self.automaton, 1)
        except constrain.LimitError:
            pass

    def watch(self) -> list[dict[str, Any]]:
        """Start all threads, and look at the memory until they are done."""
        rows: list[dict[str, Any]] = []
        began = time.monotonic()
        for thread in self.threads:
            thread.start()
        while any(thread.is_alive() for thread in self.threads):
            for _ in range(20):
                time.sleep(0.5)
                with self.automaton.memory.lock:
                    self.automaton.flush()
            done = sum(self.counts.values())
            if not rows or done > rows[-1]["done"]:
                faulthandler.dump_traceback_later(PATIENCE, exit=True)
            elapsed = round(time.monotonic() - began)
            rows.append({"seconds": elapsed, "mb": round(resident_megabytes(), 1), "done": done, **self.counts})
            rows[-1] |= {"epoch": self.automaton.epoch, **made_of(self.automaton)}
            if self.out:
                lines = "".join(json.dumps(row) + "\n" for row in rows)
                (self.out / "rows.jsonl").write_text(lines, encoding="utf-8")
        faulthandler.cancel_dump_traceback_later()
        return rows

    def compare(self) -> list[str]:
        """The jobs whose answers differ from those of one thread on an automaton of its own."""
        alone = constrain.TokenAutomaton(VOCABULARY)
        wrong = []
        for number, answers in sorted(self.found.items()):
            job = Job(number)
            expected = job.masks(alone, STEPS)
            allowed = {expected, "LimitError"} if job.is_attack else {expected}
            if expected == "LimitError" and job.is_attack:
                allowed |= answers
            if not answers <= allowed:
                wrong.append(f"{number}: {sorted(answers)}, alone {expected}")
        return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--threads", type=int, default=24)
    parser.add_argument("--out", type=Path, help="folder of the record")
    options = parser.parse_args()
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    soak = Soak(options.threads, options.minutes, options.out)
    rows = soak.watch()
    wrong = soak.compare()
    quarters = [rows[len(rows) * i // 4]["mb"] for i in range(4)] + [rows[-1]["mb"]]
    summary = {
        "threads": options.threads, "seconds": rows[-1]["seconds"], **soak.counts, "jobs": len(soak.found),
        "flushes": soak.automaton.epoch, "mb at quarters": quarters, "python": python_heap(),
        "faults": soak.faults[:20], "wrong": wrong[:20],
    }  # fmt: skip
    print(json.dumps(summary, indent=1))
    if options.out:
        (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    done = ", ".join(f"{count:,} {kind}" for kind, count in soak.counts.items())
    print(f"{done}, {len(soak.faults)} faults, {len(wrong)} wrong; MB at the quarters: {quarters}")
    return int(bool(soak.faults or wrong))


if __name__ == "__main__":
    sys.exit(main())
