"""Exceptions at every place: the search for one that leaves a hang or a wrong mask behind.

Question: in ten scenarios a KeyboardInterrupt is raised at the n-th call that the library makes, for every n for
which there is time, spread evenly; then real SIGINTs come at random times. After each, are all masks those of an
automaton that nobody interrupted?

    python benchmarks/injection.py --minutes 75 --signals 1000 --out benchmarks/record/<date>-injection

The scenarios are those of tests/masks/engine/test_interrupts.py: a schema, a regex, grammars under both lexers and a
triggered tag, read one by one, in batches, and with a flush every five bytes. After an exception the matchers that were
interrupted read on, and a new one reads the whole text on the same automaton; each mask is compared. Every other place
meets an automaton that knows all, the rest (and the places that such a one does not reach) one that has forgotten
all; so do signals, scenario by scenario. "raised" counts the places where the exception came: Python ignores what is
raised in the callback of a weak reference.

A place that takes more than `--patience` seconds is a hang: the stacks of all threads are printed and the run ends.
Every wrong mask is a line on standard error. All places take an hour and a half; scenarios share the time, and one that
needs less leaves the rest to those after it.
Bias: exceptions come at calls, and where Python looks for signals; not inside a kernel, which no signal stops.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import json
import math
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "masks" / "engine"))
from test_interrupts import TEXTS, VOCABULARY, WAYS, masks_of

import constrain
from interrupter import Interrupter

SCENARIOS = [
    ("recursive", "one by one"), ("greedy", "one by one"), ("recursive", "in batches"), ("greedy", "in batches"),
    ("regex", "one by one"), ("triggered", "in batches"), ("regex", "in batches"), ("greedy", "with flushes"),
    ("regex", "with flushes"), ("schema", "one by one"),
]  # fmt: skip
LIFE = 50  # rounds that an automaton lives for


def automaton() -> Any:
    """One that forgets as often as it can."""
    return constrain.TokenAutomaton(VOCABULARY, budget=0)


def wrong(name: str, shared: Any, matchers: list[Any]) -> str | None:
    """The first fault of these matchers, or of a new one on this automaton; None: there is none."""
    make, text = TEXTS[name]
    expected = EXPECTED[name]
    for matcher in matchers:
        read = matcher.text
        if not text.startswith(read) or masks_of(matcher, text[len(read) :]) != expected[len(read) :]:
            return f"an interrupted matcher at {len(read)}"
    if masks_of(constrain.compile(make(), VOCABULARY, automaton=shared).matcher(), text) != expected:
        return "a new matcher"
    return None


def calls_of(name: str, way: str) -> int:
    """The calls of a scenario on an automaton that knows nothing."""
    count, empty = Interrupter(0), automaton()
    with count.active():
        WAYS[way](name, empty, [])
    return count.calls


def places(calls: int) -> Iterator[int]:
    """All calls of a scenario, in an order whose beginnings are spread evenly: by steps of the golden section."""
    step = next(step for step in itertools.count(int(0.618 * calls) or 1) if math.gcd(step, calls) == 1)
    return (1 + number * step % calls for number in range(calls))


def forgotten(shared: Any) -> None:
    """Let an automaton forget all."""
    with shared.memory.lock:
        shared.flush()


def injected(name: str, way: str, end: float, patience: float) -> dict[str, Any]:
    """One scenario until a time: how many places were tried, and which masks were wrong afterwards."""
    began, shared, tried, raised = time.process_time(), automaton(), 0, 0
    faults: list[Any] = []
    calls = calls_of(name, way)
    for at in places(calls):
        if time.monotonic() > end:
            break
        faulthandler.dump_traceback_later(patience, exit=True)
        if tried % LIFE == 0:
            shared = automaton()
        for cold in (False, True) if at % 2 == 0 else (True,):
            if cold:
                forgotten(shared)
            matchers: list[Any] = []
            interrupter = Interrupter(at)
            with interrupter.active():
                WAYS[way](name, shared, matchers)
            if interrupter.calls == at:
                raised += 1
                break
        fault = wrong(name, shared, matchers)
        tried += 1
        if fault is not None:
            faults.append([at, fault])
            print(f"WRONG {name}, {way}, call {at}: {fault}", file=sys.stderr)
    faulthandler.cancel_dump_traceback_later()
    seconds = round(time.process_time() - began, 1)
    return {
        "scenario": f"{name}, {way}", "calls": calls, "tried": tried, "raised": raised, "wrong": faults,
        "cpu_s": seconds,
    }  # fmt: skip


class Signals:
    """Counts SIGINTs as Python gives them to the main thread. Some KeyboardInterrupts go nowhere: what is raised in a
    destructor, or in the callback of a weak reference, is ignored."""

    def __init__(self) -> None:
        self.received = 0
        signal.signal(signal.SIGINT, self.handle)

    def handle(self, number: int, frame: Any) -> None:
        """Count and raise."""
        self.received += 1
        signal.default_int_handler(number, frame)


def signalled(count: int, end: float, patience: float) -> dict[str, Any]:
    """Real SIGINTs at random times, over all scenarios in turn, until a time."""
    rng, faults, raised, signals = random.Random(0), [], 0, Signals()
    main = threading.main_thread().ident
    shared = automaton()
    assert main is not None
    for number in range(count):
        if time.monotonic() > end:
            break
        faulthandler.dump_traceback_later(patience, exit=True)
        name, way = SCENARIOS[number % len(SCENARIOS)]
        if number % LIFE == 0:
            shared = automaton()
        elif number // len(SCENARIOS) % 2:
            forgotten(shared)
        matchers: list[Any] = []
        timer = threading.Timer(rng.uniform(0, 0.02), signal.pthread_kill, (main, signal.SIGINT))
        try:
            timer.start()
            while signals.received == number:
                matchers.clear()
                WAYS[way](name, shared, matchers)
        except KeyboardInterrupt:
            raised += 1
        timer.join()
        fault = wrong(name, shared, matchers)
        if fault is not None:
            faults.append([number, fault])
            print(f"WRONG after SIGINT, {name}, {way}, round {number}: {fault}", file=sys.stderr)
    faulthandler.cancel_dump_traceback_later()
    return {"scenario": "SIGINT", "calls": count, "tried": signals.received, "raised": raised, "wrong": faults}


EXPECTED = {
    name: masks_of(constrain.compile(make(), VOCABULARY).matcher(), text) for name, (make, text) in TEXTS.items()
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=2, help="of wall time, of the scenarios and of the signals")
    parser.add_argument("--signals", type=int, default=50)
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--patience", type=float, default=300, help="seconds of one place, then it hangs")
    parser.add_argument("--out", type=Path, help="folder of the record")
    options = parser.parse_args()
    rows = []
    chosen = [(name, way) for name, way in SCENARIOS if options.only in f"{name}, {way}"]
    end = time.monotonic() + 60 * options.minutes
    for number, (name, way) in enumerate(chosen):
        share = (end - time.monotonic()) / (len(chosen) - number)
        rows.append(injected(name, way, time.monotonic() + share, options.patience))
        print(json.dumps(rows[-1]), flush=True)
    if options.signals:
        rows.append(signalled(options.signals, time.monotonic() + 60 * options.minutes, options.patience))
        print(json.dumps(rows[-1]), flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    counts = [sum(row[name] for row in rows) for name in ("calls", "tried", "raised")]
    wrong = sum(len(row["wrong"]) for row in rows)
    print("{1:,} of {0:,} places, raised at {2:,}".format(*counts) + f", {wrong} with wrong masks afterwards")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
