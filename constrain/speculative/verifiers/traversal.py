"""Traversal verification: from the leaves up, a whole path at a time (Weng et al. 2025, arXiv 2505.12398).

Depth first, with a share r that a node may still claim, 1 at the root:

    child c with token x: r_c = min(1, r p(x)/s(x)), and its subtree is tried first
    a leaf is accepted with probability r
    after a rejected child: z = (r p − s)₊, r ← |z| / (|z| + 1 − r), p ← z/|z|, s ← s without x
    after all children: the node itself is accepted with probability r, and the next token drawn from p

Distribution: that of the target: whatever is drawn below it, a node or something below it is accepted with r in all. On
a chain this is block verification. For siblings drawn without replacement.
"""

from __future__ import annotations

from constrain.speculative.verifiers.residual import DraftDistributions, RejectionVerifier, Stop, TreeWalk, rest


class Traversal(RejectionVerifier):
    """Traversal verification of a tree; see the module."""

    name = "traversal"
    draws = "without"

    def walk(self, walk: TreeWalk, place: int) -> Stop:
        stop = self._try(walk, place, 1.0)
        if stop is not None:
            return stop
        return Stop(residual=walk.target(place))  # the share of the root is 1 but for rounding

    def _try(self, walk: TreeWalk, place: int, share: float) -> Stop | None:
        """The result of the branch at a place; None: nothing of it is accepted."""
        target = walk.target(place)
        if target is None:
            return Stop() if walk.accepts(share) else None
        drafts = DraftDistributions(walk, target)
        for proposal in walk.proposals[place]:
            drafted = drafts.of(proposal)
            claim = min(1.0, share * float(target[proposal.token]) / float(drafted[proposal.token]))
            taken = walk.takes(proposal)
            if taken.path:
                below = self._try(walk, taken.path[-1] + 1, claim)
                if below is not None:
                    return Stop([*taken.path, *below.path], below.residual, below.token)
            elif walk.accepts(claim):
                return taken
            left, mass = rest(share * target, drafted)
            if mass > 0:
                share, target = mass / (mass + (1 - share)), left / mass
            elif share < 1:
                share = 0.0
            drafts.passed(proposal)
        return Stop(residual=target) if walk.accepts(share) else None
