"""Recursive rejection: accept a drawn child with min(1, r/s), else take what s covers out of r, and try the next.

    r₁ = target.  For child i, drawn from sᵢ: accept with probability min(1, rᵢ(x)/sᵢ(x)); else rᵢ₊₁ ∝ (rᵢ − sᵢ)₊
    none accepted: draw from the last r

Distribution: that of the target, for any number of children at any place: each step either accepts with Σ min(r, s) in
all, or leaves exactly what is missing.

`Token` is the case of one child (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318),
`Recursive` that of independent siblings (SpecInfer: Miao et al. 2024, arXiv 2305.09781), `RecursiveWithout` that of
siblings drawn without replacement, where sᵢ₊₁ is sᵢ without xᵢ (RSD: Jeon et al. 2024, arXiv 2402.14160; Sequoia: Chen
et al. 2024, arXiv 2402.12374), so that no draw is wasted on a token that was rejected.
"""

from __future__ import annotations

import torch

from constrain.speculative.tree import NONE
from constrain.speculative.verifiers.residual import DraftDistributions, RejectionVerifier, Stop, TreeWalk, rest


class Recursive(RejectionVerifier):
    """Recursive rejection over independent siblings; see the module."""

    name = "recursive"
    draws = "with"

    def walk(self, walk: TreeWalk, place: int) -> Stop:
        path: list[int] = []
        while True:
            target = walk.target(place)
            if target is None:
                return Stop(path)
            step = self._at(walk, place, target)
            path += step.path
            if step.residual is not None or step.token != NONE:
                return Stop(path, step.residual, step.token)
            place = path[-1] + 1

    def _at(self, walk: TreeWalk, place: int, left: torch.Tensor) -> Stop:
        """One place: a child that is taken, or what is left to draw from. left: the target."""
        drafts = DraftDistributions(walk, left)
        for proposal in walk.proposals[place]:
            drafted = drafts.of(proposal)
            if walk.accepts(float(left[proposal.token]) / float(drafted[proposal.token])):
                return walk.takes(proposal)
            left, mass = rest(left, drafted)
            left = left / (mass or float(left.sum()))
            drafts.passed(proposal)
        return Stop(residual=left)


class RecursiveWithout(Recursive):
    """Recursive rejection over siblings drawn without replacement."""

    name = "recursive-without"
    draws = "without"


class Token(Recursive):
    """The rule of one child: a chain of draws, each accepted or not."""

    name = "token"
    draws = "chain"
