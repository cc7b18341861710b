"""The yardstick: how often any rule can accept one of k drafted siblings (Hu et al. 2025, arXiv 2502.18779).

Not measured: a yardstick, for tests and tables.

    α* = 1 + min over sets H of tokens of  p(H) − Pr(all drafts are in H)

by duality of optimal transport. The best H takes tokens in the order of s/p, largest first, so one pass over the
vocabulary finds it. Independent drafts: Pr = s(H)ᵏ. Without replacement: the chance that k draws stay in H, for k = 2
in closed form, beyond that by enumeration of ordered draws: for tests and small vocabularies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import torch

from constrain.errors import ConstrainError

ENUMERATED = 200_000  # ordered draws that are enumerated at most


def optimal_acceptance(target: torch.Tensor, drafted: torch.Tensor, k: int, replacement: bool) -> float:
    """The best acceptance of any lossless rule for k drawn siblings at one place.

    Args:
        target: float[N], the target's distribution; sums to 1.
        drafted: float[N], what the siblings were drawn from; sums to 1.
        k: the number of siblings.
        replacement: they were drawn independently; else each without those before.

    Returns:
        The largest share of steps, in [0, 1], that goes on to one of the siblings.

    Raises:
        ConstrainError: too many draws without replacement to enumerate.

    Example:
        >>> import torch
        >>> from constrain.papers import optimal_acceptance
        >>> optimal_acceptance(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]), k=1, replacement=True)
        0.5
    """
    p, s = target.double(), drafted.double()
    order = torch.argsort(s / p.clamp(min=torch.finfo(p.dtype).tiny), descending=True)
    p, s = p[order], s[order]
    mass = p.cumsum(0)
    inside = s.cumsum(0)
    if replacement or k == 1:
        stays = inside**k
    elif k == 2:
        stays = torch.stack([_two(s[: n + 1]) for n in range(len(s))])
    else:
        if math.perm(len(s), min(k, len(s))) > ENUMERATED:
            raise ConstrainError(f"{k} draws without replacement from {len(s)} tokens are too many to enumerate")
        stays = torch.tensor([_stays(s[: n + 1].tolist(), k) for n in range(len(s))], dtype=torch.float64)
    return 1 + min(0.0, float((mass - stays).min()))


def _two(s: torch.Tensor) -> torch.Tensor:
    """The probability that two draws without replacement are both among these."""
    others = (1 - s).clamp(min=torch.finfo(s.dtype).tiny)
    return (s * (s.sum() - s) / others).sum()


def _stays(s: Sequence[float], k: int) -> float:
    """The probability that all k draws without replacement are among these, or all that have any probability."""
    total = 0.0
    for drawn in permutations(s, k):
        chance, left = 1.0, 1.0
        for share in drawn:
            chance *= share / left if left > 0 else 0.0
            left -= share
        total += chance
    return total
