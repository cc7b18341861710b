"""Byte-pair merging: the merges that make each token, and the tokens that do not stand side by side.

Whoever imports one of these files declares the kernels of all, so that the next `kernels.load()` makes all ready.
"""

from constrain.kernels.cuts import merging, neighbours, tables

__all__ = ["merging", "neighbours", "tables"]
