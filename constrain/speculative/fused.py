"""`fused-…`: the rules of `constrain.speculative.verifiers` where the logits are, for all trees of a step at once.

Distribution: that of the rule. The same uniform numbers are used from the same streams in the same order, so for the
same seed a fused rule gives the tokens of its eager twin, which is its definition, up to rounding of sums (and of ties
of top-k and top-p, see `constrain/sampling/fused/laws.py`). What cannot be done there — an enumerated draw, rows that
are no `TargetRows`, faulty logits, no Triton — is done by the twin; `steps` counts what the kernels did.
Cost: a few kernels and one small copy back a step; nothing else waits for the device. On a GPU the kernels of a bucket
are replayed as one CUDA graph from the third step on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.draw import Draw, TorchDraw
from constrain.sampling.fused import batch
from constrain.sampling.fused.batch import (
    COLUMNS,
    EMPTY,
    OPTIONS,
    RULES,
    Drafts,
    Found,
    FusedOptions,
    FusedStep,
    Rule,
    Trees,
    room_for,
    sent,
    unpacked,
)
from constrain.sampling.fused.single import options_of, runs_on, steps_of_thread
from constrain.speculative.masks import fill
from constrain.speculative.rows import Chosen, TargetRows
from constrain.speculative.tree import NONE, BuiltTree
from constrain.speculative.verifier import Case, Verdict, Verifier
from constrain.speculative.verifiers import verifier_named


class Fused(Verifier):
    """A rule on the device; see the module.

    Args:
        rule: a name of `constrain.speculative.VERIFIERS`.
        kernels: True: also by Triton's interpreter, which tests do. None: where the logits are on a GPU and Triton is
            installed. False: never, so that the eager twin verifies.
        graphs: capture CUDA graphs.

    Raises:
        ConstrainError: no rule has this name.

    Example:
        >>> from constrain.speculative.fused import Fused
        >>> Fused("traversal").name
        'fused-traversal'
    """

    def __init__(self, rule: str = "match", *, kernels: bool | None = None, graphs: bool = True) -> None:
        self.otherwise = verifier_named(rule)
        if rule not in RULES:
            raise ConstrainError(f"the rule {rule!r} is not fused", fix=f"choose one of: {', '.join(sorted(RULES))}")
        self.rule = RULES[rule]
        self.name, self.draws = f"fused-{rule}", self.otherwise.draws
        self.kernels, self.graphs = kernels, graphs
        self.steps: Any = None  # `DeviceSteps`, from the first on: those of the thread, or without graphs its own

    def verify(self, cases: Sequence[Case], draw: Draw) -> list[Verdict]:
        targets: list[Any] = [case.rows for case in cases]
        fits = bool(cases) and isinstance(draw, TorchDraw) and all(isinstance(each, TargetRows) for each in targets)
        if not fits or not runs_on(targets[0].logits.device, self.kernels):
            return self.otherwise.verify(cases, draw)
        assert isinstance(draw, TorchDraw)
        masks = [each.masks for each in targets]
        if not all(each.complete for each in masks):
            fill(masks)
        if not all(each.complete for each in masks):  # some mask cannot be had: it may not be needed
            return self.otherwise.verify(cases, draw)
        ragged = []
        for case, rows in zip(cases, targets, strict=True):
            uniform = draw.peek(case.stream, most_draws(case.tree, self.rule))
            ragged.append(Ragged(case.tree, rows.masks.rows, options_of(rows.settings), uniform))
        found = self._found([each.logits for each in targets], ragged, masks[0].bitmask, targets[0].size)
        return [self._verdict(case, each, draw) for case, each in zip(cases, found, strict=True)]

    def _found(
        self, logits: list[torch.Tensor], ragged: Sequence[Ragged], bitmask: np.ndarray | None, size: int
    ) -> list[Found]:
        from constrain.sampling.fused.run import DeviceSteps

        self.steps = steps_of_thread() if self.graphs else self.steps or DeviceSteps(graphs=False)
        step = packed(ragged, bitmask, self.rule, logits[0].device, least=room_for(len(ragged)))
        return unpacked(self.steps(logits, step, self.rule, size)[: len(ragged)])

    def _verdict(self, case: Case, found: Found, draw: TorchDraw) -> Verdict:
        """The verdict: records its numbers and skips the uniform ones used. The eager twin names faults."""
        if found.faulty:
            return self.otherwise.decide(case, draw)
        rows: Any = case.rows
        columns = zip(found.tokens, found.log_prob_raw, found.log_prob_sampled, found.log_z, strict=True)
        for place, numbers in zip([0, *(node + 1 for node in found.nodes)], columns, strict=True):
            rows.know(place, Chosen(*numbers))
        draw.skip(case.stream, found.used)
        return Verdict(found.nodes, found.tokens[-1])


class FusedMatch(Fused):
    """`Fused("match")`."""


class Ragged(NamedTuple):
    """One tree of a batch: which row of the bitmask each place has, its options, and its uniform numbers."""

    tree: BuiltTree
    masks: Sequence[int]
    options: FusedOptions
    uniform: np.ndarray


def places_for(trees: Sequence[BuiltTree]) -> int:
    """P: room for the places of the largest tree."""
    return room_for(1 + max(len(tree) for tree in trees))


def most_draws(tree: BuiltTree, rule: Rule) -> int:
    """Uniform numbers that a verdict can use: one for each token of a path; or one a proposal, and two a place."""
    if not rule.drawn:
        return int(tree.depths.max(initial=0)) + 1
    return int((tree.draft_rows != NONE).sum()) + 2 * (len(tree) + 1)


def packed(
    ragged: Sequence[Ragged], bitmask: np.ndarray | None, rule: Rule, device: torch.device, *, least: int = 0
) -> FusedStep:
    """Send a batch to a device, from pinned memory where there is such, so that no copy waits.

    ragged: B trees, whose logits lie one after the other. bitmask: uint32[N, words] or None. least: trees of the
    bucket, at least B; the others are empty
    """
    count, places = max(least, len(ragged)), places_for([each.tree for each in ragged])
    draws = (3 if rule.drawn else 1) * places
    numbers = np.full((count, COLUMNS, places), NONE, np.int32)
    numbers[:, [batch.KIDS, batch.BEGINS, batch.ENDS]] = 0
    numbers[:, [batch.TOKENS, batch.PARENTS]] = EMPTY
    reals = np.zeros((count, OPTIONS + draws))
    row = source = 0
    probs: list[torch.Tensor] = []
    for tree_numbers, tree_reals, each in zip(numbers, reals, ragged, strict=False):
        _columns(tree_numbers, each, rule, row, source)
        tree_reals[:OPTIONS] = *each.options, not each.tree.replacement
        tree_reals[OPTIONS : OPTIONS + len(each.uniform)] = each.uniform
        row += int(each.tree.read.sum()) + 1
        if rule.drawn and each.tree.draft_probs is not None:
            probs.append(each.tree.draft_probs.to(device, torch.float32))
            source += len(probs[-1])
    masks = np.zeros((0, 1), np.uint32) if bitmask is None else np.ascontiguousarray(bitmask)
    drafts = torch.cat(probs) if probs else torch.zeros((1, 1), device=device)
    return FusedStep(
        Trees(sent(torch.from_numpy(numbers), device), sent(torch.from_numpy(reals), device), draws),
        Drafts(drafts, drafts.stride(0), drafts.shape[1], drafts.sum(-1, dtype=torch.float64)),
        sent(torch.from_numpy(masks.view(np.int32)), device),
        penalties=None,
        processed=any(each.options.min_p > 0 for each in ragged),
        counted=any(each.options.top_k > 0 for each in ragged),
        weighed=any(each.options.top_p < 1 for each in ragged),
    )


def _columns(numbers: np.ndarray, given: Ragged, rule: Rule, row: int, source: int) -> None:
    """Fill int32[COLUMNS, P] of one tree, whose logits begin at `row` and draft distributions at `source`."""
    tree = given.tree
    n = len(tree) + 1
    numbers[batch.TOKENS, 0], numbers[batch.TOKENS, 1:n] = NONE, tree.tokens
    numbers[batch.PARENTS, 0], numbers[batch.PARENTS, 1:n] = NONE, tree.parents + 1
    numbers[batch.AT, :n] = np.where(tree.logits_rows == NONE, NONE, tree.logits_rows + row)
    numbers[batch.FORCED, :n], numbers[batch.MASKS, :n] = tree.forced, given.masks
    numbers[batch.SAME, 1:n] = np.where(tree.same == NONE, NONE, tree.same + 1)
    if not rule.drawn or not tree.drawn:
        return
    numbers[batch.SOURCES, 1:n] = np.where(tree.draft_rows == NONE, NONE, tree.draft_rows + source)
    place = 0
    for here, nodes in enumerate(tree.children()):
        drawn = [node for node in nodes if tree.draft_rows[node] != NONE]
        if rule.shared:  # siblings of a row are taken together
            order = {int(row): i for i, row in reversed(list(enumerate(tree.draft_rows[drawn])))}
            drawn.sort(key=lambda node: order[int(tree.draft_rows[node])])
        numbers[batch.BEGINS, here], numbers[batch.ENDS, here] = place, place + len(drawn)
        numbers[batch.KIDS, place : place + len(drawn)] = [node + 1 for node in drawn]
        place += len(drawn)
