"""The cuts of a tokenizer: merges that make each token, tokens that do not stand side by side, borders of pieces.

Whoever imports one of these files declares the kernels of all, so that the next `kernels.load()` makes all ready.
"""

from constrain.kernels.cuts import merging, neighbours, rows, tables

__all__ = ["merging", "neighbours", "rows", "tables"]
