"""`fused-…`: the rules of `constrain.speculative.verifiers` where the logits are, for all trees of a step at once.

Distribution: that of the rule. The same uniform numbers are used from the same streams in the same order, so for the
same seed a fused rule gives the tokens of its eager twin, which is its definition, up to rounding of sums (and of ties
of top-k and top-p, see `laws.py`). What cannot be done there — an enumerated draw, rows that are no `TargetRows`,
faulty logits, no Triton — is done by the twin.
Cost: a few kernels and one small copy back a step; nothing else waits for the device. On a GPU the kernels of a bucket
(batch.py) are replayed as one CUDA graph from the third step on.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.draw import Draw, TorchDraw
from constrain.sampling.core.job import Settings
from constrain.speculative.fused.batch import RULES, Found, FusedOptions, Ragged, most_draws, packed, unpacked
from constrain.speculative.masks import fill
from constrain.speculative.rows import Chosen, TargetRows
from constrain.speculative.verifier import Case, Verdict, Verifier
from constrain.speculative.verifiers import verifier_named

REPLAYS = 2  # steps of a bucket before its graph is captured
GRAPHS = 8  # that are kept


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
        self._seen: dict[Any, int] = {}
        self.captured: dict[Any, Any] = {}

    def verify(self, cases: Sequence[Case], draw: Draw) -> list[Verdict]:
        targets: list[Any] = [case.rows for case in cases]
        fits = bool(cases) and isinstance(draw, TorchDraw) and all(isinstance(each, TargetRows) for each in targets)
        if not fits or not self._runs(targets[0].logits.device):
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

    def _runs(self, device: torch.device) -> bool:
        """The kernels can run on this device, and are wanted."""
        if self.kernels is None:
            return device.type == "cuda" and importlib.util.find_spec("triton") is not None
        return self.kernels and (device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")

    def _found(
        self, logits: list[torch.Tensor], ragged: Sequence[Ragged], bitmask: np.ndarray | None, size: int
    ) -> list[Found]:
        """Run the step by the graph of its bucket, if there is one; else by launches."""
        from constrain.speculative.fused import run

        device = logits[0].device
        step = packed(ragged, bitmask, self.rule, device, batch=run.power_of_2(len(ragged)))
        if self.graphs and device.type == "cuda":
            bucket = run.Bucket.of(logits, step, self.rule, size)
            self._seen[bucket] = self._seen.get(bucket, 0) + 1
            if bucket not in self.captured and self._seen[bucket] > REPLAYS:
                for oldest in list(self.captured)[: max(0, len(self.captured) + 1 - GRAPHS)]:
                    del self.captured[oldest]  # each holds the logits of a step
                self.captured[bucket] = run.Captured(logits, step, self.rule, size)
            if bucket in self.captured:
                return unpacked(self.captured[bucket](logits, step).entries)[: len(ragged)]
        scores = run.scores_of(torch.cat(logits), step.bitmask, size)
        return unpacked(run.verdicts(scores, step, self.rule).entries)[: len(ragged)]

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


def options_of(settings: Settings) -> FusedOptions:
    """The options with which a job's settings shape a target."""
    return FusedOptions(settings.temperature, settings.top_k or 0, 1.0 if settings.top_p is None else settings.top_p)
