"""What a verifier decides: how far down a tree the target goes along, and which token comes next.

Mask the target first: a verifier sees p(token | place) after the constraint's mask, temperature, top-k and top-p, so a
rule that is lossless for any target is exact for masked decoding (`lcd`), and the mass Z that the mask left is known at
every place that is emitted. All randomness goes through `draw`, so tests walk every decision.

Stated law: `lossless` verifiers emit tokens whose joint law is that of `lcd`, for every tree that keeps the promises of
`DraftTree`. log p_raw, log p_sampled and log Z of each token are then those of lcd's own trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

from constrain.sampling.core.draw import Draw
from constrain.speculative.tree import BuiltTree


class Rows(Protocol):
    """The target at the places of one tree. What is not asked for is not computed."""

    def forced(self, place: int) -> int:
        """The only allowed token, NONE (-1) if there are several or none; nothing need be drawn then."""

    def probabilities(self, place: int) -> torch.Tensor | None:
        """float[W] for W logits, in their dtype (float32 at least), sums to 1: masked, shaped, truncated; one-hot at
        temperature 0, and where a token is forced. None: a dead end, no allowed token has any mass. Not to be changed.
        W may exceed the width of `draft_probs`: the model is padded, and the rest has no mass."""

    def sample(self, place: int) -> int:
        """One token drawn from the target, as `constrain.sampling.core.step` draws it; NONE at a dead end."""


@dataclass
class Case:
    """One tree to verify. stream: what its decisions are drawn from."""

    tree: BuiltTree
    rows: Rows
    stream: int


@dataclass
class Verdict:
    """path: nodes taken, from the root, all of them read.
    token: what follows them: drawn from the target, or the token of a node that is not read (EOS, for example); NONE
      (-1) where the last place is a dead end
    """

    path: list[int] = field(default_factory=list)
    token: int = -1


class Verifier:
    """Base of all verifiers.

    name: what `generate` and the stats call it. lossless: its law is that of masked decoding.
    draws: what it makes of drawn nodes: "any" — ignores that they were drawn; "chain", "with", "without" — wants
      siblings so drawn (see `DraftTree.replacement`). Nodes in another form are taken as given, which is lossless too.
    """

    name: str = ""
    lossless: bool = True
    draws: str = "any"

    def verify(self, cases: Sequence[Case], draw: Draw) -> list[Verdict]:
        """A verdict for each tree; a batch may be verified in one go on a device."""
        return [self.decide(case, draw) for case in cases]

    def decide(self, case: Case, draw: Draw) -> Verdict:
        """The verdict on one tree."""
        raise NotImplementedError
