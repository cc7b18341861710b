"""K-SEQ: k independent siblings share the target between them (SpecTr: Sun et al. 2023, arXiv 2310.15141).

Measured with the embedded pair (a chain of draws, temperature 1): 3.06 tokens a forward pass, `token` 2.9, `block`
3.15, `traversal` with two siblings 4.35, all slower than no drafts. Does not pay there (record 2026-11-21-speculation).

    β(ρ) = Σ min(s, p/ρ);  ρ in [1, k] solves 1 − (1 − β)ᵏ = ρ β
    each child is accepted with probability min(1, p/(ρ s)); none accepted: draw from ∝ p − min(s, p/ρ) (1 − (1 − β)ᵏ)/β

Distribution: that of the target: a token x is accepted at some child with min(s, p/ρ) (1 − (1 − β)ᵏ)/β in all, which is
at most p(x) (for any larger ρ too), and the residual is the difference. Accepts 1 − (1 − β)ᵏ, at least 1 − 1/e of the
best that k drafts allow.
The number of siblings must not depend on their tokens, which `TreeBuilder` keeps. Cost: ρ by bisection, 20 sums over
the tokens that the draft allows.
"""

from __future__ import annotations

import numpy as np
import torch

from constrain.sampling.fused.batch import HALVINGS
from constrain.speculative.verifiers.recursive import Recursive
from constrain.speculative.verifiers.residual import Proposal, Stop, TreeWalk, rest


class KSeq(Recursive):
    """K-SEQ over independent siblings; see the module."""

    name = "k-seq"
    draws = "with"

    def _at(self, walk: TreeWalk, place: int, left: torch.Tensor) -> Stop:
        for group in _groups(walk.proposals[place]):
            drafted = walk.drafted(group[0].row, left)
            share, covered = _shares(left, drafted, len(group))
            for proposal in group:
                token = proposal.token
                if walk.accepts(float(left[token]) / (share * float(drafted[token]))):
                    return walk.takes(proposal)
            left, mass = rest(left, covered)
            left = left / (mass or float(left.sum()))
        return Stop(residual=left)


def _groups(proposals: list[Proposal]) -> list[list[Proposal]]:
    """Siblings by the distribution that they were drawn from."""
    found: dict[int, list[Proposal]] = {}
    for proposal in proposals:
        found.setdefault(proposal.row, []).append(proposal)
    return list(found.values())


def _shares(target: torch.Tensor, drafted: torch.Tensor, k: int) -> tuple[float, torch.Tensor]:
    """ρ, and what of each token is accepted in all: float64[W]."""
    some = drafted > 0
    p, s = target[some].cpu().numpy(), drafted[some].cpu().numpy()  # small sums are cheaper there

    def accepted(share: float) -> tuple[float, float]:
        beta = float(np.minimum(s, p / share).sum())
        return beta, 1 - (1 - beta) ** k if beta < 1 else 1.0

    low, high = 1.0, float(k)  # 1 − (1 − β)ᵏ − ρβ falls from above 0 to below
    for _ in range(HALVINGS if k > 1 else 0):
        middle = (low + high) / 2
        beta, all_in_all = accepted(middle)
        low, high = (middle, high) if all_in_all > middle * beta else (low, middle)
    beta, all_in_all = accepted(high)
    covered = torch.zeros_like(target)
    if beta > 0:
        covered[some] = torch.from_numpy(np.minimum(s, p / high) * (all_in_all / beta)).to(covered.device)
    return high, covered
