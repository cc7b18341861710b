"""Adaptive weighted rejection: the next token under a black-box check, and an unbiased estimate of the mass it leaves.

The problem: p over candidates is known, whether a candidate is valid — A(v) — costs a call. Choose v and a weight ŵ,
checking few candidates, such that for every candidate x

    E[ ŵ · 1(v = x) ] = p(x) · A(x).                                                       (proper weighting)

Then E[ŵ] is the valid mass, and the product of ŵ over the steps weights a whole text properly, as ΠZ does for `lcd`
(Lipkin et al., "Fast controlled generation from language models with adaptive weighted rejection sampling", 2025).
Candidates are drawn without replacement until one is valid; the two estimators differ in how they find ŵ.

Recursive. Let S be the mass of what was unchecked just before v was drawn, so that everything outside S is invalid.
Given v, the valid mass is p(v) + Z', Z' that of S − p(v), and any unbiased estimate of Z' makes ŵ = p(v) + Ẑ' proper.
From `looks` further candidates u₁, u₂, … drawn without replacement, S_j the unchecked mass before u_j, Des Raj's terms

    t_j = Σ_{l<j} p(u_l) A(u_l) + S_j A(u_j)

are each unbiased given all that came before (Des Raj, "Some estimators in sampling with varying probabilities without
replacement", JASA 1956), so Σ c_j t_j is, for shares c_j that sum to 1 and are fixed before u_j is seen. `looks` = 1 is
the estimator of the genlm-control library: ŵ = S or p(v). The default looks as often as it took to find v, which at
most doubles the checks and pays where little is valid. ŵ ≥ p(v) > 0: a particle dies only if nothing is valid.
`max_checks`: the last check allowed gives ŵ = S if valid, death if not; still proper, by induction from the end.

Geometric. Draw with replacement until `accepts` valid draws, a of them; with r invalid ones, ŵ = (a − 1) / (a + r − 1),
the unbiased estimate from a negative binomial (Haldane, Biometrika 1945). Repeats of a known invalid candidate are
not drawn one by one but counted by a geometric jump. With `max_rejects` the draws end at that many invalid ones too,
and ŵ = min(accepts − 1, a) / (a + r − 1) with a valid ones (Girshick, Mosteller and Savage 1946: the share of paths to
the end point whose first step is a success). The first valid draw is the choice; it does not depend on the counts.

Head: check the `head` likeliest candidates H all at once, and estimate the tail only: w = p(H∩A) + ŵ_T; v is x in H∩A
with probability p(x) / w, else the tail's. Proper, since w cancels.

All masses are sums of what is left, never 1 − what was taken: a valid mass of 1e-30 is found, not rounded away.
Cost: O(V) arithmetic a draw, and the checks. Limit: where only unlikely tokens are valid, many are checked; a mask
first, a check second, is what this is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.bitmask.apply import masked_logits
from constrain.sampling.core.draw import NO_TOKEN, Chance
from constrain.sampling.core.logits import log_total_of, scaled
from constrain.sampling.core.particles import Particles
from constrain.sampling.core.potentials import AskedPotential
from constrain.sampling.core.sampler import check_count
from constrain.sampling.core.step import Step

JUMP = 64  # sizes of a geometric jump that are drawn at once
DIGITS = 80  # binary digits of a long jump
ONE_BY_ONE = 4  # draws from many candidates before an order of all that are left is drawn
MANY = 1 << 14
RESUM = 1e-3  # a mass is summed anew when so little of it is left, before rounding shows

Checks = Generator[list[int], list[bool], "TokenChoice"]  # yields candidates to check, is sent whether they are valid


class TokenChoice(NamedTuple):
    """candidate: the chosen one, None when dead. log_weight: log ŵ. checks: candidates that were checked."""

    candidate: int | None
    log_weight: float
    checks: int


@dataclass(frozen=True)
class TokenRejection:
    """The choice of a token under a check, by the estimators of the module `constrain.sampling.methods.awrs`.

    Attributes:
        estimator: "recursive" or "geometric".
        looks: for "recursive", candidates checked after the first valid one; None: as many as it took to find it.
        accepts: for "geometric", valid draws to wait for, at least 2.
        head: the likeliest candidates, which are checked at once.
        max_checks: for "recursive", candidates checked at most, the head not counted; None: no limit.
        max_rejects: for "geometric", invalid draws, with replacement, at most; None: no limit.

    Example:
        >>> from constrain.sampling import AWRS, TokenRejection
        >>> AWRS(rejection=TokenRejection(estimator="geometric", accepts=3)).rejection.accepts
        3
    """

    estimator: str = "recursive"
    looks: int | None = None
    accepts: int = 5
    head: int = 0
    max_checks: int | None = None
    max_rejects: int | None = None

    def __post_init__(self) -> None:
        if self.estimator not in ("recursive", "geometric"):
            raise ConstrainError(f"there is no estimator {self.estimator!r}", fix='choose "recursive" or "geometric"')
        least = {"looks": 1, "accepts": 2, "head": 0, "max_checks": 1, "max_rejects": 1}
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None or not name.startswith(("max_", "looks")):
                check_count(name, value, bound)
        unused = {"recursive": "max_rejects", "geometric": "max_checks"}[self.estimator]
        if getattr(self, unused) is not None:
            raise ConstrainError(f"{unused} does not apply to the {self.estimator} estimator")

    def choose(self, log_probs: torch.Tensor, chance: Chance) -> Checks:
        """Choose one of N candidates.

        log_probs: float[N], log p of each, -inf allowed; they need not sum to 1, and ŵ is on their scale
        chance: what is drawn from
        """
        pool = _Pool(log_probs.double())
        if self.head == 0:
            return (yield from self._tail(pool, chance))
        head = [i for i in torch.topk(pool.log_probs, min(self.head, len(log_probs))).indices.tolist() if pool.has(i)]
        valid = []
        if head:
            verdicts = yield head
            valid = [i for i, is_valid in zip(head, verdicts, strict=True) if is_valid]
        options = [(i, pool.log_prob(i)) for i in valid]
        for i in head:
            pool.remove(i)
        tail = yield from self._tail(pool, chance)
        if tail.candidate is not None:
            options.append((tail.candidate, tail.log_weight))
        checks = len(head) + tail.checks
        if not options:
            return TokenChoice(None, -math.inf, checks)
        logs = torch.tensor([log for _, log in options], dtype=torch.float64)
        chosen = chance(logs.softmax(0)) if len(options) > 1 else 0
        return TokenChoice(options[chosen][0], float(logs.logsumexp(0)), checks)

    def _tail(self, pool: _Pool, chance: Chance) -> Checks:
        if self.estimator == "recursive":
            return (yield from _recursive(pool, chance, self.looks, self.max_checks or math.inf))
        return (yield from _geometric(pool, chance, self.accepts, self.max_rejects or math.inf))


class _Pool:
    """The candidates that may still be drawn, in log space.

    weights: float64[N], p over the largest p left, 0 for those gone; log_probs: as given, -inf for those gone
    """

    def __init__(self, log_probs: torch.Tensor) -> None:
        self.log_probs = log_probs.clone()
        self._sum()

    def _sum(self) -> None:
        self._top = self.log_probs.max() if len(self.log_probs) else torch.tensor(-math.inf)
        if self._top == -math.inf:
            self.weights, self._total = torch.zeros_like(self.log_probs), 0.0
        else:
            self.weights = (self.log_probs - self._top).exp()
            self._total = float(self.weights.sum())
        self._summed = self._total

    def has(self, i: int) -> bool:
        return bool(self.log_probs[i] > -math.inf)

    def log_prob(self, i: int) -> float:
        return float(self.log_probs[i])

    @property
    def empty(self) -> bool:
        return self._total == 0

    @property
    def count(self) -> int:
        """Candidates left that can be drawn."""
        return int((self.weights > 0).sum())

    @property
    def log_mass(self) -> float:
        return -math.inf if self.empty else float(self._top) + math.log(self._total)

    @property
    def probabilities(self) -> torch.Tensor:
        return self.weights / self._total

    def remove(self, i: int) -> None:
        self._total -= float(self.weights[i])
        self.weights[i] = 0.0
        self.log_probs[i] = -math.inf
        if self._total < RESUM * self._summed:
            self._sum()


class _Drawn(NamedTuple):
    """A candidate drawn without replacement. log_mass, log_squares: log Σ p and log Σ p² of all that were left before,
    itself included. left: how many are left after it."""

    candidate: int
    log_prob: float
    log_mass: float
    log_squares: float
    left: int


def _in_order(pool: _Pool, chance: Chance) -> Iterator[_Drawn]:
    """The candidates of a pool, drawn without replacement; empties it.

    An order of all costs more than a draw where there are many candidates, and the first few usually settle it.
    """
    for _ in range(ONE_BY_ONE if len(pool.log_probs) > MANY else 0):
        if pool.empty:
            return
        log_mass, squares = pool.log_mass, float((pool.probabilities**2).sum())
        drawn = chance(pool.probabilities)
        log_prob = pool.log_prob(drawn)
        pool.remove(drawn)
        yield _Drawn(drawn, log_prob, log_mass, math.log(squares) + 2 * log_mass, pool.count)
    left = pool.log_probs.clone()
    count = int((left > -torch.inf).sum())
    for block in chance.order(pool.log_probs):
        logs = left[block].numpy()
        left[block] = -torch.inf
        masses, squares_of = (_sums_from(k * logs, float((k * left).logsumexp(0))) for k in (1, 2))
        for candidate, log_prob, log_mass, log_squares in zip(block, logs.tolist(), masses, squares_of, strict=True):
            count -= 1
            yield _Drawn(candidate, log_prob, log_mass, log_squares, count)


def _sums_from(logs: np.ndarray, log_rest: float) -> list[float]:
    """log of the sum of exp(logs[j:]) and what comes after, for each j. Sums of what is left, never differences."""
    return np.logaddexp.accumulate(np.append(log_rest, logs[::-1]))[:0:-1].tolist()


def _recursive(pool: _Pool, chance: Chance, looks: int | None, max_checks: float) -> Checks:
    checks = 0
    order = _in_order(pool, chance)
    for drawn in order:
        (is_valid,) = yield [drawn.candidate]
        checks += 1
        if is_valid:
            if checks == max_checks:
                return TokenChoice(drawn.candidate, drawn.log_mass, checks)
            rest = int(min(looks or checks, max_checks - checks, drawn.left))
            log_rest = yield from _des_raj(order, rest)
            return TokenChoice(drawn.candidate, _log_add(drawn.log_prob, log_rest), checks + rest)
        if checks == max_checks:
            break
    return TokenChoice(None, -math.inf, checks)


def _des_raj(order: Iterator[_Drawn], looks: int) -> Generator[list[int], list[bool], float]:
    """log of an unbiased estimate of the valid mass that is left; exact when `looks` is all that there is."""
    share, found, estimate = 1.0, -math.inf, -math.inf  # what is left of Σ c_j = 1; log Σ p(u_l) A(u_l); log Σ c_j t_j
    for left in range(looks, 0, -1):
        look = next(order)
        part = _share_of_first(left, look.log_squares - 2 * look.log_mass)
        (is_valid,) = yield [look.candidate]
        if left == 1 and look.left == 0:
            return _log_add(found, look.log_prob) if is_valid else found  # all were checked: no estimate is needed
        term = _log_add(found, look.log_mass) if is_valid else found
        if share * part > 0:
            estimate = _log_add(estimate, math.log(share * part) + term)
        share *= 1.0 - part
        if is_valid:
            found = _log_add(found, look.log_prob)
    return estimate


def _share_of_first(terms: int, log_collision: float) -> float:
    """c_1 of so many terms, when each is better than the one before.

    Var t_j is about S_j², and each look takes about the share Σ q² off S: c_j ∝ (1 − Σ q²)^(−2j).
    log_collision: log Σ q²
    """
    if terms == 1:
        return 1.0
    shrink = 2 * math.log(max(-math.expm1(min(log_collision, 0.0)), 1e-9))
    return math.exp((terms - 1) * shrink) * math.expm1(shrink) / math.expm1(terms * shrink)


def _geometric(pool: _Pool, chance: Chance, accepts: int, max_rejects: float) -> Checks:
    log_all = pool.log_mass
    valid: set[int] = set()
    result, accepted, rejected, checks = None, 0, 0.0, 0
    while not pool.empty and accepted < accepts and rejected < max_rejects:
        if pool.log_mass < log_all:
            rejected += failures(min(pool.log_mass - log_all, 0.0), chance, max_rejects - rejected)
            if rejected >= max_rejects:
                break
        drawn = chance(pool.probabilities)
        if drawn not in valid:
            (is_valid,) = yield [drawn]
            checks += 1
            if not is_valid:
                rejected += 1
                pool.remove(drawn)
                continue
            valid.add(drawn)
            result = drawn if result is None else result
        accepted += 1
    if result is None:
        return TokenChoice(None, -math.inf, checks)
    log_weight = (
        math.log(min(accepts - 1, accepted)) - math.log(accepted + rejected - 1) if accepted > 1 or rejected else 0.0
    )
    return TokenChoice(result, log_all + log_weight, checks)


def failures(log_success: float, chance: Callable[[torch.Tensor], int], most: float = math.inf) -> float:
    """The failures before the first success: P(k) = s (1 − s)^k, cut at `most`; log s = `log_success`.

    The first JUMP are outcomes of one draw. Beyond, the binary digits of a geometric number are independent: digit j is
    1 with odds (1 − s)^(2^j). So 1e300 failures cost DIGITS coins; lower digits, which no float64 holds, are left.
    """
    if log_success == 0:
        return 0.0
    rate = -math.log(-math.expm1(log_success)) if log_success > -40 else math.exp(log_success)  # −log(1 − s)
    outcomes = int(min(most, JUMP))
    probabilities = torch.exp(-rate * torch.arange(outcomes + 1, dtype=torch.float64))
    probabilities[:-1] *= -math.expm1(-rate)
    drawn = chance(probabilities / probabilities.sum())
    if drawn < outcomes or outcomes == most:
        return float(drawn)
    highest = math.ceil(math.log2(745 / rate))  # beyond, exp(−rate · digit) is zero in double precision
    total = float(JUMP)
    for place in range(max(0, highest - DIGITS), highest):
        digit = 2.0**place
        odds = math.exp(-rate * digit)
        if chance(torch.tensor([1 / (1 + odds), odds / (1 + odds)], dtype=torch.float64)):
            total += digit
    return min(total, most)


def _log_add(a: float, b: float) -> float:
    top = max(a, b)
    return top if top == -math.inf else top + math.log(math.exp(a - top) + math.exp(b - top))


def settle(choices: Sequence[Checks], check: Callable[[list[tuple[int, int]]], list[bool]]) -> list[TokenChoice]:
    """Run several choices side by side, so that what they want checked is checked in one call.

    check: (which choice, which candidate) pairs → whether each is valid
    """
    done: dict[int, TokenChoice] = {}
    answers: dict[int, list[bool] | None] = dict.fromkeys(range(len(choices)))
    while answers:
        asked: dict[int, list[int]] = {}
        for i, answer in answers.items():
            try:
                asked[i] = next(choices[i]) if answer is None else choices[i].send(answer)
            except StopIteration as stop:
                done[i] = stop.value
        verdicts = iter(check([(i, candidate) for i, wanted in asked.items() for candidate in wanted]))
        answers = {i: [next(verdicts) for _ in wanted] for i, wanted in asked.items()}
    return [done[i] for i in range(len(choices))]


def checked_step(
    particles: Particles,
    bitmask: np.ndarray,
    texts: Sequence[bytes],
    streams: Sequence[int],
    check: AskedPotential,
    rejection: TokenRejection,
) -> Step:
    """A token for every live sequence, which its mask allows and the check does not refuse.

    bitmask: uint32[B, words]. texts: what each sequence says so far. streams: to draw from
    check: asked about the text with a token, or about the complete text for an EOS
    returns: log Z is log ŵ, an estimate; log p_sampled is log p_raw − log ŵ, since the true one is not known
    """
    job = particles.job
    logits = scaled(particles.logits, 1)
    log_total = log_total_of(logits, particles.places)
    masked, columns = masked_logits(logits, bitmask, job.size)  # float[B, U]
    ids = range(masked.shape[1]) if columns is None else columns.tolist()
    log_probs = (masked - log_total.unsqueeze(1)).cpu()
    rows = [particle.row for particle in particles.live]

    def valid(pairs: list[tuple[int, int]]) -> list[bool]:
        ends = [pair for pair in pairs if ids[pair[1]] in particles.eos]
        goes_on = [pair for pair in pairs if ids[pair[1]] not in particles.eos]
        longer = [texts[i] + (job.token_bytes[ids[candidate]] or b"") for i, candidate in goes_on]
        weights = dict(zip(ends, check.completes([texts[i] for i, _ in ends], [rows[i] for i, _ in ends]), strict=True))
        weights.update(zip(goes_on, check.prefixes(longer, [rows[i] for i, _ in goes_on]), strict=True))
        return [weights[pair] == 0 for pair in pairs]

    choices = settle(
        [rejection.choose(row, Chance(job.draw, stream)) for row, stream in zip(log_probs, streams, strict=True)],
        valid,
    )
    weight = torch.tensor([choice.log_weight for choice in choices], dtype=torch.float64)
    token = [NO_TOKEN if choice.candidate is None else ids[choice.candidate] for choice in choices]
    raw = [
        -math.inf if c.candidate is None else float(row[c.candidate]) for row, c in zip(log_probs, choices, strict=True)
    ]
    raws = torch.tensor(raw, dtype=torch.float64)
    return Step(torch.tensor(token), raws, torch.where(weight > -math.inf, raws - weight, 0.0), weight)
