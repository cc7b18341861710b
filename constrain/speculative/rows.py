"""The target at the places of one tree: masked, shaped, and computed only where a verifier looks.

The idea: a forward pass gives logits everywhere, but a verifier goes down one path. So each place is turned into a
distribution when it is first asked for. What is recorded of a token is the same as in `constrain.sampling.core.step`,
and `sample` is that very function: a verifier that only samples gives the tokens that `lcd` gives for the same seed.

Cost: a softmax over the allowed tokens for each place visited.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from constrain.sampling.core.draw import Draw
from constrain.sampling.core.job import Settings
from constrain.sampling.core.logits import LogitRows
from constrain.sampling.core.step import score, step, truncated
from constrain.speculative.masks import TreeMasks
from constrain.speculative.tree import NONE

Numbers = tuple[float, float, float]  # log p_raw, log p_sampled, log Z; see step.py


class Chosen(NamedTuple):
    """One token and its numbers, as in `constrain.sampling.core.step`; token −1 at a dead end."""

    token: int
    log_prob_raw: float
    log_prob_sampled: float
    log_z: float


@dataclass
class _Place:
    """The target at one place.

    Attributes:
        probabilities: float[W] over all logits, masked and shaped; None at a dead end.
        logits: the row of logits.
        log_allowed: log Σ exp of the allowed logits.
    """

    probabilities: torch.Tensor | None
    logits: LogitRows
    log_allowed: float


class TargetRows:
    """The target at the places of one tree, after mask, temperature and truncation; the `Rows` of every verifier.

    Args:
        masks: of the tree.
        logits: float[1 + r, W], by `tree.logits_rows`.
        settings: how the target is shaped.
        draw: the source of randomness.
        stream: where it draws from.
        size: tokens of the vocabulary.
        row: of the job, for messages.
        position: of the root in the output, for messages.

    Example:
        >>> import numpy as np, torch
        >>> from constrain.sampling import Settings, TorchDraw
        >>> from constrain.speculative import EMPTY, BuiltTree, TargetRows
        >>> class Everything:
        ...     tree = BuiltTree(EMPTY.tokens, EMPTY.parents, EMPTY.log_probs)
        ...     def words(self, place):
        ...         return None
        >>> logits = torch.zeros(1, 2)
        >>> rows = TargetRows(Everything(), logits, settings=Settings(), draw=TorchDraw(1), stream=0, size=2)
        >>> rows.probabilities(0)
        tensor([0.5000, 0.5000])
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
        self._places: dict[int, _Place] = {}
        self._chosen: dict[int, Chosen] = {}

    def forced(self, place: int) -> int:
        return int(self.tree.forced[place])

    def sample(self, place: int) -> int:
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
        """The distribution at a place; one-hot if a token is forced there."""
        return self._place(place).probabilities

    def possible(self, place: int, token: int) -> bool:
        if self.settings.temperature == 0:
            return float(self._place(place).logits.values[0, token]) > -math.inf
        found = self.probabilities(place)
        return found is not None and float(found[token]) > 0

    def numbers(self, place: int, token: int) -> Numbers:
        """The numbers that `lcd` records for this token here. Forced tokens: log p_raw, 0, log p_raw."""
        known = self._chosen.get(place)
        if known is not None and known.token == token:
            return known.log_prob_raw, known.log_prob_sampled, known.log_z
        if self.forced(place) == token:
            logits, _ = self._given(place)
            (raw,) = score(logits, [token], self.settings.temperature, [self._where(place)])
            return raw, 0.0, raw
        found = self._place(place)
        assert found.probabilities is not None, "a token was taken at a dead end"
        logit, log_total = float(found.logits.values[0, token]), float(found.logits.log_total[0])
        if self.settings.temperature == 0:
            sampled = 0.0
        elif self.settings.truncates:
            sampled = math.log(float(found.probabilities[token]))
        else:
            sampled = logit - found.log_allowed
        return logit - log_total, sampled, min(0.0, found.log_allowed - log_total)

    def _given(self, place: int) -> tuple[torch.Tensor, np.ndarray | None]:
        row = int(self.tree.logits_rows[place])
        return self.logits[row : row + 1], self.masks.words(place)

    def _where(self, place: int) -> tuple[int, int]:
        return self.row, self.position + len(self.tree.path(place))

    def _place(self, place: int) -> _Place:
        if place not in self._places:
            self._places[place] = self._found(place)
        return self._places[place]

    def _found(self, place: int) -> _Place:
        given, words = self._given(place)
        rows = LogitRows(given, self.settings.temperature, [self._where(place)])
        forced = self.forced(place)
        if forced != NONE:
            return _Place(self._one_hot(rows, forced), rows, float(rows.values[0, forced]))
        allowed = rows.allowed(words, self.size)
        log_allowed = float(allowed.log_mass[0])
        if log_allowed == -math.inf:
            return _Place(None, rows, log_allowed)
        if self.settings.temperature == 0:
            best = int(rows.likeliest(allowed)[0])
            return _Place(
                self._one_hot(rows, best if allowed.columns is None else int(allowed.columns[best])), rows, log_allowed
            )
        kept = truncated(rows.tensor(allowed.weights / allowed.mass[:, None]), self.settings)[0]
        full = torch.zeros(rows.values.shape[1], dtype=kept.dtype, device=kept.device)
        if allowed.columns is None:
            full[: len(kept)] = kept
        else:
            full[rows.tensor(allowed.columns)] = kept
        return _Place(full, rows, log_allowed)

    def _one_hot(self, rows: LogitRows, token: int) -> torch.Tensor:
        one_hot = torch.zeros_like(rows.tensor(rows.values[0]))
        one_hot[token] = 1
        return one_hot
