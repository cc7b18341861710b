"""`match`: sample from the target, and go down the tree as long as a child has the token that was drawn.

Distribution: the tokens are drawn from the target one after the other, and the tree only decides how many come from one
forward pass. So it is masked decoding for every tree that does not depend on the verifier's own draws, however it was
made — and for the same seed it gives the very tokens of `lcd`, up to rounding of the logits. Needs no draft
distribution; the right rule at temperature 0, for copied drafts, and wherever outputs are to be repeatable.
Limit: a drafter that samples from q meets the target with probability Σ p q; a rejection rule reaches Σ min(p, q).
"""

from __future__ import annotations

from constrain.sampling.core.draw import Draw
from constrain.speculative.tree import NONE
from constrain.speculative.verifier import Case, Verdict, Verifier


class Match(Verifier):
    """Sample and match: a drafted token is accepted where the target samples it; see the module
    `constrain.speculative.verifiers.match`.

    Example:
        >>> from constrain.speculative import Match
        >>> Match().lossless
        True
    """

    name = "match"

    def decide(self, case: Case, draw: Draw) -> Verdict:
        rows, readable = case.rows, readable_children(case)
        path: list[int] = []
        place = 0
        while True:
            token = rows.forced(place)
            if token == NONE:
                token = rows.sample(place)
            node = readable.get((place, token))
            if node is None:
                return Verdict(path, token)
            path.append(node)
            place = node + 1


def readable_children(case: Case) -> dict[tuple[int, int], int]:
    """(place, token) → the node that was read for it."""
    tree = case.tree
    columns = zip(tree.parents.tolist(), tree.tokens.tolist(), tree.read.tolist(), strict=True)
    return {(parent + 1, token): node for node, (parent, token, read) in enumerate(columns) if read}
