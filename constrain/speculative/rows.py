"""The target at the places of one tree: masked, shaped, and computed only where a verifier looks.

The idea: a forward gives logits everywhere, but a verifier goes down one path. So each place is turned into a
distribution when it is first asked for. What is recorded of a token is the same as in `constrain.sampling.core.step`,
and `sample` is that very function: a verifier that only samples gives the tokens that `lcd` gives for the same seed.

Cost: a softmax over the allowed tokens for each place visited.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from constrain.sampling.bitmask.apply import masked_logits
from constrain.sampling.core.draw import Draw
from constrain.sampling.core.job import Settings
from constrain.sampling.core.single import Chosen, row_of
from constrain.sampling.core.step import log_total_of, scaled, score, step, truncated
from constrain.speculative.masks import TreeMasks
from constrain.speculative.tree import NONE

Numbers = tuple[float, float, float]  # log p_raw, log p_sampled, log Z; see step.py


@dataclass
class _Place:
    """probabilities: float[W] or None (dead end). raw: float[W] scaled logits. log_total, log_allowed: log Σ exp"""

    probabilities: torch.Tensor | None
    raw: torch.Tensor
    log_total: float
    log_allowed: float


class TargetRows:
    """See `constrain.speculative.verifier.Rows`, which this is.

    masks: of the tree. logits: float[1 + r, W], by `tree.logits_rows`
    row, position: of the job, and in its output, of the root; for messages
    """

    def __init__(
        self,
        masks: TreeMasks,
        logits: torch.Tensor,
        *,
        settings: Settings,
        draw: Draw,
        stream: int,
        size: int,
        row: int = 0,
        position: int = 0,
    ) -> None:
        self.masks, self.tree, self.logits = masks, masks.tree, logits
        self.settings, self.draw, self.stream, self.size = settings, draw, stream, size
        self.row, self.position = row, position
        self._rows = self.tree.logits_rows.tolist()
        self._forced = self.tree.forced.tolist()
        self._places: dict[int, _Place] = {}
        self._chosen: dict[int, Chosen] = {}

    def forced(self, place: int) -> int:
        """See `Rows`."""
        return int(self._forced[place])

    def sample(self, place: int) -> int:
        """See `Rows`."""
        logits, words = self._given(place)
        drawn = step(
            logits, words, settings=self.settings, draw=self.draw, streams=[self.stream], size=self.size,
            places=[self._where(place)],
        )  # fmt: skip
        numbers = (drawn.log_prob_raw, drawn.log_prob_sampled, drawn.log_z)
        found = Chosen(int(drawn.token), *map(float, numbers))
        self._chosen[place] = found
        return found.token

    def probabilities(self, place: int) -> torch.Tensor | None:
        """See `Rows`. At a place with a forced token: one-hot."""
        return self._place(place).probabilities

    def know(self, place: int, found: Chosen) -> None:
        """Keep what a device computed for a place, so that it need not be computed again."""
        self._chosen[place] = found

    def numbers(self, place: int, token: int) -> Numbers:
        """What `lcd` would record, had it chosen this token here. Forced tokens: log p_raw, 0, log p_raw."""
        if self._forced[place] == token:
            logits, _ = self._given(place)
            single = row_of(logits, self.settings.temperature)
            if single is not None:
                raw = single.raw(token)
            else:
                (raw,) = score(logits, [token], self.settings.temperature, [self._where(place)])
            return raw, 0.0, raw
        known = self._chosen.get(place)
        if known is not None and known.token == token:
            return known.log_prob_raw, known.log_prob_sampled, known.log_z
        found = self._place(place)
        assert found.probabilities is not None, "a token was taken at a dead end"
        logit = float(found.raw[token])
        if self.settings.temperature == 0:
            sampled = 0.0
        elif self.settings.truncates:
            sampled = math.log(float(found.probabilities[token]))
        else:
            sampled = logit - found.log_allowed
        return logit - found.log_total, sampled, min(0.0, found.log_allowed - found.log_total)

    def _given(self, place: int) -> tuple[torch.Tensor, np.ndarray | None]:
        row = self._rows[place]
        return self.logits[row : row + 1], self.masks.words(place)

    def _where(self, place: int) -> tuple[int, int]:
        return self.row, self.position + len(self.tree.path(place))

    def _place(self, place: int) -> _Place:
        if place not in self._places:
            self._places[place] = self._found(place)
        return self._places[place]

    def _found(self, place: int) -> _Place:
        given, words = self._given(place)
        logits = scaled(given, self.settings.temperature)
        log_total = float(log_total_of(logits, [self._where(place)]))
        forced = self._forced[place]
        if forced != NONE:
            log_allowed = float(logits[0, forced])
            return _Place(self._one_hot(logits, forced), logits[0], log_total, log_allowed)
        masked, columns = (logits, None) if words is None else masked_logits(logits, words, self.size)
        top = float(masked.max())
        if top == -math.inf:
            return _Place(None, logits[0], log_total, -math.inf)
        weights = (masked - top).exp_()
        mass = weights.sum(-1, keepdim=True)
        log_allowed = top + math.log(float(mass))
        if self.settings.temperature == 0:
            best = int(masked.argmax(-1))
            chosen = self._one_hot(logits, best if columns is None else int(columns[best]))
            return _Place(chosen, logits[0], log_total, log_allowed)
        kept = truncated(weights.div_(mass), self.settings)[0]
        if columns is not None:
            kept = torch.zeros_like(logits[0]).index_copy_(0, columns, kept)
        return _Place(kept, logits[0], log_total, log_allowed)

    def _one_hot(self, logits: torch.Tensor, token: int) -> torch.Tensor:
        one_hot = torch.zeros_like(logits[0])
        one_hot[token] = 1
        return one_hot
