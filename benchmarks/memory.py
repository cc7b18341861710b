"""The growth of a process's memory over matchers, threads and requests.

Question: matchers come and go, threads share constraints, requests of ever new schemas go on for hours. Does the
process keep what it does not need, and does an automaton stay within its budget?

    python benchmarks/memory.py --minutes 20 --out benchmarks/record/<date>-memory
    python benchmarks/memory.py --parts matchers,threads

* `matchers`: 100,000 matchers are made, stepped, forked and dropped on one constraint; the resident set grows by less
  than 8 MB.
* `threads`: 24 threads at once on one fresh constraint; every mask equals that of one thread alone.
* `budget`: schema after schema in an automaton of 32 MB; it never holds more, forgets, and its masks equal those of a
  large one.
* `turns`: each file's schema once, 32 texts at a time, in two automata of `--budget` MB beyond the vocabulary's tables,
  in turn; the process grows by less than both, with their tables, and 64 MB. It tells what the next step takes when one
  was emptied, in CPU time of the thread, and how many objects of Python the collector knows.
* `requests`: MaskBench schemas and their instances, drawn at random for `--minutes`; over the last third the resident
  set grows by less than 5 %, and less than 64 MB.

The resident set is what the operating system says (`/proc/self/statm`, so Linux only), after a collection of garbage.
Every sample is in the record. Bias: one process, one vocabulary; memory that other threads of a server use is not
looked at.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from masks import vocabularies
from masks.options import add_files, chosen_files
from masks.records import data_folder, machine, write_run
from masks.summary import table
from masks.vocabularies import VOCABULARIES, BenchVocabulary

MEGABYTE = 1 << 20
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 60},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "more": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}
TEXT = b'{"name": "Ada Lovelace", "tags": ["mathematics", "engines", "x"], "more": {"born": 1815, "age": 36.5}}'
Sample = dict[str, Any]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="memory", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, None)
    parser.add_argument("--vocab", default="llama3", choices=VOCABULARIES)
    parser.add_argument("--minutes", type=float, default=20.0, help="of mixed requests (default: 20)")
    parser.add_argument("--matchers", type=int, default=100_000, help="made and dropped (default: 100,000)")
    parser.add_argument("--parts", default="matchers,threads,budget,turns,requests", help="some of these")
    parser.add_argument("--budget", type=int, default=32, help="MB of each automaton of turns (default: 32)")
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    return parser.parse_args(arguments)


def resident_mb() -> float:
    """MB (2^20 bytes) of this process that are in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE, 2)


