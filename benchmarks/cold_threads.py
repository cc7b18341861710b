"""Cold batches of new schemas: the time in Python and in kernels, and the estimated gain of a second thread.

Question: batches of 64 schemas that the engine has not met, 40 tokens each. How much of `fill_masks` is Python under
the interpreter's lock, how much kernels without it? How long would two threads take, each with half of the schemas in
an automaton of its own, if nothing else ran on the machine?

    python benchmarks/cold_threads.py --out benchmarks/record/<date>-threads

CPU time of one thread, so that other programs count for little. The times of two threads are put together from what was
measured of each half. A thread alternates between Python, for which it waits until the other has left it, and kernels;
each step of the batch ends when both have ended. That leaves out handing the lock over and memory that is shared, so
two real threads are slower: they are run too, by the clock on the wall, which says something on an idle machine only.
A free-threaded Python (PEP 703) has no lock to wait for.

| column | |
|---|---|
| compile, advance | `compile` of the batch, `advance_all` of all steps |
| python, kernels | of `fill_masks`, one automaton, in which `find_masks` without the lock is the kernels |
| two automata | the same work in two automata, one thread: what both find for themselves is in it twice |
| two threads | two automata, as above |
| no lock | likewise, if Python needed no lock |
| half | likewise, with the lock, if Python took half of its time |
| one, two | all of it by the clock, in one thread, and in two that each have an automaton and half of the schemas |

Answers are checked: every next token is in its mask, and both ways have the same masks.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.kernels.masks import batch as kernels
from constrain.languages.automata.memory import has_gil
from masks import vocabularies
from masks.options import add_files, chosen_files
from masks.records import data_folder, machine, write_run
from masks.summary import table

Case = tuple[Any, list[int]]
Parts = list[float]  # seconds: Python, kernel, Python, ... of one call of fill_masks
COLUMNS = ("compile", "advance", "python", "kernels", "two automata", "two threads", "no lock", "half", "one", "two")


class Trace:
    """`find_masks`, with the CPU time of the thread before and after each call."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.kernel = kernels.find_masks
        kernels.find_masks = self

    def __call__(self, *arguments: Any) -> int:
        self.times.append(time.thread_time())
        try:
            return int(self.kernel(*arguments))
        finally:
            self.times.append(time.thread_time())

    def parts(self, matchers: list[Any], rows: np.ndarray) -> Parts:
        """Fill the rows; the times between the ends of kernels."""
        self.times = [time.thread_time()]
        constrain.fill_masks(matchers, rows)
        self.times.append(time.thread_time())
        return np.diff(self.times).tolist()


