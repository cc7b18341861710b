"""Policies, one a file: each scores the open positions, and the highest scores are set first.

A policy looks at the model's distribution at each position before anything is refused. So the order is the same as
without a constraint as long as the texts are the same, and importance weights are exact (note 0022).
"""

from __future__ import annotations

from constrain.papers.diffusion.policies.base import Policy
from constrain.papers.diffusion.policies.confidence import Confidence
from constrain.papers.diffusion.policies.credit import Credit
from constrain.papers.diffusion.policies.entropy import Entropy
from constrain.papers.diffusion.policies.leftmost import Leftmost
from constrain.papers.diffusion.policies.local_leap import LocalLeap
from constrain.papers.diffusion.policies.margin import Margin
from constrain.papers.diffusion.policies.prophet import Prophet
from constrain.papers.diffusion.policies.shuffled import Shuffled
from constrain.papers.diffusion.policies.threshold import Threshold
from constrain.papers.diffusion.policies.top_k import TopK

POLICIES = {
    "confidence": Confidence,
    "entropy": Entropy,
    "margin": Margin,
    "leftmost": Leftmost,
    "shuffled": Shuffled,
    "threshold": Threshold,
    "top-k": TopK,
    "local-leap": LocalLeap,
    "prophet": Prophet,
    "credit": Credit,
}

__all__ = [
    "POLICIES",
    "Confidence",
    "Credit",
    "Entropy",
    "Leftmost",
    "LocalLeap",
    "Margin",
    "Policy",
    "Prophet",
    "Shuffled",
    "Threshold",
    "TopK",
]
