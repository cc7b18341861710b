"""The cuts of a tokenizer: merges of each token, tokens that do not stand side by side, steps, first tokens of a text.

Whoever imports one of these files declares the kernels of all, so that the next `kernels.load()` makes all ready.
"""

from constrain.kernels.cuts import firsts, merging, neighbours, steps, tables

__all__ = ["firsts", "merging", "neighbours", "steps", "tables"]
