"""What travels to a device and back, and the door to the kernels there (`constrain.device`), which load when asked for.

takes: the logits of a forward pass, where they are; bitmasks, trees and uniform numbers. gives: packed steps
start reading at: batch.py (what travels, rules as data), single.py (a step without drafts). Rules:
`constrain.speculative`
"""