class Run:
    """The shared state of the parts: the vocabulary, the cases, the samples so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        import constrain

        self.constrain = constrain
        self.options = options
        self.bench: BenchVocabulary = vocabularies.load(options.vocab, data_folder(options.data))
        self.vocabulary = constrain.Vocabulary(self.bench.tokens, eos_ids=[self.bench.eos_id])
        self.samples: list[Sample] = []
        self.start = time.monotonic()

    def sample(self, part: str, **more: Any) -> float:
        """Note the resident set."""
        found = resident_mb()
        at = round(time.monotonic() - self.start, 1)
        self.samples.append({"part": part, "seconds": at, "resident_mb": found, **more})
        print(f"{part} {at:.0f} s: {found:.1f} MB {more}", file=sys.stderr)
        return found

    def compiled(self, schema: Any, **automaton: Any) -> Any:
        return self.constrain.compile(self.constrain.json_schema(schema), self.vocabulary, **automaton)


def matchers(run: Run) -> tuple[bool, str]:
    """Made, stepped, forked, rolled back and dropped."""
    compiled = run.compiled(SCHEMA)
    row = np.zeros(run.vocabulary.words, np.uint32)

    def some(n: int) -> None:
        for i in range(n):
            matcher = compiled.matcher()
            if not matcher.advance_bytes(TEXT[: i % len(TEXT)]):
                raise SystemExit("memory: a member is refused")
            matcher.fork().fill_mask(row)

    total = run.options.matchers
    some(total // 10)
    before = run.sample("matchers", made=0)
    for k in range(10):
        some(total // 10)
        after = run.sample("matchers", made=(k + 1) * (total // 10))
    return after - before < 8, f"{after - before:+.1f} MB after {total:,} matchers"


def digest(run: Run, compiled: Any, seed: int, tokens: list[int]) -> str:
    """Of the masks along a text, some of them computed in batches."""
    rng = random.Random(seed)
    found = hashlib.blake2b(digest_size=16)
    batch = [compiled.matcher() for _ in range(3)]
    rows = np.zeros((len(batch), run.vocabulary.words), np.uint32)
    for token in tokens[: rng.randrange(len(tokens) // 2, len(tokens))]:
        run.constrain.fill_masks(batch, rows, threads=rng.randint(1, 2))
        found.update(rows.tobytes())
        if not all(run.constrain.advance_all(batch, [token] * len(batch))):
            raise SystemExit("memory: a member is refused")
    return found.hexdigest()


def threads(run: Run) -> tuple[bool, str]:
    """24 at once, on states that nobody has seen."""
    tokens = run.bench.encode(TEXT.decode())
    seeds = range(24)
    fresh = run.constrain.TokenAutomaton
    alone = run.compiled(SCHEMA, automaton=fresh(run.vocabulary))
    expected = {seed: digest(run, alone, seed, tokens) for seed in seeds}
    shared = run.compiled(SCHEMA, automaton=fresh(run.vocabulary))
    found: dict[int, str] = {}
    ready = threading.Barrier(len(seeds))

    def work(seed: int) -> None:
        ready.wait()
        found[seed] = digest(run, shared, seed, tokens)

    before = run.sample("threads")
    workers = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    run.sample("threads")
    same = sum(found.get(seed) == expected[seed] for seed in seeds)
    return same == len(seeds), f"{same} of {len(seeds)} threads saw the masks of one alone (from {before:.0f} MB)"


def drawn(run: Run) -> Iterator[Path]:
    """Files drawn at random, without end."""
    files = chosen_files(run.options, "memory")
    rng = random.Random(run.options.seed)
    while True:
        yield rng.choice(files)


def requests(run: Run, files: Iterable[Path]) -> Iterator[tuple[Any, list[int]]]:
    """(constraint, tokens of a valid instance) of each file that has one."""
    rng = random.Random(run.options.seed)
    for path in files:
        content = json.loads(path.read_text(encoding="utf-8"))
        valid = [test["data"] for test in content["tests"] if test["valid"]]
        if valid:
            text = json.dumps(rng.choice(valid), ensure_ascii=False)
            try:
                yield run.constrain.json_schema(content["schema"]), run.bench.encode(text)
            except run.constrain.ConstrainError:  # a schema that is refused by name
                continue


def follow(compiled: Any, tokens: list[int], row: np.ndarray) -> str:
    """Masks along a text, as far as it is allowed; their digest."""
    matcher = compiled.matcher()
    found = hashlib.blake2b(digest_size=16)
    for token in tokens:
        matcher.fill_mask(row)
        found.update(row.tobytes())
        if not matcher.advance(token):
            break
    return found.hexdigest()


def budget(run: Run) -> tuple[bool, str]:
    """200 requests in an automaton of 32 MB, beside one that may hold 1 GB."""
    small = run.constrain.TokenAutomaton(run.vocabulary, budget=32 * MEGABYTE)
    large = run.constrain.TokenAutomaton(run.vocabulary, budget=1024 * MEGABYTE)
    row = np.zeros(run.vocabulary.words, np.uint32)
    most = same = done = 0
    for constraint, tokens in requests(run, drawn(run)):
        try:
            found = [
                follow(run.constrain.compile(constraint, run.vocabulary, automaton=automaton), tokens, row)
                for automaton in (small, large)
            ]
        except run.constrain.ConstrainError:
            continue
        same += found[0] == found[1]
        done += 1
        most = max(most, int(small.memory.A[0]) * 4)
        if done % 50 == 0:
            run.sample(
                "budget", requests=done, arena_mb=round(int(small.memory.A[0]) * 4 / MEGABYTE, 1), epoch=small.epoch
            )
        if done == 200:
            break
    good = same == done and most <= 32 * MEGABYTE and small.epoch > 0
    return good, f"at most {most / MEGABYTE:.1f} MB, forgot {small.epoch} times, {same} of {done} requests alike"


class Turns:
    """Texts of ever new schemas, 32 at a time, in automata that take turns.

    Attributes:
        steps: CPU time of every step of all texts, in ms.
        behind: Those before which, or in which, an automaton was emptied.
        starts: CPU time of each compile that emptied an automaton.
    """

    def __init__(self, run: Run) -> None:
        self.constrain, tokens = run.constrain, run.bench.tokens
        self.vocabulary = vocabulary = run.constrain.Vocabulary(tokens, eos_ids=[run.bench.eos_id])
        tables = run.constrain.TokenAutomaton(vocabulary).layout.words.nbytes
        self.budget = budget = tables + run.options.budget * MEGABYTE

        class Budgeted(run.constrain.TokenAutomaton):  # type: ignore[misc, name-defined]
            def __init__(self, vocabulary: Any) -> None:
                super().__init__(vocabulary, budget)

        self.automaton = Budgeted.of
        self.known: dict[int, Any] = {}  # the automata, by number; both are kept, as by constraints that somebody holds
        self.alive: list[tuple[Any, deque[int]]] = []
        self.rows = np.zeros((32, vocabulary.words), np.uint32)
        self.steps: list[float] = []
        self.behind: list[float] = []
        self.starts: list[float] = []
        self.seen = 0  # `emptied` at the last step

    @property
    def emptied(self) -> int:
        """Counts how often an automaton was emptied."""
        return sum(automaton.epoch for automaton in self.known.values())

    def arena_mb(self) -> float:
        """MB that records take in all automata, with the vocabulary's tables."""
        return round(sum(int(automaton.memory.A[0]) * 4 for automaton in self.known.values()) / MEGABYTE, 1)

    def begin(self, constraint: Any, tokens: list[int]) -> None:
        """Compile a schema and begin its text."""
        before, begun = self.emptied, time.thread_time()
        automaton = self.automaton(self.vocabulary)
        compiled = self.constrain.compile(constraint, self.vocabulary, automaton=automaton)
        self.known[automaton.number] = automaton
        if self.emptied > before:
            self.starts.append(1e3 * (time.thread_time() - begun))
        self.alive.append((compiled.matcher(), deque(tokens)))

    def step(self) -> None:
        """One token of every text; texts that are over leave."""
        matchers, rest = zip(*self.alive, strict=True)
        following = [tokens.popleft() for tokens in rest]
        begun = time.thread_time()
        self.constrain.fill_masks(matchers, self.rows[: len(matchers)])
        taken = self.constrain.advance_all(matchers, following)
        self.steps.append(1e3 * (time.thread_time() - begun))
        if self.emptied > self.seen:
            self.behind.append(self.steps[-1])
            self.seen = self.emptied
        self.alive = [each for each, good in zip(self.alive, taken, strict=True) if good and each[1]]

    def sample(self, run: Run, schemas: int) -> float:
        """Note the resident set, the records, and the objects that the collector knows."""
        objects = len(gc.get_objects())
        return run.sample("turns", schemas=schemas, emptied=self.emptied, arena_mb=self.arena_mb(), objects=objects)


