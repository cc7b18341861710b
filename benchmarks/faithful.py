"""How close to the true conditional law does each method come, for how much work?

    python benchmarks/faithful.py laws [--cases month,version] [--budgets 100,300,1000] [--repeats 5] [--out DIR]
    python benchmarks/faithful.py time [--calls 20] [--out DIR]

laws: TV and KL of each method's estimate from π, at equal numbers of model forwards (counted as sequences), over
languages that the reference model can be asked about completely: π is exact, from forwards over the trie of all
prefixes. "null" is the distance of as many perfect draws as the best method made. Below: how much sooner each method is
as near to π as genlm-control is at the largest budget.
time: seconds a call of SMC with 5 particles, on the same model object: with the mask, with the constraint as a black
box, and genlm-control's AWRS; beside the error of what the calls say together.

genlm-control takes part where it can be imported. Answers are checked: every text must be a member of its language;
`evidence` in the records of `time`, an estimate of Z over Z, should be about 1. Bias: one model, small and
undertrained; few, short languages; forwards leave out what a method computes beside the model (`time` does not).
Seconds are of the processor, so what genlm-control waits for its batches does not count against it.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import faithful_genlm
from constrain.sampling import SMC, automaton
from constrain.sampling.sampler import drive
from faithful_cases import CASES, Case
from faithful_methods import Atoms, Runner, ours

GENLM = "genlm awrs-smc 16"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["laws", "time"])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--methods", help="only these, separated by commas")
    parser.add_argument("--budgets", default="100,200,300,500,1000")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--out", type=Path, help="folder for the raw records")
    given = parser.parse_args()
    torch.set_num_threads(1)
    records: list[dict[str, Any]] = []
    if not faithful_genlm.available():
        print("genlm-control is not installed: its rows are left out\n")
    for name in given.cases.split(","):
        case = CASES[name]
        law, log_z, members = case.truth
        print(f"{name}: {len(law)} texts, {members} token sequences, log Z = {log_z:.2f}, prompt {case.prompt!r}")
        if given.part == "laws":
            budgets = sorted(int(budget) for budget in given.budgets.split(","))
            rows = laws(case, budgets, given.repeats, given.methods and given.methods.split(","))
            print(table(rows, budgets))
            print(speedups(rows, budgets))
        else:
            rows = times(case, given.calls)
            print("\n".join(f"  {row['method']:<18} {row['ms']:9.1f} ms a call   TV {row['tv']:.3f}" for row in rows))
        print(flush=True)
        records += [{"case": name, **row} for row in rows]
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (given.out / f"{given.part}.jsonl").write_text(lines)


def distances(atoms: Counter[bytes], law: dict[bytes, float]) -> tuple[float, float]:
    """(TV, KL from π) of weighted texts; (1, inf) for none."""
    total = math.fsum(atoms.values())
    if total == 0:
        return 1.0, math.inf
    shares = {text: weight / total for text, weight in atoms.items() if weight > 0}
    wrong = shares.keys() - law.keys()
    assert not wrong, f"not members of the language: {sorted(wrong)[:3]}"
    tv = 0.5 * math.fsum(abs(shares.get(text, 0.0) - p) for text, p in law.items())
    return tv, math.fsum(q * math.log(q / law[text]) for text, q in shares.items())


# --- laws -------------------------------------------------------------------------------------------------------------


def laws(case: Case, budgets: list[int], repeats: int, only: list[str] | None) -> list[dict[str, Any]]:
    """One row for each method, budget and repeat."""
    runners: dict[str, Runner] = ours()
    if faithful_genlm.available() and case.pattern is not None:
        runners[GENLM] = faithful_genlm.runner
    rows = []
    for name, runner in runners.items():
        if only and name not in only:
            continue
        for repeat in range(repeats):
            rows += [{"method": name, "repeat": repeat, **row} for row in spend(case, runner(case, repeat), budgets)]
    return rows + null(case, budgets, rows, repeats)


def spend(case: Case, progress: Iterator[tuple[int, Atoms]], budgets: list[int]) -> list[dict[str, Any]]:
    """TV and KL when each budget was used up, or the next call would exceed it."""
    law = case.truth[0]
    sums: Counter[bytes] = Counter()
    used = outputs = 0
    start, rows = time.process_time(), []
    while len(rows) < len(budgets):
        cost, atoms = next(progress)
        while len(rows) < len(budgets) and used + cost > budgets[len(rows)]:
            tv, kl = distances(sums, law)
            seconds = time.process_time() - start
            budget = budgets[len(rows)]
            rows.append({"budget": budget, "used": used, "outputs": outputs, "tv": tv, "kl": kl, "seconds": seconds})
        used += cost
        outputs += len(atoms)
        for text, log_weight in atoms:
            sums[text] += math.exp(log_weight)
    return rows


def null(case: Case, budgets: list[int], rows: list[dict[str, Any]], repeats: int) -> list[dict[str, Any]]:
    """Perfect draws, as many as the method with the most outputs made."""
    law = case.truth[0]
    texts, pi, rng, found = list(law), np.array(list(law.values())), np.random.default_rng(0), []
    for budget in budgets:
        most = max((row["outputs"] for row in rows if row["budget"] == budget), default=0)
        for repeat in range(repeats):
            counts = Counter(dict(zip(texts, rng.multinomial(most, pi / pi.sum()).tolist(), strict=True)))
            tv, kl = distances(counts, law)
            row = {"method": "null", "repeat": repeat, "budget": budget, "used": 0, "outputs": most, "tv": tv, "kl": kl}
            found.append(row | {"seconds": 0.0})
    return found


def table(rows: list[dict[str, Any]], budgets: list[int]) -> str:
    """Means over the repeats: TV and KL for each budget, seconds for the largest."""
    heads = "".join(f"{f'TV {budget}':>10}{f'KL {budget}':>10}" for budget in budgets)
    lines = [f"  {'method':<20}{heads}{'seconds':>10}"]
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [[row for row in rows if row["method"] == method and row["budget"] == budget] for budget in budgets]
        cells = [f"{np.mean([r['tv'] for r in each]):>10.3f}{np.mean([r['kl'] for r in each]):>10.3f}" for each in mine]
        lines.append(f"  {method:<20}{''.join(cells)}{np.mean([row['seconds'] for row in mine[-1]]):>10.2f}")
    return "\n".join(lines)


def speedups(rows: list[dict[str, Any]], budgets: list[int]) -> str:
    """How much sooner each method is as near to π as genlm-control is at the largest budget."""

    def mean(method: str, budget: int, key: str) -> float:
        return float(np.mean([row[key] for row in rows if row["method"] == method and row["budget"] == budget]))

    if not any(row["method"] == GENLM for row in rows):
        return ""
    goal, theirs = mean(GENLM, budgets[-1], "tv"), mean(GENLM, budgets[-1], "seconds")
    parts = []
    for method in dict.fromkeys(row["method"] for row in rows):
        reached = [mean(method, budget, "seconds") for budget in budgets if mean(method, budget, "tv") <= goal]
        if reached and method not in (GENLM, "null"):
            parts.append(f"{method} {theirs / min(reached):.1f}×")
    return f"  TV ≤ {goal:.3f}, which took {GENLM} {theirs:.2f} s, is reached sooner by: {', '.join(parts) or 'none'}"


# --- time -------------------------------------------------------------------------------------------------------------


def times(case: Case, calls: int) -> list[dict[str, Any]]:
    """Milliseconds a call with 5 particles, and the TV of what all calls say together."""
    law, log_z, _ = case.truth
    methods: dict[str, Callable[[int], Atoms]] = {
        "smc 5": lambda call: particles(case, SMC(particles=5), call),
        "smc 5 black box": lambda call: particles(case, SMC(particles=5, check=automaton(case.compiled)), call, False),
    }
    if faithful_genlm.available() and case.pattern is not None:
        genlm = faithful_genlm.Genlm(case, 0, 5)
        methods["genlm awrs-smc 5"] = lambda _: genlm()[0]
    rows = []
    for name, method in methods.items():
        method(calls)  # compiles, loads and caches what the first call needs
        sums: Counter[bytes] = Counter()
        seconds = []
        for call in range(calls):
            start = time.process_time()
            atoms = method(call)
            if atoms:
                seconds.append(time.process_time() - start)
            for text, log_weight in atoms:
                sums[text] += math.exp(log_weight - log_z)
        tv, kl = distances(sums, law)
        evidence = math.fsum(sums.values()) / (5 * calls)
        row = {"method": name, "ms": 1e3 * float(np.median(seconds)), "tv": tv, "kl": kl, "evidence": evidence}
        rows.append(row | {"seconds": seconds})
    if "genlm awrs-smc 5" in methods and genlm.failures:
        print(f"  genlm-control: {genlm.failures} of {genlm.calls} calls ended in an assertion of its own")
    return rows


def particles(case: Case, method: SMC, call: int, masked: bool = True) -> Atoms:
    """The weighted texts of one call."""
    (sample,) = drive(method, case.job(0, [call], masked))
    return [(case.text(each.tokens), each.log_weight) for each in sample.population if each.log_weight > -math.inf]


if __name__ == "__main__":
    main()
