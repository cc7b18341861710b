"""Steps as they travel to a device and back, and the door to its kernels (`constrain.device`), which load when asked.

takes: the logits of a forward pass, where they are; bitmasks, trees and uniform numbers. gives: packed steps
start reading at: batch.py (what travels, rules as data), single.py (a step without drafts). Rules:
`constrain.speculative`
"""
