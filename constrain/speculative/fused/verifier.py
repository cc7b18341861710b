"""`fused-match`: the `match` verifier on the device of the logits, for all trees of a step at once.

Law: that of `match`. It draws the same uniform numbers from the same streams, so for the same seed it gives the same
tokens, up to rounding of the logits and of sums in float32. What cannot be done there — top-k, top-p, an enumerated
draw, rows that are no logits — is done by `match`, one tree after the other.
Cost: two kernels and one small copy back a step. Limit: the logits of all rows are gathered into one array first.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from constrain.sampling.core.draw import Draw, TorchDraw
from constrain.speculative.fused import reference
from constrain.speculative.fused.batch import Found, packed, unpacked
from constrain.speculative.masks import fill
from constrain.speculative.rows import Chosen, TargetRows
from constrain.speculative.verifier import Case, Verdict, Verifier
from constrain.speculative.verifiers.match import Match


class FusedMatch(Verifier):
    """Sample and match on the device; see the module.

    kernels: "triton", "torch" (the reference), or None: Triton where the logits are on a GPU and it is installed
    """

    name = "fused-match"

    def __init__(self, kernels: str | None = None) -> None:
        self.kernels = kernels
        self.otherwise = Match()

    def verify(self, cases: Sequence[Case], draw: Draw) -> list[Verdict]:
        """See `Verifier`."""
        rows = [case.rows for case in cases]
        if not cases or not isinstance(draw, TorchDraw) or not all(isinstance(each, TargetRows) for each in rows):
            return self.otherwise.verify(cases, draw)
        targets: list[Any] = rows
        settings = targets[0].settings
        logits = torch.cat([each.logits for each in targets])
        if settings.truncates or not bool(logits.amax(-1).isfinite().all()):
            return self.otherwise.verify(cases, draw)
        steps = max(int(case.tree.depths.max(initial=0)) for case in cases) + 1
        uniform = np.stack([draw.peek(case.stream, steps) for case in cases])
        masks = [each.masks for each in targets]
        if not all(each.complete for each in masks):
            fill(masks)
        if not all(each.complete for each in masks):  # some mask cannot be had: it may not be needed
            return self.otherwise.verify(cases, draw)
        bitmask = masks[0].bitmask
        trees = packed(
            [case.tree for case in cases],
            [each.rows for each in masks],
            bitmask,
            1 if bitmask is None else bitmask.shape[1],
            uniform,
            logits.device,
        )
        run = self._kernels(logits)
        entries = run(logits, trees, temperature=settings.temperature, size=targets[0].size)
        return [self._verdict(case, found, draw) for case, found in zip(cases, unpacked(entries), strict=True)]

    def _kernels(self, logits: torch.Tensor) -> Any:
        chosen = self.kernels
        if chosen is None:
            on_device = logits.device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
            chosen = "triton" if on_device and importlib.util.find_spec("triton") is not None else "torch"
        if chosen == "torch":
            return reference.verify
        from constrain.speculative.fused import kernels

        return kernels.verify

    def _verdict(self, case: Case, found: Found, draw: TorchDraw) -> Verdict:
        """Nodes back to those of the tree. What was computed is kept for the record; used numbers are gone."""
        read = np.flatnonzero(case.tree.read)
        path = [int(read[node]) for node in found.nodes]
        rows: Any = case.rows
        used = 0
        columns = zip(found.tokens, found.log_prob_raw, found.log_prob_sampled, found.log_z, strict=True)
        for place, numbers in zip([0, *(node + 1 for node in path)], columns, strict=True):
            if rows.forced(place) != -1:
                continue
            rows.know(place, Chosen(*numbers))
            used += numbers[0] != -1 and rows.settings.temperature != 0
        draw.skip(case.stream, used)
        return Verdict(path, found.tokens[-1])
