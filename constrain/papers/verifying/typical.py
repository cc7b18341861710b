"""`typical`: take the longest run of drafted tokens that the target finds typical, whatever it would have drawn. Lossy.

The rule (Medusa: Cai et al. 2024, arXiv 2401.10774, section 2.3.1): at a place with target p of entropy H(p), a drafted
token x is taken if p(x) > min(ε, δ · e^−H(p)): likelier than ε anywhere, than δ shares of a flat distribution where
much is possible. Of the paths of the tree whose tokens all qualify the longest is written, of equally long ones the
likeliest, as in their program (FasterDecoding/Medusa, `evaluate_posterior`); then a token is drawn from p, and where
the tree goes on with it, so does the rule. Their program begins each step with the likeliest token instead of a draw.

Distribution: none that could be stated. Drafts that are likely are written more often than the target would, so outputs
have no weights (`log_weight` is NaN), and `Speculation` asks for `lossy=True`. Outputs are in the language all the
same, and at temperature 0 they are those of `match`. Not measured: more of a draft is taken, the more the higher the
temperature. Cost: p of each place that a typical path reaches.
"""

from __future__ import annotations

import math

import torch

from constrain.sampling.core.draw import Draw
from constrain.sampling.core.sampler import check_share
from constrain.speculative.tree import NONE
from constrain.speculative.verifier import Case, Verdict, Verifier
from constrain.speculative.verifiers.match import readable_children


class TypicalAcceptance(Verifier):
    """Typical acceptance; see the module."""

    name = "typical"
    lossless = False

    def __init__(self, epsilon: float = 0.3, delta: float = 0.09) -> None:
        """Raises ConstrainError naming the option that is wrong. epsilon, delta: Medusa's thresholds"""
        self.epsilon, self.delta = check_share("epsilon", epsilon), check_share("delta", delta)

    def decide(self, case: Case, draw: Draw) -> Verdict:
        readable = readable_children(case)
        path: list[int] = []
        while True:
            path += self._longest(case, path[-1] + 1 if path else 0, readable)
            place = path[-1] + 1 if path else 0
            token = case.rows.forced(place)
            if token == NONE:
                token = case.rows.sample(place)
            node = readable.get((place, token))
            if node is None:
                return Verdict(path, token)
            path.append(node)

    def _longest(self, case: Case, start: int, readable: dict[tuple[int, int], int]) -> list[int]:
        """The nodes of the longest path from a place whose tokens are all typical."""
        reached = {start: (0, 0.0)}  # place → how many tokens lead there, and their log p
        for (place, token), node in readable.items():  # parents come before children
            if place in reached and (share := self._share(case, place, token)):
                length, log_p = reached[place]
                reached[node + 1] = length + 1, log_p + math.log(share)
        place = max(reached, key=reached.__getitem__)
        path = []
        while place != start:
            path.append(place - 1)
            place = int(case.tree.parents[place - 1]) + 1
        return path[::-1]

    def _share(self, case: Case, place: int, token: int) -> float:
        """p of a token at a place if it is typical there, else 0."""
        forced = case.rows.forced(place)
        if forced != NONE:
            return float(token == forced)
        target = case.rows.probabilities(place)
        if target is None:
            return 0.0
        share = float(target[token])
        entropy = float(torch.special.entr(target).sum())
        return share if share > min(self.epsilon, self.delta * math.exp(-entropy)) else 0.0
