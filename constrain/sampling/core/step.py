"""The primitive of every method: one token, with all that is needed to correct for how it was chosen.

    step(logits, mask) -> token, log p_raw, log p_sampled, log Z

    p_raw      what the model gave the token at this temperature, over all of its logits
    Z          the model's mass on the allowed tokens; masking divides by it
    p_sampled  what the token was drawn with: masked, then truncated by top-k and top-p, renormalised after each

Without truncation log p_raw − log p_sampled = log Z exactly. So a method that multiplies Z over the steps is properly
weighted: E[w f(x)] = Σ p(x) f(x) over members x (self-normalised importance sampling, e.g. Owen, "Monte Carlo theory",
section 9.2). Truncation removes members from the support, and the identity then holds over what is left.

Temperature 0 takes the likeliest allowed token (the lowest id among equals). Nothing is drawn then, p_sampled is 1, and
p_raw and Z are those of temperature 1.

Everything stays in log space until the last moment, so that Z = 1e-300 is as good as any. Half precision is widened to
float32, float64 stays. Cost: a log-sum-exp over all logits, one over the allowed ones, and a draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.bitmask.apply import checked_size, masked_logits
from constrain.sampling.core.draw import NO_TOKEN, Draw
from constrain.sampling.core.filters import top_k_, top_p_
from constrain.sampling.core.job import Settings
from constrain.sampling.core.single import Chosen, Row, row_of

CACHED = 1 << 18  # logits that a CPU handles at once


@dataclass(frozen=True)
class Step:
    """One token for each of B rows; -1, with log Z = -inf, where the model gives all allowed tokens no mass."""

    token: torch.Tensor  # int64[B]
    log_prob_raw: torch.Tensor  # float[B]
    log_prob_sampled: torch.Tensor  # float[B]
    log_z: torch.Tensor  # float[B]

    def rows(self, which: Any) -> Step:
        """Some of the rows: a slice, or int64[N]."""
        return Step(*(getattr(self, each.name)[which] for each in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Step]) -> Step:
        """The rows of the parts, one after the other."""
        return cls(*(torch.cat([getattr(part, each.name) for part in parts]) for each in fields(cls)))


def step(
    logits: torch.Tensor,
    bitmask: np.ndarray | None,
    *,
    settings: Settings,
    draw: Draw,
    streams: Sequence[int],
    size: int | None = None,
    places: Sequence[tuple[int, int]] | None = None,
) -> Step:
    """Choose the next token of every row.

    logits: float[B, W]; left as they are
    bitmask: uint32[B, ceil(size / 32)], or None: everything is allowed
    streams: B stream numbers for `draw`
    size: tokens of the vocabulary (see `apply_bitmask_`)
    places: (row of the job, position in its output) of each row, for messages
    raises: ConstrainError on NaN or +inf among the logits, or nothing but -inf
    """
    row = None if settings.truncates or len(logits) != 1 else row_of(logits, settings.temperature)
    if row is not None:
        return _of(_choose(row, logits, bitmask, size, settings, draw, streams[0]), logits.dtype)
    return step_by_tensors(logits, bitmask, settings, draw, streams, size, places)


def _choose(
    row: Row,
    logits: torch.Tensor,
    bitmask: np.ndarray | None,
    size: int | None,
    settings: Settings,
    draw: Draw,
    stream: int,
) -> Chosen:
    if bitmask is None:
        return row.choose(None, logits.shape[1], settings.temperature, draw, stream)
    size = checked_size(logits, bitmask, size)
    return row.choose(np.ascontiguousarray(bitmask[0]), size, settings.temperature, draw, stream)


def _of(chosen: Chosen, dtype: torch.dtype) -> Step:
    token, *numbers = chosen
    return Step(torch.tensor([token]), *torch.tensor([numbers], dtype=dtype).unbind(1))


def step_by_tensors(
    logits: torch.Tensor,
    bitmask: np.ndarray | None,
    settings: Settings,
    draw: Draw,
    streams: Sequence[int],
    size: int | None,
    places: Sequence[tuple[int, int]] | None = None,
) -> Step:
    """`step` for any logits on any device; arguments as there."""
    at_once = max(1, CACHED // logits.shape[1]) if logits.device.type == "cpu" else len(logits)
    parts = []
    for start in range(0, len(logits), at_once):
        rows = slice(start, start + at_once)
        words, where = None if bitmask is None else bitmask[rows], None if places is None else places[rows]
        parts.append(_step(logits[rows], words, settings, draw, streams[rows], size, where))
    return parts[0] if len(parts) == 1 else Step.joined(parts)


def _step(
    logits: torch.Tensor,
    bitmask: np.ndarray | None,
    settings: Settings,
    draw: Draw,
    streams: Sequence[int],
    size: int | None,
    places: Sequence[tuple[int, int]] | None,
) -> Step:
    """`step_by_tensors` for rows that fit into a cache.

    PERF: temporaries of several megabytes are new memory each time, and cost more than the arithmetic. 8 rows of
    128,256 logits, nearly all allowed, one core of a busy machine: 10 ms by rows, 21 ms at once;
    `python benchmarks/sampling_step.py`.
    """
    logits = scaled(logits, settings.temperature)
    log_total = log_total_of(logits, places)
    masked, columns = (logits, None) if bitmask is None else masked_logits(logits, bitmask, size)  # float[B, U]
    top = masked.amax(-1, keepdim=True)
    weights = (masked - top.clamp(min=torch.finfo(top.dtype).min)).exp_()  # the largest is 1; all are 0 in a dead row
    mass = weights.sum(-1)
    log_allowed = top.squeeze(1) + mass.log()
    alive = mass > 0
    chosen = torch.zeros(len(masked), dtype=torch.int64, device=masked.device)
    sampled = torch.zeros_like(log_total)
    if settings.temperature == 0:
        chosen = masked.argmax(-1)
    elif bool(alive.any()):
        rows = alive.nonzero().squeeze(1)
        kept = weights if len(rows) == len(weights) else weights[rows]
        probabilities = truncated(kept.div_(mass[rows].unsqueeze(1)), settings)
        drawn = chosen[rows] = draw(probabilities, [streams[i] for i in rows.tolist()])
        if settings.truncates:
            sampled[rows] = probabilities.gather(1, drawn.unsqueeze(1)).squeeze(1).log()
        else:  # straight from the logits: more exact for a small probability
            sampled[rows] = masked[rows, drawn] - log_allowed[rows]
    raw = masked.gather(1, chosen.unsqueeze(1)).squeeze(1) - log_total
    token = chosen if columns is None else columns[chosen]
    return Step(
        token=torch.where(alive, token, NO_TOKEN),
        log_prob_raw=torch.where(alive, raw, -torch.inf),
        log_prob_sampled=sampled,
        log_z=(log_allowed - log_total).clamp(max=0),
    )


def truncated(probabilities: torch.Tensor, settings: Settings) -> torch.Tensor:
    """Top-k, then top-p, in place: float[B, N] rows that sum to 1, before and after."""
    if settings.top_k is not None:
        top_k_(probabilities, settings.top_k)
    if settings.top_p is not None:
        top_p_(probabilities, settings.top_p)
    return probabilities


def score(
    logits: torch.Tensor,
    tokens: Sequence[int],
    temperature: float,
    places: Sequence[tuple[int, int]] | None = None,
) -> list[float]:
    """log p_raw of given tokens: what a step records for tokens that were forced, not drawn.

    logits: float[K, W]; tokens: K ids; places: as in `step`
    """
    logits = scaled(logits, temperature)
    index = torch.tensor(tokens, dtype=torch.int64, device=logits.device).unsqueeze(1)
    return (logits.gather(1, index).squeeze(1) - log_total_of(logits, places)).tolist()


def scaled(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """Logits at a temperature (at 1 where it is 0), in float32 at least."""
    if logits.dtype not in (torch.float32, torch.float64):
        logits = logits.float()
    return logits if temperature in (0, 1) else logits / temperature


def log_total_of(logits: torch.Tensor, places: Sequence[tuple[int, int]] | None) -> torch.Tensor:
    """log Σ exp of each row, float[B]; finite exactly when no logit is NaN or +inf and some logit is not -inf."""
    total = logits.logsumexp(-1)
    finite = torch.isfinite(total)
    if not bool(finite.all()):
        row = int((~finite).nonzero()[0])
        bad = logits[row]
        what = "NaN" if bool(bad.isnan().any()) else "+inf" if bool((bad == torch.inf).any()) else "nothing but -inf"
        ids = (bad.isnan() | (bad == torch.inf)).nonzero().squeeze(1).tolist() if what != "nothing but -inf" else []
        shown = f" (token ids {', '.join(map(str, ids[:5]))}{', …' if len(ids) > 5 else ''})" if ids else ""
        where, position = (row, 0) if places is None else places[row]
        raise ConstrainError(
            f"the model's logits contain {what}{shown}",
            place=f"output {where}, token {position}",
            fix="check the model: its weights and number format, or run it in float32",
        )
    return total
