"""Shared by the rejection rules: the children of a place, and the end of a verdict.

All rules here work on drawn nodes, and leave a residual: a distribution from which the next token is still to be drawn,
such that the whole has the target's distribution whatever was drawn before. A draw from the residual may hit a given
child, and the verification then goes on there: a given node is worth what `match` makes of it under every rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from constrain.sampling.core.draw import Draw
from constrain.speculative.tree import NONE, BuiltTree
from constrain.speculative.verifier import Case, Rows, Verdict, Verifier


@dataclass
class Proposal:
    """A drawn child. node: its own index; same: the node that stands for it (`BuiltTree.same`); row: of draft_probs."""

    node: int
    same: int
    token: int
    row: int


@dataclass
class Stop:
    """The result of a rule: nodes taken, from the place where it began, and the residual at the last one.

    residual: float64[W], not normalised, positive somewhere; None: a dead end, or the step has ended with `token`
    token: of a node that was taken but not read
    """

    path: list[int] = field(default_factory=list)
    residual: torch.Tensor | None = None
    token: int = NONE


class TreeWalk:
    """A tree while it is verified: proposals by place, target and draft distributions, decisions."""

    def __init__(self, case: Case, draw: Draw) -> None:
        self.tree: BuiltTree = case.tree
        self.rows: Rows = case.rows
        self.stream = case.stream
        self._draw = draw
        self.proposals: list[list[Proposal]] = [[] for _ in range(len(self.tree) + 1)]
        self.read: dict[tuple[int, int], int] = {}  # (place, token) → node
        columns = (self.tree.parents, self.tree.tokens, self.tree.read, self.tree.draft_rows, self.tree.same)
        for node, (parent, token, read, row, same) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            if read:
                self.read[parent + 1, token] = node
            if row != NONE:
                self.proposals[parent + 1].append(Proposal(node, same, token, row))

    def target(self, place: int) -> torch.Tensor | None:
        """float64[W]: the target at a place that was read; None at a dead end."""
        probs = self.rows.probabilities(place)
        return None if probs is None else probs.double()

    def drafted(self, row: int, target: torch.Tensor) -> torch.Tensor:
        """float64[W]: a draft distribution, padded with zeros to the target's width."""
        assert self.tree.draft_probs is not None
        probs = self.tree.draft_probs[row].to(target.device, torch.float64)
        probs = probs / probs.sum()
        return torch.nn.functional.pad(probs, (0, len(target) - len(probs)))

    def accepts(self, chance: float) -> bool:
        """True with this probability. Nothing is drawn where nothing is open."""
        if chance >= 1:
            return True
        if chance <= 0:
            return False
        return not self.choose(torch.tensor([chance, 1 - chance], dtype=torch.float64))

    def choose(self, weights: torch.Tensor) -> int:
        """An outcome of a distribution, float64[N], which is normalised first."""
        if int((weights > 0).sum()) == 1:
            return int(weights.argmax())
        return int(self._draw((weights / weights.sum()).unsqueeze(0), [self.stream]))

    def takes(self, proposal: Proposal) -> Stop:
        """The end of a path that goes down to this proposal: its place if that was read, else its token."""
        if proposal.same != NONE and bool(self.tree.read[proposal.same]):
            return Stop([proposal.same])
        return Stop([], token=proposal.token)


class RejectionVerifier(Verifier):
    """Base of the rules that accept or reject drawn nodes."""

    def decide(self, case: Case, draw: Draw) -> Verdict:
        """Apply the rule from the root, and again from every given node that the residual hits."""
        walk = TreeWalk(case, draw)
        path: list[int] = []
        place = 0
        while True:
            token = walk.rows.forced(place)
            if token == NONE and not walk.proposals[place]:
                token = walk.rows.sample(place)
            elif token == NONE:
                stop = self.walk(walk, place)
                path += stop.path
                place = path[-1] + 1 if path else place
                token = stop.token if stop.residual is None else walk.choose(stop.residual)
                if stop.residual is None:
                    return Verdict(path, token)
            node = walk.read.get((place, token))
            if node is None:
                return Verdict(path, token)
            path.append(node)
            place = node + 1

    def walk(self, walk: TreeWalk, place: int) -> Stop:
        """Apply the rule to what was drawn at a place and below."""
        raise NotImplementedError


def rest(left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, float]:
    """(left − right)₊ and its sum; `left` itself and 0 where nothing is left."""
    found = (left - right).clamp_(min=0)
    mass = float(found.sum())
    return (found, mass) if mass > 0 else (left, 0.0)


class DraftDistributions:
    """The draft distributions at one place: what each proposal was drawn from, given its earlier siblings."""

    def __init__(self, walk: TreeWalk, target: torch.Tensor) -> None:
        self.walk, self.target = walk, target
        self._left: dict[int, torch.Tensor] = {}

    def of(self, proposal: Proposal) -> torch.Tensor:
        """float64[W], sums to 1."""
        if proposal.row not in self._left:
            self._left[proposal.row] = self.walk.drafted(proposal.row, self.target)
        return self._left[proposal.row]

    def passed(self, proposal: Proposal) -> None:
        """Go on to the next sibling: without replacement, the token is gone."""
        if not self.walk.tree.replacement:
            left = self.of(proposal).clone()
            left[proposal.token] = 0
            total = left.sum()
            self._left[proposal.row] = left / total if float(total) > 0 else left
