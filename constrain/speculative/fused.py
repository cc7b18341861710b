"""`fused-…`: the rules of `constrain.speculative.verifiers` where the logits are, for all trees of a step at once.

Distribution: that of the rule. The same uniform numbers are used from the same streams in the same order, so for the
same seed a fused rule gives the tokens of its eager twin, which is its definition, up to rounding of sums (and of ties
of top-k and top-p, see `constrain/device/targets.py`). What cannot be done there — an enumerated draw, rows that
are no `TargetRows`, faulty logits, no Triton — is done by the twin; `steps` counts what the kernels did.
Cost: a few kernels and one small copy back a step; nothing else waits for the device. On a GPU the kernels of a bucket
are replayed as one CUDA graph from the third step on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.draw import Draw, TorchDraw
from constrain.sampling.fused import batch
from constrain.sampling.fused.batch import OPTIONS, RULES, FusedOptions, FusedStep, Rule, TreeBatch
from constrain.sampling.fused.single import device, options_of, runs_on, steps_of_thread
from constrain.speculative.masks import fill
from constrain.speculative.rows import TargetRows
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
        trees, settings = [case.tree for case in cases], [each.settings for each in targets]
        streams, counts = [case.stream for case in cases], [most_draws(tree, self.rule) for tree in trees]
        alike = all(each is settings[0] for each in settings)
        step = packed(
            trees, [each.rows for each in masks], self.rule, [options_of(each) for each in settings[: alike or None]],
            draw.peeks(streams, counts), masks[0].bitmask, targets[0].logits.device,
        )  # fmt: skip
        verdicts, used, faulty = verdicts_of(self._entries([each.logits for each in targets], step, targets[0].size))
        for i in faulty:  # the eager twin names it
            verdicts[i], used[i] = self.otherwise.decide(cases[i], draw), 0
        draw.skips(streams, used)
        return verdicts

    def _entries(self, logits: list[torch.Tensor], step: FusedStep, size: int) -> np.ndarray:
        if self.graphs:
            self.steps = steps_of_thread()
        elif self.steps is None:
            self.steps = device.DeviceSteps(graphs=False)
        found: np.ndarray = self.steps(logits, step, self.rule, size)[: len(logits)]
        return found


class FusedMatch(Fused):
    """`Fused("match")`."""


def most_draws(tree: BuiltTree, rule: Rule) -> int:
    """Uniform numbers that a verdict can use: one for each token of a path; or one a proposal, and two a place."""
    if not rule.drawn:
        return tree.deepest + 1
    return int((tree.draft_rows != NONE).sum()) + 2 * (len(tree) + 1)


def packed(
    trees: Sequence[BuiltTree],
    masks: Sequence[np.ndarray],
    rule: Rule,
    options: Sequence[FusedOptions],
    uniform: np.ndarray,
    bitmask: np.ndarray | None,
    device: torch.device,
) -> FusedStep:
    """Send a batch to a device.

    trees: B, whose logits lie one after the other. masks: by tree, int32[n + 1], the row of the bitmask of each place.
    options: of each tree, or one of all. uniform: float64[B, N]. bitmask: uint32[R, words] or None
    """
    step = TreeBatch.of([tree.numbers for tree in trees], masks, 3 if rule.drawn else 1)
    step.reals[: len(trees), OPTIONS : OPTIONS + uniform.shape[1]] = uniform
    probs: list[torch.Tensor] = []
    if rule.drawn:
        step.reals[: len(trees), batch.WITHOUT] = [not tree.replacement for tree in trees]
        for own, tree in zip(step.numbers, trees, strict=False):
            if tree.draft_probs is not None:
                own[batch.SOURCES][own[batch.SOURCES] != NONE] += sum(map(len, probs))
                probs.append(tree.draft_probs.to(device, torch.float32))
                _put_kids(own, tree, rule)
    return step.sent(options, bitmask, device, torch.cat(probs) if probs else None)


def _put_kids(numbers: np.ndarray, tree: BuiltTree, rule: Rule) -> None:
    """Fill in the drawn kids of each place of a tree."""
    place = 0
    for here, nodes in enumerate(tree.children()):
        drawn = [node for node in nodes if tree.draft_rows[node] != NONE]
        if rule.shared:  # siblings of a row are taken together
            order = {int(row): i for i, row in reversed(list(enumerate(tree.draft_rows[drawn])))}
            drawn.sort(key=lambda node: order[int(tree.draft_rows[node])])
        numbers[batch.BEGINS, here], numbers[batch.ENDS, here] = place, place + len(drawn)
        numbers[batch.KIDS, place : place + len(drawn)] = [node + 1 for node in drawn]
        place += len(drawn)


def verdicts_of(entries: np.ndarray) -> tuple[list[Verdict], list[int], list[int]]:
    """(verdicts, uniform numbers that each used, which are faulty) from int32[B, 1 + P, ENTRY], see `walk.Out`."""
    counts, used, faulty = entries[:, 0, :3].T.tolist()
    deepest = max(counts)
    nodes = entries[:, 1:deepest, 0].tolist()
    last = entries[np.arange(len(entries)), counts, 1].tolist()
    numbers = entries.view(np.float32)[:, 1 : 1 + deepest, 2:].tolist()
    columns = zip(nodes, last, numbers, counts, strict=True)
    verdicts = [Verdict(path[: count - 1], token, reals[:count]) for path, token, reals, count in columns]
    return verdicts, used, [i for i, fault in enumerate(faulty) if fault]
