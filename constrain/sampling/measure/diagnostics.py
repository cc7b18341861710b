"""Measures of a method, from its outputs: distance from the target, effective sample size, cost.

With weights w = p(x)/q(x) of outputs x ~ q, and Z = E[w] the mass of the language, for members only:

    KL(q ‖ π) = log Z − E_q[log w]                       both from q(x) = p(x)/w(x), π(x) = p(x)/Z
    KL(π ‖ q) = E_π[log w] − log Z,  E_π by the weights

and log Ẑ for log Z. Outputs that failed have w = 0; q then is the distribution of the others (with share s, its
density is q/s, which adds −log s and +log s). Where a weight is an average over more than the output ("smc", "sir")
both are upper bounds on average, by Jensen's inequality. For exact methods weights are 1 and both are 0.

Effective sample size: (Σ w)² / Σ w², e.g. Owen, "Monte Carlo theory, methods and examples", section 9.3.
Limit: estimates from n outputs. A heavy weight that was never drawn does not show: a large ESS proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from constrain.errors import ConstrainError
from constrain.sampling.core.resampling import effective_size
from constrain.sampling.core.sampler import log_add


@dataclass(frozen=True)
class Diagnostics:
    """Estimates from n outputs; None where they say nothing.

    Attributes:
        n: the number of outputs.
        share: of the outputs that are complete members, from 0 to 1.
        ess: effective sample size, from 0 to n.
        log_evidence: log of the estimated mass of the language.
        evidence_error: standard error of `log_evidence`, by the delta method; None for a single output.
        kl_from_target: KL(q ‖ π) in nats, what the method adds.
        kl_to_target: KL(π ‖ q) in nats, what it misses.
        acceptance: members per attempt.
        forwards: per output.
        evaluations: calls of predicates and potentials, per output.
        evaluations_per_token: the same per token.
        tv_bound: the largest proven bound of an output; None if one has none.

    Example:
        >>> import constrain
        >>> outputs = constrain.generate(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", n=3, seed=1)
        >>> outputs.diagnostics.n, outputs.diagnostics.share
        (3, 1.0)
    """

    n: int
    share: float
    ess: float
    log_evidence: float | None
    evidence_error: float | None
    kl_from_target: float | None
    kl_to_target: float | None
    acceptance: float
    forwards: float
    evaluations: float
    evaluations_per_token: float
    tv_bound: float | None

    def __str__(self) -> str:
        rows = []
        for name, value in vars(self).items():
            shown = "-" if value is None else f"{value:.4g}"
            rows.append(f"{name:<22} {shown:>10}")
        return "\n".join(rows)


def diagnose(outputs: Sequence[Any]) -> Diagnostics:
    """Measure a method by its outputs.

    Args:
        outputs: of `generate` for n outputs, or `Sample`s of a method.

    Returns:
        The diagnostics; formulas: see the module `constrain.sampling.measure.diagnostics`.

    Raises:
        ConstrainError: there are no outputs.

    Source:
        Owen, "Monte Carlo theory, methods and examples", section 9.3 (effective sample size).

    Example:
        >>> import constrain
        >>> from constrain.sampling import diagnose
        >>> outputs = constrain.generate(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", n=3, seed=1)
        >>> 0 < diagnose(outputs).ess <= 3
        True
    """
    if not outputs:
        raise ConstrainError("there are no outputs to diagnose")
    samples = outputs
    logs = [sample.log_weight if sample.finish_reason == "stop" else -math.inf for sample in samples]
    alive = [log_weight for log_weight in logs if log_weight > -math.inf]
    costs = [_cost(output) for output in outputs]
    share = len(alive) / len(samples)
    from_target, to_target = _distances(alive, share)
    tokens = sum(len(sample.tokens) for sample in samples)
    evaluations = sum(cost.evaluations for cost in costs)
    bounds = [sample.tv_bound for sample in samples]
    evidence = _evidence(samples)
    return Diagnostics(
        n=len(samples),
        share=share,
        ess=effective_size(logs),
        log_evidence=evidence,
        evidence_error=_evidence_error(samples, evidence),
        kl_from_target=from_target,
        kl_to_target=to_target,
        acceptance=sum(cost.accepted for cost in costs) / max(1, sum(cost.attempts for cost in costs)),
        forwards=sum(cost.forwards for cost in costs) / len(samples),
        evaluations=evaluations / len(samples),
        evaluations_per_token=evaluations / max(1, tokens),
        tv_bound=None if None in bounds else max(bounds),
    )


def _cost(output: Any) -> Any:
    """The object with an output's costs: the stats of a generation, a sample itself."""
    return getattr(output, "stats", output)


def normalised(log_weights: Sequence[float]) -> list[float]:
    """Weights that sum to 1; all 0 if all are."""
    total = log_add(list(log_weights))
    return [0.0 if total == -math.inf else math.exp(each - total) for each in log_weights]


def _evidence(samples: Sequence[Any]) -> float | None:
    """log of the mean estimate of Z, each counting by the attempts behind it: rows that stop at their first success
    overestimate Z the more, the fewer attempts they took."""
    if any(sample.log_evidence is None for sample in samples):
        return None
    attempts = [_cost(sample).attempts for sample in samples]
    parts = [sample.log_evidence + math.log(a) for sample, a in zip(samples, attempts, strict=True) if a]
    return log_add(parts) - math.log(sum(attempts)) if parts else None


def _evidence_error(samples: Sequence[Any], log_evidence: float | None) -> float | None:
    """Standard error of the log of a ratio estimator, Σ aᵢ zᵢ / Σ aᵢ of n outputs (Cochran, "Sampling techniques",
    section 6.4): that of the ratio by itself. All outputs are taken to be independent."""
    if log_evidence is None or log_evidence == -math.inf or len(samples) < 2:
        return None
    attempts = [_cost(sample).attempts for sample in samples]
    ratios = [math.exp(sample.log_evidence - log_evidence) for sample in samples]
    squares = math.fsum((a * (ratio - 1)) ** 2 for a, ratio in zip(attempts, ratios, strict=True))
    return math.sqrt(squares * len(samples) / (len(samples) - 1)) / sum(attempts)


def _distances(alive: list[float], share: float) -> tuple[float | None, float | None]:
    """The KL divergences in each direction, of the distribution of the outputs that did not fail."""
    if not alive:
        return None, None
    log_z = log_add(alive) - math.log(len(alive)) + math.log(share)
    mean_q = math.fsum(alive) / len(alive) + math.log(share)
    mean_pi = math.fsum(w * log for w, log in zip(normalised(alive), alive, strict=True)) + math.log(share)
    return max(0.0, log_z - mean_q), max(0.0, mean_pi - log_z)
