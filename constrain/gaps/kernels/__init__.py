"""A grammar meets an automaton of bytes: lexemes, derivations, live arcs, least costs (note 0022).

Whoever imports one of these files declares the kernels of all, so that the next `kernels.load()` makes all ready; who
has no gaps does not pay for them.
"""

from constrain.gaps.kernels import derivations, least, lexemes

__all__ = ["derivations", "least", "lexemes"]