def main() -> int:
    """Run, write, print."""
    parser = argparse.ArgumentParser(prog="cold_threads", formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, 1000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    options = parser.parse_args()
    encoder = vocabularies.load("llama3", data_folder(options.data))
    vocabulary = constrain.Vocabulary(encoder.tokens, eos_ids=[encoder.eos_id])
    found = cases(chosen_files(options, "cold_threads"), encoder, vocabulary, options.steps)
    batches = [found[i : i + options.batch] for i in range(0, len(found) - options.batch + 1, options.batch)]
    trace = Trace()
    gc.disable()  # a full collection takes as long as a batch, and comes in either way by chance
    run(batches, vocabulary, 1, trace)  # what the process does once for all automata
    one, two = (run(batches, vocabulary, automata, trace) for automata in (1, 2))
    if [each["sums"] for each in one] != [each["sums"] for each in two]:
        sys.exit("cold_threads: two automata have other masks than one")
    clocked = [by_the_clock(batches, vocabulary, threads) for threads in (1, 2)]
    if any(each["sums"] != other["sums"] for way in clocked for each, other in zip(way, one, strict=True)):
        sys.exit("cold_threads: two threads find other masks than one")
    records = [
        {"batch": i, **figures(*pair), "one": alone["ms"], "two": both["ms"]}
        for i, (pair, alone, both) in enumerate(zip(zip(one, two, strict=True), *clocked, strict=True))
    ]
    described = {**machine(), "command": "cold_threads.py " + " ".join(sys.argv[1:])}
    text = summary(records[1:], described, options)
    if options.out is not None:
        write_run(options.out, described, records, text)
    print(text)
    return 0


def cases(files: list[Path], encoder: Any, vocabulary: Any, steps: int) -> list[Case]:
    """(schema, tokens) of the files whose first valid instance is long enough and taken."""
    found: list[Case] = []
    automaton = constrain.TokenAutomaton(vocabulary)  # apart from those that are measured
    for path in files:
        content = json.loads(path.read_text(encoding="utf-8"))
        for test in content["tests"]:
            tokens = encoder.encode(json.dumps(test["data"], ensure_ascii=False)) if test["valid"] else []
            if len(tokens) >= steps:
                if takes(content["schema"], tokens[:steps], vocabulary, automaton):
                    found.append((content["schema"], tokens[:steps]))
                break
    return found


def takes(schema: Any, tokens: list[int], vocabulary: Any, automaton: Any) -> bool:
    """True if a schema is read, and its constraint takes the tokens."""
    try:
        compiled = constrain.compile(constrain.json_schema(schema), vocabulary, automaton=automaton)
    except constrain.ConstrainError:
        return False
    matcher = compiled.matcher()
    return all(matcher.advance(token) for token in tokens)


def by_the_clock(batches: list[list[Case]], vocabulary: Any, threads: int) -> list[dict[str, Any]]:
    """Each batch in two automata, each of which stays with its thread: milliseconds, and the checksums of `run`."""
    shared = [constrain.TokenAutomaton(vocabulary) for _ in range(2)]
    pools = [ThreadPoolExecutor(1) for _ in range(threads)]
    found = []
    for some in batches:
        begin = time.perf_counter()
        halves = [pools[k % threads].submit(sums_of, some[k::2], vocabulary, shared[k]) for k in range(2)]
        sums = [left ^ right for left, right in zip(*(half.result() for half in halves), strict=True)]
        found.append({"ms": round(1000 * (time.perf_counter() - begin), 1), "sums": sums})
    for pool in pools:
        pool.shutdown()
    return found


def sums_of(some: list[Case], vocabulary: Any, automaton: Any) -> list[int]:
    """Compile schemas, fill the masks of all steps and advance. Returns a checksum of the rows of each step."""
    matchers, weights = matchers_of(some, vocabulary, [automaton]), weights_of(vocabulary)
    rows, product = np.zeros((2, len(some), vocabulary.words), np.uint32)
    sums = []
    for now in np.array([tokens for _, tokens in some]).T:
        constrain.fill_masks(matchers, rows)
        np.multiply(rows, weights, out=product)  # no new pages: both threads would wait for the system to clear them
        sums.append(int(np.bitwise_xor.reduce(product.ravel())))
        constrain.advance_all(matchers, now)
    return sums


def weights_of(vocabulary: Any) -> np.ndarray:
    """Odd numbers, one a word, for checksums of rows."""
    return np.random.default_rng(0).integers(0, 2**32, vocabulary.words, dtype=np.uint32) | np.uint32(1)


def matchers_of(some: list[Case], vocabulary: Any, shared: list[Any]) -> list[Any]:
    """A matcher of each schema; the automata take turns."""
    return [
        constrain.compile(constrain.json_schema(schema), vocabulary, automaton=shared[k % len(shared)]).matcher()
        for k, (schema, _) in enumerate(some)
    ]


def run(batches: list[list[Case]], vocabulary: Any, automata: int, trace: Trace) -> list[dict[str, Any]]:
    """Each batch, its schemas dealt out to some automata: times, and a checksum of the rows of each step."""
    shared = [constrain.TokenAutomaton(vocabulary) for _ in range(automata)]
    weights = weights_of(vocabulary)
    found = []
    for some in batches:
        begin = time.thread_time()
        matchers = matchers_of(some, vocabulary, shared)
        compiled, advance, steps, sums = time.thread_time() - begin, 0.0, [], []
        rows = np.zeros((len(some), vocabulary.words), np.uint32)
        for now in np.array([tokens for _, tokens in some]).T:
            step = []
            for k in range(automata):
                part = np.zeros_like(rows[k::automata])
                step.append(trace.parts(matchers[k::automata], part))
                rows[k::automata] = part
            steps.append(step)
            if not (rows[np.arange(len(some)), now >> 5] >> (now & 31).astype(np.uint32) & 1).all():
                sys.exit("cold_threads: a token is refused that was accepted before")
            sums.append(int(np.bitwise_xor.reduce((rows * weights).ravel())))
            begin = time.thread_time()
            constrain.advance_all(matchers, now)
            advance += time.thread_time() - begin
        found.append({"compile": compiled, "advance": advance, "steps": steps, "sums": sums})
    return found


def figures(one: dict[str, Any], two: dict[str, Any]) -> dict[str, float]:
    """The columns, in ms."""
    found = {
        "compile": one["compile"],
        "advance": one["advance"],
        "python": sum(sum(step[0][0::2]) for step in one["steps"]),
        "kernels": sum(sum(step[0][1::2]) for step in one["steps"]),
        "two automata": sum(sum(map(sum, step)) for step in two["steps"]),
        "two threads": sum(together(step) for step in two["steps"]),
        "no lock": sum(max(map(sum, step)) for step in two["steps"]),
        "half": sum(together(step, 0.5) for step in two["steps"]),
    }
    return {name: round(value * 1000, 1) for name, value in found.items()}


def together(step: list[Parts], python: float = 1.0) -> float:
    """Seconds until all threads of a step have ended. python: the share of its time that Python takes."""
    free = end = 0.0  # when the interpreter's lock is free
    queue = [(0.0, thread, 0) for thread in range(len(step))]
    while queue:
        now, thread, part = heapq.heappop(queue)
        if part == len(step[thread]):
            end = max(end, now)
        elif part % 2:
            heapq.heappush(queue, (now + step[thread][part], thread, part + 1))
        else:
            free = max(now, free) + python * step[thread][part]
            heapq.heappush(queue, (free, thread, part + 1))
    return end


def interpreter() -> str:
    """The Python that runs, and whether its threads share a lock."""
    version = ".".join(map(str, sys.version_info[:2]))
    return f"Python {version}, {'with' if has_gil() else 'without'} the interpreter's lock"


def summary(records: list[dict[str, Any]], described: dict[str, Any], options: argparse.Namespace) -> str:
    """The batches but the first, and how many times as quick as one thread the others would be."""
    rows = [[str(record["batch"]), *(f"{record[name]:.0f}" for name in COLUMNS)] for record in records]
    whole = {name: sum(record[name] for record in records) for name in COLUMNS}
    alone = whole["python"] + whole["kernels"]
    less = whole["python"] / 2 + whole["kernels"]
    shares = f"{alone / whole['two threads']:.2f}, {alone / whole['no lock']:.2f}, {less / whole['half']:.2f}"
    title = f"# Batches of {options.batch} new schemas, {options.steps} tokens, ms\n\n{described['command']}\n"
    lines = [
        title + f"{described['machine']}\n",
        table(["batch", *COLUMNS], rows),
        f"\nPython's share of fill_masks: {whole['python'] / alone:.2f}. Work of two automata / of one: "
        f"{whole['two automata'] / alone:.2f}.",
        f"Times as quick as one thread of the same kind: two threads, no lock, half of Python: {shares}.",
        f"By the clock: {whole['one'] / whole['two']:.2f}, {interpreter()}.\n",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
