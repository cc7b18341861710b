"""`compare`: methods side by side, at equal numbers of model forwards.

The idea: what matters is how good an estimate of the target a budget buys. A method makes outputs until the budget is
used up; its outputs, by their weights, are an estimate of π, and its distance from π — known, for a language whose
members can all be listed — is the result. Repeated with other seeds, and averaged.

    TV      ½ Σ |π̂ − π|                 KL      Σ π̂ log(π̂/π), finite since π̂ stands on members only

`lcd unweighted` is what masked decoding gives to those who do not weight. "null" is the distance of as many perfect
draws as the best method made: no method that draws can be expected to be below it.

Forwards are counted in sequences: a batch of 8 counts 8, as its work does. Cost: every repeat runs every method.
Limit: languages that `exact` can list; `truth` takes a table that was made before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from constrain.errors import ConstrainError
from constrain.sampling.asap import ASAp
from constrain.sampling.cars import CARS
from constrain.sampling.diagnostics import normalised
from constrain.sampling.draw import TorchDraw
from constrain.sampling.exact import Table
from constrain.sampling.job import Job, Sample
from constrain.sampling.memory import Memory
from constrain.sampling.methods import Method, method_of
from constrain.sampling.sampler import check_count, drive
from constrain.sampling.shape import shaped

Tokens = tuple[int, ...]
LEARNING = {"asap": ASAp, "cars": CARS}  # by name, these keep what they learn from one output to the next
UNWEIGHTED = "lcd unweighted"
NULL = "null"


@dataclass(frozen=True)
class Point:
    """What a method gave for a budget, on average over the repeats. forwards, outputs: used and made."""

    method: str
    budget: int
    forwards: float
    outputs: float
    tv: float
    kl: float


@dataclass(frozen=True)
class Comparison:
    """The points, and π by token sequences."""

    points: list[Point]
    truth: dict[Tokens, float] = field(repr=False)

    def __str__(self) -> str:
        lines = [f"{'method':<16} {'budget':>8} {'forwards':>10} {'outputs':>9} {'TV':>8} {'KL':>8}"]
        for point in self.points:
            numbers = f"{point.forwards:>10.1f} {point.outputs:>9.1f} {point.tv:>8.4f} {point.kl:>8.4f}"
            lines.append(f"{point.method:<16} {point.budget:>8} {numbers}")
        return "\n".join(lines)

    def plot(self, path: str | None = None) -> Any:
        """TV and KL against forwards, as a matplotlib figure; written to a file too if a path is given.

        Raises ConstrainError: matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ConstrainError("plot() needs matplotlib", fix="pip install matplotlib, or print the table") from error
        figure = Figure(figsize=(9, 4), layout="constrained")
        for axes, name in zip(figure.subplots(1, 2), ("tv", "kl"), strict=True):
            for method in dict.fromkeys(point.method for point in self.points):
                mine = [point for point in self.points if point.method == method]
                values = [max(getattr(point, name), 1e-6) for point in mine]
                axes.loglog([point.budget for point in mine], values, marker="o", label=method)
            axes.set_xlabel("model forwards (sequences)")
            axes.set_ylabel({"tv": "total variation from the target", "kl": "KL from the target, nats"}[name])
        figure.axes[0].legend(fontsize="small")
        if path is not None:
            figure.savefig(path)
        return figure


def compare(
    job: Job,
    methods: Sequence[str] | Mapping[str, Callable[[], Method]] = ("lcd", "asap", "cars"),
    *,
    budgets: Sequence[int] = (100, 300, 1000),
    repeats: int = 5,
    seed: int = 0,
    batch: int = 1,
    truth: dict[Tokens, float] | None = None,
    limit: int = 100_000,
) -> Comparison:
    """Run methods on the first row of a job; see the module.

    methods: names, or for each name a function that makes a new method (one that keeps a memory starts empty).
    budgets: forwards, as sequences. batch: outputs of one call. truth: π by token sequences; listed by `exact` when
    left out, within `limit` prefixes.
    Raises ConstrainError: no member, bad arguments; LimitError: too many members to list.
    """
    check_count("repeats", repeats)
    check_count("batch", batch)
    budgets = sorted(check_count("a budget", budget) for budget in budgets)
    if not budgets:
        raise ConstrainError("compare needs at least one budget", fix="budgets=(100, 1000)")
    made = methods if isinstance(methods, Mapping) else {name: _maker(name) for name in methods}
    target = truth if truth is not None else _listed(job, limit)
    results: dict[tuple[str, int], list[tuple[float, float, float, float]]] = {}
    for repeat in range(repeats):
        for name, make in made.items():
            for budget, used, outputs in _run(replace(job, draw=TorchDraw(seed + repeat)), make(), budgets, batch):
                row = (used, float(len(outputs)), *_distances(outputs, target, weighted=True))
                results.setdefault((name, budget), []).append(row)
                if name == "lcd":
                    row = (used, float(len(outputs)), *_distances(outputs, target, weighted=False))
                    results.setdefault((UNWEIGHTED, budget), []).append(row)
    results.update(_null(results, target, repeats, seed))
    points = [Point(name, budget, *np.mean(rows, axis=0).tolist()) for (name, budget), rows in results.items()]
    order = {name: place for place, name in enumerate(dict.fromkeys(point.method for point in points))}
    return Comparison(sorted(points, key=lambda point: (order[point.method], point.budget)), target)


