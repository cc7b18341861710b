"""The distance of each method's outputs from the true conditional distribution, at equal work.

    python benchmarks/faithful.py laws [--cases month,version] [--budgets 300,600,1200] [--repeats 6] [--out DIR]
    python benchmarks/faithful.py time [--particles 8,64] [--calls 20] [--out DIR]

laws: TV and KL of each method's estimate from π, at equal numbers of model forwards (counted as sequences), over
languages that the reference model can be asked about completely: π is exact, from forwards over the trie of all
prefixes. ± is the standard error of the mean over the repeats. "null" is the distance of as many perfect draws as the
best method made. Below: how much sooner each method is as near to π as genlm-control is at the largest budget, and the
checks of faithful_checks.py, of which one that fails is the exit status.
time: seconds a call of SMC on the same model object: with the mask, with the constraint as a black box, and
genlm-control's AWRS; what of that was the model's forward; and the error of what the calls say together.

genlm-control takes part where it can be imported. Answers are checked: every text must be a member of its language;
`evidence` in the records of `time`, an estimate of Z over Z, should be about 1. Bias: one model, small and
undertrained; few, short languages; forwards leave out what a method computes beside the model (`time` does not).
Seconds are of the processor, so what genlm-control waits for its batches does not count against it.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import faithful_genlm
from constrain.sampling import SMC, automaton
from constrain.sampling.core.resampling import effective_size
from constrain.sampling.core.sampler import drive
from faithful_cases import CASES, Case
from faithful_checks import Rows, mean, report, standard_error
from faithful_methods import AT_MOST, Atoms, Runner, ours, theirs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["laws", "time"])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--methods", help="only these, separated by commas")
    parser.add_argument("--budgets", default="300,600,1200")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--particles", default="8,64")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--out", type=Path, help="folder for the raw records")
    given = parser.parse_args()
    torch.set_num_threads(1)
    records: Rows = []
    fails = 0
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
            lines, failed = report(rows, budgets[-1], law)
            print(lines)
            fails += failed
        else:
            rows = [row for count in given.particles.split(",") for row in times(case, given.calls, int(count))]
            print(time_table(rows))
        print(flush=True)
        records += [{"case": name, **row} for row in rows]
        if given.out:
            given.out.mkdir(parents=True, exist_ok=True)
            lines = "".join(json.dumps(_rounded(record)) + "\n" for record in records)
            (given.out / f"{given.part}.jsonl").write_text(lines)
    return int(fails > 0)


def _rounded(record: dict[str, Any]) -> dict[str, Any]:
    """Numbers to five digits: a record is to be kept."""
    return {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in record.items()}


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


def laws(case: Case, budgets: list[int], repeats: int, only: list[str] | None) -> Rows:
    """One row for each method, budget and repeat."""
    runners: dict[str, Runner] = ours()
    if case.pattern is not None:
        runners |= theirs()
    rows = []
    for name, runner in runners.items():
        if only and name not in only:
            continue
        for repeat in range(min(repeats, AT_MOST.get(name, repeats))):
            rows += [{"method": name, "repeat": repeat, **row} for row in spend(case, runner(case, repeat), budgets)]
    return rows + null(case, budgets, rows, repeats)


def spend(case: Case, progress: Iterator[tuple[int, Atoms]], budgets: list[int]) -> Rows:
    """TV and KL when each budget was used up, or the next call would exceed it; outputs, and their effective size."""
    law = case.truth[0]
    sums: Counter[bytes] = Counter()
    weights: list[float] = []
    used = 0
    start, rows = time.process_time(), []
    while len(rows) < len(budgets):
        cost, atoms = next(progress)
        while len(rows) < len(budgets) and used + cost > budgets[len(rows)]:
            tv, kl = distances(sums, law)
            seconds = time.process_time() - start
            budget = budgets[len(rows)]
            row = {"budget": budget, "used": used, "outputs": len(weights), "ess": effective_size(weights)}
            rows.append(row | {"tv": tv, "kl": kl, "seconds": seconds})
        used += cost
        weights += [log_weight for _, log_weight in atoms]
        for text, log_weight in atoms:
            sums[text] += math.exp(log_weight)
    return rows


def null(case: Case, budgets: list[int], rows: Rows, repeats: int) -> Rows:
    """Perfect draws, as many as the method with the most outputs made."""
    law = case.truth[0]
    texts, pi, rng, found = list(law), np.array(list(law.values())), np.random.default_rng(0), []
    for budget in budgets:
        most = max((row["outputs"] for row in rows if row["budget"] == budget), default=0)
        for repeat in range(repeats):
            counts = Counter(dict(zip(texts, rng.multinomial(most, pi / pi.sum()).tolist(), strict=True)))
            tv, kl = distances(counts, law)
            row = {"method": "null", "repeat": repeat, "budget": budget, "used": 0, "outputs": most, "ess": most}
            found.append(row | {"tv": tv, "kl": kl, "seconds": 0.0})
    return found


def table(rows: Rows, budgets: list[int]) -> str:
    """Means over the repeats: TV with its standard error and KL for each budget, seconds for the largest."""
    heads = "".join(f"{f'TV {budget}':>9}{'±':>7}{'KL':>8}" for budget in budgets)
    lines = [f"  {'method':<20}{heads}{'ess':>9}{'seconds':>9}"]
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [
            f"{mean(rows, method, each):>9.3f}{standard_error(rows, method, each):>7.3f}"
            f"{mean(rows, method, each, 'kl'):>8.3f}"
            for each in budgets
        ]
        last = f"{mean(rows, method, budgets[-1], 'ess'):>9.1f}{mean(rows, method, budgets[-1], 'seconds'):>9.2f}"
        lines.append(f"  {method:<20}{''.join(cells)}{last}")
    return "\n".join(lines)


def speedups(rows: Rows, budgets: list[int]) -> str:
    """The speedup of each method in reaching the distance from π that genlm-control has at the largest budget."""
    rivals = [name for name in theirs() if any(row["method"] == name for row in rows)]
    lines = []
    for rival in rivals:
        goal, seconds = mean(rows, rival, budgets[-1]), mean(rows, rival, budgets[-1], "seconds")
        parts = []
        for method in dict.fromkeys(row["method"] for row in rows):
            reached = [mean(rows, method, each, "seconds") for each in budgets if mean(rows, method, each) <= goal]
            if reached and method not in (*rivals, "null"):
                parts.append(f"{method} {seconds / min(reached):.1f}×")
        reached_by = ", ".join(parts) or "none"
        lines.append(f"  TV ≤ {goal:.3f}, which took {rival} {seconds:.2f} s, is reached sooner by: {reached_by}")
    return "\n".join(lines)


# --- time -------------------------------------------------------------------------------------------------------------


class ForwardTime:
    """Seconds of the processor inside the model's forward, whoever calls it."""

    def __init__(self, model: Any) -> None:
        self.model, self.forward, self.seconds = model, model.forward, 0.0

    def __enter__(self) -> ForwardTime:
        @functools.wraps(self.forward)
        def timed(*given: Any, **named: Any) -> Any:
            start = time.process_time()
            found = self.forward(*given, **named)
            self.seconds += time.process_time() - start
            return found

        self.model.forward = timed
        return self

    def __exit__(self, *_: object) -> None:
        self.model.forward = self.forward


