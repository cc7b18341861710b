"""The cuts of a tokenizer: merges of each token, tokens that do not stand side by side, pieces, completions.

Whoever imports one of these files declares the kernels of all, so that the next `kernels.load()` makes all ready.
"""

from constrain.kernels.cuts import firsts, lookahead, merging, neighbours, rows, tables

__all__ = ["firsts", "lookahead", "merging", "neighbours", "rows", "tables"]
