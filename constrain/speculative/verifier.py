"""The protocol of verifiers: they choose the path of a tree that is accepted, and the token after it.

Mask the target first: a verifier sees p(token | place) after the constraint's mask, temperature, top-k and top-p, so a
rule that is lossless for any target is exact for masked decoding (`lcd`), and the mass Z that the mask left is known at
every place that is emitted. All randomness goes through `draw`, so tests walk every decision.

Stated distribution: `lossless` verifiers emit tokens whose joint distribution is that of `lcd`, for every tree that
keeps the promises of `DraftTree`. log p_raw, log p_sampled and log Z of each token are then those of lcd's own trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

from constrain.sampling.core.draw import Draw
from constrain.speculative.tree import BuiltTree


class Rows(Protocol):
    """The target at the places of one tree; `TargetRows` is one. Only places that are asked for are computed.

    Example:
        >>> from constrain.speculative import Rows, TargetRows
        >>> def greedy(rows: Rows) -> int:
        ...     return int(rows.probabilities(0).argmax())
        >>> callable(TargetRows.probabilities)
        True
    """

    def forced(self, place: int) -> int:
        """The only allowed token, NONE (-1) if there are several or none; nothing need be drawn then."""

    def probabilities(self, place: int) -> torch.Tensor | None:
        """float[W] for W logits, in their dtype (float32 at least), sums to 1: masked, shaped, truncated; one-hot at
        temperature 0, and where a token is forced. None: a dead end, no allowed token has any mass. Not to be changed.
        W may exceed the width of `draft_probs`: the model is padded, and the rest has no mass."""

    def possible(self, place: int, token: int) -> bool:
        """A token that the mask allows has mass at a place after truncation; at temperature 0, before the likeliest is
        taken."""

    def sample(self, place: int) -> int:
        """One token drawn from the target, as `constrain.sampling.core.step` draws it; NONE at a dead end."""


@dataclass
class Case:
    """One tree to verify.

    Attributes:
        tree: the draft.
        rows: the target at its places.
        stream: what the decisions are drawn from.
        hidden: float[1 + r, H], what the target's head read for each row of the logits, if the verifier asks for it.

    Example:
        >>> from constrain.speculative import Case
        >>> [field for field in Case.__annotations__]
        ['tree', 'rows', 'stream', 'hidden']
    """

    tree: BuiltTree
    rows: Rows
    stream: int
    hidden: torch.Tensor | None = None


@dataclass
class Verdict:
    """The accepted path of a tree, and the token after it.

    Attributes:
        path: the nodes taken, from the root, all of them read.
        token: the token after them: drawn from the target, or that of a node that is not read (EOS, for example); NONE
            (-1) where the last place is a dead end.
        numbers: log p_raw, log p_sampled and log Z of each of these tokens, where a device computed them; else empty,
            and the rows tell them.
        sampled: log of the probability that each of these tokens was drawn with, None where that is the target's;
            empty: everywhere. Of verifiers that weigh.

    Example:
        >>> from constrain.speculative import Verdict
        >>> Verdict(path=[0, 2], token=17).token
        17
    """

    path: list[int] = field(default_factory=list)
    token: int = -1
    numbers: Sequence[Sequence[float]] = field(default=(), compare=False)
    sampled: Sequence[float | None] = field(default=(), compare=False)


class Verifier:
    """Base of all verifiers; a subclass overrides `decide` (one tree) or `verify` (a batch).

    Attributes:
        name: as in `generate` and its stats.
        lossless: its distribution is that of masked decoding.
        weighs: it is not, but what it says of each token (`Verdict.sampled`) makes weights that are proper.
        draws: how it uses that nodes were drawn: "any" ignores it; "chain", "with" and "without" want siblings drawn so
            (see `DraftTree.replacement`). Nodes in another form are taken as given, which is lossless too.
        wants_hidden: it reads `Case.hidden`.

    Example:
        >>> from constrain.speculative import Verifier, verifier_named
        >>> isinstance(verifier_named("block"), Verifier)
        True
    """

    name: str = ""
    lossless: bool = True
    weighs: bool = False
    draws: str = "any"
    wants_hidden: bool = False

    def verify(self, cases: Sequence[Case], draw: Draw) -> list[Verdict]:
        """A verdict for each tree; a batch may be verified in one go on a device."""
        return [self.decide(case, draw) for case in cases]

    def decide(self, case: Case, draw: Draw) -> Verdict:
        """The verdict on one tree."""
        raise NotImplementedError
