"""Block verification: a chain of draws is accepted as a whole, as far as it goes (Sun et al. 2024, arXiv 2403.10444).

    π₀ = 1, πᵢ = min(1, πᵢ₋₁ p(xᵢ)/s(xᵢ));  ρᵢ = (πᵢ p(·|xⁱ) − s(·|xⁱ))₊
    hᵢ = |ρᵢ| / (|ρᵢ| + 1 − πᵢ), and h_γ = π_γ at the end of the chain
    keep the largest i with Uᵢ ≤ hᵢ, then draw from ∝ ρᵢ (from p at the end)

Distribution: that of the target. Accepts as much of a chain on average as any rule can (section 4 there): a surplus at
one token makes up for a shortfall at the next, which rejection token by token cannot.
"""

from __future__ import annotations

from constrain.speculative.verifiers.residual import RejectionVerifier, Stop, TreeWalk, rest


class Block(RejectionVerifier):
    """Block verification of a chain; see the module."""

    name = "block"
    draws = "chain"

    def walk(self, walk: TreeWalk, place: int) -> Stop:
        ends: list[tuple[float, Stop]] = []  # (h, where it stops) of each i from 0
        share, path = 1.0, list[int]()
        while True:
            target = walk.target(place)
            if target is None or not walk.proposals[place]:  # the end of the chain; None: nothing can follow
                ends.append((share, Stop(list(path), target)))
                break
            (proposal,) = walk.proposals[place]
            drafted = walk.drafted(proposal.row, target)
            left, mass = rest(share * target, drafted)
            ends.append((mass / (mass + (1 - share)) if mass > 0 else 0.0, Stop(list(path), left)))
            share = min(1.0, share * float(target[proposal.token]) / float(drafted[proposal.token]))
            taken = walk.takes(proposal)
            if not taken.path:
                ends.append((share, Stop(list(path), token=taken.token)))
                break
            path += taken.path
            place = path[-1] + 1
        for chance, stop in reversed(ends):
            if walk.accepts(chance):
                return stop
        return ends[0][1]  # h₀ is 1 but for rounding
