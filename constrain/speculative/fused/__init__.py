"""Verification on the device: masks, normalisation, sampling and the walk down the trees, without a host round trip.

takes: the logits of a forward, where they are; bitmasks, trees and uniform numbers, packed. gives: paths, tokens and
their log-probabilities, in one small copy
used by: hf, generation, where the model is on a GPU
start reading at: batch.py (what travels), reference.py (the meaning, in torch), kernels.py (the same in Triton),
verifier.py (`FusedMatch`)
"""

from constrain.speculative.fused.verifier import FusedMatch

__all__ = ["FusedMatch"]
