"""`compare`: methods side by side, at equal numbers of forward passes of the model.

The idea: what matters is how good an estimate of the target a budget buys. A method makes outputs until the budget is
used up; its outputs, by their weights, are an estimate of π, and its distance from π (known, for a language whose
members can all be listed) is the result. Repeated with other seeds, and averaged. All that a method paid forwards for
counts: of `sir` and `smc` every particle by its weight, of `mcmc` the second half of each chain.

    TV      ½ Σ |π̂ − π|                 KL      Σ π̂ log(π̂/π), finite since π̂ stands on members only

`lcd unweighted` is what masked decoding gives to those who do not weight. "null" is the distance of as many perfect
draws as the best method made: no method that draws can be expected to be below it.

Forwards are counted in sequences: a batch of 8 counts 8, as its work does. Cost: every repeat runs every method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from constrain.errors import ConstrainError
from constrain.generation.call import make_job
from constrain.generation.request.signature import AnyOptions, ModelLike, PromptLike
from constrain.sampling.core.draw import TorchDraw
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.memory import Memory
from constrain.sampling.core.sampler import check_count, drive
from constrain.sampling.core.shape import shaped
from constrain.sampling.measure.diagnostics import normalised
from constrain.sampling.methods.asap import ASAp
from constrain.sampling.methods.cars import CARS
from constrain.sampling.methods.exact import MemberTable
from constrain.sampling.methods.mcmc import MCMC
from constrain.sampling.methods.table import Method, method_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Tokens = tuple[int, ...]
Atoms = list[tuple[Tokens, float]]
Row = tuple[float, float, float, float]  # forwards, outputs, TV, KL
Results = dict[tuple[str, int], list[Row]]  # (method, budget) → a row a repeat
LEARNING = {"asap": ASAp, "cars": CARS}  # by name, these keep what they learn from one output to the next
UNWEIGHTED = "lcd unweighted"
NULL = "null"


@dataclass(frozen=True)
class Point:
    """The results of a method for a budget, averaged over the repeats.

    Attributes:
        method: Its name.
        budget: The forward passes that it may use.
        forwards: Those that it used.
        outputs: Complete texts that were made, particles and states of chains among them.
        tv: Total variation from the target, from 0 to 1.
        kl: Kullback-Leibler divergence from the target, in nats; +inf where there is no output.
        tv_error: Standard error of the mean TV; NaN for a single repeat.

    Example:
        >>> Point("lcd", 100, 96.0, 24.0, 0.2, 0.1).budget
        100
    """

    method: str
    budget: int
    forwards: float
    outputs: float
    tv: float
    kl: float
    tv_error: float = math.nan


@dataclass(frozen=True)
class Comparison:
    """The findings of `compare`; as a text, a table.

    Attributes:
        points: A point for each method and budget.
        truth: The target, token sequence → probability.

    Example:
        >>> print(str(Comparison([Point("lcd", 100, 96.0, 24.0, 0.2, 0.1)], {}))[:22])
        method             bud
    """

    points: list[Point]
    truth: dict[Tokens, float] = field(repr=False)

    def __str__(self) -> str:
        lines = [f"{'method':<16} {'budget':>8} {'forwards':>10} {'outputs':>9} {'TV':>8} {'±':>7} {'KL':>8}"]
        for point in self.points:
            used = f"{point.budget:>8} {point.forwards:>10.1f} {point.outputs:>9.1f}"
            lines.append(f"{point.method:<16} {used} {point.tv:>8.4f} {point.tv_error:>7.4f} {point.kl:>8.4f}")
        return "\n".join(lines)


def compare(
    model: ModelLike,
    prompt: PromptLike,
    methods: Sequence[str] | Mapping[str, Callable[[], Method]] = ("lcd", "sir", "smc", "asap", "cars"),
    *,
    budgets: Sequence[int] = (100, 300, 1000),
    repeats: int = 5,
    batch: int = 1,
    truth: Mapping[Tokens, float] | None = None,
    limit: int = 100_000,
    **options: Unpack[AnyOptions],
) -> Comparison:
    """Compare sampling methods on a problem of your own: the distance of each from the target, for the same work.

    Args:
        model: As for `generate`.
        prompt: As for `generate`; one.
        methods: Names, or for each name a function that makes a new method (one that keeps a memory starts empty).
        budgets: Forward passes, counted in sequences.
        repeats: How often each method is run, each time with another seed.
        batch: Outputs of one call.
        truth: The target, token sequence → probability; None: `exact` lists the members.
        limit: The most prefixes that are listed.
        **options: A constraint, lengths, the shape of the distribution, and the first seed, as for `generate`.

    Returns:
        A point for each method and budget, beside "lcd unweighted" and perfect draws ("null"); `str` is the table.

    Raises:
        ConstrainError: There is no member, or an argument is wrong.
        LimitError: There are too many members to list.

    Example:
        >>> import constrain
        >>> model = constrain.reference.load()
        >>> found = constrain.compare(model, "A colour: ", ["lcd"], choices=["red", "blue"], budgets=[50], repeats=1)
        >>> [point.method for point in found.points]
        ['lcd', 'lcd unweighted', 'null']
    """
    job, seed = make_job(model, prompt, **options), options.get("seed") or 0
    return compared(job, methods, budgets=budgets, repeats=repeats, seed=seed, batch=batch, truth=truth, limit=limit)


def compared(
    job: Job,
    methods: Sequence[str] | Mapping[str, Callable[[], Method]] = ("lcd", "sir", "smc", "asap", "cars"),
    *,
    budgets: Sequence[int] = (100, 300, 1000),
    repeats: int = 5,
    seed: int = 0,
    batch: int = 1,
    truth: Mapping[Tokens, float] | None = None,
    limit: int = 100_000,
) -> Comparison:
    """`compare` for the first row of a job."""
    check_count("repeats", repeats)
    check_count("batch", batch)
    check_count("limit", limit)
    budgets = sorted(check_count("a budget", budget) for budget in budgets)
    if not budgets or budgets[-1] < batch:
        raise ConstrainError("compare needs at least one budget, of a batch or more", fix="budgets=(100, 1000)")
    made = methods if isinstance(methods, Mapping) else {name: _maker(name) for name in methods}
    if not made:
        raise ConstrainError("compare needs at least one method", fix='methods=["lcd"]')
    target = _checked(truth) if truth is not None else _listed(job, limit)
    results: Results = {}
    for repeat in range(repeats):
        for name, make in made.items():
            for budget, used, atoms in _run(replace(job, draw=TorchDraw(seed + repeat)), make(), budgets, batch):
                results.setdefault((name, budget), []).append(_row(used, atoms, target))
                if name == "lcd":
                    plain = [(tokens, 0.0) for tokens, _ in atoms]
                    results.setdefault((UNWEIGHTED, budget), []).append(_row(used, plain, target))
    results.update(_null(results, target, repeats, seed))
    points = [_point(name, budget, rows) for (name, budget), rows in results.items()]
    order = {name: place for place, name in enumerate(dict.fromkeys(point.method for point in points))}
    return Comparison(sorted(points, key=lambda point: (order[point.method], point.budget)), target)


def _point(name: str, budget: int, rows: list[Row]) -> Point:
    table = np.array(rows)
    error = float(table[:, 2].std(ddof=1) / math.sqrt(len(rows))) if len(rows) > 1 else math.nan
    used, outputs, tv, kl = table.mean(axis=0).tolist()
    return Point(name, budget, used, outputs, tv, kl, error)


def _maker(name: str) -> Callable[[], Method]:
    method = method_of(name)
    if name in LEARNING:
        return lambda: LEARNING[name](memory=Memory.of_one_call())
    return lambda: method


def _checked(truth: Mapping[Tokens, float]) -> dict[Tokens, float]:
    if not isinstance(truth, Mapping):
        raise ConstrainError(f"truth is {type(truth).__name__}, not a mapping of tokens to probabilities")
    if not all(isinstance(tokens, tuple) and isinstance(p, int | float) and 0 < p <= 1 for tokens, p in truth.items()):
        raise ConstrainError("truth maps tuples of token ids to probabilities above 0, up to 1")
    if not truth:
        raise ConstrainError("truth names no text")
    return dict(truth)


def _listed(job: Job, limit: int) -> dict[Tokens, float]:
    table = MemberTable(shaped(job), 0, limit=limit, batch=64)
    if not table.members:
        raise ConstrainError("the language has no member that the model gives any mass", fix="raise max_tokens")
    return {tuple(each.tokens): math.exp(each.log_prob - table.log_mass) for each in table.members}


def _run(job: Job, method: Method, budgets: Sequence[int], batch: int) -> list[tuple[int, float, Atoms]]:
    """(budget, forwards used, what came of them) when each budget was used up, or the next call would exceed it."""
    atoms: Atoms = []
    used = 0.0
    calls = 0
    reached: list[tuple[int, float, Atoms]] = []
    while len(reached) < len(budgets):
        matchers = None if job.matchers is None else [job.matchers[0].fork() for _ in range(batch)]
        streams = [calls * batch + i for i in range(batch)]
        keys = None if job.row_keys is None else [job.row_keys[0]] * batch
        one = replace(job, prompts=[job.prompts[0]] * batch, matchers=matchers, streams=streams, row_keys=keys)
        new = drive(method, one)
        cost = sum(max(1, sample.forwards) for sample in new)
        while len(reached) < len(budgets) and used + cost > budgets[len(reached)]:
            reached.append((budgets[len(reached)], used, list(atoms)))
        for sample in new:
            atoms += atoms_of(sample, chain=isinstance(method, MCMC))
        used += cost
        calls += 1
    return reached


def atoms_of(sample: Sample, *, chain: bool = False) -> Atoms:
    """The atoms of an output's estimate of the target: complete texts with log weights, properly weighted together.

    The output itself; or the N particles that it was chosen from, each by 1/N; or, for a chain, its second half.
    """
    states = sample.population
    if chain:
        states = states[len(states) // 2 :]
    log_share = -math.log(max(len(states), 0 if chain else sample.attempts)) if states else 0.0
    return [
        (tuple(each.tokens), each.log_weight + log_share)
        for each in states or [sample]
        if each.finish_reason == "stop" and each.log_weight > -math.inf
    ]


def _row(used: float, atoms: Atoms, truth: dict[Tokens, float]) -> Row:
    """(forwards, outputs, TV, KL) of weighted texts as an estimate of π; 1 and +inf where there is none yet."""
    estimate: dict[Tokens, float] = {}
    for (tokens, _), weight in zip(atoms, normalised([log_weight for _, log_weight in atoms]), strict=True):
        estimate[tokens] = estimate.get(tokens, 0.0) + weight
    return used, float(len(atoms)), *_from_truth(estimate, truth)


def _from_truth(estimate: dict[Tokens, float], truth: dict[Tokens, float]) -> tuple[float, float]:
    if not estimate:
        return 1.0, math.inf
    tv = 0.5 * math.fsum(abs(estimate.get(x, 0.0) - truth.get(x, 0.0)) for x in truth.keys() | estimate.keys())
    if not estimate.keys() <= truth.keys():
        return tv, math.inf
    return tv, math.fsum(q * math.log(q / truth[x]) for x, q in estimate.items() if q > 0)


def _null(
    results: Results,
    truth: dict[Tokens, float],
    repeats: int,
    seed: int,
) -> Results:
    """Perfect draws, as many as the method with the most outputs made for each budget."""
    rng = np.random.default_rng([seed, 1])
    members, pi = list(truth), np.array(list(truth.values()))
    found: Results = {}
    for budget in sorted({budget for _, budget in results}):
        most = max(int(row[1]) for (_, each), rows in results.items() if each == budget for row in rows)
        for _ in range(repeats):
            counts = rng.multinomial(most, pi / pi.sum())
            estimate = {members[i]: counts[i] / most for i in counts.nonzero()[0]} if most else {}
            found.setdefault((NULL, budget), []).append((0.0, float(most), *_from_truth(estimate, truth)))
    return found
