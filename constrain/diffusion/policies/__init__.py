"""Which open positions are set first, one policy a file. Each scores positions; the highest scores are set first.

A policy looks at the model's distribution at each position before anything is refused. So the order is the same as
without a constraint as long as the texts are the same, and importance weights are exact (note 0022).
"""

from __future__ import annotations

from constrain.diffusion.policies.base import Policy
from constrain.diffusion.policies.confidence import Confidence
from constrain.diffusion.policies.entropy import Entropy
from constrain.diffusion.policies.leftmost import Leftmost
from constrain.diffusion.policies.margin import Margin
from constrain.diffusion.policies.shuffled import Shuffled
from constrain.diffusion.policies.threshold import Threshold

POLICIES = {
    "confidence": Confidence,
    "entropy": Entropy,
    "margin": Margin,
    "leftmost": Leftmost,
    "shuffled": Shuffled,
    "threshold": Threshold,
}

__all__ = ["POLICIES", "Confidence", "Entropy", "Leftmost", "Margin", "Policy", "Shuffled", "Threshold"]
