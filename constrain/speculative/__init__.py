"""Speculation: several tokens for one forward pass of the model, with the distribution of masked decoding.

Drafters guess how the text goes on, the constraint prunes what is illegal, one forward pass reads the tree of guesses,
and a verifier goes down the tree as far as the target agrees.

takes: a `Target` (trees → logits), matchers, drafters. gives: `Sample`s, as `lcd` does
start reading at: tree.py (draft trees), drafter.py and verifier.py (what can be plugged in), decode.py (the loop)
"""

from constrain.extras import require
from constrain.lazily import loader, names_of_stub

require("hf", "constrain.speculative")  # before torch is imported: the message names the line for pip

_HOMES = names_of_stub(__file__)
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES)