def turns(run: Run) -> tuple[bool, str]:
    """Each schema once; the next begins when one of 32 texts is over."""
    state, done, before = Turns(run), 0, run.sample("turns", schemas=0)
    for constraint, tokens in requests(run, chosen_files(run.options, "memory")):
        try:
            state.begin(constraint, tokens)
        except run.constrain.ConstrainError:
            continue
        done += 1
        if done % 250 == 0:
            state.sample(run, done)
        while len(state.alive) == len(state.rows):
            state.step()
    while state.alive:
        state.step()
    grown = state.sample(run, done) - before
    points = ", ".join(f"{value:.2f}" for value in np.percentile(state.steps, [50, 99, 99.9]))
    what = f"{done} schemas add {grown:.0f} MB; ms of {len(state.steps):,} steps of 32 texts, p50, p99, p99.9: {points}"
    if state.behind:
        behind = np.percentile(state.behind, [50, 100])
        what += f"; of {len(state.behind)} behind a turn, p50, slowest: {behind[0]:.1f}, {behind[1]:.1f}"
        what += f"; of {len(state.starts)} compiles that emptied one, slowest: {max(state.starts, default=0):.1f}"
    most = 2 * state.budget / MEGABYTE + 64
    return grown < most, f"{what}; allowed {most:.0f} MB"


def mixed(run: Run) -> tuple[bool, str]:
    """Requests for so many minutes, by the shared automaton of the vocabulary."""
    seconds = run.options.minutes * 60
    every = max(1.0, seconds / 120)
    row = np.zeros(run.vocabulary.words, np.uint32)
    begin = next_sample = time.monotonic()
    done = 0
    for constraint, tokens in requests(run, drawn(run)):
        now = time.monotonic()
        if now >= next_sample:
            run.sample("requests", requests=done)
            next_sample = now + every
        if now - begin > seconds:
            break
        try:
            follow(run.constrain.compile(constraint, run.vocabulary), tokens, row)
        except run.constrain.ConstrainError:
            continue
        done += 1
    sizes = [sample["resident_mb"] for sample in run.samples if sample["part"] == "requests"]
    third = sizes[-max(2, len(sizes) // 3) :]
    ends = float(np.mean(third[: len(third) // 2])), float(np.mean(third[len(third) // 2 :]))
    growth = ends[1] - ends[0]
    good = growth < 64 and growth < 0.05 * ends[0]
    return good, f"{done:,} requests; last third {ends[0]:.0f} -> {ends[1]:.0f} MB, at most {max(sizes):.0f} MB"


PARTS: dict[str, Callable[[Run], tuple[bool, str]]] = {
    "matchers": matchers,
    "threads": threads,
    "budget": budget,
    "turns": turns,
    "requests": mixed,
}


def main() -> int:
    """Run, write, print. 1: a part did not keep its promise; else 0."""
    options = parse()
    parts = options.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        sys.exit(f"memory: no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    run = Run(options)
    verdicts = {part: PARTS[part](run) for part in parts}
    command = f"memory.py --parts {options.parts} --vocab {options.vocab} --minutes {options.minutes:g}"
    command += f" --matchers {options.matchers} --budget {options.budget} --limit {options.limit}"
    described = {**machine(), "command": command + f" --seed {options.seed}"}
    rows = [[part, "kept" if good else "BROKEN", what] for part, (good, what) in verdicts.items()]
    text = f"# Memory\n\n{described['command']}\n{described['machine']}\n\n{table(['part', 'promise', ''], rows)}\n"
    if options.out is not None:
        write_run(options.out, described, run.samples, text)
    print(text)
    return int(not all(good for good, _ in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
