"""One step on the device: masks, filters, rules and the walk down the trees, without a host round trip.

takes: the logits of a forward pass, where they are; bitmasks, trees and uniform numbers, packed. gives: paths, tokens
and their log-probabilities, in one small copy
start reading at: batch.py (what travels, rules as data), `laws.py` (the target's distribution at every place), walk.py
(the verdict), run.py (the launches; CUDA graphs), single.py (a step without drafts). Rules: `constrain.speculative`
"""
