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

Everything stays in log space until the last moment, so that Z = 1e-300 is as good as any. Cost: two log-sum-exps and a
draw, batched; half precision is widened to float32, float64 stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.apply import apply_bitmask_
from constrain.sampling.draw import Draw
from constrain.sampling.filters import top_k_, top_p_
from constrain.sampling.job import Settings

NO_TOKEN = -1


@dataclass(frozen=True)
class Step:
    """One token for each of B rows; -1, with log Z = -inf, where the model gives all allowed tokens no mass."""

    token: torch.Tensor  # int64[B]
    log_prob_raw: torch.Tensor  # float[B]
    log_prob_sampled: torch.Tensor  # float[B]
    log_z: torch.Tensor  # float[B]


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
    logits = _scaled(logits, settings.temperature)
    log_total = _log_total(logits, places)
    masked = logits if bitmask is None else apply_bitmask_(logits.clone(), bitmask, size)
    log_allowed = masked.logsumexp(-1)  # float[B], not normalised
    log_z = (log_allowed - log_total).clamp(max=0)
    alive = log_allowed > -torch.inf
    token = torch.full((len(logits),), NO_TOKEN, dtype=torch.int64, device=logits.device)
    sampled = torch.zeros_like(log_total)
    if settings.temperature == 0:
        token = torch.where(alive, masked.argmax(-1), token)
    elif bool(alive.any()):
        rows = alive.nonzero().squeeze(1)
        probabilities = truncated((masked[rows] - log_allowed[rows].unsqueeze(1)).exp(), settings)
        chosen = draw(probabilities, [streams[i] for i in rows.tolist()])
        token[rows] = chosen
        if settings.truncates:
            sampled[rows] = probabilities.gather(1, chosen.unsqueeze(1)).squeeze(1).log()
        else:  # straight from the logits: more exact for a small probability
            sampled[rows] = masked[rows, chosen] - log_allowed[rows]
    raw = logits.gather(1, token.clamp(min=0).unsqueeze(1)).squeeze(1) - log_total
    return Step(token, torch.where(alive, raw, -torch.inf), sampled, log_z)


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
    logits = _scaled(logits, temperature)
    index = torch.tensor(tokens, dtype=torch.int64, device=logits.device).unsqueeze(1)
    return (logits.gather(1, index).squeeze(1) - _log_total(logits, places)).tolist()


def _scaled(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    if logits.dtype not in (torch.float32, torch.float64):
        logits = logits.float()
    return logits if temperature in (0, 1) else logits / temperature


def _log_total(logits: torch.Tensor, places: Sequence[tuple[int, int]] | None) -> torch.Tensor:
    """log Σ exp of each row; finite exactly when no logit is NaN or +inf and some logit is not -inf."""
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
