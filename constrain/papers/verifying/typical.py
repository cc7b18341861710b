"""`typical`: take a drafted token that the target finds typical, although it would have drawn another. Lossy.

The rule (Medusa: Cai et al. 2024, arXiv 2401.10774, section 2.3.1): at a place with target p of entropy H(p), a drafted
token x is taken if p(x) > min(ε, δ · e^−H(p)): likelier than ε anywhere, than δ shares of a flat distribution where
much is possible. Of the tokens that qualify the likeliest is gone on with; where none does, a token is drawn from p.

Distribution: none that could be stated. Drafts that are likely are written more often than the target would, so outputs
have no weights (`log_weight` is NaN), and `Speculation` asks for `lossy=True`. Outputs are in the language all the
same, and at temperature 0 they are those of `match`. Gain: more of a draft is taken, the more the higher the
temperature.
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
        children: dict[int, list[int]] = {}
        for place, token in readable:
            children.setdefault(place, []).append(token)
        path: list[int] = []
        place = 0
        while True:
            token = case.rows.forced(place)
            if token == NONE:
                token = self._taken(case, place, children.get(place, []))
            if token == NONE:
                token = case.rows.sample(place)
            node = readable.get((place, token))
            if node is None:
                return Verdict(path, token)
            path.append(node)
            place = node + 1

    def _taken(self, case: Case, place: int, tokens: list[int]) -> int:
        """The likeliest drafted token, if it is typical; NONE otherwise."""
        target = case.rows.probabilities(place) if tokens else None
        if target is None:
            return NONE
        best = max(tokens, key=lambda token: float(target[token]))
        entropy = float(torch.special.entr(target).sum())
        threshold = min(self.epsilon, self.delta * math.exp(-entropy))
        return best if float(target[best]) > threshold else NONE
