"""`ConfidentRuns`: drafted tokens that their drafter is sure of are taken unasked (of LUD the taking alone). Lossy.

Measured on units of SmolLM2 (`sure=0.5`, temperature 0, n = 2): 2.7 tokens a forward pass where verified ones give 2.3,
and neither output is the one without drafts. Does not pay there (record 2026-11-28-papers).

Paper: Sun et al. 2024 (LUD), arXiv 2405.15208: neighbouring tokens of which the model is confident are written without
being verified. Here of any drafter: the likeliest child of a place is taken if its stated chance is at least `sure`
(`DraftTree.log_probs`); else a token is drawn from the target, as `match` draws it.

Distribution: none that could be stated, at temperature 0 neither, so outputs have no weights (`log_weight` is NaN), and
`Speculation` asks for `lossy=True`. Outputs are in the language: what the mask or truncation leaves out is never taken.
Nothing sure gives the outputs of `match`.
Cost: the target's forward pass over the run is made all the same, since what follows is read from it.
"""

from __future__ import annotations

import math

from constrain.sampling.core.draw import Draw
from constrain.sampling.core.sampler import check_share
from constrain.speculative.tree import NONE
from constrain.speculative.verifier import Case, Verdict, Verifier
from constrain.speculative.verifiers.match import readable_children


class ConfidentRuns(Verifier):
    """Takes what drafters are sure of; see the module `constrain.papers.verifying.confident`.

    Args:
        sure: the chance from which on a drafted token is taken, in [0, 1].

    Raises:
        ConstrainError: the chance is out of range.

    Example:
        >>> from constrain.papers import ConfidentRuns
        >>> from constrain.speculative import Speculation
        >>> Speculation(["lookup"], verifier=ConfidentRuns(sure=0.8), lossy=True).lossy
        True
    """

    name = "confident"
    lossless = False

    def __init__(self, *, sure: float = 0.9) -> None:
        self.sure = check_share("sure", sure)

    def decide(self, case: Case, draw: Draw) -> Verdict:
        readable, tree = readable_children(case), case.tree
        floor = math.log(self.sure) - 1e-12 if self.sure else -math.inf
        children: dict[int, list[int]] = {}
        for (place, token), node in readable.items():
            if float(tree.log_probs[node]) >= floor and case.rows.forced(place) in (NONE, token):
                children.setdefault(place, []).append(node)
        path: list[int] = []
        place = 0
        while True:
            sure = [node for node in children.get(place, ()) if case.rows.possible(place, int(tree.tokens[node]))]
            node = max(sure, key=lambda node: float(tree.log_probs[node]), default=NONE)
            if node == NONE:
                token = case.rows.forced(place)
                token = case.rows.sample(place) if token == NONE else token
                node = readable.get((place, token), NONE)
                if node == NONE:
                    return Verdict(path, token)
            path.append(node)
            place = node + 1