def times(case: Case, calls: int, count: int) -> Rows:
    """Milliseconds a call with so many particles, with and without the forwards, and the TV of what all calls say."""
    law, log_z, _ = case.truth
    check = SMC(particles=count, check=automaton(case.compiled))
    methods: dict[str, Callable[[int], Atoms]] = {
        f"smc {count}": lambda call: particles(case, SMC(particles=count), call),
        f"smc {count} black box": lambda call: particles(case, check, call, False),
    }
    genlm = None
    if faithful_genlm.available() and case.pattern is not None:
        genlm = faithful_genlm.Genlm(case, 0, count)
        methods[f"genlm awrs-smc {count}"] = lambda _: genlm()[0][0]
    rows = []
    for name, method in methods.items():
        method(calls)  # compiles, loads and caches what the first call needs
        sums: Counter[bytes] = Counter()
        seconds, forwards, made = [], [], 0
        for call in range(calls):
            with ForwardTime(case.handle.model) as inside:
                start = time.process_time()
                atoms = method(call)
                if atoms:
                    seconds.append(time.process_time() - start)
                    forwards.append(inside.seconds)
            made += len(atoms)
            for text, log_weight in atoms:
                sums[text] += math.exp(log_weight - log_z)
        tv, kl = distances(sums, law)
        evidence = math.fsum(sums.values()) / (count * calls)
        row = {"method": name, "ms": 1e3 * float(np.median(seconds)), "forward_ms": 1e3 * float(np.median(forwards))}
        rows.append(row | {"texts": made, "tv": tv, "kl": kl, "evidence": evidence})
    if genlm is not None and genlm.failures:
        print(f"  genlm-control: {genlm.failures} of {genlm.calls} calls ended in an assertion of its own")
    return rows


def time_table(rows: Rows) -> str:
    """One line a method: milliseconds a call, those outside of the model's forward, and the error."""
    lines = [f"  {'method':<20}{'ms a call':>10}{'forward':>9}{'rest':>8}{'texts':>7}{'TV':>7}{'evidence':>10}"]
    for row in rows:
        cost = f"{row['ms']:>10.1f}{row['forward_ms']:>9.1f}{row['ms'] - row['forward_ms']:>8.1f}"
        lines.append(f"  {row['method']:<20}{cost}{row['texts']:>7}{row['tv']:>7.3f}{row['evidence']:>10.3g}")
    return "\n".join(lines)


def particles(case: Case, method: SMC, call: int, masked: bool = True) -> Atoms:
    """The weighted texts of one call."""
    (sample,) = drive(method, case.job(0, [call], masked))
    return [(case.text(each.tokens), each.log_weight) for each in sample.population if each.log_weight > -math.inf]


if __name__ == "__main__":
    sys.exit(main())
