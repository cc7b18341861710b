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

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from constrain.sampling.bitmask.apply import checked_size
from constrain.sampling.core.draw import NO_TOKEN, Draw, TorchDraw
from constrain.sampling.core.filters import top_k_, top_p_
from constrain.sampling.core.job import Settings
from constrain.sampling.core.logits import Allowed, LogitRows, scaled
from constrain.sampling.core.measure import is_measured, measured
from constrain.sampling.fused.single import next_tokens, options_of, runs_on

CACHED = 1 << 18  # logits that a CPU handles at once


@dataclass(frozen=True)
class Step:
    """One token for each of B rows, with the numbers of the module's header.

    Attributes:
        token: int64[B]; -1, with log Z = -inf, where the model gives all allowed tokens no mass.
        log_prob_raw: float[B], log p_raw.
        log_prob_sampled: float[B], log p_sampled.
        log_z: float[B], log Z.

    Example:
        >>> import torch
        >>> from constrain.sampling import Step
        >>> one = Step(torch.tensor([7]), *torch.zeros(3, 1))
        >>> Step.joined([one, one]).token
        tensor([7, 7])
    """

    token: torch.Tensor
    log_prob_raw: torch.Tensor
    log_prob_sampled: torch.Tensor
    log_z: torch.Tensor

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

    Kernels do all of it: on a GPU with one copy back (`constrain.sampling.fused`), where Triton is installed, and on a
    CPU (`measure.py`). A draw that is enumerated, logits in float64, rows with faults, and on a GPU rows of one stream,
    go the way that is written here.
    PERF: on a CPU some rows at a time, since temporaries of several megabytes are new memory each time, and cost more
    than the arithmetic.

    Args:
        logits: float[B, W]; left as they are.
        bitmask: uint32[B, ceil(size / 32)], or None: everything is allowed.
        settings: temperature and truncation.
        draw: answers the draws.
        streams: B stream numbers for `draw`.
        size: tokens of the vocabulary (see `apply_bitmask_`).
        places: (row of the job, position in its output) of each row, for messages.

    Returns:
        The tokens and their numbers, float32 or float64 as the logits, on their device, or on the host by kernels.

    Raises:
        ConstrainError: NaN or +inf among the logits, or nothing but -inf.

    Example:
        >>> import numpy as np, torch
        >>> from constrain.sampling import Settings, TorchDraw, step
        >>> logits, mask = torch.zeros(1, 4), np.array([[0b0010]], np.uint32)
        >>> chosen = step(logits, mask, settings=Settings(), draw=TorchDraw(1), streams=[0], size=4)
        >>> chosen.token.item(), round(chosen.log_z.exp().item(), 6)
        (1, 0.25)
    """
    if bitmask is not None:
        size = checked_size(logits, bitmask, size)
    kernels = by_kernels if runs_on(logits.device) else by_cpu_kernels if is_measured(logits) else None
    if kernels is not None:
        chosen = kernels(logits, bitmask, settings=settings, draw=draw, streams=streams, size=size)
        if chosen is not None:
            return chosen
    at_once = max(1, CACHED // logits.shape[1]) if logits.device.type == "cpu" else len(logits)
    parts = []
    for start in range(0, len(logits), at_once):
        some = slice(start, start + at_once)
        rows = LogitRows(logits[some], settings.temperature, None if places is None else places[some])
        allowed = rows.allowed(None if bitmask is None else bitmask[some], size)
        parts.append(_choose(rows, allowed, settings, draw, streams[some]))
    return parts[0] if len(parts) == 1 else Step.joined(parts)


def by_kernels(
    logits: torch.Tensor,
    bitmask: np.ndarray | None,
    *,
    settings: Settings,
    draw: Draw,
    streams: Sequence[int],
    size: int | None,
) -> Step | None:
    """`step` by the kernels of `constrain.sampling.fused`; None where they do not give what `step` defines.

    Arguments as of `step`, checked. Tensors of the result are on the host.
    """
    fits = logits.dtype != torch.float64 and logits.stride(1) == 1 and len(set(streams)) == len(streams)
    if not fits or not len(logits) or not isinstance(draw, TorchDraw):
        return None
    uniform = draw.peeks(streams, [1] * len(streams))
    width = logits.shape[1] if size is None else size
    found = next_tokens(logits, bitmask, options_of(settings), uniform, width)
    if found.faulty:
        return None  # the fault is named by whoever goes on
    draw.skips(streams, found.used.tolist())
    return Step(torch.from_numpy(found.tokens.astype(np.int64)), *torch.from_numpy(found.numbers).T)


def by_cpu_kernels(
    logits: torch.Tensor,
    bitmask: np.ndarray | None,
    *,
    settings: Settings,
    draw: Draw,
    streams: Sequence[int],
    size: int | None,
) -> Step | None:
    """`step` by the kernels of `measure.py`; None if a row is faulty, or a draw is enumerated.

    Arguments as of `step`, checked.
    """
    greedy = settings.temperature == 0
    if not (greedy or isinstance(draw, TorchDraw)):
        return None
    uniforms = (lambda row: draw.uniform(streams[row])) if isinstance(draw, TorchDraw) and not greedy else None
    width = logits.shape[1] if size is None or bitmask is None else size
    tokens, numbers = [], []
    cuts = settings.top_k, settings.top_p
    for found in measured(logits, bitmask, width, settings.temperature or 1.0, uniforms, *cuts):
        if found is None:
            return None  # the fault is named by whoever goes on
        tokens.append(found.token)
        if found.token == NO_TOKEN:
            numbers.append((-math.inf, 0.0, -math.inf))
            continue
        sampled = 0.0 if greedy else found.value - found.log_kept
        numbers.append((found.value - found.log_total, sampled, min(0.0, found.log_mass - found.log_total)))
    columns = np.array(numbers, np.float32).reshape(len(tokens), 3).T
    return Step(*map(torch.from_numpy, (np.array(tokens, np.int64), *columns)))


def _choose(rows: LogitRows, allowed: Allowed, settings: Settings, draw: Draw, streams: Sequence[int]) -> Step:
    """Choose a token of every row from what is allowed."""
    alive = [row for row, mass in enumerate(allowed.mass.tolist()) if mass > 0]
    if len(alive) < len(streams):
        dead = [rows.xp.full_like(rows.log_total, number) for number in (-math.inf, 0.0, -math.inf)]
        chosen = Step(
            rows.tensor(rows.xp.full_like(allowed.mass, NO_TOKEN, dtype=rows.xp.int64)), *map(rows.tensor, dead)
        )
        if alive:
            part = _choose(rows.rows(alive), allowed.rows(alive), settings, draw, [streams[row] for row in alive])
            for each in fields(Step):
                getattr(chosen, each.name)[alive] = getattr(part, each.name)
        return chosen
    probabilities = None
    if settings.temperature == 0:
        column = rows.likeliest(allowed)
    else:
        shares = allowed.weights / allowed.mass[:, None]
        probabilities = truncated(rows.tensor(shares), settings)
        column = rows.array(draw(probabilities, streams))
    places = rows.xp.arange(len(streams))
    logits = allowed.values[places, column]
    if settings.temperature == 0:
        sampled = rows.xp.zeros_like(logits)
    elif settings.truncates and probabilities is not None:
        sampled = rows.xp.log(rows.array(probabilities)[places, column])
    else:  # straight from the logits: more exact for a small probability
        sampled = logits - allowed.log_mass
    return Step(
        token=rows.tensor(column if allowed.columns is None else allowed.columns[column]),
        log_prob_raw=rows.tensor(logits - rows.log_total),
        log_prob_sampled=rows.tensor(sampled),
        log_z=rows.tensor(rows.at_most_0(allowed.log_mass - rows.log_total)),
    )


def truncated(probabilities: torch.Tensor, settings: Settings) -> torch.Tensor:
    """Top-k, then top-p, in place: float[B, N] rows that sum to 1, before and after."""
    if settings.top_k is not None:
        top_k_(probabilities, settings.top_k)
    if settings.top_p is not None:
        top_p_(probabilities, settings.top_p)
    return probabilities


def score(
    logits: torch.Tensor, tokens: Sequence[int], temperature: float, places: Sequence[tuple[int, int]] | None = None
) -> list[float]:
    """log p_raw of given tokens: what a step records for tokens that were forced, not drawn.

    Args:
        logits: float[K, W].
        tokens: K ids.
        temperature: as in `Settings`.
        places: as in `step`.

    Returns:
        K numbers.

    Raises:
        ConstrainError: as `step`.

    Example:
        >>> import torch
        >>> from constrain.sampling import score
        >>> score(torch.zeros(1, 4, dtype=torch.float64), [2], temperature=1)
        [-1.3862943611198906]
    """
    if is_measured(logits):
        found = list(measured(logits, None, logits.shape[1], temperature or 1.0, None))
        values = scaled(logits[range(len(tokens)), tokens].detach(), temperature)
        totals = [each.log_total for each in found if each is not None]
        if len(totals) == len(found):
            return [float(np.float32(value - total)) for value, total in zip(values.tolist(), totals, strict=True)]
    rows = LogitRows(logits, temperature, places)
    numbers: list[float] = rows.tensor(rows.values[range(len(tokens)), tokens] - rows.log_total).tolist()
    return numbers
