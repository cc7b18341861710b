"""Searches on a small model: the findings of each, and its number of forward passes.

Questions, one table each: (1) which programs pass their tests, by tree search, look-ahead, values and sampling at equal
forwards; (2) how far the outputs of a diverse beam are from each other; (3) what knowing the missing bytes saves A*;
(4) what the first to finish cost; (5) a beam inside an event; (6) scores of 64 options in one forward; (7) programs
again, by searches that do more where the model is unsure; (8) loops in lists of records, by contrastive search.

    python benchmarks/search.py --out benchmarks/record/<date>-search

A task is one line of Python under a regex, with its tests as doctests; every text is run. Forwards are
`stats.forwards`, a sequence in a forward counted once. Clock: CPU time of this thread. Bias: one small model, which
hardly knows what the tasks ask for: what is measured is search, not knowledge.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import torch

import constrain
from composed import loaded
from constrain.papers import (
    AStar,
    BestOf,
    Cautious,
    ConditionalBeam,
    Contrastive,
    DiverseBeam,
    FirstFinish,
    Lookahead,
    Pausing,
    Planned,
    ValueGuided,
)
from constrain.papers.search import a_star
from constrain.sampling import Beam

EXPRESSION = r"(x|[0-9]|len\(s\)|s\[0\])( (\+|-|\*) (x|[0-9]|len\(s\))){0,2}"
TASKS = [  # (what is asked, [(s, x, value)])
    ("twice x", [("ab", 1, 2), ("c", 5, 10), ("", 0, 0), ("z", 7, 14)]),
    ("x plus one", [("ab", 1, 2), ("c", 5, 6), ("y", 0, 1), ("z", 7, 8)]),
    ("the length of s", [("ab", 1, 2), ("c", 5, 1), ("", 0, 0), ("zzz", 7, 3)]),
    ("x times the length of s", [("ab", 3, 6), ("c", 5, 5), ("", 4, 0), ("zzz", 7, 21)]),
    ("x squared plus 3", [("ab", 1, 4), ("c", 5, 28), ("", 0, 3), ("zzz", 7, 52)]),
    ("the first letter of s", [("ab", 1, "a"), ("c", 5, "c"), ("xy", 0, "x"), ("zzz", 7, "z")]),
    ("x less the length of s", [("ab", 3, 1), ("c", 5, 4), ("", 4, 4), ("zzz", 7, 4)]),
    ("x plus x plus x", [("ab", 1, 3), ("c", 5, 15), ("", 0, 0), ("zzz", 7, 21)]),
]
WORDS = [f"{a}{b}" for a in ("red", "green", "blue", "dark ", "light ", "name", "item", "value") for b in
         ("", "er", " one", "ish", "s", "ly", "_id", " 2")]  # fmt: skip


def passed(text: str, tests: list[tuple[str, int, Any]]) -> float:
    """The share of tests that an expression passes."""
    good = 0
    for s, x, value in tests:
        try:
            good += eval(text, {"__builtins__": {}, "len": len}, {"s": s, "x": x}) == value
        except (SyntaxError, IndexError, TypeError, NameError):
            good += 0
    return good / len(tests)


def prompt_of(asked: str, tests: list[tuple[str, int, Any]]) -> str:
    shown = "".join(f"    >>> f({s!r}, {x})\n    {value!r}\n" for s, x, value in tests[:2])
    return f'def f(s, x):\n    """Return {asked}.\n{shown}    """\n    return '


def programs(model: Any, rollouts: int) -> list[list[Any]]:
    """(1): mean share of tests, tasks solved (mean over seeds), mean forwards, CPU seconds of all."""
    budgets = [0] * len(TASKS)
    rows = []

    def once(place: int, method: Any, seed: int, **options: Any) -> tuple[float, int]:
        asked, tests = TASKS[place]
        given = {"temperature": 1.0, "max_tokens": 40, "regex": EXPRESSION, "method": method, "seed": seed, **options}
        g = constrain.generate(model, prompt_of(asked, tests), **given)
        return (passed(g.text, tests) if g.finish_reason == "stop" else 0.0), g.stats.forwards

    def sampled(reward: Any, place: int, seed: int) -> tuple[float, int]:
        """The best of as many samples as take at least the forwards of `Planned`."""
        samples = 1
        while True:
            share, forwards = once(place, BestOf(reward, samples=samples), seed)
            if forwards >= budgets[place]:
                return share, forwards
            samples = max(samples + 1, samples * budgets[place] // forwards)

    def run(name: str, make: Any, seeds: int = 1, **options: Any) -> None:
        start, shares, forwards = time.thread_time(), [], []
        for place, (_, tests) in enumerate(TASKS):
            reward = lambda text, tests=tests: passed(text, tests)  # noqa: E731
            for seed in range(seeds):
                found = sampled(reward, place, seed) if make is None else once(place, make(reward), seed, **options)
                shares.append(found[0])
                forwards.append(found[1])
            if name.startswith("Planned"):
                budgets[place] = forwards[-1]
        solved = sum(share == 1 for share in shares) / seeds
        rows.append(
            [name, sum(shares) / len(shares), solved, sum(forwards) / len(forwards), time.thread_time() - start]
        )

    run("masked decoding, greedy", lambda r: "lcd", temperature=0)
    run("masked decoding", lambda r: "lcd", seeds=4)
    run(f"Planned({rollouts} rollouts)", lambda r: Planned(r, rollouts=rollouts, enough=1))
    run("BestOf, at no fewer forwards", None, seeds=4)
    run("Lookahead(weight=20, ahead=12, top=4)", lambda r: Lookahead(r, weight=20, ahead=12, top=4))
    run("ValueGuided(strength=20, top=4, rollouts=12)", lambda r: ValueGuided(r, strength=20, top=4, rollouts=12), 4)
    run("AStar(20 * reward, limit=200)", lambda r: AStar(reward=lambda t: 20 * r(t), most=20, limit=200))
    return rows


def distance(one: str, two: str) -> int:
    """Levenshtein."""
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        row, before = [i], row
        for j, b in enumerate(two, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    return row[-1]


def diversity(model: Any) -> list[list[Any]]:
    """(2): mean distance of four outputs, and their mean log p."""
    rows = []
    prompts = ['{"name": "', "The title: ", "SELECT "]
    for name, method in [
        ("Beam(width=8)", Beam(width=8)),
        *[(f"DiverseBeam(8, groups=4, strength={s:g})", DiverseBeam(width=8, groups=4, strength=s)) for s in (0.5, 2)],
    ]:
        far, logs = [], []
        for prompt in prompts:
            outputs = constrain.generate(model, prompt, regex="[A-Za-z_ ]{4,16}", method=method, n=4, max_tokens=20)
            texts = [g.text for g in outputs if g.finish_reason == "stop"]
            far += [distance(*pair) for pair in combinations(texts, 2)]
            logs += [g.logprob for g in outputs if g.finish_reason == "stop"]
        rows.append([name, sum(far) / len(far), sum(logs) / len(logs), len(logs)])
    return rows


def heuristic(model: Any) -> list[list[Any]]:
    """(3): forwards of A* with and without the missing bytes, at equal answers."""
    rows = []
    for cost in (0.5, 2.0):
        found = {}
        for informed in (True, False):
            kept = a_star.bytes_to_end
            if not informed:
                a_star.bytes_to_end = lambda matcher: 0  # type: ignore[assignment]
            try:
                g = constrain.generate(
                    model, "A colour: ", choices=WORDS, method=AStar(cost=cost, batch=1), max_tokens=20
                )
            finally:
                a_star.bytes_to_end = kept
            found[informed] = (g.text, g.tv_bound, g.stats.forwards)
        assert found[True][:2] == found[False][:2]
        rows.append([cost, found[True][0], found[True][2], found[False][2]])
    return rows


def finishing(model: Any) -> list[list[Any]]:
    """(4): tokens and forwards of one output, of the first of 8 and of all 8."""
    rows = []
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
    for name, method, n in [
        ("lcd", "lcd", 1),
        ("FirstFinish(samples=8)", FirstFinish(samples=8), 1),
        ("BestOf(0, samples=8), that is all 8", BestOf(lambda text: 0.0, samples=8), 1),
    ]:
        tokens, forwards = [], []
        for seed in range(8):
            g = constrain.generate(
                model, "Numbers: ", schema=schema, method=method, n=n, seed=seed, max_tokens=60, complete=True
            )
            tokens.append(len(g.tokens))
            forwards.append(g.stats.forwards)
        rows.append([name, sum(tokens) / 8, sum(forwards) / 8])
    return rows


def event(model: Any) -> list[list[Any]]:
    """(5): log p of the best text found with at least three different vowels, by width."""
    vowels = lambda text: len(set(text) & set("aeiou"))  # noqa: E731
    rows = []
    for width in (2, 8):
        estimate = lambda text: -2.0 * max(0, 3 - vowels(text))  # noqa: E731
        method = ConditionalBeam(estimate, width=width)
        found = {}
        for name, chosen in (("beam", Beam(width=width)), ("conditional", method)):
            outputs = constrain.generate(model, "A word: ", regex="[a-z]{5,9}", method=chosen, n=width, max_tokens=12)
            inside = [g.logprob for g in outputs if g.finish_reason == "stop" and vowels(g.text) >= 3]
            found[name] = max(inside, default=-math.inf)
        rows.append([width, found["beam"], found["conditional"]])
    return rows


def scoring(model: Any) -> list[list[Any]]:
    """(6): 64 options at once and one by one."""
    constrain.score(model, "A colour: ", WORDS)
    start = time.thread_time()
    whole = constrain.score(model, "A colour: ", WORDS)
    once, start = time.thread_time() - start, time.thread_time()
    single = [constrain.score(model, "A colour: ", [word])[0].logprob for word in WORDS]
    apart = max(abs(a.logprob - b) for a, b in zip(whole, single, strict=True))
    return [[len(WORDS), whole.forwards, whole.nodes, 1000 * once, 1000 * (time.thread_time() - start), apart]]


def unsure(model: Any) -> list[list[Any]]:
    """(7): mean share of tests, mean log p of a text, forwards a task."""
    rows = []
    for name, method, seeds, options in [
        ("masked decoding, greedy", "lcd", 1, {"temperature": 0}),
        ("masked decoding", "lcd", 4, {}),
        ("Cautious(trials=10)", Cautious(), 4, {}),
        ("Pausing(threshold=1)", Pausing(threshold=1.0), 1, {}),
    ]:
        shares, logs, forwards = [], [], []
        for asked, tests in TASKS:
            for seed in range(seeds):
                given = {"regex": EXPRESSION, "max_tokens": 40, "method": method, "seed": seed, **options}
                g = constrain.generate(model, prompt_of(asked, tests), **given)
                shares.append(passed(g.text, tests) if g.finish_reason == "stop" else 0.0)
                logs.append(g.logprob)
                forwards.append(g.stats.forwards)
        rows.append([name, *(sum(each) / len(each) for each in (shares, logs, forwards))])
    return rows


def loops(model: Any) -> list[list[Any]]:
    """(8): of the outputs of benchmarks/processors.py what share ended, and what share of 4-grams was there before."""
    from processors import PROMPTS, SCHEMA, repeated

    rows = []
    for name, method in [
        ("greedy", Contrastive(alpha=0)),
        *[(f"Contrastive({alpha:g}, top=5)", Contrastive(alpha=alpha)) for alpha in (0.2, 0.6)],
    ]:
        outputs = [
            constrain.generate(model, prompt, schema=SCHEMA, method=method, max_tokens=96, complete=True)
            for prompt in PROMPTS
        ]
        ended = [g for g in outputs if g.finish_reason == "stop"]
        again = sum(repeated(g.tokens) for g in ended) / max(1, len(ended))
        rows.append([name, len(ended), again, sum(len(g.tokens) for g in ended) / max(1, len(ended))])
    return rows


TABLES: list[tuple[str, str, Any]] = [
    ("Programs", f"method | mean share of tests | solved of {len(TASKS)} | forwards a task | CPU s", programs),
    ("Diverse beams", "method | mean distance | mean log p | outputs", diversity),
    ("A* with the missing bytes", "cost a byte | answer | forwards | forwards without", heuristic),
    ("First finish", "method | tokens | forwards", finishing),
    ("A beam inside an event", "width | beam, best inside | conditional beam", event),
    ("Unsure places", "method | mean share of tests | mean log p | forwards a task", unsure),
    ("Loops", "method | complete of 4 | repeated 4-grams | tokens an output", loops),
    ("Scores", "options | forwards | nodes | CPU ms at once | CPU ms one by one | greatest difference", scoring),
]


def main(arguments: list[str] | None = None) -> int:
    """Print the tables, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", help="a folder of transformers (default: the embedded model)")
    parser.add_argument("--rollouts", type=int, default=24, help="of Planned, for each task")
    parser.add_argument("--only", nargs="*", default=[""], help="tables whose title has one of these texts")
    parser.add_argument("--out", type=Path, help="folder for the record")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    model = loaded(options.model) if options.model else constrain.reference.load()
    lines = [f"`python benchmarks/search.py {' '.join(sys.argv[1:])}`", ""]
    for title, head, make in TABLES:
        if not any(each in title for each in options.only):
            continue
        rows = make(model, options.rollouts) if make is programs else make(model)
        cells = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
        new = [f"## {title}", "", f"| {head} |", "|" + "---|" * len(head.split("|"))]
        new += ["| " + " | ".join(row) + " |" for row in cells] + [""]
        print("\n".join(new), flush=True)
        lines += new
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "search.md").write_text("\n".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
