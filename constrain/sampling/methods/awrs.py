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

are each unbiased given all that came before, so their mean is (Des Raj, "Some estimators in sampling with varying
probabilities without replacement", JASA 1956). `looks` = 1 is the estimator of the genlm-control library: ŵ = S or
p(v). The default looks as often as it took to find v, which at most doubles the checks and pays where little is valid.
What is all looked at is not estimated. ŵ ≥ p(v) > 0: a particle dies only if nothing is valid.
`max_checks`: the last check allowed gives ŵ = S if valid, death if not; still proper, by induction from the end.

Geometric. Draw with replacement until `accepts` valid draws, a of them; with r invalid ones, ŵ = (a − 1) / (a + r − 1),
the unbiased estimate from a negative binomial (Haldane, Biometrika 1945). A draw that is new is the next one without
replacement; repeats of known invalid candidates are counted by a geometric jump, those of valid ones by a coin. With
`max_rejects` the draws end at that many invalid ones too, and ŵ = min(accepts − 1, a) / (a + r − 1) with a valid ones
(Girshick, Mosteller and Savage 1946: the share of paths to the end point whose first step is a success). The first
valid draw is the choice; it does not depend on the counts.

Head: check the `head` likeliest candidates H all at once, and estimate the tail only: w = p(H∩A) + ŵ_T; v is x in H∩A
with probability p(x) / w, else the tail's. Proper, since w cancels.

Candidates and masses: core/urns.py. Cost: the sums of a row, as for a step without a check, and the checks. Limit:
where only unlikely tokens are valid, many are checked; a mask first, a check second, is what this is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.draw import NO_TOKEN, Chance
from constrain.sampling.core.particles import Particles
from constrain.sampling.core.potentials import AskedPotential
from constrain.sampling.core.sampler import check_count, log_add
from constrain.sampling.core.step import Step
from constrain.sampling.core.urns import Drawn, Urns, urns_of

JUMP = 64  # sizes of a geometric jump that are drawn at once
DIGITS = 80  # binary digits of a long jump


class Looks(NamedTuple):
    """The wish for some more candidates: taken from the urn, and checked. likeliest: not drawn, but the likeliest."""

    many: int
    likeliest: bool = False


class Checked(NamedTuple):
    """A candidate that was taken, and whether it is valid."""

    drawn: Drawn
    valid: bool


class TokenChoice(NamedTuple):
    """candidate: the chosen one, None when dead. log_prob: its log p. log_weight: log ŵ. checks: how many were made."""

    candidate: int | None
    log_prob: float
    log_weight: float
    checks: int


Choosing = Generator[Looks, list[Checked], TokenChoice]  # is sent what it wishes for: fewer if nothing else is left


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

    def choose(self, chance: Chance) -> Choosing:
        """Choose one candidate of an urn. chance: what is drawn from, beside the urn."""
        if self.head == 0:
            return (yield from self._tail(chance))
        head = yield Looks(self.head, likeliest=True)
        options = [(each.drawn.candidate, each.drawn.log_prob, each.drawn.log_prob) for each in head if each.valid]
        tail = yield from self._tail(chance)
        if tail.candidate is not None:
            options.append((tail.candidate, tail.log_prob, tail.log_weight))
        checks = len(head) + tail.checks
        if not options:
            return _dead(checks)
        logs = torch.tensor([log for *_, log in options], dtype=torch.float64)
        chosen = chance(logs.softmax(0)) if len(options) > 1 else 0
        return TokenChoice(*options[chosen][:2], float(logs.logsumexp(0)), checks)

    def _tail(self, chance: Chance) -> Choosing:
        if self.estimator == "recursive":
            return (yield from _recursive(self.looks, self.max_checks or math.inf))
        return (yield from _geometric(chance, self.accepts, self.max_rejects or math.inf))


def _dead(checks: int) -> TokenChoice:
    return TokenChoice(None, -math.inf, -math.inf, checks)


def _recursive(looks: int | None, max_checks: float) -> Choosing:
    checks = 0
    while checks < max_checks and (found := (yield Looks(1))):
        ((drawn, valid),) = found
        checks += 1
        if not valid:
            continue
        if checks == max_checks:
            return TokenChoice(drawn.candidate, drawn.log_prob, drawn.log_mass, checks)
        count = int(min(looks or checks, max_checks - checks))
        looked = yield Looks(count)
        log_rest = _des_raj(looked) if len(looked) == count else _log_sum(looked)
        return TokenChoice(drawn.candidate, drawn.log_prob, log_add([drawn.log_prob, log_rest]), checks + len(looked))
    return _dead(checks)


def _des_raj(looked: Sequence[Checked]) -> float:
    """log of an unbiased estimate of the valid mass that was left; exact when that was all."""
    if looked[-1].drawn.log_left == -math.inf:
        return _log_sum(looked)
    terms = [
        log_add([_log_sum(looked[:j]), *([drawn.log_mass] if valid else [])]) for j, (drawn, valid) in enumerate(looked)
    ]
    return log_add(terms) - math.log(len(terms))


def _log_sum(looked: Sequence[Checked]) -> float:
    """log of the mass of the valid ones."""
    return log_add([each.drawn.log_prob for each in looked if each.valid])


def _geometric(chance: Chance, accepts: int, max_rejects: float) -> Choosing:
    result: Drawn | None = None
    checks, accepted, rejected = 0, 0, 0.0
    log_all = log_valid = log_new = -math.inf  # of everything, of what is known to be valid, of what was not checked
    while accepted < accepts and rejected < max_rejects:
        log_pool = log_add([log_valid, log_new])
        if checks and log_pool == -math.inf:
            break
        if rejected:
            rejected += failures(min(log_pool - log_all, 0.0), chance, max_rejects - rejected)
            if rejected >= max_rejects:
                break
        if log_valid > -math.inf and chance(torch.tensor([log_new, log_valid], dtype=torch.float64).softmax(0)):
            accepted += 1  # a valid one again
            continue
        found = yield Looks(1)
        if not found:
            break
        ((drawn, valid),) = found
        log_all, log_new = log_all if checks else drawn.log_mass, drawn.log_left
        checks += 1
        if not valid:
            rejected += 1
            continue
        accepted += 1
        result, log_valid = result or drawn, log_add([log_valid, drawn.log_prob])
    if result is None:
        return _dead(checks)
    log_share = (
        math.log(min(accepts - 1, accepted)) - math.log(accepted + rejected - 1) if accepted > 1 or rejected else 0.0
    )
    return TokenChoice(result.candidate, result.log_prob, log_all + log_share, checks)


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


def settle(
    choices: Sequence[Choosing], urns: Urns, check: Callable[[list[tuple[int, int]]], list[bool]]
) -> list[TokenChoice]:
    """Run the choices of all rows of some urns side by side, so that what they draw and check is done in few calls.

    check: (row, candidate) pairs → whether each is valid
    """
    done: dict[int, TokenChoice] = {}
    answers: dict[int, list[Checked] | None] = dict.fromkeys(range(len(choices)))
    while answers:
        wishes: dict[int, Looks] = {}
        for row, answer in answers.items():
            try:
                wishes[row] = next(choices[row]) if answer is None else choices[row].send(answer)
            except StopIteration as stop:
                done[row] = stop.value
        taken = _taken(urns, wishes)
        verdicts = iter(check([(row, each.candidate) for row, some in taken.items() for each in some]))
        answers = {row: [Checked(each, next(verdicts)) for each in some] for row, some in taken.items()}
    return [done[row] for row in range(len(choices))]


def _taken(urns: Urns, wishes: Mapping[int, Looks]) -> dict[int, list[Drawn]]:
    """The candidates that rows wish for."""
    taken: dict[int, list[Drawn]] = {row: [] for row in wishes}
    for likeliest in (True, False):
        rows = [row for row, wish in wishes.items() if wish.likeliest == likeliest]
        while rows:
            found = urns.draw(rows, likeliest)
            for row, one in zip(rows, found, strict=True):
                taken[row] += [] if one is None else [one]
            going = zip(rows, found, strict=True)
            rows = [row for row, one in going if one is not None and len(taken[row]) < wishes[row].many]
    return taken


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
    urns = urns_of(particles.logits, bitmask, job.size, job.draw, streams, particles.places)
    rows = [particle.row for particle in particles.live]

    def valid(pairs: list[tuple[int, int]]) -> list[bool]:
        ends = [pair for pair in pairs if pair[1] in particles.eos]
        goes_on = [pair for pair in pairs if pair[1] not in particles.eos]
        longer = [texts[i] + (job.token_bytes[token] or b"") for i, token in goes_on]
        weights = dict(zip(ends, check.completes([texts[i] for i, _ in ends], [rows[i] for i, _ in ends]), strict=True))
        weights.update(zip(goes_on, check.prefixes(longer, [rows[i] for i, _ in goes_on]), strict=True))
        return [weights[pair] == 0 for pair in pairs]

    choices = settle([rejection.choose(Chance(job.draw, stream)) for stream in streams], urns, valid)
    token = torch.tensor([NO_TOKEN if each.candidate is None else each.candidate for each in choices])
    raw = torch.tensor([each.log_prob for each in choices], dtype=torch.float64)
    weight = torch.tensor([each.log_weight for each in choices], dtype=torch.float64)
    return Step(token, raw, torch.where(weight > -math.inf, raw - weight, 0.0), weight)
