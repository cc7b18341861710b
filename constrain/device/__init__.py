"""One step of sampling on a GPU: masks, filters, rules and the walk down draft trees, without a host round trip.

takes: `FusedStep` (`constrain.sampling.fused.batch`) and logits where they are. gives: paths, tokens and their
log-probabilities, in one small copy
start reading at: targets.py (the target's distribution at every place), walk.py (the verdict), run.py (the launches);
fixed.py (forwards of the model itself, as CUDA graphs, which graphs.py captures for both). Loaded when logits are on a
GPU; all but the forwards need Triton
"""
