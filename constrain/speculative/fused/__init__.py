"""Verification on the device: masks, filters, all rules and the walk down the trees, without a host round trip.

takes: the logits of a forward pass, where they are; bitmasks, trees and uniform numbers, packed. gives: paths, tokens
and their log-probabilities, in one small copy
start reading at: batch.py (what travels, rules as data), `laws.py` (the target's distribution at every place), walk.py
(the verdict), run.py (the launches; CUDA graphs), verifier.py (`Fused`). The meaning is in ../verifiers/
"""

from constrain.speculative.fused.verifier import Fused, FusedMatch

__all__ = ["Fused", "FusedMatch"]
