"""`weighed`: what a drafter drew is taken as it is, and weighed; nothing is rejected (SMC-SD, arXiv 2604.15672).

The rule: a chain of draws is written whole, and its weight p / q is left to the resampling of
particles. Here q has to reach whatever p reaches under the mask, or texts would be missed: a token is drawn from

    q̃ = (1 − ε) q · m + (1 − (1 − ε) q(m)) p̃        p̃: the masked target, m: what it reaches, ε: `own`

that is, the drafted token is taken with probability 1 − ε if it may stand here, and else the target draws. So a weight
is at most Z / ε (a defensive mixture: Hesterberg 1995). Where the target drew another token than the drafted one, and
where nothing is drafted, the block ends with the target's own draw, which costs no forward pass.

Distribution: Π q̃ for one text; with Π p / q̃ as weights that of the target, for every tree that keeps the promises
of `DraftTree`, since q̃ is the distribution of the token whatever was drafted, and where a block ends depends on its
past alone. So it serves methods that weigh: `SMC(boundary="draft")`, which resamples at the ends of blocks, and
`sir`.
It pays only where q is close to p: see the figures in docs/notes/0052-blocks-of-particles.md.
"""

from __future__ import annotations

import math

import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.draw import Draw
from constrain.sampling.core.sampler import check_share
from constrain.speculative.tree import NONE
from constrain.speculative.verifier import Case, Verdict, Verifier
from constrain.speculative.verifiers.match import readable_children


class Weighed(Verifier):
    """Drafted draws are taken without rejection, and weighed; see the module `constrain.papers.verifying.weighed`.

    Args:
        own: the share ε of draws that the target makes itself, in (0, 1]; 1 is `match`.

    Raises:
        ConstrainError: the share is 0, or no number up to 1.

    Example:
        >>> from constrain.papers import Weighed
        >>> from constrain.speculative import Speculation
        >>> Speculation(["ngram"], verifier=Weighed(own=0.2)).lossy
        False
    """

    name = "weighed"
    lossless = False
    weighs = True
    draws = "chain"

    def __init__(self, own: float = 0.1) -> None:
        self.own = check_share("own", own)
        if not self.own:
            raise ConstrainError("own is 0: texts that no drafter draws would be missed", fix="own=0.1")

    def decide(self, case: Case, draw: Draw) -> Verdict:
        rows, readable = case.rows, readable_children(case)
        drafted = _drawn(case)
        path: list[int] = []
        sampled: list[float | None] = []
        place = 0
        while True:
            token, log_q = rows.forced(place), None
            if token == NONE and place in drafted:
                token, log_q = self._mixed(case, place, drafted[place], draw)
            elif token == NONE:
                token = rows.sample(place)
            sampled.append(log_q)
            node = readable.get((place, token))
            if node is None:
                return Verdict(path, token, sampled=sampled)
            path.append(node)
            place = node + 1

    def _mixed(self, case: Case, place: int, node: int, draw: Draw) -> tuple[int, float | None]:
        """A token and log q̃ of it. node: of the token that was drafted at this place."""
        tree, target = case.tree, case.rows.probabilities(place)
        if target is None or tree.draft_probs is None:
            return NONE, None
        target = target.double()
        q = tree.draft_probs[int(tree.draft_rows[node])].to(target)[: len(target)]
        reached = target[: len(q)] > 0
        share, token = 1 - self.own, int(tree.tokens[node])
        coin = torch.tensor([[self.own, share]], dtype=torch.float64)
        takes = bool(draw(coin, [case.stream])[0]) if share else False
        if not (takes and bool(reached[token])):
            token = case.rows.sample(place)
        if token == NONE:
            return NONE, None
        taken = share * float(q[token]) if token < len(q) else 0.0
        rest = 1 - share * float(q[reached].sum())
        return token, math.log(taken + rest * float(target[token]))


def _drawn(case: Case) -> dict[int, int]:
    """Place → the node that was drawn there."""
    columns = zip(case.tree.parents.tolist(), case.tree.draft_rows.tolist(), strict=True)
    return {parent + 1: node for node, (parent, row) in reversed(list(enumerate(columns))) if row != NONE}
