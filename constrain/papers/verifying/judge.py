"""`judge`: keep a drafted token that the target would not have written, where a trained head finds it harmless. Lossy.

Measured: does not pay. 2.36 tokens for each forward pass instead of 2.14, and nine of 29 answers change
(benchmarks/record/2026-11-23-judge).

The idea (Judge Decoding: Bachmann et al. 2025, arXiv 2501.19309): much of what a rule rejects is as good as what the
target would have written. Whether a token is right shows in the target's own hidden state after reading it, so one
linear layer on that state tells. Here: a token is drawn from the target as `match` draws it; where no drafted token is
that one, the likeliest drafted token that the head is sure enough of is kept in its place. AutoJudge (Garipov et al.
2025, arXiv 2504.20039) finds the labels without people: a token is harmless if the answer stays the same when the
target goes on from it; `scripts/train_judge.py` does so.

Distribution: none that could be stated, so outputs have no weights (`log_weight` is NaN), `Speculation` asks for
`lossy=True`, and methods that need weights refuse it. Outputs stay in the language: nodes that the mask refuses are
never read, and tokens that truncation leaves out are not kept. A head that is sure of nothing gives the outputs of
`match`.
Cost: the head for each node that is looked at. Limit: a head is as good as its labels, for the texts that it has seen.
"""

from __future__ import annotations

from typing import Protocol

import torch

from constrain.sampling.core.draw import Draw
from constrain.sampling.core.sampler import check_share
from constrain.speculative.tree import NONE
from constrain.speculative.verifier import Case, Verdict, Verifier
from constrain.speculative.verifiers.match import readable_children


class HarmlessToken(Protocol):
    """A trained head; `constrain.papers.heads.JudgeHead` is one."""

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits of the chances, float[n], that tokens are harmless; float[n, H]: the target's states after them."""


class Judge(Verifier):
    """Judge decoding; see the module `constrain.papers.verifying.judge`.

    Args:
        head: trained for the target.
        sure: the chance from which on a token counts as harmless, in [0, 1].

    Attributes:
        kept: tokens so far that the target had not drawn.

    Raises:
        ConstrainError: the chance is out of range.

    Example:
        >>> import constrain
        >>> from constrain.papers.heads import JudgeHead
        >>> from constrain.papers import Judge
        >>> from constrain.speculative import Speculation
        >>> model = constrain.reference.load()
        >>> judge = Judge(JudgeHead(256), sure=0.9)  # untrained: it finds every token as likely harmless as not
        >>> draft = Speculation(["lookup"], verifier=judge, lossy=True)
        >>> constrain.generate(model, "A list: ", regex="[a-z ]{20}", draft=draft, seed=1).stats.method
        "lcd with 'judge' drafts, which is lossy"
    """

    name = "judge"
    lossless = False
    wants_hidden = True

    def __init__(self, head: HarmlessToken, *, sure: float = 0.5) -> None:
        self.head, self.sure = head, check_share("sure", sure)
        self.kept = 0

    def decide(self, case: Case, draw: Draw) -> Verdict:
        readable = readable_children(case)
        children: dict[int, list[int]] = {}
        for (place, _), node in readable.items():
            children.setdefault(place, []).append(node)
        path: list[int] = []
        place = 0
        while True:
            token = case.rows.forced(place)
            if token == NONE:
                token = case.rows.sample(place)
            node = readable.get((place, token), NONE)
            if node == NONE:
                node = self._harmless(case, place, children.get(place, []))
                if NONE in (node, token):
                    return Verdict(path, token)
                self.kept += 1
            path.append(node)
            place = node + 1

    @torch.inference_mode()
    def _harmless(self, case: Case, place: int, nodes: list[int]) -> int:
        """The likeliest drafted node at a place that the head is sure of, and that the target could draw; or NONE."""
        if not nodes or case.hidden is None:
            return NONE
        tree = case.tree
        chances = self.head(case.hidden[tree.logits_rows[[node + 1 for node in nodes]].tolist()]).sigmoid().tolist()
        sure = [node for node, chance in zip(nodes, chances, strict=True) if chance > self.sure]
        possible = [node for node in sure if case.rows.possible(place, int(tree.tokens[node]))]
        return max(possible, key=lambda node: float(tree.log_probs[node]), default=NONE)