def _maker(name: str) -> Callable[[], Method]:
    method = method_of(name)
    if name in LEARNING:
        return lambda: LEARNING[name](memory=Memory.of_one_call())
    return lambda: method


def _listed(job: Job, limit: int) -> dict[Tokens, float]:
    table = Table(shaped(job), 0, limit=limit, batch=64)
    if not table.members:
        raise ConstrainError("the language has no member that the model gives any mass", fix="raise max_tokens")
    return {tuple(each.tokens): math.exp(each.log_prob - table.log_mass) for each in table.members}


def _run(job: Job, method: Method, budgets: Sequence[int], batch: int) -> list[tuple[int, float, list[Sample]]]:
    """(budget, forwards used, outputs so far) when each budget was used up, or the next call would exceed it."""
    outputs: list[Sample] = []
    used = 0.0
    calls = 0
    reached: list[tuple[int, float, list[Sample]]] = []
    while len(reached) < len(budgets):
        matchers = None if job.matchers is None else [job.matchers[0].fork() for _ in range(batch)]
        streams = [calls * batch + i for i in range(batch)]
        keys = None if job.row_keys is None else [job.row_keys[0]] * batch
        one = replace(job, prompts=[job.prompts[0]] * batch, matchers=matchers, streams=streams, row_keys=keys)
        new = drive(method, one)
        cost = sum(max(1, sample.forwards) for sample in new)
        while len(reached) < len(budgets) and used + cost > budgets[len(reached)]:
            reached.append((budgets[len(reached)], used, list(outputs)))
        outputs += new
        used += cost
        calls += 1
    return reached


def _distances(outputs: Sequence[Sample], truth: dict[Tokens, float], *, weighted: bool) -> tuple[float, float]:
    """(TV, KL) of the estimate from π; 1 and +inf where there is no estimate yet."""
    done = [sample for sample in outputs if sample.finish_reason == "stop"]
    estimate: dict[Tokens, float] = {}
    for sample, weight in zip(done, normalised([s.log_weight if weighted else 0.0 for s in done]), strict=True):
        estimate[tuple(sample.tokens)] = estimate.get(tuple(sample.tokens), 0.0) + weight
    return _from_truth(estimate, truth)


def _from_truth(estimate: dict[Tokens, float], truth: dict[Tokens, float]) -> tuple[float, float]:
    if not estimate:
        return 1.0, math.inf
    tv = 0.5 * math.fsum(abs(estimate.get(x, 0.0) - truth.get(x, 0.0)) for x in truth.keys() | estimate.keys())
    if not estimate.keys() <= truth.keys():
        return tv, math.inf
    return tv, math.fsum(q * math.log(q / truth[x]) for x, q in estimate.items() if q > 0)


def _null(
    results: Mapping[tuple[str, int], list[tuple[float, float, float, float]]],
    truth: dict[Tokens, float],
    repeats: int,
    seed: int,
) -> dict[tuple[str, int], list[tuple[float, float, float, float]]]:
    """Perfect draws, as many as the method with the most outputs made for each budget."""
    rng = np.random.default_rng([seed, 1])
    members, pi = list(truth), np.array(list(truth.values()))
    found: dict[tuple[str, int], list[tuple[float, float, float, float]]] = {}
    for budget in sorted({budget for _, budget in results}):
        most = max(int(row[1]) for (_, each), rows in results.items() if each == budget for row in rows)
        for _ in range(repeats):
            counts = rng.multinomial(most, pi / pi.sum())
            estimate = {members[i]: counts[i] / most for i in counts.nonzero()[0]} if most else {}
            found.setdefault((NULL, budget), []).append((0.0, float(most), *_from_truth(estimate, truth)))
    return found
