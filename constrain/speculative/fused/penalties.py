"""Penalties as sparse lists: which tokens of which rows change, and how.

Everything that processors do to single tokens is one form, applied to the scores before any filter:

    f(x) = r(x + before) + after,  r(y) = y / factor if y > 0 else y · factor

A repetition penalty has `factor`, presence, frequency and bias are sums. Tokens that the mask forbids do not change.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class Penalties(NamedTuple):
    """E changes. places: int32[E, 2], the place (tree · P + place) or -1, and the token, at most once each.
    terms: float32[E, 3], before, factor, after."""

    places: torch.Tensor
    terms: torch.Tensor


def changed(scores: torch.Tensor, terms: torch.Tensor) -> torch.Tensor:
    """The definition: float[E] from scores float[E] and terms float[E, 3]."""
    before, factor, after = terms.to(scores.dtype).unbind(-1)
    moved = scores + before
    return torch.where(moved > 0, moved / factor, moved * factor) + after
