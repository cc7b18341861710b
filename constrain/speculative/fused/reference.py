"""What the kernels compute, in torch: the oracle of their tests, and the definition.

At each place that the walk visits, with x the logits divided by the temperature and A the allowed ids:

    log total = log Σ exp x          log allowed = log Σ_{v ∈ A} exp x_v          log Z = log allowed − log total
    token     = the first v whose cumulative Σ_{u ≤ v, u ∈ A} exp x_u exceeds uniform · Σ_A      (`draw.invert`)

At temperature 0 the likeliest allowed id, the lowest among equals, with log-probabilities of temperature 1. A forced
token needs no draw: (log p_raw, 0, log p_raw). A token without any mass is a dead end, token NONE.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch

from constrain.speculative.fused.batch import ENTRY, INTS, Trees
from constrain.speculative.tree import NONE, ROOT


def verify(logits: torch.Tensor, trees: Trees, *, temperature: float, size: int) -> torch.Tensor:
    """Sample and match on every tree: int32[B, K, ENTRY], see `unpacked`.

    logits: float[R, W], sound rows (no NaN, no +inf, not all -inf). size: ids beyond it are never allowed
    """
    entries = torch.full((len(trees.first) - 1, trees.steps, ENTRY), NONE, dtype=torch.int32)
    first = trees.first.tolist()
    for tree, (start, end) in enumerate(pairwise(first)):
        tokens, parents = trees.tokens[start + 1 : end].tolist(), trees.parents[start + 1 : end].tolist()
        children = {child: node for node, child in enumerate(zip(parents, tokens, strict=True))}
        place = drawn = 0
        for entry in entries[tree]:
            token, logs, used = _at(logits, trees, start + place, float(trees.uniform[tree, drawn]), temperature, size)
            drawn += used
            entry[INTS:] = torch.tensor(logs, dtype=torch.float32).view(torch.int32)
            entry[1] = token
            entry[0] = node = children.get((place - 1, token), ROOT)
            if node == ROOT:
                break
            place = node + 1
    return entries.to(logits.device)


def _at(
    logits: torch.Tensor, trees: Trees, row: int, uniform: float, temperature: float, size: int
) -> tuple[int, tuple[float, float, float], int]:
    """(token, its log p_raw, log p_sampled, log Z; how many uniform numbers were used) at a row."""
    scaled = logits[row].double() / (temperature or 1.0)
    log_total = float(scaled.logsumexp(0))
    forced, mask = int(trees.forced[row]), int(trees.masks[row])
    if forced != NONE:
        raw = float(scaled[forced]) - log_total
        return (NONE, (-math.inf, 0.0, -math.inf), 0) if raw == -math.inf else (forced, (raw, 0.0, raw), 0)
    allowed = torch.zeros(len(scaled), dtype=torch.bool)
    allowed[:size] = True if mask == NONE else _bits(trees.bitmask[mask])[:size]
    masked = scaled.masked_fill(~allowed.to(scaled.device), -math.inf)
    log_allowed = float(masked.logsumexp(0))
    if log_allowed == -math.inf:
        return NONE, (-math.inf, 0.0, -math.inf), 0
    if temperature == 0:
        token, used, log_sampled = int(masked.argmax()), 0, 0.0
    else:
        cumulative = (masked - log_allowed).exp().cumsum(0)
        token = int((cumulative <= uniform * float(cumulative[-1])).sum())
        token, used = min(token, int(cumulative.argmax())), 1
        log_sampled = float(masked[token]) - log_allowed
    return token, (float(masked[token]) - log_total, log_sampled, min(0.0, log_allowed - log_total)), used


def _bits(words: torch.Tensor) -> torch.Tensor:
    """bool[32 · words]."""
    return ((words.unsqueeze(1) >> torch.arange(32, dtype=torch.int32, device=words.device)) & 1).bool().flatten().cpu()
